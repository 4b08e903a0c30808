//! `[[tool]]`: a tool that measures the path with packets of its own.

use super::error::{Complaint, ScenarioError};
use super::flow::route;
use super::link::Link;
use super::quantity;
use super::reader::Section;
use crate::network::Route;
use crate::tool::Kind;
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// The pause between measurements, if the scenario does not say another.
const PAUSE: Duration = Duration::from_secs(1);

/// A tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Names it in results, and seeds what it draws.
    pub name: String,
    /// Which tool.
    pub kind: Kind,
    /// The links it crosses.
    pub route: Route,
    /// When its first measurement begins.
    pub start: Timestamp,
    /// No measurement begins from then on.
    pub stop: Option<Timestamp>,
    /// How many measurements there are.
    pub times: Times,
    /// The time from the end of a measurement to the beginning of the next.
    pub pause: Duration,
    /// Whether the far end sends each probe back, in place of a receiver that tells when it came.
    pub echo: bool,
    /// The capacity that the tool is told; `None` for that of the narrowest link.
    pub capacity: Option<Bandwidth>,
}

/// How many measurements there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// So many.
    Count(u32),
    /// As many as there is time for.
    Unbounded,
}

pub(super) fn read_all(root: &mut Section<'_>, links: &[Link]) -> Result<Vec<Tool>, ScenarioError> {
    super::read_named(root, "tool", |name, section| read(name, section, links))
}

fn read(name: String, mut section: Section<'_>, links: &[Link]) -> Result<Tool, ScenarioError> {
    let kinds: Vec<(&str, Kind)> = Kind::ALL.iter().map(|kind| (kind.name(), *kind)).collect();
    let kind = section.required("kind", "\"pathload\"")?.choice(&kinds)?;
    let route = route(&mut section, links)?;
    let (start, stop) = super::life(&mut section)?;
    let times = times(&mut section)?;
    let pause = match section.optional("pause") {
        Some(entry) => entry.quantity(quantity::span)?,
        None => PAUSE,
    };
    let echo = match section.optional("echo") {
        Some(entry) => entry.boolean()?,
        None => kind.echoes(),
    };
    let capacity = match section.optional("capacity") {
        Some(entry) if !kind.needs_capacity() => {
            let problem = format!("`{}` measures without knowing the capacity", kind.name());
            return Err(entry.reject(Complaint::new(problem, "leave `capacity` out")));
        }
        Some(entry) => Some(entry.quantity(quantity::rate_above_zero)?),
        None => None,
    };
    section.finish()?;
    Ok(Tool {
        name,
        kind,
        route,
        start,
        stop,
        times,
        pause,
        echo,
        capacity,
    })
}

/// A count, or `"unbounded"`; one without the key.
fn times(section: &mut Section<'_>) -> Result<Times, ScenarioError> {
    /// More measurements than this have no place in a day.
    const MOST: u32 = 100_000;
    let Some(entry) = section.optional("times") else {
        return Ok(Times::Count(1));
    };
    if entry.is_text() {
        return entry.choice(&[("unbounded", Times::Unbounded)]);
    }
    Ok(Times::Count(entry.count(1..=MOST)?))
}
