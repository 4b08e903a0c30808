use super::super::arrivals::Link;
use super::super::tests::{CAPACITY, PACKET, gap, point};
use super::*;
use crate::path::ack::{EchoGap, EchoPoint, LinkState};
use crate::units::Nanos;

const NOW: Timestamp = Timestamp::from_nanos(10_000_000_000);

/// Four seconds of bursts of five packets, one each 20 ms. The link serves a burst without a
/// pause. The first packet of burst `n` waited for `wait_us(n)`. Echoes within a burst are
/// `apart_us` apart.
fn bursts(wait_us: impl Fn(u64) -> u64, apart_us: u64) -> Arrivals {
    let mut arrivals = Arrivals::new();
    let link = Link::new(CAPACITY, PACKET);
    let mut last: Option<EchoPoint> = None;
    for number in 0..1000 {
        let (burst, place) = (number / 5, number % 5);
        let waited = wait_us(burst) + place * 1000;
        let arrived = burst * 20_000 + wait_us(burst) + 1000 + place * apart_us;
        let to = point(number, burst * 20_000, arrived);
        if let Some(from) = last.replace(to) {
            let waited = Nanos::new(waited * 1000);
            arrivals.on_gap(&gap(from, to, waited, LinkState::Unknown), Some(&link));
        }
    }
    arrivals
}

/// What is told, in megabits per second: available, most, low, high.
fn view(arrivals: &Arrivals) -> [f64; 4] {
    let view = IdleView::of(arrivals, CAPACITY, NOW).expect("it tells something");
    [view.available, view.most, view.low, view.high].map(|rate| rate.as_bps_f64() / 1e6)
}

/// Our five packets in 20 ms are 2.5 Mbit/s.
#[test]
fn a_link_that_is_always_found_busy_leaves_what_we_have() {
    // Between 3 and 13 ms, and now and then nothing.
    let wait = |burst: u64| {
        if burst.is_multiple_of(40) {
            0
        } else {
            3000 + burst * 7919 % 10_000
        }
    };
    let [available, most, low, high] = view(&bursts(wait, 1000));
    assert!((2.4..2.9).contains(&available), "{available}");
    assert!(most < 4.2 && high < 4.5, "{most}, {high}");
    assert!(low <= 2.5, "{low}");
}

/// Each second burst waits for 8 ms. Of 40 ms, 10 are ours, and 6 pass before a packet that
/// found the link idle.
#[test]
fn what_is_idle_is_available_besides_what_we_have() {
    let wait = |burst: u64| if burst.is_multiple_of(2) { 0 } else { 8000 };
    let [available, _, low, high] = view(&bursts(wait, 1000));
    assert!((4.0..4.4).contains(&available), "{available}");
    assert!(low < 3.6 && high > 5.0, "{low}, {high}");
}

#[test]
fn a_wait_that_is_always_the_same_is_no_traffic_of_others() {
    for wait_us in [0, 700, 2000] {
        let [available, ..] = view(&bursts(|_| wait_us, 1000));
        // Of 20 ms, the time of the wait itself is not counted.
        let least = 9.6 - wait_us as f64 / 2e3;
        assert!(available > least, "{available} after {wait_us} us");
    }
}

/// A full packet of others takes the link a millisecond, and ours come at any time of it.
#[test]
fn who_waits_for_part_of_a_packet_found_the_link_busy() {
    let part = |burst: u64| 100 + burst * 7919 % 900;
    let wait = |burst: u64| part(burst) * (burst % 2);
    let [available, ..] = view(&bursts(wait, 1000));
    // Half of the bursts waited, and half of those for less than half a packet.
    assert!((7.4..8.4).contains(&available), "{available}");
}

