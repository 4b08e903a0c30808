//! Everything that a controller says in a few scenarios, line by line.
//!
//! A change that is meant to change nothing leaves these files as they are. Where one is meant to
//! change something, `UPDATE_EXPECT=1 cargo test -p imtcp-sim --test event_logs` writes them anew,
//! and the message of the commit says in a sentence for each file why it moved.

use expect_test::{ExpectFile, expect_file};
use imtcp_cc::event::Event;
use imtcp_cc::units::Timestamp;
use imtcp_cc::{Estimate, EstimatorKind};
use imtcp_sim::result::FlowResult;
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;
use std::fmt::Write;

fn seconds(time: Timestamp) -> String {
    format!("{:10.6}", time.as_secs_f64())
}

fn estimate(kind: EstimatorKind, estimate: &Estimate) -> String {
    let Estimate {
        available,
        low,
        high,
        window,
        flags,
        ..
    } = estimate;
    let flags = [
        (flags.application_limited, " application-limited"),
        (flags.aggregated_acks, " aggregated"),
        (flags.out_of_range, " out-of-range"),
        (flags.changed, " changed"),
    ];
    let flags: String = flags
        .iter()
        .filter(|flag| flag.0)
        .map(|flag| flag.1)
        .collect();
    let [available, low, high] = [available, low, high].map(|rate| rate.as_bps());
    let window = window.as_secs_f64();
    format!("estimate {kind} {available} [{low}, {high}] over {window:.6}{flags}")
}

fn text(event: &Event) -> String {
    match event {
        Event::MeasurementStarted {
            measurement,
            low,
            high,
        } => format!(
            "measurement {measurement} from {} to {}",
            low.as_bps(),
            high.as_bps()
        ),
        Event::StreamStarted {
            measurement,
            stream,
            waited,
            limit,
        } => format!("stream {measurement}.{stream} waited {waited:?} of {limit:?}"),
        Event::StreamAbandoned {
            measurement,
            stream,
            sent,
        } => format!("stream {measurement}.{stream} abandoned after {sent}"),
        Event::StreamJudged {
            measurement,
            stream,
            trend,
        } => format!("stream {measurement}.{stream} trend {trend:+}"),
        Event::MeasurementCompleted { measurement } => format!("measurement {measurement} done"),
        Event::MeasurementAbandoned { measurement } => {
            format!("measurement {measurement} abandoned")
        }
        Event::EstimateUpdated {
            estimator,
            estimate: value,
        } => estimate(*estimator, value),
        Event::EstimateWithdrawn { estimator } => format!("estimate {estimator} withdrawn"),
        Event::CapacityUpdated { capacity } => format!("capacity {}", capacity.as_bps()),
        Event::ControlSlotStarted {
            target,
            round_trips,
        } => format!("control slot {} over {round_trips}", target.as_bps()),
        Event::SlotEnded { report } => format!(
            "slot {} {:?} {} of {} warned {:?}",
            report.index,
            report.outcome,
            report.achieved.as_bps(),
            report.required.as_bps(),
            report.warned.map(Timestamp::as_secs_f64)
        ),
        Event::PromiseStatusChanged { status } => format!("status {status:?}"),
        Event::ModeChanged { mode } => format!("mode {mode}"),
        Event::PromiseChanged { requirement } => format!("requirement {requirement:?}"),
        _ => format!("{event:?}"),
    }
}

/// The events of a flow, and its window, round trip and progress once a second.
fn log(flow: &FlowResult) -> String {
    let mut lines: Vec<(Timestamp, String)> = flow
        .events
        .iter()
        .map(|said| (said.now, text(&said.event)))
        .collect();
    let mut second = 0;
    for state in &flow.snapshots {
        if state.at.as_nanos() / 1_000_000_000 < second {
            continue;
        }
        second += 1;
        let line = format!(
            "# window {} round trip {:.3} ms delivered {} lost {}",
            state.window, state.smoothed_rtt_ms, state.delivered, state.lost
        );
        lines.push((state.at, line));
    }
    lines.sort_by_key(|(at, _)| *at);
    let mut log = String::new();
    for (at, line) in lines {
        writeln!(log, "{} {line}", seconds(at)).expect("a string takes everything");
    }
    log
}

fn check(name: &str, settings: &[(&str, &str)], expected: ExpectFile) {
    let settings: Vec<_> = settings
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load(name, &settings).expect("it is built in");
    let result = scenario.run(1, RunOptions::default());
    let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
    expected.assert_eq(&log(result.flow("main").expect("there")));
}

#[test]
fn datagrams_on_the_papers_path() {
    let expected = expect_file!["event_logs/datagrams.txt"];
    check("a1", &[("duration", "8 s")], expected);
}

#[test]
fn frames_with_probe_streams() {
    let expected = expect_file!["event_logs/frames.txt"];
    check("m1-frames-50-rtt20", &[("duration", "8 s")], expected);
}

#[test]
fn the_papers_own_driver() {
    let settings = [
        ("duration", "3 s"),
        ("flow.main.imtcp.estimator", "classic"),
        ("flow.main.imtcp.window", "reno"),
    ];
    let expected = expect_file!["event_logs/classic.txt"];
    check("m0-poisson-20", &settings, expected);
}

#[test]
fn a_promise_while_rivals_join() {
    let expected = expect_file!["event_logs/promise.txt"];
    check("demo-promise", &[("duration", "14 s")], expected);
}

#[test]
fn bulk_on_a_busy_host() {
    let expected = expect_file!["event_logs/host.txt"];
    check("host-path-both", &[("duration", "6 s")], expected);
}
