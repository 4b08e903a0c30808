//! What the program prints: a line of progress for people, results for both people and machines.

use crate::options::Options;
use anyhow::{Context, Result};
use imtcp_cc::standalone::{Ended, Report};
use imtcp_cc::units::Bandwidth;
use serde::Serialize;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Between two lines of progress.
const PROGRESS: Duration = Duration::from_millis(200);

/// Between two results when the path is followed.
const FOLLOWED: Duration = Duration::from_secs(1);

/// Says something on standard error, as a line. It is no error if nobody reads it.
pub fn say(what: impl Display) {
    show(format_args!("{what}\n"));
}

fn show(what: impl Display) {
    let _ = write!(std::io::stderr(), "{what}");
}

/// Whether whoever reads the results has seen enough. That is no failure.
pub fn is_closed(error: &anyhow::Error) -> bool {
    let io = error.root_cause().downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// What is measured.
#[derive(Clone, Debug, Serialize)]
pub struct Subject {
    /// As it was asked for.
    pub target: String,
    /// What was found for it.
    pub address: String,
    /// `icmp` or `quic`.
    pub protocol: &'static str,
    /// The kind of socket, or how the peer acknowledges.
    pub socket: &'static str,
}

/// A result as JSON has it.
#[derive(Debug, Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    subject: &'a Subject,
    method: &'static str,
    /// Bits of IP packets per second.
    available_bps: Option<u64>,
    low_bps: Option<u64>,
    /// Missing where nothing bounds the value.
    high_bps: Option<u64>,
    capacity_bps: Option<u64>,
    lower_bound: bool,
    out_of_range: bool,
    seconds: f64,
    bytes_sent: u64,
    packets_sent: u64,
    replies: u64,
    lost: u64,
    measurements: u32,
    round_trip_ms: Option<f64>,
    mean_wait_ms: f64,
    longest_wait_ms: f64,
    /// Missing while the measurement goes on.
    ended: Option<&'static str>,
    /// With `rate_limited`: the replies a second.
    replies_per_second: Option<u32>,
}

/// Where results go.
pub struct Output {
    subject: Subject,
    method: &'static str,
    json: bool,
    shows_progress: bool,
    continuous: bool,
    shown: Duration,
}

impl Output {
    pub fn new(subject: Subject, options: &Options) -> Self {
        let watched = std::io::stderr().is_terminal();
        Self {
            subject,
            method: options.method(),
            json: options.json,
            shows_progress: watched && !options.quiet && !options.json,
            continuous: options.continuous,
            shown: Duration::ZERO,
        }
    }

    /// A line of progress, or with `--continuous` a result, if it is time for one.
    pub fn progress(&mut self, report: impl FnOnce() -> Report) -> Result<()> {
        if !self.shows_progress && !self.continuous {
            return Ok(());
        }
        let report = report();
        let every = if self.continuous { FOLLOWED } else { PROGRESS };
        if report.elapsed < self.shown {
            self.shown = Duration::ZERO; // another measurement
        }
        if report.elapsed < self.shown + every {
            return Ok(());
        }
        self.shown = report.elapsed;
        if self.continuous {
            return self.print(&report);
        }
        show(format_args!("\r\x1b[K{}", summary(&report)));
        Ok(())
    }

    /// The result of a measurement.
    pub fn result(&mut self, report: &Report) -> Result<()> {
        if self.shows_progress {
            show(format_args!("\r\x1b[K"));
        }
        self.print(report)?;
        if !self.json {
            for line in details(&self.subject, report) {
                writeln!(std::io::stdout(), "  {line}").context("cannot write")?;
            }
        }
        Ok(())
    }

    fn print(&self, report: &Report) -> Result<()> {
        let text = if self.json {
            serde_json::to_string(&self.line(report)).context("cannot write JSON")?
        } else {
            format!("{}: {}", self.subject.target, summary(report))
        };
        writeln!(std::io::stdout(), "{text}").context("cannot write")
    }

