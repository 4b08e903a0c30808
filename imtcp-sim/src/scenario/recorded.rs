//! `trace = "FILE"`, or `trace = { file = "FILE", from = "37 s" }`: a recorded link.

use super::error::{Complaint, ScenarioError};
use super::quantity;
use super::reader::{Entry, Section};
use crate::profile::Profile;
use crate::trace::{Trace, drawn, read as read_file};
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::sync::Arc;

/// Drawn traces have this name, with their seed behind it.
const DRAWN: &str = "drawn-";

/// What a hop carries over time.
pub(super) struct Carries {
    /// Its rate. With a trace, what that carries for ever.
    pub(super) rate: Bandwidth,
    /// Its rate over time.
    pub(super) profile: Profile,
    pub(super) trace: Option<Arc<Trace>>,
}

impl Carries {
    /// The highest rate.
    pub(super) fn fastest(&self) -> Bandwidth {
        let rates = self.profile.steps().iter().map(|step| step.rate);
        rates.max().unwrap_or(self.rate)
    }
}

/// `rate` with `steps`, or `trace` in place of both. Without any, the link has the `usual` rate, if
/// there is one. The run ends at `end`.
pub(super) fn read(
    section: &mut Section<'_>,
    usual: Option<Bandwidth>,
    end: Timestamp,
) -> Result<Carries, ScenarioError> {
    let trace = section.optional("trace");
    let Some(entry) = trace else {
        let rate = match (section.optional("rate"), usual) {
            (Some(entry), _) => entry.quantity(quantity::rate_above_zero)?,
            (None, Some(usual)) => usual,
            (None, None) => section
                .required("rate", "\"50 Mbit/s\"")?
                .quantity(quantity::rate_above_zero)?,
        };
        let steps = super::link::steps(section, quantity::rate_above_zero)?;
        return Ok(Carries {
            rate,
            profile: Profile::stepped(rate, &steps),
            trace: None,
        });
    };
    for key in ["rate", "steps"] {
        if let Some(other) = section.optional(key) {
            let problem = "a trace says how fast the link is";
            return Err(other.reject(Complaint::new(problem, "leave out this key or the trace")));
        }
    }
    let trace = trace_of(&entry)?;
    if trace.mean() > quantity::GREATEST_RATE {
        let problem = format!("the trace has {} on average", trace.mean());
        let remedy = format!("at most {} can be simulated", quantity::GREATEST_RATE);
        return Err(entry.reject(Complaint::new(problem, remedy)));
    }
    Ok(Carries {
        rate: trace.mean(),
        profile: trace.profile(end),
        trace: Some(Arc::new(trace)),
    })
}

fn trace_of(entry: &Entry<'_>) -> Result<Trace, ScenarioError> {
    if !entry.is_table() {
        return named(entry);
    }
    let mut section = entry.section()?;
    let trace = named(&section.required("file", "\"cell.trace\"")?)?;
    let from = section.optional("from");
    let from = from
        .map(|entry| entry.quantity(quantity::span))
        .transpose()?;
    section.finish()?;
    Ok(from.map_or(trace.clone(), |from| trace.from(from)))
}

