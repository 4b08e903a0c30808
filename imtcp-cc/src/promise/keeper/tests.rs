//! A keeper from slot to slot, on paths of one state after another.

use super::*;
use crate::Config;
use crate::promise::{Cause, Outcome, SlotReport};
use std::net::Ipv4Addr;

const NETWORK: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 0));
const RTT: Duration = Duration::from_millis(40);
const PERIOD: Duration = Duration::from_secs(1);

fn at(time: Duration) -> Timestamp {
    Timestamp::from_origin(time)
}

/// 12 Mbit/s.
fn requirement() -> Requirement {
    Requirement::new(Bandwidth::from_mbps(12), PERIOD).expect("possible")
}

/// A path of 20 Mbit/s, with a window of half of its product.
fn path(now: Timestamp) -> PathState {
    PathState {
        now,
        smoothed: RTT,
        group: 1.0,
        least: RTT,
        cwnd: Bytes::new(50_000),
        in_flight: Bytes::new(50_000),
        datagram: Bytes::new(1200),
        on_wire: Bytes::new(1228),
        leaving: Bytes::new(1200),
        lost: 0.0,
        estimate: None,
        capacity: Some(Bandwidth::from_mbps(20)),
        taking: None,
        slow_start: false,
    }
}

/// A keeper of a bulk source, whose first slot has just begun.
fn keeper(bounds: Option<&Bounds>) -> Keeper {
    let mut keeper = Keeper::new(Config::default().keeper_settings());
    if let Some(bounds) = bounds {
        keeper.bounded_by(bounds, NETWORK);
    }
    keeper.requirement = Some(requirement());
    keeper.waiting_since = Some(Timestamp::ZERO);
    assert_eq!(follow(&mut keeper, Duration::ZERO), []);
    keeper
}

/// The outcomes of the slots that end at `now`.
fn follow(keeper: &mut Keeper, now: Duration) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    keeper.follow_slots(&path(at(now)), &requirement(), &mut |event| {
        if let Event::SlotEnded {
            report: SlotReport { outcome, .. },
        } = event
        {
            outcomes.push(outcome);
        }
    });
    outcomes
}

#[test]
fn what_is_missed_while_there_is_no_room_raises_nothing() {
    let bounds = Bounds::default();
    let mut first = keeper(Some(&bounds));
    let mut second = keeper(Some(&bounds));
    let fresh = second.weight.clone();
    second.own_rate = Some((Bandwidth::from_mbps(1), Timestamp::ZERO));
    for slot in 1..=3 {
        assert_eq!(follow(&mut second, slot * PERIOD), [Outcome::Missed]);
        assert!(second.share.is_refused());
    }
    first.share.give_back();
    second.settle(&path(at(3 * PERIOD)), &requirement());
    assert!(second.share.holds());
    let needed = |weight: &Weight| {
        let mut weight = weight.clone();
        weight.on_packets(150.0);
        weight.on_congestion();
        weight.needed(1000.0, 0.04)
    };
    assert_eq!(needed(&second.weight), needed(&fresh));
}

#[test]
fn a_slot_after_a_long_silence_has_none_of_the_silence() {
    let mut keeper = keeper(None);
    assert_eq!(follow(&mut keeper, 100 * PERIOD).len(), 64);
    let now = 100 * PERIOD + PERIOD / 4;
    keeper.account_until(at(now));
    let slot = keeper.evaluation.expect("one has begun");
    assert_eq!(slot.start, at(100 * PERIOD));
    assert_eq!(slot.wanting, PERIOD / 4);
}

