//! Promises of several controllers that share the bounds of a path, each in a loop of its own.

mod support;

use imtcp_cc::event::{Event, Recorder};
use imtcp_cc::promise::{Bounds, Cause, Demand, Outcome, Promise, Status};
use imtcp_cc::units::{Bandwidth, Bytes};
use imtcp_cc::{Config, ImTcp};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use support::promised::{path, require};
use support::{DATAGRAM, Path, Run};

const NETWORK: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 0));

/// A bulk source.
fn bulk(core: ImTcp, path: Path, seed: u64) -> Run {
    let mut run = Run::new(core, path, seed);
    run.write_at(Duration::ZERO, 1 << 40);
    run
}

fn core(bounds: &Bounds) -> ImTcp {
    let core = ImTcp::new(Config::default(), Bytes::new(DATAGRAM), None);
    core.bounded_by(bounds, NETWORK)
}

/// Of 20 Mbit/s, 15 are of others that do not yield.
fn crowded() -> Path {
    Path {
        cross: Bandwidth::from_mbps(15),
        ..path(20)
    }
}

/// Two runs go on together, from one second to another.
fn both(runs: &mut [Run; 2], seconds: std::ops::Range<u64>) {
    for step in seconds.start * 100..seconds.end * 100 {
        let next = Duration::from_millis(10 * (step + 1));
        runs.iter_mut().for_each(|run| run.until(next));
    }
}

/// Two runs and their promises, after 7 s. The first requires 8 Mbit/s, and there is no room for
/// the second's 4.
fn with_the_second_refused() -> ([Run; 2], [Promise; 2]) {
    let bounds = Bounds::default();
    let mut runs = [1, 2].map(|seed| bulk(core(&bounds), crowded(), seed));
    let promises = [&runs[0], &runs[1]].map(|run| run.core.promise());
    let [one, two] = &promises;
    both(&mut runs, 0..5);
    one.require(require(8.0, Demand::AtLeast))
        .expect("possible");
    both(&mut runs, 5..6);
    // The first has 5 of its 8. The second could have 4, but the 3 that the first lacks come first.
    two.require(require(4.0, Demand::AtLeast))
        .expect("possible");
    both(&mut runs, 6..7);
    assert!(is_refused(two), "{:?}", two.status());
    (runs, promises)
}

fn is_refused(promise: &Promise) -> bool {
    matches!(promise.status(), Status::Broken { cause, .. } if cause == Cause::Ceiling)
}

#[test]
fn alone_a_promise_does_what_it_does_without_bounds() {
    let events = |bounds: Option<&Bounds>, mbps| {
        let recorder = Arc::new(Recorder::default());
        let promise = Some(require(mbps, Demand::AtLeast));
        let config = Config::builder().promise(promise).build().expect("valid");
        let core = ImTcp::new(config, Bytes::new(DATAGRAM), Some(recorder.clone()));
        let core = match bounds {
            Some(bounds) => core.bounded_by(bounds, NETWORK),
            None => core,
        };
        bulk(core, crowded(), 3).until(Duration::from_secs(40));
        recorder.take()
    };
    // The second is more than the path carries: it rests, and tries again.
    for mbps in [4.0, 14.0] {
        let alone = events(Some(&Bounds::default()), mbps);
        let ended = |(_, event): &(_, Event)| matches!(event, Event::SlotEnded { .. });
        assert!(alone.iter().filter(|event| ended(event)).count() >= 18);
        assert_eq!(alone, events(None, mbps));
    }
}

#[test]
fn who_does_not_fit_is_told_and_served_when_the_first_withdraws() {
    let (mut runs, [one, two]) = with_the_second_refused();
    // What the first leaves of the ceiling's 10 Mbit/s is said as well.
    let reach = two.outlook().map(|outlook| outlook.reach());
    assert!(reach.is_some_and(|reach| reach < Bandwidth::from_mbps(8)));
    one.withdraw();
    both(&mut runs, 7..12);
    assert_eq!(two.status(), Status::Kept);
}

#[test]
fn who_does_not_fit_and_withdraws_is_told_of_the_whole_ceiling_again() {
    let (mut runs, [_, two]) = with_the_second_refused();
    two.withdraw();
    both(&mut runs, 7..8);
    // Half of the capacity of 20 Mbit/s, less headers.
    let reach = two.outlook().map(|outlook| outlook.reach());
    assert!(reach.is_some_and(|reach| reach > Bandwidth::from_mbps(9)));
}

#[test]
fn connections_of_one_network_that_have_enough_do_not_exclude_each_other() {
    // Each has 20 Mbit/s to itself, and both together require 32.
    let bounds = Bounds::default();
    let mut runs = [1, 2].map(|seed| bulk(core(&bounds), path(20), seed));
    let promises = [&runs[0], &runs[1]].map(|run| run.core.promise());
    both(&mut runs, 0..5);
    let mut reports = promises.each_ref().map(Promise::reports);
    for promise in &promises {
        let required = require(16.0, Demand::AtLeast);
        promise.require(required).expect("possible");
    }
    both(&mut runs, 5..30);
    for reports in &mut reports {
        let outcomes: Vec<_> = std::iter::from_fn(|| reports.take()).collect();
        assert!(outcomes.len() >= 11, "{outcomes:?}");
        assert!(outcomes.iter().all(|slot| slot.outcome == Outcome::Kept));
    }
}
