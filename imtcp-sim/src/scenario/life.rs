//! `start` and `stop` of flows, traffic and tools, and `start_within` of flows.

use super::error::{Complaint, ScenarioError};
use super::quantity;
use super::reader::{Entry, Section};
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// From when on nothing may start: the end of the run. A run that is cut short by an override of
/// its duration shows the beginning alone, and what would have come later may stay where it is.
pub(super) fn too_late(duration: &Entry<'_>, length: Duration) -> Timestamp {
    match duration.is_overridden() {
        true => Timestamp::from_nanos(u64::MAX),
        false => Timestamp::from_origin(length),
    }
}

/// `start` and `stop`, in this order.
pub(super) fn read(
    section: &mut Section<'_>,
    too_late: Timestamp,
) -> Result<(Timestamp, Option<Timestamp>), ScenarioError> {
    let start = match section.optional("start") {
        Some(entry) => {
            let start = Timestamp::from_origin(entry.quantity(quantity::span)?);
            in_time(&entry, start, too_late)?;
            start
        }
        None => Timestamp::ZERO,
    };
    let Some(entry) = section.optional("stop") else {
        return Ok((start, None));
    };
    let stop = Timestamp::from_origin(entry.quantity(quantity::span)?);
    if stop <= start {
        let problem = "it stops before it starts";
        return Err(entry.reject(Complaint::new(problem, "let `stop` be later than `start`")));
    }
    Ok((start, Some(stop)))
}

/// `start_within` of flows of which the last one starts at `last` or later.
pub(super) fn within(
    section: &mut Section<'_>,
    (last, stop): (Timestamp, Option<Timestamp>),
    too_late: Timestamp,
) -> Result<Duration, ScenarioError> {
    let Some(entry) = section.optional("start_within") else {
        return Ok(Duration::ZERO);
    };
    let within = entry.quantity(quantity::span)?;
    let latest = last + within;
    if stop.is_some_and(|stop| latest >= stop) {
        let problem = "with some seeds it stops before it starts";
        let remedy = "let `stop` be later, or this span shorter";
        return Err(entry.reject(Complaint::new(problem, remedy)));
    }
    in_time(&entry, latest, too_late)?;
    Ok(within)
}

/// Refuses what would start when the run is over, and so do nothing.
pub(super) fn in_time(
    entry: &Entry<'_>,
    start: Timestamp,
    too_late: Timestamp,
) -> Result<(), ScenarioError> {
    if start < too_late {
        return Ok(());
    }
    let (start, end) = (start.as_secs_f64(), too_late.as_secs_f64());
    let problem = format!("a start at {start} s, and the run ends at {end} s");
    let remedy = "let it start earlier, or the `duration` be longer";
    Err(entry.reject(Complaint::new(problem, remedy)))
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    const PATH: &str = "name = \"a\"\ntitle = \"a\"\nduration = \"9 s\"\n[[link]]\n\
        name = \"l\"\nrate = \"8 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"9 KB\"\n";
    const FLOW: &str = "[[flow]]\nname = \"f\"\ncontroller = \"reno\"\n\
        application = { kind = \"bulk\" }\n";
    const TRAFFIC: &str = "[[traffic]]\nname = \"t\"\nlink = \"l\"\nkind = \"cbr\"\n\
        rate = \"1 Mbit/s\"\n";
    const TOOL: &str = "[[tool]]\nname = \"t\"\nkind = \"spruce\"\n";

    fn with(what: &str, keys: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
        let overrides: Vec<(String, String)> = overrides
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        Scenario::parse("t.toml", &format!("{PATH}{what}{keys}\n"), &overrides)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_would_start_when_the_run_is_over_is_refused() {
        let expected = "start: a start at 9 s, and the run ends at 9 s; let it start earlier, or \
                        the `duration` be longer";
        for what in [FLOW, TRAFFIC, TOOL] {
            let error = with(what, "start = \"9 s\"", &[]).expect_err(what);
            assert!(error.ends_with(expected), "{error}");
            with(what, "start = \"8999 ms\"", &[]).expect("there is a millisecond for it");
        }
        let error = with(FLOW, "count = 4\nevery = \"3 s\"", &[]).expect_err("the fourth");
        assert!(error.contains("flow.f.every: a start at 9 s"), "{error}");
        with(FLOW, "count = 3\nevery = \"3 s\"", &[]).expect("the third has three seconds");
        let error = with(FLOW, "", &[("flow.f.start", "12 s")]).expect_err("too late");
        assert!(
            error.starts_with("--set: flow.f.start: a start at 12 s"),
            "{error}"
        );
    }

    /// With most seeds such a flow did not start, or was never closed.
    #[test]
    fn a_random_start_has_to_be_in_time_as_well() {
        let within = |keys: &str| with(FLOW, &format!("start_within = \"6 s\"\n{keys}"), &[]);
        let error = within("start = \"3 s\"").expect_err("9 s is the end");
        let expected = "flow.f.start_within: a start at 9 s, and the run ends at 9 s; let it";
        assert!(error.contains(expected), "{error}");
        let error = within("count = 4\nevery = \"1 s\"").expect_err("the fourth");
        assert!(error.contains("start_within: a start at 9 s"), "{error}");
        let error = within("stop = \"6 s\"").expect_err("it stops at 6 s");
        let expected = "flow.f.start_within: with some seeds it stops before it starts; let `stop` \
                        be later, or this span shorter";
        assert!(error.ends_with(expected), "{error}");
        within("start = \"2 s\"\nstop = \"8500 ms\"").expect("half a second is left");
        let text = "start = \"1 s\"\nstart_within = \"6 s\"";
        with(FLOW, text, &[("duration", "2 s")]).expect("its beginning");
    }

    #[test]
    fn a_run_that_is_cut_short_may_end_before_something_starts() {
        for what in [FLOW, TRAFFIC, TOOL] {
            with(what, "start = \"5 s\"", &[("duration", "2 s")]).expect("its beginning");
        }
    }
}
