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
        Kind::DualPi2 => Discipline::DualPi2(DualPi2Settings {
            target: span(&mut section, "target", DualPi2Settings::default().target)?,
        }),
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
