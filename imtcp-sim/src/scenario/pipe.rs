//! `delay`, `jitter`, `delay_steps`, `reorder` and `outages`: what is behind a transmitter.

use super::error::{Complaint, ScenarioError};
use super::quantity;
use super::reader::{Entry, Section};
use crate::network::{PipeSettings, Reorder};
use imtcp_cc::units::Timestamp;
use std::ops::Range;
use std::time::Duration;

/// Without a `delay` it is the `usual` one, if there is one.
pub(super) fn read(
    section: &mut Section<'_>,
    usual: Option<Duration>,
) -> Result<PipeSettings, ScenarioError> {
    let delay = match (section.optional("delay"), usual) {
        (Some(entry), _) => entry.quantity(quantity::span)?,
        (None, Some(usual)) => usual,
        (None, None) => section
            .required("delay", "\"10 ms\"")?
            .quantity(quantity::span)?,
    };
    let mut pipe = PipeSettings {
        delay_steps: delay_steps(section)?,
        outages: outages(section)?,
        ..PipeSettings::of(delay)
    };
    let reorder = section.optional("reorder");
    pipe.reorder = reorder.map(|entry| read_reorder(&entry)).transpose()?;
    if let Some(entry) = section.optional("jitter") {
        pipe.jitter = read_jitter(&entry, pipe.least_delay())?;
    }
    Ok(pipe)
}

/// A packet cannot arrive before it was sent.
fn read_jitter(entry: &Entry<'_>, delay: Duration) -> Result<Duration, ScenarioError> {
    let jitter = entry.quantity(quantity::span)?;
    if jitter > delay {
        let problem = "packets would arrive before they are sent";
        let remedy = "let `jitter` be at most `delay`, and at most each delay of `delay_steps`";
        return Err(entry.reject(Complaint::new(problem, remedy)));
    }
    Ok(jitter)
}

/// `delay_steps = [{ at = "5 s", delay = "40 ms" }, ...]`.
fn delay_steps(section: &mut Section<'_>) -> Result<Vec<(Timestamp, Duration)>, ScenarioError> {
    let mut steps: Vec<(Timestamp, Duration)> = Vec::new();
    for mut step in section.tables("delay_steps")? {
        let entry = step.required("at", "\"5 s\"")?;
        let at = Timestamp::from_origin(entry.quantity(quantity::span_above_zero)?);
        if steps.last().is_some_and(|(last, _)| at <= *last) {
            let problem = "this step is not later than the one before it";
            return Err(entry.reject(Complaint::new(problem, "put the steps in order of time")));
        }
        let delay = step
            .required("delay", "\"40 ms\"")?
            .quantity(quantity::span)?;
        step.finish()?;
        steps.push((at, delay));
    }
    Ok(steps)
}

/// `outages = [{ from = "5 s", to = "7 s" }, ...]`.
fn outages(section: &mut Section<'_>) -> Result<Vec<Range<Timestamp>>, ScenarioError> {
    let mut outages = Vec::new();
    for mut outage in section.tables("outages")? {
        let from = outage
            .required("from", "\"5 s\"")?
            .quantity(quantity::span)?;
        let entry = outage.required("to", "\"7 s\"")?;
        let to = entry.quantity(quantity::span)?;
        if to <= from {
            let problem = "the outage ends before it begins";
            return Err(entry.reject(Complaint::new(problem, "let `to` be later than `from`")));
        }
        outage.finish()?;
        outages.push(Timestamp::from_origin(from)..Timestamp::from_origin(to));
    }
    Ok(outages)
}

/// `reorder = { rate = "1 %", later = "2 ms" }`.
fn read_reorder(entry: &Entry<'_>) -> Result<Reorder, ScenarioError> {
    let mut section = entry.section()?;
    let share = section
        .required("rate", "\"1 %\"")?
        .quantity(quantity::share)?;
    let later = section
        .required("later", "\"2 ms\"")?
        .quantity(quantity::span_above_zero)?;
    section.finish()?;
    Ok(Reorder { share, later })
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;
    use super::*;

    fn parse(keys: &str) -> Result<Scenario, ScenarioError> {
        let text = format!(
            "name = \"a\"\ntitle = \"a\"\nduration = \"9 s\"\n[[link]]\nname = \"l\"\n\
             rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"9 KB\"\n{keys}\n\
             [[flow]]\nname = \"main\"\ncontroller = \"imtcp\"\n\
             application = {{ kind = \"bulk\" }}\n"
        );
        Scenario::parse("test.toml", &text, &[])
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_secs(seconds))
    }

    #[test]
    fn each_way_has_its_own() {
        let keys = "delay_steps = [{ at = \"2 s\", delay = \"30 ms\" }]\n\
                    outages = [{ from = \"3 s\", to = \"4 s\" }]\n\
                    reverse = { reorder = { rate = \"5 %\", later = \"3 ms\" } }";
        let link = &parse(keys).expect("a scenario").links[0];
        let ms = Duration::from_millis;
        assert_eq!(link.forward.pipe.delay_steps, [(at(2), ms(30))]);
        assert_eq!(link.forward.pipe.outages, [at(3)..at(4)]);
        assert_eq!(link.forward.pipe.reorder, None);
        let back = &link.reverse.pipe;
        assert_eq!((back.delay, &back.delay_steps[..]), (ms(10), &[][..]));
        let (share, later) = (0.05, ms(3));
        assert_eq!(back.reorder, Some(Reorder { share, later }));
    }

    #[test]
    fn what_cannot_be_is_named_with_its_remedy() {
        for (keys, expected) in [
            (
                "delay_steps = [{ at = \"2 s\", delay = \"3 ms\" }]\njitter = \"4 ms\"",
                "each delay of `delay_steps`",
            ),
            (
                "delay_steps = [{ at = \"2 s\", delay = \"3 ms\" }, \
                 { at = \"1 s\", delay = \"9 ms\" }]",
                "not later than the one before it; put the steps in order",
            ),
            (
                "outages = [{ from = \"3 s\", to = \"3 s\" }]",
                "ends before it begins; let `to` be later",
            ),
            ("reorder = { rate = \"5 %\" }", "later"),
        ] {
            let error = parse(keys).expect_err("it cannot be").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
