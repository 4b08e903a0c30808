//! Promises in a closed loop of the core, a link and a source.

mod silence;
#[path = "../support/mod.rs"]
mod support;
mod whatever_the_path;

use imtcp_cc::event::{Event, Recorder};
use imtcp_cc::promise::{Cause, Demand, Outcome, Requirement, SlotLengthRule, SlotReport, Status};
use imtcp_cc::transport::SentPacket;
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use imtcp_cc::{Config, ImTcp, Window};
use std::sync::Arc;
use std::time::Duration;
use support::promised::{TWO_SECONDS, bulk, kept, path, require, with_source};
use support::{Climb, DATAGRAM, Path, Run};

/// The bytes of application data in a full datagram of the harness, as the promise counts them.
const GOODPUT: u64 = DATAGRAM - 48;

/// A bulk transfer over 20 Mbit/s, which begins.
fn transfer(promise: Option<Requirement>) -> Run {
    let config = Config::builder().promise(promise).build().expect("valid");
    let core = ImTcp::new(config, Bytes::new(DATAGRAM), None);
    let mut run = Run::new(core, path(20), 1);
    run.write_at(Duration::ZERO, 1 << 40);
    run
}

fn ratios(reports: &[SlotReport]) -> Vec<f64> {
    let ratio = |r: &SlotReport| r.achieved.as_bps_f64() / r.required.as_bps_f64();
    reports.iter().map(ratio).collect()
}

#[test]
fn exactly_the_rate_is_taken_of_a_path_that_has_plenty() {
    let promise = Some(require(8.0, Demand::Exactly));
    let config = Config::builder().promise(promise).build().expect("valid");
    let core = ImTcp::new(config, Bytes::new(DATAGRAM), None);
    let mut reports = core.promise().reports();
    let mut run = Run::new(core, path(40), 1);
    run.write_at(Duration::ZERO, 1 << 40);
    let mut windows = Vec::new();
    for tenth in 1..=300 {
        run.until(Duration::from_millis(100 * tenth));
        windows.push(run.core.cwnd().as_f64());
    }
    let reports: Vec<SlotReport> = std::iter::from_fn(|| reports.take()).collect();
    let ratios = ratios(&reports);
    assert!(ratios.len() >= 14, "{} slots in 30 s", ratios.len());
    assert!(
        ratios.iter().all(|ratio| (1.0..=1.05).contains(ratio)),
        "{ratios:?}"
    );
    assert_eq!(run.tally.lost, 0);
    // 8 Mbit/s of goodput need this window over 40 ms. The promise keeps twice as much, so that
    // half of the window still carries the rate.
    let needed = 8e6 / 8.0 * 0.04 * DATAGRAM as f64 / GOODPUT as f64;
    windows.sort_by(f64::total_cmp);
    let median = windows[windows.len() / 2] / needed;
    assert!((2.0..=2.2).contains(&median), "{median} of {needed}");
}

/// The median window in the second half of 30 s, while exactly 8 of 40 Mbit/s are required and
/// every so many packets are acknowledged.
fn steady_window(ack_every: u32) -> f64 {
    let promise = Some(require(8.0, Demand::Exactly));
    let config = Config::builder().promise(promise).build().expect("valid");
    let core = ImTcp::new(config, Bytes::new(DATAGRAM), None);
    let path = Path {
        ack_every,
        ..path(40)
    };
    let mut run = Run::new(core, path, 1);
    run.write_at(Duration::ZERO, 1 << 40);
    let mut windows: Vec<f64> = Vec::new();
    for tenth in 150..=300 {
        run.until(Duration::from_millis(100 * tenth));
        windows.push(run.core.cwnd().as_f64());
    }
    windows.sort_by(f64::total_cmp);
    windows[windows.len() / 2]
}

#[test]
fn a_peer_that_acknowledges_in_groups_needs_a_larger_window() {
    let (each, eighth) = (steady_window(1), steady_window(8));
    // On average half of the seven others wait with a packet, and the window has twice what is
    // needed: W / (W - 3.5).
    let packets = eighth / DATAGRAM as f64;
    let expected = packets / (packets - 3.5);
    let found = eighth / each;
    assert!(
        (found / expected - 1.0).abs() < 0.015,
        "{found}, {expected} expected"
    );
}

