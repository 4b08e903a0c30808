//! A keeper from slot to slot, on paths of one state after another.

use super::*;
use crate::Config;
use crate::event::Event;
use crate::promise::{Cause, Demand, Outcome, SlotReport};
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
    lose_every_ten_round_trips(&mut keeper);
    let length = keeper.length.next(64, 64);
    keeper.on_path_left(&mut |_| {});
    answer(&mut keeper, 1000 * PERIOD, None);
    assert_eq!(keeper.length.next(64, 64), length);
}

/// An acknowledgement comes, and other packets are in flight.
fn answer(keeper: &mut Keeper, now: Duration, estimate: Option<&Estimate>) {
    let awaited = keeper.answers.on_ack(at(now), true, RTT);
    keeper.follow_path(awaited, RTT, estimate);
}

fn lose_every_ten_round_trips(keeper: &mut Keeper) {
    for loss in 0..=8 {
        answer(keeper, loss * 10 * RTT, None);
        keeper.on_congestion();
    }
}

#[test]
fn a_pause_is_no_way_between_losses() {
    let mut keeper = keeper(None);
    lose_every_ten_round_trips(&mut keeper);
    let length = keeper.length.next(64, 64);
    keeper.answers.on_ack(at(81 * RTT), false, RTT);
    keeper.answers.on_sent(at(1000 * PERIOD));
    answer(&mut keeper, 1000 * PERIOD + RTT, None);
    assert_eq!(keeper.length.next(64, 64), length);
}

#[test]
fn what_changed_over_a_pause_is_no_change_from_window_to_window() {
    let estimate = |mbps, seconds: u32| Estimate {
        available: Bandwidth::from_mbps(mbps),
        low: Bandwidth::from_mbps(mbps),
        high: Bandwidth::from_mbps(mbps),
        at: at(seconds * PERIOD),
        window: PERIOD,
        flags: crate::Flags::default(),
    };
    let mut keeper = keeper(None);
    let mut known = |mbps, seconds| {
        answer(
            &mut keeper,
            seconds * PERIOD,
            Some(&estimate(mbps, seconds)),
        );
        keeper.changes
    };
    let mut expected = Changes::default();
    known(10, 1);
    expected.add(Bandwidth::from_mbps(2));
    assert_eq!(known(12, 2), expected);
    // Two windows without a value are no pause.
    expected.add(Bandwidth::from_mbps(1));
    assert_eq!(known(11, 5), expected);
    assert_eq!(known(3, 9), expected, "a pause of three windows");
    expected.add(Bandwidth::from_mbps(4));
    assert_eq!(known(7, 10), expected);
}

/// N for what the path has at its loss rate, without a bound.
fn weight(keeper: &Keeper) -> f64 {
    let mut weight = keeper.weight.clone();
    weight.on_packets(150.0);
    weight.on_congestion();
    weight.needed(1000.0, 0.04)
}

#[test]
fn slots_that_an_outage_takes_are_an_accident_and_no_rivals() {
    let mut keeper = keeper(None);
    keeper.credit(at(PERIOD), Bytes::new(1_500_000), 1302.0);
    keeper.own_rate = Some((Bandwidth::from_mbps(20), at(PERIOD)));
    assert_eq!(follow(&mut keeper, PERIOD), [Outcome::Kept]);
    let (before, margin) = (weight(&keeper), keeper.margin);
    // The path is out from a quarter of the second slot to the middle of the sixth.
    keeper.credit(at(PERIOD * 5 / 4), Bytes::new(375_000), 325.5);
    keeper.answers.on_sent(at(PERIOD * 5 / 4));
    for slot in 2..=5 {
        assert_eq!(follow(&mut keeper, slot * PERIOD), [Outcome::Missed]);
    }
    keeper.answers.on_ack(at(PERIOD * 11 / 2), false, RTT);
    assert_eq!(follow(&mut keeper, 6 * PERIOD), [Outcome::Missed]);
    assert_eq!(weight(&keeper).to_bits(), before.to_bits());
    assert_eq!(keeper.exit, Exit::default());
    let at_rest = |margin: &Margin| margin.of(Demand::AtLeast, 0.04, 1250.0);
    assert_eq!(
        at_rest(&keeper.margin).to_bits(),
        at_rest(&margin).to_bits()
    );
    // One accident: 0.99 of eight slots, of nine.
    assert!((keeper.history.enough() - 0.88).abs() < 1e-9);
    // A slot that is missed while the path answers counts.
    assert_eq!(follow(&mut keeper, 7 * PERIOD), [Outcome::Missed]);
    assert!(weight(&keeper) > 1.9 * before);
}

/// Requires 12 Mbit/s times `share`.
fn require(keeper: &mut Keeper, share: f64, now: Duration) -> Requirement {
    let rate = Bandwidth::from_mbps(12).scaled(share);
    let required = Requirement::new(rate, PERIOD).expect("possible");
    keeper.begin(Some(required), at(now), &mut |_| {});
    required
}

#[test]
fn slots_that_one_rate_missed_say_nothing_of_a_much_lower_one() {
    let mut keeper = keeper(None);
    let before = weight(&keeper);
    assert_eq!(follow(&mut keeper, PERIOD), [Outcome::Missed]);
    let raised = weight(&keeper);
    assert!(raised > 1.9 * before);
    require(&mut keeper, 0.95, PERIOD);
    assert_eq!(
        weight(&keeper).to_bits(),
        raised.to_bits(),
        "nearly the same"
    );
    require(&mut keeper, 0.8, PERIOD);
    assert_eq!(weight(&keeper).to_bits(), before.to_bits());
    keeper.weight.on_slot(Outcome::Missed);
    keeper.begin(None, at(PERIOD), &mut |_| {});
    assert_eq!(weight(&keeper).to_bits(), before.to_bits(), "withdrawn");
}

#[test]
fn who_changes_a_hopeless_demand_again_and_again_is_told() {
    for (every, most) in [(PERIOD, 2), (PERIOD * 2 / 3, 5), (PERIOD / 10, 30)] {
        let bounds = Bounds::default();
        let mut keeper = keeper(Some(&bounds));
        // Nothing gets through, and with half of the capacity N is at its bound.
        let narrow = |now| PathState {
            capacity: Some(Bandwidth::from_mbps(10)),
            ..path(at(now))
        };
        let mut asked = 0;
        while !keeper.exit.is_resting() {
            asked += 1;
            assert!(asked <= most, "every {every:?}");
            let required = require(
                &mut keeper,
                1.0 + f64::from(asked % 2) / 50.0,
                asked * every,
            );
            for now in [asked * every, (asked + 1) * every] {
                keeper.last_path = Some(narrow(now));
                keeper.follow_slots(&narrow(now), &required, &mut |_| {});
            }
        }
        let now = (asked + 1) * every;
        require(&mut keeper, 1.1, now);
        keeper.follow_slots(&narrow(now), &requirement(), &mut |_| {});
        keeper.look(&narrow(now), &mut |_| {});
        assert!(matches!(keeper.status, Status::Broken { .. }));
    }
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
    keeper.answers.on_sent(last);
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
