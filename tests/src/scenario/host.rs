//! `host = { ... }`: the machine that an endpoint runs on, where it is not an ideal one.

use super::error::{Complaint, ScenarioError};
use super::quantity;
use super::reader::Entry;
use imtcp_cc::units::Bandwidth;
use std::time::Duration;

/// What a machine does to timers, to packets that leave, and to packets that come. The default does
/// nothing to any of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Timers are late by a time of this range.
    pub timer_late: Option<Range>,
    /// Timers fire at multiples of this time alone, never early.
    pub timer_tick: Option<Duration>,
    /// Building and sending a datagram takes so long.
    pub send_takes: Duration,
    /// What is sent at one instant leaves back to back at this rate.
    pub line_rate: Option<Bandwidth>,
    /// From the arrival of a datagram until it is handed over, with all that have come meanwhile.
    pub receive_late: Option<Range>,
    /// So many datagrams are handed over at once, however short they have waited.
    pub receive_packets: Option<u32>,
    /// Datagrams that are handed over together came this much apart, the last of them just now.
    pub receive_spacing: Option<Range>,
}

/// Times between two ends, with equal chances for equal differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least, above zero.
    pub from: Duration,
    /// The most.
    pub to: Duration,
}

pub(super) fn read(entry: Option<Entry<'_>>) -> Result<Host, ScenarioError> {
    let mut host = Host::default();
    let Some(entry) = entry else {
        return Ok(host);
    };
    let mut section = entry.section()?;
    let late = section.optional("timer_late");
    host.timer_late = late.map(|entry| entry.quantity(range)).transpose()?;
    let tick = section.optional("timer_tick");
    let tick = tick.map(|entry| entry.quantity(quantity::span_above_zero));
    host.timer_tick = tick.transpose()?;
    if let Some(entry) = section.optional("send_takes") {
        host.send_takes = entry.quantity(quantity::span)?;
    }
    let line = section.optional("line_rate");
    let line = line.map(|entry| entry.quantity(quantity::rate_above_zero));
    host.line_rate = line.transpose()?;
    let late = section.optional("receive_late");
    host.receive_late = late.map(|entry| entry.quantity(range)).transpose()?;
    let packets = section.optional("receive_packets");
    let spacing = section.optional("receive_spacing");
    if let Some(entry) = packets.iter().chain(&spacing).next()
        && host.receive_late.is_none()
    {
        let problem = "packets that wait for no time are never together";
        let remedy = "add receive_late = \"50 us to 200 us\", or leave it out";
        return Err(entry.reject(Complaint::new(problem, remedy)));
    }
    let packets = packets.map(|entry| entry.count(1..=10_000));
    host.receive_packets = packets.transpose()?;
    host.receive_spacing = spacing.map(|entry| entry.quantity(range)).transpose()?;
    section.finish()?;
    Ok(host)
}

/// `"10 us to 4 ms"`, or one time for both.
fn range(text: &str) -> Result<Range, Complaint> {
    let (from, to) = text.split_once(" to ").unwrap_or((text, text));
    let from = quantity::span_above_zero(from.trim())?;
    let to = quantity::span_above_zero(to.trim())?;
    if to < from {
        let problem = format!("{text} ends before it begins");
        return Err(Complaint::new(problem, "write the shorter time first"));
    }
    Ok(Range { from, to })
}