fn named(entry: &Entry<'_>) -> Result<Trace, ScenarioError> {
    let seed = entry.text()?.strip_prefix(DRAWN);
    if let Some(seed) = seed.and_then(|seed| seed.parse().ok()) {
        return Ok(drawn(seed));
    }
    read_file(&entry.file()?).map_err(|error| ScenarioError {
        origin: error.file,
        position: error.line.map(|line| (line, 1)),
        key: entry.key().to_owned(),
        problem: error.problem,
        remedy: error.remedy,
    })
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;
    use imtcp_cc::units::Bandwidth;

    fn with(lines: &str) -> Result<Scenario, String> {
        let text = format!(
            "name = \"t\"\ntitle = \"t\"\nduration = \"9 s\"\n[[link]]\nname = \"l\"\n{lines}\n\
             delay = \"10 ms\"\nqueue = \"90 KB\"\n"
        );
        Scenario::parse("no/t.toml", &text, &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn a_drawn_trace_has_its_seed_in_its_name() {
        let scenario = with("trace = \"drawn-3\"").expect("it is right");
        let link = &scenario.links[0];
        let trace = link.forward.trace.as_deref().expect("a trace");
        assert_eq!(trace, &crate::trace::drawn(3));
        assert_eq!(link.forward.rate, trace.profile(scenario.end()));
        // The way back has the mean rate, and no trace, unless it is given one.
        assert_eq!(link.reverse.trace, None);
        let back = link.reverse.rate.rate_at(imtcp_cc::units::Timestamp::ZERO);
        assert_eq!(back, trace.mean());
        let scenario = with("rate = \"8 Mbit/s\"\nreverse = { trace = \"drawn-3\" }");
        let reverse = &scenario.expect("it is right").links[0].reverse;
        assert_eq!(reverse.trace.as_deref(), Some(trace));
    }

    #[test]
    fn a_link_is_as_fast_as_the_fastest_of_its_steps() {
        let steps = "rate = \"8 Mbit/s\"\nsteps = [{ at = \"3 s\", rate = \"80 Mbit/s\" }, \
                     { at = \"5 s\", rate = \"9 Mbit/s\" }]";
        let with = |more: &str| with(&format!("{steps}\n{more}"));
        // Ten packets in 2 ms are 60 Mbit/s, fourteen are 84 Mbit/s.
        let release = |packets: u32| {
            with(&format!(
                "release = {{ every = \"2 ms\", packets = {packets} }}"
            ))
        };
        let refused = release(10).expect_err("the link becomes faster than that");
        assert!(
            refused.contains("are less than the link's rate"),
            "{refused}"
        );
        assert!(release(14).is_ok());
        // A bucket of 50 Mbit/s is empty now and then, because the link is faster for a while.
        let bucket = |rate: u32| {
            with(&format!(
                "bucket = {{ kind = \"shaper\", rate = \"{rate} Mbit/s\", size = \"90 KB\" }}"
            ))
        };
        assert!(bucket(50).is_ok());
        assert!(bucket(80).is_err());
    }

    #[test]
    fn a_file_lies_beside_its_scenario() {
        let folder = std::env::temp_dir().join(format!("imtcp-sim-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        std::fs::write(folder.join("cell.trace"), "10\n20\n").expect("a trace");
        std::fs::write(folder.join("bad.trace"), "10\nx\n").expect("no trace");
        // 9001 packets in a millisecond; a tenth of a second of them is more than is counted.
        let fast = "1\n".repeat(9001);
        std::fs::write(folder.join("fast.trace"), fast).expect("too fast a trace");
        let load = |trace: &str| {
            let text = format!(
                "name = \"t\"\ntitle = \"t\"\nduration = \"9 s\"\n[[link]]\nname = \"l\"\n\
                 trace = {trace}\ndelay = \"10 ms\"\nqueue = \"90 KB\"\n"
            );
            let origin = folder.join("t.toml").display().to_string();
            Scenario::parse(&origin, &text, &[]).map_err(|error| error.to_string())
        };
        let scenario = load("{ file = \"cell.trace\", from = \"12 ms\" }").expect("it is right");
        let trace = scenario.links[0].forward.trace.as_deref();
        assert_eq!(
            trace.map(crate::trace::Trace::mean),
            Some(Bandwidth::from_kbps(1200))
        );
        let bad = folder.join("bad.trace").display().to_string();
        assert_eq!(
            load("\"bad.trace\"").err(),
            Some(format!(
                "{bad}:2:1: link.l.trace: `x` is no millisecond of a delivery; write one whole \
                 number a line, 0 to 86400000"
            ))
        );
        let fast = load("\"fast.trace\"").expect_err("108 Gbit/s");
        let expected =
            "link.l.trace: the trace has 108.012 Gbit/s on average; at most 100.000 Gbit/s";
        assert!(fast.contains(expected), "{fast}");
        std::fs::remove_dir_all(&folder).expect("it was there");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (lines, expected) in [
            (
                "trace = \"drawn-3\"\nrate = \"8 Mbit/s\"",
                "no/t.toml:7:8: link.l.rate: a trace says how fast the link is; leave out this key \
                 or the trace",
            ),
            (
                "trace = \"drawn-3\"\nsteps = []",
                "no/t.toml:7:9: link.l.steps: a trace says how fast the link is; leave out this \
                 key or the trace",
            ),
            (
                "trace = { from = \"3 s\" }",
                "no/t.toml:6:9: link.l.trace: `file` is missing; add file = \"cell.trace\"",
            ),
            (
                "",
                "no/t.toml:4:1: link.l: `rate` is missing; add rate = \"50 Mbit/s\"",
            ),
        ] {
            assert_eq!(with(lines).err().as_deref(), Some(expected), "{lines}");
        }
        let missing = with("trace = \"cell.trace\"").expect_err("there is none");
        assert!(
            missing.starts_with("no/cell.trace: link.l.trace: cannot be read:"),
            "{missing}"
        );
    }
}