#[test]
fn what_got_through_long_ago_says_nothing_of_the_path() {
    let mut keeper = keeper(None);
    keeper.credit(at(PERIOD), Bytes::new(1_000_000), 870.0);
    assert_eq!(follow(&mut keeper, PERIOD), [Outcome::Missed]);
    keeper.on_drained();
    let outlook = |keeper: &Keeper, after| keeper.outlook(&path(at(PERIOD + after)));
    let recent = outlook(&keeper, Duration::from_secs(4)).expect("recent enough");
    assert!(recent.available > Bandwidth::from_mbps(7), "{recent:?}");
    assert!(outlook(&keeper, Duration::from_millis(4001)).is_none());
    // A longer period has a longer memory.
    let required = Requirement::new(Bandwidth::from_mbps(12), 5 * PERIOD);
    keeper.requirement = required.ok();
    assert!(outlook(&keeper, Duration::from_secs(5)).is_some());
    keeper.on_path_left(&mut |_| {});
    assert!(outlook(&keeper, Duration::ZERO).is_none(), "another path");
}

#[test]
fn what_one_promise_carried_long_ago_is_not_carried_to_another() {
    let bounds = Bounds::default();
    let mut first = keeper(Some(&bounds));
    first.credit(at(PERIOD), Bytes::new(1_500_000), 1302.0);
    assert_eq!(follow(&mut first, PERIOD), [Outcome::Kept]);
    first.begin(None, at(PERIOD), &mut |_| {});
    first.begin(Some(requirement()), at(100 * PERIOD), &mut |_| {});
    first.waiting_since = None;
    assert_eq!(follow(&mut first, 100 * PERIOD), []);
    // Of 13 Mbit/s that the second finds free, 12 are promised to the first.
    let mut second = keeper(Some(&bounds));
    second.own_rate = Some((Bandwidth::from_mbps(13), at(100 * PERIOD)));
    second.settle(&path(at(100 * PERIOD)), &requirement());
    assert!(second.share.is_refused());
}

#[test]
fn the_time_on_another_path_is_no_way_between_losses() {
    let mut keeper = keeper(None);
    for loss in 1..=8 {
        keeper.follow_path(at(loss * 10 * RTT), RTT, None);
        keeper.on_congestion();
    }
    let length = keeper.length.next(64, 64);
    keeper.on_path_left(&mut |_| {});
    keeper.follow_path(at(1000 * PERIOD), RTT, None);
    assert_eq!(keeper.length.next(64, 64), length);
}

#[test]
fn what_waited_before_the_first_slot_does_not_count_in_it() {
    let mut keeper = Keeper::new(Config::default().keeper_settings());
    keeper.requirement = Some(requirement());
    keeper.waiting_since = Some(Timestamp::ZERO);
    assert_eq!(follow(&mut keeper, 10 * PERIOD), []);
    // The source writes for three tenths of the slot, and all of it gets through.
    let drained = at(10 * PERIOD + PERIOD * 3 / 10);
    keeper.credit(drained, Bytes::new(450_000), 390.0);
    keeper.on_waiting(drained, &mut |_| {});
    keeper.on_drained();
    assert_eq!(follow(&mut keeper, 11 * PERIOD), [Outcome::SourceLimited]);
}

#[test]
fn data_that_waits_in_a_silence_is_not_excused() {
    let mut keeper = keeper(None);
    keeper.seat = PromiseSeat::new(Some(requirement()), Mode::Standard);
    assert_eq!(keeper.seat.take_requirement(), Some(Some(requirement())));
    // Two thirds of the slot's data come early, and then nothing. The rest would need more than the
    // path has, if the silence lasts as long again.
    let last = at(PERIOD / 10);
    keeper.credit(last, Bytes::new(980_000), 850.0);
    keeper.last_path = Some(path(last));
    keeper.own_rate = Some((Bandwidth::from_mbps(20), last));
    keeper.unanswered_since = Some(last);
    keeper.on_waiting(at(PERIOD * 9 / 20), &mut |_| {});
    let cause = Cause::Silence;
    let shortfall = Bytes::new(520_000);
    assert_eq!(keeper.status, Status::AtRisk { cause, shortfall });
}

#[test]
fn a_promise_that_rests_is_broken_where_nothing_is_known_either() {
    let mut keeper = keeper(None);
    (0..2).for_each(|_| keeper.exit.on_slot(Outcome::Missed, true));
    assert!(keeper.exit.is_resting());
    keeper.look(&path(at(PERIOD / 2)), &mut |_| {});
    assert!(matches!(keeper.status, Status::Broken { .. }));
}
