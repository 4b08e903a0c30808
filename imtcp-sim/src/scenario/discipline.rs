//! `queue = "150 KB"`, or `queue = { kind = "codel", limit = "1000 packets", ... }`.

use super::error::{Complaint, ScenarioError};
use super::quantity;
use super::reader::{Entry, Section};
use crate::network::{CoDelSettings, Discipline, DualPi2Settings};
use crate::network::{PieSettings, QueueLimit, RedSettings};
use imtcp_cc::units::{Bandwidth, Bytes};
use std::time::Duration;

#[derive(Clone, Copy)]
enum Kind {
    DropTail,
    CoDel,
    FqCoDel,
    Pie,
    Red,
    DualPi2,
}

const KINDS: &[(&str, Kind)] = &[
    ("drop-tail", Kind::DropTail),
    ("codel", Kind::CoDel),
    ("fq-codel", Kind::FqCoDel),
    ("pie", Kind::Pie),
    ("red", Kind::Red),
    ("dualpi2", Kind::DualPi2),
];

/// `DualPI2` looks at its queue once in that time.
const SHORTEST_TARGET: Duration = Duration::from_micros(100);

/// The bound of a queue and how it is managed. `rate` is that of the link.
pub(super) fn read(
    entry: &Entry<'_>,
    rate: Bandwidth,
) -> Result<(QueueLimit, Discipline), ScenarioError> {
    if !entry.is_table() {
        return Ok((entry.quantity(quantity::queue)?, Discipline::DropTail));
    }
    let mut section = entry.section()?;
    let kind = section.required("kind", "\"codel\"")?.choice(KINDS)?;
    let limit = section
        .required("limit", "\"1000 packets\"")?
        .quantity(quantity::queue)?;
    let discipline = match kind {
        Kind::DropTail => Discipline::DropTail,
        Kind::CoDel => Discipline::CoDel(codel(&mut section)?),
        Kind::FqCoDel => Discipline::FqCoDel(codel(&mut section)?),
        Kind::Pie => Discipline::Pie(pie(&mut section)?),
        Kind::Red => Discipline::Red(red(&mut section, rate)?),
        Kind::DualPi2 => Discipline::DualPi2(dualpi2(&mut section)?),
    };
    section.finish()?;
    Ok((limit, discipline))
}

fn codel(section: &mut Section<'_>) -> Result<CoDelSettings, ScenarioError> {
    let usual = CoDelSettings::default();
    Ok(CoDelSettings {
        target: span(section, "target", usual.target)?,
        interval: span(section, "interval", usual.interval)?,
    })
}

fn pie(section: &mut Section<'_>) -> Result<PieSettings, ScenarioError> {
    let usual = PieSettings::default();
    Ok(PieSettings {
        target: span(section, "target", usual.target)?,
        burst: span(section, "burst", usual.burst)?,
    })
}

fn dualpi2(section: &mut Section<'_>) -> Result<DualPi2Settings, ScenarioError> {
    let Some(entry) = section.optional("target") else {
        return Ok(DualPi2Settings::default());
    };
    let target = entry.quantity(|text| quantity::span_of_at_least(text, SHORTEST_TARGET))?;
    Ok(DualPi2Settings { target })
}

fn red(section: &mut Section<'_>, rate: Bandwidth) -> Result<RedSettings, ScenarioError> {
    let lower = section.required("lower", "\"30 KB\"")?;
    let lower = lower.quantity(quantity::size)?;
    let entry = section.required("upper", "\"90 KB\"")?;
    let upper = entry.quantity(quantity::size)?;
    if upper <= lower {
        let problem = "the upper threshold is not above the lower one";
        return Err(entry.reject(Complaint::new(
            problem,
            "three times the lower one is usual",
        )));
    }
    let most = section.optional("most");
    let most = most.map_or(Ok(0.1), |entry| entry.quantity(quantity::share))?;
    let packet_s = Bytes::new(1500).as_bits_f64() / rate.as_bps_f64();
    Ok(RedSettings {
        lower,
        upper,
        most,
        transmission: Duration::from_secs_f64(packet_s),
    })
}

fn span(
    section: &mut Section<'_>,
    key: &'static str,
    usual: Duration,
) -> Result<Duration, ScenarioError> {
    let entry = section.optional(key);
    entry.map_or(Ok(usual), |entry| entry.quantity(quantity::span_above_zero))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    /// The queue is looked at once in this time: a second of such a run took four.
    #[test]
    fn a_target_that_is_too_short_is_refused() {
        let with = |target: &str| {
            let text = format!(
                "name = \"t\"\ntitle = \"t\"\nduration = \"9 s\"\n[[link]]\nname = \"l\"\n\
                 rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\n\
                 queue = {{ kind = \"dualpi2\", limit = \"9 KB\"{target} }}\n"
            );
            let scenario = Scenario::parse("t.toml", &text, &[]);
            let scenario = scenario.map_err(|error| error.to_string())?;
            Ok::<_, String>(scenario.links[0].forward.discipline)
        };
        let error = with(", target = \"1 ns\"").expect_err("too short");
        let expected = "link.l.queue.target: 1 ns is too short to be simulated; at least 100µs";
        assert!(error.ends_with(expected), "{error}");
        let target = SHORTEST_TARGET;
        let expected = Discipline::DualPi2(DualPi2Settings { target });
        assert_eq!(with(", target = \"100 us\""), Ok(expected));
        let usual = Discipline::DualPi2(DualPi2Settings::default());
        assert_eq!(with(""), Ok(usual));
    }
}
