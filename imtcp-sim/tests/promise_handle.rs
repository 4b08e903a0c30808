//! A promise's handle in another thread, while a live quiche connection runs in this one.

mod common;

use common::Path;
use imtcp_cc::EstimatorKind;
use imtcp_cc::event::Event;
use imtcp_cc::promise::{Demand, Outcome, Promise, RejectedRequirement, Requirement, SlotReport};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use imtcp_sim::scenario::Scenario;
use imtcp_sim::simulation::Simulation;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const SLOT: Duration = Duration::from_secs(1);
/// The connection does not wait for the thread. Its virtual time passes many times faster than real
/// time.
const LIMIT: Duration = Duration::from_secs(900);
const STEP: Duration = Duration::from_millis(20);

fn requirement(mbps: u64) -> Requirement {
    let requirement = Requirement::new(Bandwidth::from_mbps(mbps), SLOT).expect("possible");
    requirement.demand(Demand::Exactly)
}

/// Waits until the packet path has answered.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        match look() {
            Some(seen) => return seen,
            None => thread::yield_now(),
        }
    }
}

/// Does what a server's application would do. Returns the reports that it took.
fn application(promise: &Promise) -> Vec<SlotReport> {
    let mut reports = promise.reports();
    let mut taken = Vec::new();
    for wanted in [requirement(4), requirement(2)] {
        promise.require(wanted).expect("the path has 10 Mbit/s");
        until(|| (promise.in_force() == Some(wanted)).then_some(()));
        let of_this = |report: &SlotReport| report.required == wanted.rate();
        let before = taken.len();
        while taken.len() < before + 3 {
            taken.push(until(|| reports.take().filter(of_this)));
        }
    }
    promise.withdraw();
    until(|| promise.in_force().is_none().then_some(()));
    taken
}

#[test]
fn a_thread_requires_changes_and_withdraws_while_the_connection_runs() {
    let scenario = Path::default()
        .lasting(u32::try_from(LIMIT.as_secs()).expect("small"))
        .flow("main", "imtcp", "{ kind = \"bulk\" }", "")
        .scenario();
    let mut simulation = Simulation::new(&scenario, 1).expect("a valid scenario");
    let mut now = Timestamp::from_origin(Duration::from_secs(3));
    simulation.advance(now);
    let promise = simulation.pairs()[0].promise().expect("connected by now");

    // The estimate, the capacity, and what follows from them are known by now.
    assert!(promise.estimate().is_some());
    let capacity = promise.capacity().expect("3 s of back-to-back packets");
    assert!(
        capacity.as_bps().abs_diff(10_000_000) < 500_000,
        "{capacity}"
    );
    assert!(
        promise
            .can_promise(Bandwidth::from_mbps(4), SLOT)
            .is_some_and(|p| p > 0.9)
    );
    assert!(
        promise
            .can_promise(Bandwidth::from_mbps(40), SLOT)
            .is_some_and(|p| p < 0.01)
    );
    assert!(
        promise
            .bytes_within(SLOT, 0.5)
            .is_some_and(|bytes| bytes > Bytes::new(500_000))
    );
    let too_much = promise
        .require(requirement(40))
        .expect_err("the path has 10 Mbit/s");
    assert!(
        matches!(too_much, RejectedRequirement::AbovePath { .. }),
        "{too_much}"
    );

    let ended = AtomicBool::new(false);
    let taken = thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let taken = application(&promise.clone());
            ended.store(true, Ordering::Release);
            taken
        });
        while !ended.load(Ordering::Acquire) && !asking.is_finished() {
            now = now + STEP;
            assert!(
                simulation.advance(now),
                "the thread was not answered: {:?}",
                promise.status()
            );
            thread::yield_now();
        }
        asking.join().expect("no panic")
    });
    let rates: Vec<u64> = taken
        .iter()
        .map(|r| r.required.as_bps() / 1_000_000)
        .collect();
    assert_eq!(rates, [4, 4, 4, 2, 2, 2]);
    assert!(
        taken.iter().all(|report| report.outcome == Outcome::Kept),
        "{taken:?}"
    );
    // The window was steered down from 10 Mbit/s: the last slot of each rate has it and little
    // more.
    for last in [&taken[2], &taken[5]] {
        let ratio = last.achieved.as_bps_f64() / last.required.as_bps_f64();
        assert!((1.0..1.2).contains(&ratio), "{last:?}");
    }
}

/// The times at which what the handle tells differs from what the events said last.
fn differences(scenario: &Scenario) -> Vec<Timestamp> {
    let mut simulation = Simulation::new(scenario, 1).expect("a valid scenario");
    let mut now = Timestamp::ZERO;
    let (mut last, mut different) = (None, Vec::new());
    while simulation.advance(now) {
        let pair = &simulation.pairs()[0];
        for said in pair.tap().take() {
            match said.event {
                Event::EstimateUpdated {
                    estimator: EstimatorKind::Statistical,
                    estimate,
                } => last = Some(estimate),
                Event::EstimateWithdrawn {
                    estimator: EstimatorKind::Statistical,
                } => last = None,
                _ => {}
            }
        }
        let told = pair.promise().and_then(|promise| promise.estimate());
        if told != last {
            different.push(now);
        }
        now = now + STEP;
    }
    different
}

#[test]
fn a_handle_tells_the_estimate_that_holds_and_takes_it_back_in_a_pause() {
    let chunks = "{ kind = \"chunks\", rate = \"1 Mbit/s\", period = \"4 s\" }";
    let scenario = Path::default()
        .flow("main", "imtcp", chunks, "")
        .flow("rival", "cubic", "{ kind = \"bulk\" }", "")
        .scenario();
    assert_eq!(differences(&scenario), []);
}

#[test]
fn a_flow_that_sends_little_is_told_its_share_beside_one_that_takes_everything() {
    let scenario = Path::default()
        .lasting(30)
        .flow(
            "main",
            "imtcp",
            "{ kind = \"frames\", rate = \"1 Mbit/s\", per_second = 25 }",
            "",
        )
        .flow("rival", "cubic", "{ kind = \"bulk\" }", "")
        .scenario();
    let due = Bandwidth::from_mbps(5);
    let (mut shares, mut available, mut held) = (0.0, 0.0, 0);
    for seed in 1..=8 {
        let mut simulation = Simulation::new(&scenario, seed).expect("a valid scenario");
        simulation.advance(Timestamp::from_origin(Duration::from_secs(25)));
        let promise = simulation.pairs()[0].promise().expect("connected");
        let share = promise.share().expect("known by now");
        let estimate = promise.estimate().expect("known by now");
        shares += share.rate.as_bps_f64();
        available += estimate.available.as_bps_f64();
        held += u32::from(share.low < due && share.high > due);
    }
    // The rival gives way to who asks for more. What is idle does not tell that, and neither does
    // the small window of a flow that sends little: its interval holds half of the link now and
    // then.
    assert!(shares > 1.1 * available, "{shares} and {available}");
    assert!(held >= 4, "{held} of 8 intervals hold {due}");
}
