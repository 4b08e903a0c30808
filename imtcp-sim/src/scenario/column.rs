//! `[[column]]` of a sweep: what its table shows of each cell besides slots.

use super::error::{Complaint, ScenarioError};
use super::quantity;
use super::reader::{Entry, Section, unknown_name};
use super::sweep::Cell;
use imtcp_cc::units::Bandwidth;

/// A column of a sweep's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// The flow that it is about, or the name under which the scenario has several. A cell without
    /// such a flow shows nothing. Jain's index may be of all flows.
    pub flow: Option<String>,
    /// The flow with which it is compared in the same run.
    pub beside: Option<String>,
    /// What is shown.
    pub value: Value,
    /// The rate in bit/s that the path has room for, or not.
    pub rung_bps: Option<u64>,
    /// Whether the change against the sweep's baseline is shown, too.
    pub change: bool,
}

/// What can be shown of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Goodput in Mbit/s; the mean of flows that are alike.
    Goodput,
    /// Goodput as a multiple of that of another flow of the same run.
    GoodputRatio,
    /// Jain's index of the goodput of flows that are alike, or of all flows, in per cent.
    Jain,
    /// Seconds from start to end of a transfer of known size. Of flows that are alike it is the
    /// mean over those that came to their end.
    Completion,
    /// How many packets were lost.
    Lost,
    /// The same in per cent of those that were sent, of all flows that are alike.
    LossShare,
    /// The share of connections that ended before the run did, in per cent: closed by either side
    /// or timed out.
    Ended,
    /// What flows beside a promise have, in per cent of their fair share of what is left when the
    /// promise is taken out of the link: the mean of these flows.
    RivalsOfLeft,
    /// The same of the flow that has least.
    WorstRivalOfLeft,
    /// What flows beside a promise have, in per cent of their fair share beside a flow that has
    /// what it requires, or its own fair share if that is more and welcome: the mean.
    RivalsOfDue,
    /// How much UDP payload was sent, in MB.
    Sent,
    /// The mean size of a packet, in bytes of UDP payload.
    PacketSize,
    /// Mean one-way delay of cross traffic over the first link that has some, in ms.
    CrossDelay,
    /// The share of slots with what is required, in per cent.
    Kept,
    /// The mean by which slots have more than is required, in per cent of that.
    Overshoot,
    /// The same at the 95th percentile.
    OvershootP95,
    /// Seconds from the start or a step until the available bandwidth is known within 20 % and
    /// stays so. The longest of these times counts.
    TimeToFind,
    /// Seconds from a step of the truth above a rung until the lower end of the interval is above
    /// it, too: the longest of the run. Of a cell, the longest of its runs.
    Rise,
    /// The same downward.
    Fall,
    /// The 95th percentile of the time from making a frame or a chunk until the client has read
    /// all of it, in ms.
    BurstDelay,
    /// The median of the readings of the path, in per cent of the truth.
    Reading,
    /// The mean error of the estimates, in per cent of the truth.
    Error,
}

const VALUES: &[(&str, Value)] = &[
    ("goodput", Value::Goodput),
    ("goodput ratio", Value::GoodputRatio),
    ("jain", Value::Jain),
    ("completion", Value::Completion),
    ("lost", Value::Lost),
    ("loss share", Value::LossShare),
    ("ended", Value::Ended),
    ("rivals of left", Value::RivalsOfLeft),
    ("worst rival of left", Value::WorstRivalOfLeft),
    ("rivals of due", Value::RivalsOfDue),
    ("sent", Value::Sent),
    ("packet size", Value::PacketSize),
    ("cross delay", Value::CrossDelay),
    ("kept", Value::Kept),
    ("overshoot", Value::Overshoot),
    ("overshoot p95", Value::OvershootP95),
    ("time to find", Value::TimeToFind),
    ("rise", Value::Rise),
    ("fall", Value::Fall),
    ("burst delay", Value::BurstDelay),
    ("reading", Value::Reading),
    ("error", Value::Error),
];

/// The flows that a column names, where it names any.
#[derive(Debug)]
pub(super) struct About<'d> {
    flow: Option<Entry<'d>>,
    beside: Option<Entry<'d>>,
}

pub(super) fn read(mut section: Section<'_>) -> Result<(Column, About<'_>), ScenarioError> {
    let name = section.required("name", "\"neighbour Mbit/s\"")?.text()?;
    let value = section.required("value", "\"goodput\"")?;
    let value = value.choice(VALUES)?;
    let about = About {
        flow: section.optional("flow"),
        beside: section.optional("beside"),
    };
    let text = |entry: &Entry<'_>| entry.text().map(str::to_owned);
    let flow = about.flow.as_ref().map(text).transpose()?;
    let is_of_all = flow.is_none() && value == Value::Jain;
    if !is_of_all && flow.is_none() != (value == Value::CrossDelay) {
        let (problem, remedy) = match flow {
            None => ("of which flow?", "add flow = \"main\""),
            Some(_) => ("this is about no flow", "leave `flow` out"),
        };
        return Err(section.reject(Complaint::new(problem, remedy)));
    }
    let beside = about.beside.as_ref().map(text).transpose()?;
    if beside.is_some() != (value == Value::GoodputRatio) {
        let (problem, remedy) = match beside {
            None => ("a ratio to which flow?", "add beside = \"reno\""),
            Some(_) => ("this is about one flow alone", "leave `beside` out"),
        };
        return Err(section.reject(Complaint::new(problem, remedy)));
    }
    let rung = section.optional("rung");
    let rung = rung
        .map(|rung| rung.quantity(quantity::rate_above_zero))
        .transpose()?;
    if rung.is_some() != matches!(value, Value::Rise | Value::Fall) {
        let (problem, remedy) = match rung {
            None => ("across which rate?", "add rung = \"4 Mbit/s\""),
            Some(_) => ("this is about no rung", "leave `rung` out"),
        };
        return Err(section.reject(Complaint::new(problem, remedy)));
    }
    let change = section.optional("change");
    let change = change.map_or(Ok(false), |change| change.boolean())?;
    let name = name.to_owned();
    section.finish()?;
    let column = Column {
        name,
        flow,
        beside,
        value,
        rung_bps: rung.map(Bandwidth::as_bps),
        change,
    };
    Ok((column, about))
}

/// Refuses columns about flows that no cell has: they would show nothing at all.
pub(super) fn check(about: &[About<'_>], cells: &[Cell]) -> Result<(), ScenarioError> {
    let flows = || cells.iter().flat_map(|cell| &cell.scenario.flows);
    let mut names: Vec<&str> = flows().map(|flow| flow.name.as_str()).collect();
    let mut with_groups = names.clone();
    with_groups.extend(flows().filter_map(|flow| flow.group.as_deref()));
    for names in [&mut names, &mut with_groups] {
        names.sort_unstable();
        names.dedup();
    }
    let is_there = |entry: &Option<Entry<'_>>, known: &[&str]| {
        let Some(entry) = entry else { return Ok(()) };
        let name = entry.text()?;
        match known.contains(&name) {
            true => Ok(()),
            false => Err(entry.reject(unknown_name("flow", name, known))),
        }
    };
    about.iter().try_for_each(|column| {
        is_there(&column.flow, &with_groups)?;
        is_there(&column.beside, &names)
    })
}
