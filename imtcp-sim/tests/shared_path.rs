//! Promises of one server over one path share its bounds: on real quiche endpoints.

use imtcp_cc::event::Event;
use imtcp_cc::promise::{Cause, PromiseLaw, Status};
use imtcp_cc::units::Timestamp;
use imtcp_cc::{Config, Window};
use imtcp_sim::result::{FlowResult, RunResult};
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;
use std::ops::RangeInclusive;
use std::time::Duration;

const SEEDS: RangeInclusive<u64> = 1..=3;
/// The period of these promises.
const SLOT: Duration = Duration::from_secs(2);
const FIRST: &str = "main-1";
const LATER: [&str; 2] = ["main-2", "main-3"];

/// Three promises of 12 of 30 Mbit/s beside four flows of CUBIC. `change` is made to the scenario.
fn hopeless(seed: u64, change: impl FnOnce(&mut Scenario)) -> RunResult {
    let mut scenario = Scenario::load("hopeless", &[]).unwrap_or_else(|error| panic!("{error}"));
    change(&mut scenario);
    let result = scenario.run(seed, RunOptions::default());
    result.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

/// The same with a process for each promise, so that none knows of another.
fn apart(scenario: &mut Scenario) {
    for flow in &mut scenario.flows {
        flow.process = None;
    }
}

fn flow<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    result.flow(name).expect("the flow is in the result")
}

/// The slots that were kept, of those that count: without the first seconds.
fn kept(result: &RunResult, name: &str) -> Vec<bool> {
    let promise = flow(result, name).promise.as_ref().expect("it is promised");
    promise.slots.iter().map(|slot| slot.kept).collect()
}

/// The changes of the status, by the time since the connection began.
fn statuses(result: &RunResult, name: &str) -> Vec<(Timestamp, Status)> {
    let status = |said: &imtcp_sim::endpoint::Said| match said.event {
        Event::PromiseStatusChanged { status } => Some((said.at, status)),
        _ => None,
    };
    flow(result, name)
        .events
        .iter()
        .filter_map(status)
        .collect()
}

fn is_refused(status: Status) -> bool {
    matches!(status, Status::Broken { cause, .. } if cause == Cause::Ceiling)
}

/// The share of packets lost by all promising flows together.
fn lost(result: &RunResult) -> f64 {
    let promising = || result.flows.iter().filter(|flow| flow.promise.is_some());
    let lost: u64 = promising().map(|flow| flow.lost_packets).sum();
    let sent: u64 = promising().map(|flow| flow.sent_packets).sum();
    lost as f64 / sent as f64
}

/// What rivals have of what is left to the six other flows beside the first one.
fn of_left(result: &RunResult) -> f64 {
    // 1350 bytes of UDP payload carry 1302 of data, and take 1378 of the link.
    let link = 30e6 * 1302.0 / 1378.0;
    let left = (link - flow(result, FIRST).goodput_bps as f64) / 6.0;
    let rivals = result.flows.iter().filter(|flow| flow.promise.is_none());
    let had: Vec<f64> = rivals.map(|flow| flow.goodput_bps as f64).collect();
    had.iter().sum::<f64>() / had.len() as f64 / left
}

#[test]
fn the_first_is_kept_and_the_others_are_told_in_their_first_slot() {
    for seed in SEEDS {
        let result = hopeless(seed, |_| {});
        let first = kept(&result, FIRST);
        let good = first.iter().filter(|kept| **kept).count();
        assert!(good * 100 >= first.len() * 97, "seed {seed}: {first:?}");
        for name in LATER {
            let told = statuses(&result, name);
            let refused = told.iter().find(|(_, status)| is_refused(*status));
            let (at, _) = refused.unwrap_or_else(|| panic!("seed {seed}, {name}: {told:?}"));
            assert!(
                *at < Timestamp::ZERO + SLOT,
                "seed {seed}, {name}: {told:?}"
            );
            // It is told once, and nothing else from then on.
            assert!(told.last().is_some_and(|(_, last)| is_refused(*last)));
        }
        let left = of_left(&result);
        assert!(
            left >= 0.95,
            "seed {seed}: rivals have {left} of what is left"
        );
    }
}

#[test]
fn promises_that_do_not_know_of_each_other_fail_but_for_one_and_lose_more() {
    for seed in SEEDS {
        let (shared, alone) = (hopeless(seed, |_| {}), hopeless(seed, apart));
        // If the others give up in time, one may find room.
        let slots: Vec<_> = LATER
            .into_iter()
            .chain([FIRST])
            .map(|name| kept(&alone, name))
            .collect();
        let lucky = slots.iter().filter(|slots| slots.contains(&true)).count();
        assert!(lucky <= 1, "seed {seed}: {slots:?}");
        let (shared, alone) = (lost(&shared), lost(&alone));
        assert!(shared * 1.5 < alone, "seed {seed}: {shared}, {alone} apart");
    }
}

/// Whether the promise was given up for as long as the shortest rest.
fn rested(result: &RunResult, name: &str) -> bool {
    let said = statuses(result, name);
    said.windows(2).any(|pair| {
        let broken = matches!(pair[0].1, Status::Broken { .. });
        broken && pair[1].0.saturating_since(pair[0].0) > 7 * SLOT
    })
}

#[test]
fn the_papers_law_never_rests_and_loses_more() {
    let by = |law: PromiseLaw| {
        hopeless(1, |scenario| {
            apart(scenario);
            for flow in &mut scenario.flows {
                let promise = flow.imtcp.promise();
                let config = Config::builder().promise(promise).promise_law(law);
                flow.imtcp = config.window(Window::Reno).build().expect("valid");
            }
        })
    };
    let (ours, paper) = (by(PromiseLaw::Proportional), by(PromiseLaw::Paper));
    for name in LATER.into_iter().chain([FIRST]) {
        assert!(rested(&ours, name) && !rested(&paper, name), "{name}");
    }
    let (ours, paper) = (lost(&ours), lost(&paper));
    assert!(ours < paper, "{ours} {paper}");
}

#[test]
fn who_leaves_makes_room_for_another() {
    let leaves = Timestamp::ZERO + Duration::from_secs(21);
    let result = hopeless(1, |scenario| {
        let first = scenario.flows.iter_mut().find(|flow| flow.name == FIRST);
        first.expect("it is there").stop = Some(leaves);
    });
    // From 31 s on there was time to get the rate.
    let late = LATER.map(|name| {
        let promise = flow(&result, name).promise.as_ref();
        let slots = promise.expect("it is promised").slots.iter();
        let late: Vec<bool> = slots
            .filter(|slot| slot.t_s > 31.0)
            .map(|slot| slot.kept)
            .collect();
        assert!(late.len() >= 10, "{late:?}");
        late.iter().filter(|kept| **kept).count() as f64 / late.len() as f64
    });
    let (most, least) = (late[0].max(late[1]), late[0].min(late[1]));
    assert!(most >= 0.95 && least == 0.0, "{late:?}");
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = || hopeless(1, |scenario| scenario.duration = Duration::from_secs(11));
    let (one, other) = (run(), run());
    for (one, other) in one.flows.iter().zip(&other.flows) {
        assert_eq!(one.events, other.events, "{}", one.name);
    }
}