    fn line(&self, report: &Report) -> Line<'_> {
        let estimate = report.estimate;
        let millis = |span: Duration| span.as_secs_f64() * 1e3;
        let high = estimate
            .map(|e| e.high)
            .filter(|high| *high != Bandwidth::MAX);
        Line {
            subject: &self.subject,
            method: self.method,
            available_bps: estimate.map(|e| e.available.as_bps()),
            low_bps: estimate.map(|e| e.low.as_bps()),
            high_bps: high.map(Bandwidth::as_bps),
            capacity_bps: report.capacity.map(Bandwidth::as_bps),
            lower_bound: estimate.is_some_and(|e| e.flags.lower_bound),
            out_of_range: estimate.is_some_and(|e| e.flags.out_of_range),
            seconds: report.elapsed.as_secs_f64(),
            bytes_sent: report.bytes_sent.get(),
            packets_sent: report.packets_sent,
            replies: report.replies,
            lost: report.lost,
            measurements: report.measurements,
            round_trip_ms: report.round_trip.map(millis),
            mean_wait_ms: millis(report.mean_wait),
            longest_wait_ms: millis(report.longest_wait),
            ended: report.ended.map(|ended| ended.name()),
            replies_per_second: match report.ended {
                Some(Ended::RateLimited { per_second }) => Some(per_second),
                _ => None,
            },
        }
    }
}

/// The value in a line.
fn summary(report: &Report) -> String {
    let spent = format!(
        "{:.2} s, {} kB",
        report.elapsed.as_secs_f64(),
        report.bytes_sent.get() / 1000
    );
    let value = match (report.estimate, report.ended) {
        (Some(e), _) if e.flags.lower_bound => format!("at least {} available", e.low),
        (Some(e), _) => format!("{} available ({} to {})", e.available, e.low, e.high),
        (None, Some(ended)) => format!("no value: {ended}"),
        (None, None) => "measuring".to_owned(),
    };
    format!("{value}; {spent}")
}

/// What else is to be known.
fn details(subject: &Subject, report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let millis = |span: Duration| format!("{:.2} ms", span.as_secs_f64() * 1e3);
    let round_trip = report.round_trip.map_or("unknown".to_owned(), millis);
    let capacity = report
        .capacity
        .map_or("unknown".to_owned(), |c| c.to_string());
    lines.push(format!("capacity {capacity}, round trip {round_trip}"));
    lines.push(format!(
        "{} packets to {} ({}, {}), {} replies, {} lost",
        report.packets_sent,
        subject.address,
        subject.protocol,
        subject.socket,
        report.replies,
        report.lost
    ));
    lines.push(format!(
        "packets waited {} on average, {} at most",
        millis(report.mean_wait),
        millis(report.longest_wait)
    ));
    if let Some(ended) = report.ended {
        lines.push(format!("ended because {ended}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use imtcp_cc::standalone::{Measurement, Settings, Step};
    use imtcp_cc::units::Timestamp;

    /// A measurement over a link of 10 Mbit/s and 10 ms, or of a host that answers nothing.
    fn report(answers: bool) -> Report {
        let mut measurement = Measurement::new(Settings::default()).expect("defaults");
        let (mut now, mut free) = (Timestamp::ZERO, Timestamp::ZERO);
        loop {
            match measurement.step(now) {
                Step::Send { id, size } => {
                    free = free.max(now) + Duration::from_nanos(size.get() * 800);
                    if answers {
                        measurement.on_reply(id, free + Duration::from_millis(10));
                    }
                }
                Step::WaitUntil(at) => now = at,
                Step::Done => return measurement.report(now),
            }
        }
    }

    fn output() -> Output {
        let subject = Subject {
            target: "host".to_owned(),
            address: "192.0.2.1".to_owned(),
            protocol: "icmp",
            socket: "ping",
        };
        Output::new(
            subject,
            &Options::parse_from(["abw-ping", "host", "--json"]),
        )
    }

    #[test]
    fn json_has_the_value_in_bits_per_second() {
        let line = serde_json::to_value(output().line(&report(true))).expect("JSON");
        assert_eq!(line["target"], "host");
        assert_eq!(line["ended"], "narrow");
        let available = line["available_bps"].as_f64().expect("a value");
        assert!((available / 10e6 - 1.0).abs() < 0.01, "{line}");
        assert!(line["high_bps"].as_f64() >= line["available_bps"].as_f64());
    }

    #[test]
    fn without_a_value_the_reason_is_said() {
        let silent = report(false);
        assert!(
            summary(&silent).contains("no value: no reply came"),
            "{}",
            summary(&silent)
        );
        let line = serde_json::to_value(output().line(&silent)).expect("JSON");
        assert!(line["available_bps"].is_null());
        assert_eq!(line["ended"], "no_reply");
    }

    #[test]
    fn a_reader_that_has_seen_enough_is_no_failure() {
        let told = |kind| anyhow::Error::new(std::io::Error::from(kind)).context("cannot write");
        assert!(is_closed(&told(std::io::ErrorKind::BrokenPipe)));
        assert!(!is_closed(&told(std::io::ErrorKind::PermissionDenied)));
    }
}