#[test]
fn a_window_that_had_grown_is_steered_down_to_the_rate() {
    let core = ImTcp::new(Config::default(), Bytes::new(DATAGRAM), None);
    let handle = core.promise();
    let mut reports = handle.reports();
    let mut run = Run::new(core, path(40), 2);
    run.write_at(Duration::ZERO, 1 << 40);
    run.until(Duration::from_secs(10));
    let grown = run.core.cwnd();
    assert_eq!(handle.status(), Status::Idle);
    handle
        .require(require(8.0, Demand::Exactly))
        .expect("there is room");
    run.until(Duration::from_secs(22));
    assert!(
        run.core.cwnd().get() * 3 < grown.get(),
        "{} after {grown}",
        run.core.cwnd()
    );
    assert_eq!(handle.status(), Status::Kept);
    let achieved: Vec<SlotReport> = std::iter::from_fn(|| reports.take()).collect();
    assert!(achieved.len() >= 5, "{}", achieved.len());
    let last = ratios(&achieved).pop().expect("some");
    assert!((1.0..=1.05).contains(&last), "{last}");
    handle.withdraw();
    run.until(Duration::from_secs(40));
    assert_eq!(handle.status(), Status::Idle);
    assert!(
        run.core.cwnd().get() * 2 > grown.get(),
        "free again, it grows: {}",
        run.core.cwnd()
    );
}

#[test]
fn who_waits_for_the_status_is_told_that_a_withdrawal_ended_a_warning() {
    let core = ImTcp::new(Config::default(), Bytes::new(DATAGRAM), None);
    let handle = core.promise();
    let mut changes = handle.status_changes();
    let crowded = Path {
        cross: Bandwidth::from_mbps(15),
        ..path(20)
    };
    let mut run = Run::new(core, crowded, 2);
    run.write_at(Duration::ZERO, 1 << 40);
    run.until(TWO_SECONDS);
    handle
        .require(require(4.0, Demand::AtLeast))
        .expect("there is room");
    run.until(Duration::from_secs(10));
    assert_eq!(changes.take(), Some(Status::Kept));
    handle
        .require(require(3.0, Demand::AtLeast))
        .expect("there is room");
    run.until(Duration::from_secs(11));
    assert_eq!(changes.take(), None, "kept as before");
    handle
        .require(require(9.0, Demand::AtLeast))
        .expect("the ceiling allows it");
    run.until(Duration::from_secs(30));
    let warning = changes.take().expect("the others do not yield");
    assert!(warning.is_warning(), "{warning:?}");
    handle.withdraw();
    run.until(Duration::from_secs(31));
    assert_eq!(changes.take(), Some(Status::Idle));
}

#[test]
fn nothing_is_said_where_nothing_is_required() {
    let recorder = Arc::new(Recorder::default());
    let core = ImTcp::new(
        Config::default(),
        Bytes::new(DATAGRAM),
        Some(recorder.clone()),
    );
    let mut run = Run::new(core, path(20), 1);
    run.write_at(Duration::ZERO, 1 << 40);
    run.until(TWO_SECONDS);
    let events = recorder.take();
    assert!(!events.is_empty());
    let of_promise = |event: &Event| {
        matches!(
            event,
            Event::PromiseChanged { .. }
                | Event::SlotEnded { .. }
                | Event::PromiseStatusChanged { .. }
        )
    };
    assert!(!events.iter().any(|(_, event)| of_promise(event)));
}

#[test]
fn at_least_the_rate_leaves_the_rest_to_reno() {
    let free = bulk(path(20), Config::builder(), 30, 3).run.tally.delivered;
    let requirement = require(8.0, Demand::AtLeast);
    let promised = bulk(
        path(20),
        Config::builder().promise(Some(requirement)),
        30,
        3,
    );
    let share = promised.run.tally.delivered as f64 / free as f64;
    assert!(share > 0.97, "{share} of what it would have carried");
    assert!(promised.reports.iter().all(|r| r.outcome == Outcome::Kept));
}

