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
    /// Timers are late by a time from this range.
    pub timer_late: Option<Range>,
    /// Timers fire at multiples of this time only, and never early.
    pub timer_tick: Option<Duration>,
    /// It takes this long to build and send a datagram.
    pub send_takes: Duration,
    /// Datagrams that are sent at one instant leave back to back at this rate.
    pub line_rate: Option<Bandwidth>,
    /// The time from the arrival of a datagram until it is handed over, with all that have come
    /// meanwhile.
    pub receive_late: Option<Range>,
    /// As soon as this many datagrams wait, they are handed over.
    pub receive_packets: Option<u32>,
    /// Datagrams that are handed over together get arrival times that are this far apart. The last
    /// one gets the present time.
    pub receive_spacing: Option<Range>,
    /// It takes this long to work off a datagram that has come.
    pub receive_takes: Duration,
    /// So many datagrams wait at most. What comes beyond them is lost.
    pub receive_buffer: Option<u32>,
    /// The process sleeps for times from this range: nothing is handed over, and no timer fires.
    pub naps: Option<Naps>,
}

/// When a process sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Naps {
    /// How long it is awake in between.
    pub awake: Range,
    /// How long it sleeps.
    pub asleep: Range,
}

/// Times between two limits, each as likely as any other.
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
    if let Some(entry) = section.optional("receive_takes") {
        host.receive_takes = entry.quantity(quantity::span)?;
    }
    let buffer = section.optional("receive_buffer");
    let buffer = buffer.map(|entry| entry.count(1..=1_000_000));
    host.receive_buffer = buffer.transpose()?;
    host.naps = section.optional("naps").map(naps).transpose()?;
    section.finish()?;
    Ok(host)
}

/// `naps = { awake = "50 ms to 800 ms", asleep = "2 ms to 12 ms" }`.
fn naps(entry: Entry<'_>) -> Result<Naps, ScenarioError> {
    let mut section = entry.section()?;
    let awake = section.required("awake", "\"50 ms to 800 ms\"")?;
    let awake = awake.quantity(nap)?;
    let asleep = section.required("asleep", "\"2 ms to 12 ms\"")?;
    let asleep = asleep.quantity(nap)?;
    section.finish()?;
    Ok(Naps { awake, asleep })
}

fn nap(text: &str) -> Result<Range, Complaint> {
    const SHORTEST: Duration = Duration::from_micros(1);
    let (shortest, _) = text.split_once(" to ").unwrap_or((text, text));
    quantity::span_of_at_least(shortest.trim(), SHORTEST)?;
    range(text)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn host(keys: &str) -> Result<(Host, Host), String> {
        let text = format!(
            "name = \"a\"\ntitle = \"a\"\nduration = \"1 s\"\n[[link]]\nname = \"l\"\n\
             rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"9 KB\"\n[[flow]]\nname = \"main\"\n\
             controller = \"reno\"\napplication = {{ kind = \"bulk\" }}\nhost = {{ {keys} }}\n\
             receiver = {{ host = {{ {keys} }} }}\n"
        );
        let scenario = Scenario::parse("host.toml", &text, &[]).map_err(|e| e.to_string())?;
        let flow = &scenario.flows[0];
        Ok((flow.host, flow.receiver.host))
    }

    #[test]
    fn both_machines_are_read_alike_and_ideal_without_a_word() {
        assert_eq!(host(""), Ok((Host::default(), Host::default())));
        let keys = "timer_late = \"10 us to 4 ms\", timer_tick = \"1 ms\", send_takes = \"6 us\", \
                    line_rate = \"10 Gbit/s\", receive_late = \"100 us\", receive_packets = 64, \
                    receive_spacing = \"3 us to 6 us\", receive_takes = \"15 us\", \
                    receive_buffer = 90, naps = { awake = \"1 ms\", asleep = \"2 us to 3 us\" }";
        let us = Duration::from_micros;
        let range = |from, to| {
            let (from, to) = (us(from), us(to));
            Some(Range { from, to })
        };
        let expected = Host {
            timer_late: range(10, 4000),
            timer_tick: Some(us(1000)),
            send_takes: us(6),
            line_rate: Some(Bandwidth::from_mbps(10_000)),
            receive_late: range(100, 100),
            receive_packets: Some(64),
            receive_spacing: range(3, 6),
            receive_takes: us(15),
            receive_buffer: Some(90),
            naps: range(1000, 1000)
                .zip(range(2, 3))
                .map(|(awake, asleep)| Naps { awake, asleep }),
        };
        assert_eq!(host(keys), Ok((expected, expected)));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (keys, expected) in [
            ("timer_late = \"4 ms to 10 us\"", "ends before it begins"),
            ("timer_late = \"4\"", "has no unit"),
            ("timer_tick = \"0 ms\"", "above zero"),
            ("receive_packets = 4", "add receive_late"),
            ("receive_spacing = \"3 us\"", "add receive_late"),
            ("receive_buffer = 0", "1 to 1000000"),
            ("naps = { asleep = \"2 ms\" }", "awake"),
            (
                "naps = { awake = \"1 s\", asleep = \"9 ns to 1 ms\" }",
                "naps.asleep: 9 ns is too short to be simulated; at least 1µs",
            ),
            ("recieve_late = \"3 us\"", "did you mean `receive_late`?"),
        ] {
            let error = host(keys).expect_err(keys);
            assert!(error.contains(expected), "{keys}: {error}");
        }
    }
}