/// Four seconds of one packet each 5 ms, of which each second one waited for a part of a packet
/// of others, which takes 1.2 ms.
#[test]
fn short_waits_are_waits_beside_even_traffic() {
    let (mut arrivals, link) = (Arrivals::new(), Link::new(CAPACITY, PACKET));
    let lone = |number: u64| {
        let waited_us = number * 7919 % 1200 * (number % 2);
        let sent_us = number * 5000;
        let echo = point(number, sent_us, sent_us + waited_us + 1000);
        (echo, Nanos::new(waited_us * 1000))
    };
    for number in 1..800 {
        let ((from, _), (to, waited)) = (lone(number - 1), lone(number));
        let gap = EchoGap {
            is_alone: true,
            ..gap(from, to, waited, LinkState::Unknown)
        };
        arrivals.on_gap(&gap, Some(&link));
    }
    let told = IdleView::of(&arrivals, CAPACITY, NOW).expect("it tells something");
    assert!(told.is_even);
    let [available, low, high] =
        [told.available, told.low, told.high].map(|rate| (rate.as_bps_f64() / 1e5).round() / 10.0);
    assert!((4.6..5.1).contains(&available), "{available}");
    assert!(
        (2.5..4.2).contains(&low) && (5.5..8.0).contains(&high),
        "{low} {high}"
    );
}

#[test]
fn the_last_of_two_packets_tells_if_it_met_none_of_ours() {
    let view = |is_alone| {
        let (mut arrivals, link) = (Arrivals::new(), Link::new(CAPACITY, PACKET));
        let second = |number: u64| point(number * 2, number * 20_000, number * 20_000 + 1000);
        for number in 1..200 {
            let gap = EchoGap {
                bytes: PACKET + PACKET,
                packets: 2,
                is_alone,
                ..gap(
                    second(number - 1),
                    second(number),
                    Nanos::ZERO,
                    LinkState::Unknown,
                )
            };
            arrivals.on_gap(&gap, Some(&link));
        }
        IdleView::of(&arrivals, CAPACITY, NOW)
    };
    assert_eq!(view(false), None);
    let available = view(true).expect("each was alone").available;
    assert!(available > Bandwidth::from_mbps(9), "{available}");
}

#[test]
fn a_value_below_what_packets_found_idle_reaches_up_to_it() {
    let arrivals = bursts(|_| 0, 1000);
    let view = IdleView::of(&arrivals, CAPACITY, NOW).expect("it tells something");
    let told = |mbps: u64| Estimate {
        at: view.at,
        available: Bandwidth::from_mbps(mbps),
        low: Bandwidth::from_mbps(mbps - 1),
        high: Bandwidth::from_mbps(mbps + 1),
        ..view.estimate(Flags::default())
    };
    let low = told(4);
    let widened = view.widened(low);
    assert_eq!(widened.high, view.high);
    assert_eq!((widened.low, widened.available), (low.low, low.available));
    let same = told(10);
    assert_eq!(view.widened(same), same);
}

#[test]
fn where_echoes_are_pushed_together_waiting_tells_nothing() {
    let pushed = bursts(|burst| 3000 + burst * 7919 % 10_000, 300);
    assert_eq!(IdleView::of(&pushed, CAPACITY, NOW), None);
}

#[test]
fn who_gives_way_keeps_more_than_one_packet_waiting() {
    let refuted = |most_us: u64| {
        let wait = |burst: u64| burst % 3 * most_us / 2;
        let view = IdleView::of(&bursts(wait, 1000), CAPACITY, NOW).expect("it tells something");
        // Gaps that saw no others.
        let all = Estimate {
            available: Bandwidth::from_bps(9_900_000),
            low: Bandwidth::from_bps(9_500_000),
            high: CAPACITY,
            ..view.estimate(Flags::default())
        };
        assert!(view.refutes(&all), "{view:?}");
        (view, all)
    };
    let (view, all) = refuted(6000);
    assert!(view.replaces(&all));
    // As long as a packet takes at most. Gaps would have seen such others, and a host may be late
    // by as much. So both are possible.
    let (view, all) = refuted(1200);
    assert!(!view.replaces(&all));
    let widened = view.widened(all);
    assert!(widened.low == view.low && view.low < all.low);
    assert_eq!((widened.available, widened.high), (all.available, all.high));
}