/// The usual margin is too small here. Without its allowance a source that wants no more has 430
/// of these 708 slots.
#[test]
fn a_source_that_wants_no_more_has_a_larger_margin_where_slots_are_missed() {
    let lossy = Path {
        loss: 0.15,
        ..path(40)
    };
    let slots = (5..17).flat_map(|seed| {
        let requirement = Some(require(0.5, Demand::Exactly));
        bulk(
            lossy.clone(),
            Config::builder().promise(requirement),
            120,
            seed,
        )
        .reports
    });
    let ratios = ratios(&slots.collect::<Vec<_>>());
    let kept = ratios.iter().filter(|ratio| **ratio >= 1.0).count();
    assert!(kept * 4 >= ratios.len() * 3, "{kept} of {}", ratios.len());
}

/// Packets are lost without congestion. Each loss halves the window of Reno, which cannot hold the
/// rate.
#[test]
fn a_lossy_path_with_room_gives_the_rate_that_reno_misses() {
    let lossy = Path {
        loss: 0.01,
        ..path(40)
    };
    let requirement = require(8.0, Demand::AtLeast);
    let reno = Config::builder().window(Window::Reno);
    let free = bulk(lossy.clone(), reno, 60, 4);
    let mbps = free.run.tally.delivered as f64 * 8.0 / 60e6;
    assert!(mbps < 6.0, "Reno: {mbps} Mbit/s");
    for window in [Window::Reno, Window::Cubic] {
        let config = Config::builder().window(window);
        let config = config.promise(Some(requirement));
        let reports = bulk(lossy.clone(), config, 60, 4).reports;
        let kept = reports
            .iter()
            .filter(|r| r.outcome == Outcome::Kept)
            .count();
        assert!(
            kept * 10 >= reports.len() * 8,
            "{window:?}: {kept} of {:?}",
            ratios(&reports)
        );
    }
}

#[test]
fn what_the_path_cannot_carry_is_said_in_the_first_half_of_the_slot() {
    let requirement = require(8.0, Demand::AtLeast);
    let outcomes = bulk(path(6), Config::builder().promise(Some(requirement)), 40, 5);
    let missed: Vec<&SlotReport> = outcomes
        .reports
        .iter()
        .filter(|r| r.outcome == Outcome::Missed)
        .collect();
    assert_eq!(missed.len(), outcomes.reports.len());
    let in_time = missed
        .iter()
        .filter(|r| {
            r.warned
                .is_some_and(|at| at.saturating_since(r.start) <= TWO_SECONDS / 2)
        })
        .count();
    assert_eq!(in_time, missed.len(), "{missed:?}");
    assert!(matches!(
        outcomes.run.core.promise().status(),
        Status::AtRisk { .. } | Status::Broken { .. }
    ));
}

#[test]
fn a_source_slower_than_its_promise_breaks_nothing_and_the_path_is_known_all_the_same() {
    // 30 frames of 8 kB a second make 2 Mbit/s. The promise is 5 Mbit/s, and the path carries 50.
    let requirement = require(5.0, Demand::Exactly);
    let outcomes = with_source(
        path(50),
        Config::builder().promise(Some(requirement)),
        20,
        6,
        |run| {
            for frame in 0..600u64 {
                run.write_at(Duration::from_micros(frame * 33_333), 8_000);
            }
        },
    );
    assert!(outcomes.reports.len() >= 9);
    assert!(
        outcomes
            .reports
            .iter()
            .all(|r| r.outcome == Outcome::SourceLimited),
        "{:?}",
        outcomes.reports
    );
    let handle = outcomes.run.core.promise();
    assert_eq!(handle.status(), Status::Kept);
    let could = handle
        .can_promise(Bandwidth::from_mbps(20), TWO_SECONDS)
        .expect("known");
    assert!(could > 0.9, "{could}");
    let cannot = handle
        .can_promise(Bandwidth::from_mbps(60), TWO_SECONDS)
        .expect("known");
    assert!(cannot < 0.01, "{cannot}");
    // Nine tenths of 50 Mbit/s over two seconds are 11 MB, from which headers are taken off.
    let bytes = handle.bytes_within(TWO_SECONDS, 0.9).expect("known").get();
    assert!((6_000_000..12_500_000).contains(&bytes), "{bytes}");
}

