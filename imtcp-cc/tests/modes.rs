//! Modes in a closed loop of the core, a link and a source: switched while packets flow.

mod support;

use imtcp_cc::event::{Event, Recorder};
use imtcp_cc::promise::Demand;
use imtcp_cc::units::{Bandwidth, Bytes};
use imtcp_cc::{Config, ImTcp, Mode};
use std::sync::Arc;
use std::time::Duration;
use support::promised::{path, require};
use support::{DATAGRAM, HEADERS, Run};

/// A bulk transfer over 40 Mbit/s, of which 10 Mbit/s are taken by others.
fn run_with(config: Config, recorder: &Arc<Recorder>) -> Run {
    let core = ImTcp::new(config, Bytes::new(DATAGRAM), Some(recorder.clone()));
    let path = support::Path {
        cross: Bandwidth::from_mbps(10),
        ..path(40)
    };
    let mut run = Run::new(core, path, 1);
    run.write_at(Duration::ZERO, 1 << 40);
    run
}

/// The rate that was delivered in the next seconds, on the wire, in Mbit/s.
fn rate_over(run: &mut Run, from: u64, to: u64) -> f64 {
    run.until(Duration::from_secs(from));
    let before = run.tally.delivered;
    run.until(Duration::from_secs(to));
    let packets = (run.tally.delivered - before) / DATAGRAM;
    (packets * (DATAGRAM + HEADERS) * 8) as f64 / (to - from) as f64 / 1e6
}

#[test]
fn a_live_connection_goes_to_the_background_and_comes_back() {
    let recorder = Arc::new(Recorder::default());
    let mut run = run_with(Config::default(), &recorder);
    let handle = run.core.promise();
    let standard = rate_over(&mut run, 5, 10);
    handle
        .set_mode(Mode::Background { share: 0.5 })
        .expect("within its range");
    assert_eq!(handle.mode(), Mode::Background { share: 0.5 });
    // Half of the 30 Mbit/s that others leave.
    let behind = rate_over(&mut run, 15, 25);
    handle
        .set_mode(Mode::Standard)
        .expect("it has no parameter");
    let again = rate_over(&mut run, 30, 35);
    assert!(standard >= 29.0 && again >= 29.0, "{standard}, {again}");
    assert!((12.0..=15.5).contains(&behind), "{behind}");
    let changes: Vec<_> = recorder
        .take()
        .into_iter()
        .filter_map(|(_, event)| match event {
            Event::ModeChanged { mode } => Some(mode.name()),
            _ => None,
        })
        .collect();
    assert_eq!(changes, ["background", "standard"]);
}

#[test]
fn a_promise_goes_before_the_mode_and_the_mode_comes_back_after_it() {
    let recorder = Arc::new(Recorder::default());
    let config = Config::builder().mode(Mode::Background { share: 0.2 });
    let mut run = run_with(config.build().expect("valid"), &recorder);
    let handle = run.core.promise();
    let behind = rate_over(&mut run, 5, 10);
    handle
        .require(require(16.0, Demand::AtLeast))
        .expect("possible");
    let promised = rate_over(&mut run, 15, 25);
    handle.withdraw();
    let again = rate_over(&mut run, 30, 40);
    assert!(promised >= 16.0, "{promised}");
    for rate in [behind, again] {
        assert!((4.0..=6.5).contains(&rate), "{behind}, {again}");
    }
}

#[test]
fn the_mode_hears_nothing_of_a_congestion_while_a_rate_is_required() {
    let recorder = Arc::new(Recorder::default());
    let config = Config::builder().mode(Mode::Background { share: 0.5 });
    let mut run = run_with(config.build().expect("valid"), &recorder);
    let rate = |run: &Run| run.core.pacing_rate().expect("it has begun").as_bps_f64();
    run.until(Duration::from_secs(10));
    let before = rate(&run);
    let handle = run.core.promise();
    let required = require(12.0, Demand::Exactly);
    handle.require(required).expect("possible");
    run.until(Duration::from_secs(14));
    let now = run.now;
    run.core.on_congestion_experienced(now, now);
    run.until(Duration::from_secs(18));
    handle.withdraw();
    for ms in 18_010..18_200 {
        run.until(Duration::from_millis(ms));
        let after = rate(&run);
        assert!(after >= 0.8 * before, "at {ms} ms {after} of {before}");
    }
}

#[test]
fn after_a_promise_the_background_begins_anew() {
    let config = Config::builder().mode(Mode::BACKGROUND);
    let core = ImTcp::new(config.build().expect("valid"), Bytes::new(DATAGRAM), None);
    let handle = core.promise();
    let mut run = Run::new(core, path(40), 1);
    run.write_at(Duration::ZERO, 1 << 40);
    let alone = rate_over(&mut run, 5, 10);
    assert!(alone > 30.0, "{alone}");
    handle
        .require(require(2.0, Demand::Exactly))
        .expect("possible");
    let promised = rate_over(&mut run, 15, 25);
    assert!(promised < 3.0, "{promised}");
    handle.withdraw();
    // The path's state of fifteen seconds ago is no reason for a rate. The window carries about
    // twice what was promised.
    run.until(Duration::from_millis(25_060));
    let rate = run.core.pacing_rate().expect("measured");
    assert!(rate < Bandwidth::from_mbps(10), "{rate}");
    let again = rate_over(&mut run, 30, 35);
    assert!(again > 30.0, "{again}");
}

#[test]
fn a_parameter_out_of_its_range_leaves_the_mode_as_it_was() {
    let recorder = Arc::new(Recorder::default());
    let run = run_with(Config::default(), &recorder);
    let handle = run.core.promise();
    let error = handle.set_mode(Mode::Background { share: 0.0 });
    let text = "the share of mode background is 0; it must be above 0 and at most 1";
    assert_eq!(error.expect_err("nothing").to_string(), text);
    assert_eq!(handle.mode(), Mode::Standard);
    let error = Config::builder()
        .mode(Mode::FullSpeed { growth: 0.0 })
        .build();
    let text = "mode is 0; it must be 1 to 1000";
    assert_eq!(error.expect_err("too small").to_string(), text);
}

#[test]
fn a_peer_that_lies_about_delays_cannot_crash_a_mode_or_stall_it() {
    for mode in [Mode::BACKGROUND, Mode::FULL_SPEED] {
        let recorder = Arc::new(Recorder::default());
        let config = Config::builder().mode(mode).build().expect("valid");
        let mut run = run_with(config, &recorder);
        run.says = Some(|_, _| (Duration::MAX, None));
        let rate = rate_over(&mut run, 5, 10);
        // Who says that nothing ever waits hides its queue, and gets no more than the link.
        assert!((0.05..=40.0).contains(&rate), "{mode}: {rate}");
    }
}