#[test]
fn chunks_are_not_sent_faster_than_promised() {
    // Every 4 s the source writes 4 s of video at 3.3 Mbit/s. Paced at the promised 4 Mbit/s, such
    // a chunk takes most of the 4 s.
    let requirement = require(4.0, Demand::Exactly);
    let outcomes = with_source(
        path(40),
        Config::builder().promise(Some(requirement)),
        41,
        7,
        |run| {
            for chunk in 0..10u64 {
                run.write_at(Duration::from_secs(4 * chunk), 1_650_000);
            }
        },
    );
    assert!(
        outcomes.reports.iter().all(|r| r.outcome.is_kept()),
        "{:?}",
        outcomes.reports
    );
    let fastest = ratios(&outcomes.reports).into_iter().fold(0.0, f64::max);
    assert!(fastest <= 1.05, "{:?}", ratios(&outcomes.reports));
    assert_eq!(outcomes.run.tally.delivered, 16_500_000);
}

#[test]
fn the_control_slot_rests_on_a_steady_path() {
    let requirement = require(8.0, Demand::Exactly);
    let outcomes = bulk(
        path(40),
        Config::builder().promise(Some(requirement)),
        60,
        8,
    );
    let settled = &outcomes.lengths[outcomes.lengths.len() / 3..];
    let least = settled.iter().min().expect("some");
    let most = settled.iter().max().expect("some");
    assert!(most - least <= 2, "{settled:?}");
}

/// A requirement that another thread sets during the run is in force at the next acknowledgement.
#[test]
fn a_handle_is_used_from_another_thread_while_packets_flow() {
    let core = ImTcp::new(Config::default(), Bytes::new(DATAGRAM), None);
    let handle = core.promise();
    let mut run = Run::new(core, path(40), 9);
    run.write_at(Duration::ZERO, 1 << 40);
    std::thread::scope(|scope| {
        let application = scope.spawn(move || {
            let mut reports = handle.reports();
            let mut kept = 0;
            let mut asked = false;
            while kept < 3 {
                if !asked && handle.estimate().is_some() && handle.capacity().is_some() {
                    handle.require(require(8.0, Demand::AtLeast)).expect("room");
                    asked = true;
                }
                match reports.take() {
                    Some(report) => kept += u32::from(report.outcome == Outcome::Kept),
                    None => std::thread::yield_now(),
                }
            }
        });
        let mut until = Duration::ZERO;
        while !application.is_finished() && until < Duration::from_secs(600) {
            until += Duration::from_millis(100);
            run.until(until);
        }
        application.join().expect("three slots kept");
    });
    assert!(run.now > Timestamp::ZERO);
}

#[test]
fn slots_from_loss_to_loss_keep_more_than_halved_and_doubled_ones() {
    let lossy = Path {
        loss: 0.01,
        ..path(40)
    };
    let (ours, all) = kept(&lossy, SlotLengthRule::LossIntervals, 8.0, 200..206);
    let (papers, _) = kept(&lossy, SlotLengthRule::Doubling, 8.0, 200..206);
    assert!(ours > papers, "{ours} and {papers} of {all}");
    assert!(ours * 100 >= all * 99, "{ours} of {all}");
}

#[test]
fn who_requires_the_same_again_begins_no_slot() {
    let required = require(8.0, Demand::AtLeast);
    let mut run = transfer(Some(required));
    let handle = run.core.promise();
    let mut reports = handle.reports();
    for second in 1..=11 {
        run.until(Duration::from_secs(second));
        handle.require(required).expect("the path has it");
    }
    // Slots of two seconds would never end.
    let ended = std::iter::from_fn(|| reports.take()).count();
    assert_eq!(ended, 5);
}
