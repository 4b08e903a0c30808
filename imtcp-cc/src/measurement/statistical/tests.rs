use super::gaps::SLICE;
use super::*;
use crate::path::ack::{EchoPoint, LinkState};

/// A link of 10 Mbit/s, which serves a packet in a millisecond.
pub(super) const CAPACITY: Bandwidth = Bandwidth::from_mbps(10);
pub(super) const PACKET: Bytes = Bytes::new(1250);

pub(super) fn at_us(us: u64) -> Timestamp {
    Timestamp::from_nanos(us * 1000)
}

pub(super) fn point(number: u64, sent_us: u64, arrived_us: u64) -> EchoPoint {
    EchoPoint {
        number,
        size: PACKET,
        sent: at_us(sent_us),
        arrived: at_us(arrived_us),
        came: at_us(arrived_us),
    }
}

pub(super) fn gap(from: EchoPoint, to: EchoPoint, waited: Nanos, link: LinkState) -> EchoGap {
    EchoGap {
        from,
        to,
        bytes: PACKET,
        packets: 1,
        waited,
        is_alone: false,
        link,
    }
}

/// Pairs at the link's pace, one every 20 ms, of which the second packets arrive `apart_us` after
/// the first ones.
fn feed(estimator: &mut StatisticalEstimator, pairs: std::ops::Range<u64>, apart_us: u64) {
    for pair in pairs {
        let begun = 1_000_000 + pair * 20_000;
        let first = point(pair * 2, begun, begun + 1000);
        let second = point(pair * 2 + 1, begun + 1000, begun + 1000 + apart_us);
        estimator.on_gap(&gap(first, second, Nanos::ZERO, LinkState::BusySpaced));
    }
}

fn estimator() -> StatisticalEstimator {
    let mut estimator = StatisticalEstimator::new(Bandwidth::ZERO);
    estimator.on_capacity(CAPACITY, PACKET, None);
    estimator
}

/// Value and half of the interval, in megabits per second.
fn told(estimator: &mut StatisticalEstimator) -> Option<[f64; 2]> {
    let estimate = estimator.report(at_us(10_000_000), Bytes::new(1))?;
    let below = estimate.available.saturating_sub(estimate.low);
    Some([estimate.available, below].map(|rate| rate.as_bps_f64() / 1e6))
}

#[test]
fn who_reads_much_traffic_of_others_doubts_as_much_of_it() {
    let mut busy = estimator();
    // Between two packets of ours others had 0.4 ms of the link: 4 of 10 Mbit/s.
    feed(&mut busy, 0..100, 1400);
    let [available, half] = told(&mut busy).expect("two seconds of pairs");
    assert!((available - 6.0).abs() < 0.01, "{available}");
    assert!((0.6..0.65).contains(&half), "{half}");
    let mut idle = estimator();
    feed(&mut idle, 0..100, 1000);
    let [available, half] = told(&mut idle).expect("two seconds of pairs");
    assert!((available - 10.0).abs() < 0.01, "{available}");
    assert!(half < 0.2, "{half}");
}

#[test]
fn a_few_bursts_that_fill_slices_make_an_estimate() {
    let told = |packets: u64| {
        let mut estimator = estimator();
        for burst in 0..3 {
            let begun = 7_000_000 + burst * 900_000;
            for place in 0..packets {
                let number = burst * 100 + place;
                let [from, to] = [place, place + 1].map(|it| {
                    let sent = begun + it * 1000;
                    point(number + it - place, sent, sent + it * 400)
                });
                estimator.on_gap(&gap(from, to, Nanos::ZERO, LinkState::BusySpaced));
            }
        }
        let estimate = estimator.report(at_us(9_000_000), Bytes::new(1))?;
        let [value, low] = [estimate.available, estimate.low].map(|it| it.as_bps_f64() / 1e6);
        assert!(low < value - 1.0, "three looks leave much open: {low}");
        Some(value)
    };
    // A slice lasts 10 ms.
    let value = told(18).expect("three bursts of 18 ms");
    assert!((value - 6.0).abs() < 0.1, "{value}");
    assert_eq!(told(4), None, "12 ms in all");
}

#[test]
fn a_capacity_that_may_be_wrong_widens_the_interval_by_that() {
    let half = |doubt: f64| {
        let mut estimator = estimator();
        estimator.set_doubt(doubt);
        feed(&mut estimator, 0..100, 1400);
        told(&mut estimator).expect("two seconds of pairs")
    };
    let ([available, sure], [same, doubted]) = (half(0.0), half(0.1));
    assert_eq!(available, same);
    // A tenth of 10 Mbit/s, and what was in doubt before.
    assert!((doubted - libm::hypot(sure, 1.0)).abs() < 1e-5, "{doubted}");
}

#[test]
fn what_gets_through_all_the_time_is_bounded_by_the_capacity_unless_it_refutes_it() {
    // 10 Mbit/s that always wait.
    let told = |capacity: u64| {
        let mut estimator = StatisticalEstimator::new(Bandwidth::ZERO);
        estimator.on_capacity(Bandwidth::from_bps(capacity), PACKET, None);
        for number in 0..1000 {
            let [from, to] = [number, number + 1].map(|it| point(it, it, it * 1000));
            let waited = Nanos::from_millis(5);
            estimator.on_gap(&gap(from, to, waited, LinkState::BusyQueued));
        }
        let estimate = estimator.report(at_us(1_000_000), Bytes::new(1));
        let available = estimate.expect("a second of packets").available;
        available.as_bps_f64() / 1e6
    };
    assert_eq!(told(12_000_000), 10.0);
    assert_eq!(told(9_950_000), 9.95, "single spans may read a little more");
    assert_eq!(told(8_000_000), 10.0, "no link of that carries so much");
}

#[test]
fn what_kept_a_slower_link_busy_proves_nothing_of_a_faster_one() {
    let after = |capacity: Bandwidth| {
        let mut estimator = estimator();
        // Packets that leave every millisecond keep a link of 10 Mbit/s busy, beside others.
        feed(&mut estimator, 0..100, 1200);
        estimator.on_capacity(capacity, PACKET, None);
        told(&mut estimator)
    };
    // They would be even more of others' traffic on a link of 20.
    assert_eq!(after(Bandwidth::from_mbps(20)), None);
    // A slower link is as busy, and a revision within the doubt changes nothing.
    assert!(after(Bandwidth::from_mbps(9)).is_some());
    assert!(after(CAPACITY.scaled(1.01)).is_some());
}

#[test]
fn what_was_seen_before_half_a_second_of_lone_packets_is_old() {
    let after = |lone: u64| {
        let mut estimator = estimator();
        feed(&mut estimator, 0..50, 1000);
        for number in 0..lone {
            let sent = 2_000_000 + number * 10_000;
            let from = point(1000 + number, sent, sent + 1000);
            let to = point(1001 + number, sent + 10_000, sent + 11_000);
            estimator.on_gap(&gap(from, to, Nanos::ZERO, LinkState::Unknown));
        }
        told(&mut estimator)
    };
    assert!(after(40).is_some());
    assert_eq!(after(80), None);
}

/// A packet that leaves after a pause of half a second, and waits for 5 ms.
fn end_pause_busy(estimator: &mut StatisticalEstimator, number: u64, sent_us: u64) {
    let last = point(number, sent_us - 500_000, sent_us - 499_000);
    let first = point(number + 1, sent_us, sent_us + 6000);
    estimator.on_gap(&gap(last, first, Nanos::from_millis(5), LinkState::Unknown));
}

#[test]
fn what_is_told_before_a_pause_holds_for_pauses_like_those_before() {
    let low = |ended_busy: bool, in_flight: Bytes| {
        let mut estimator = estimator();
        if ended_busy {
            end_pause_busy(&mut estimator, 0, 900_000);
        }
        feed(&mut estimator, 1..100, 1000);
        let estimate = estimator.report(at_us(10_000_000), in_flight);
        estimate.expect("two seconds of pairs").low
    };
    let most = CAPACITY.scaled(0.95);
    assert!(low(false, Bytes::ZERO) > most);
    // What others do in a pause says nothing of the time in which packets of ours are on the way.
    assert!(low(true, PACKET) > most);
    assert_eq!(low(true, Bytes::ZERO), Bandwidth::ZERO);
}

#[test]
fn an_acknowledgement_for_two_packets_tells_how_a_pause_ended() {
    let least = |waited_ms: u64, packets: u32| {
        let mut estimator = estimator();
        let (last, first) = (point(0, 400_000, 401_000), point(1, 900_000, 906_000));
        let waited = Nanos::from_millis(waited_ms);
        let mut ending = gap(last, first, waited, LinkState::Unknown);
        (ending.packets, ending.bytes) = (packets, PACKET.times(packets.into()));
        estimator.on_gap(&ending);
        estimator.arrivals.pauses().least(CAPACITY)
    };
    assert_eq!(least(5, 2), Some(Bandwidth::ZERO));
    // The second of two packets waited for the first, and for nobody else.
    assert_eq!(least(1, 2), None);
    // Of three nobody knows when the first one left.
    assert_eq!(least(5, 3), None);
}

#[test]
fn a_change_of_the_link_leaves_what_is_known_of_pauses_and_a_longer_path_does_not() {
    let mut estimator = estimator();
    end_pause_busy(&mut estimator, 0, 900_000);
    estimator.on_capacity(CAPACITY.scaled(2.0), PACKET, Some(at_us(950_000)));
    assert!(estimator.arrivals.pauses().least(CAPACITY).is_some());
    estimator.on_longer_path();
    assert!(estimator.arrivals.pauses().least(CAPACITY).is_none());
}

/// Pairs at the link's pace in each slice, for so long, on a link of 100 Mbit/s.
fn watched(length: Duration) -> Estimate {
    let mut estimator = StatisticalEstimator::new(Bandwidth::ZERO);
    estimator.on_capacity(Bandwidth::from_mbps(100), PACKET, None);
    let count = u64::try_from(length.as_millis()).expect("it is short");
    for pair in 0..count {
        let begun = 1_000_000 + pair * 1000;
        let first = point(pair * 2, begun, begun + 1000);
        // Others had 50 us between two packets of ours: half of the link.
        let second = point(pair * 2 + 1, begun + 100, begun + 1150);
        estimator.on_gap(&gap(first, second, Nanos::ZERO, LinkState::BusySpaced));
        if pair % 50 == 0 {
            let _ = estimator.report(at_us(begun), PACKET);
        }
    }
    let now = at_us(1_000_000 + count * 1000);
    estimator
        .report(now, PACKET)
        .expect("it was watched for long")
}

#[test]
fn slices_become_longer_where_there_is_something_in_each_and_forget_nothing() {
    for (watched_ms, least_window_ms) in [(1500, 1450), (3000, 2950), (9000, 3950)] {
        let estimate = watched(Duration::from_millis(watched_ms));
        let available = estimate.available.as_bps_f64() / 1e6;
        assert!(
            (available - 50.0).abs() < 0.5,
            "{available} after {watched_ms} ms"
        );
        let window = estimate.window;
        assert!(
            window >= Duration::from_millis(least_window_ms),
            "{window:?}"
        );
        assert!(window <= LONGEST_WINDOW + SLICE * 4, "{window:?}");
    }
}

#[test]
fn a_change_that_has_left_the_window_is_not_told_of_a_short_one() {
    let mut estimator = estimator();
    let changed = |estimator: &mut StatisticalEstimator, pairs: std::ops::Range<u64>, apart_us| {
        let now = at_us(1_000_000 + pairs.end * 20_000);
        feed(estimator, pairs, apart_us);
        let estimate = estimator.report(now, Bytes::new(1));
        estimate.expect("an estimate").flags.changed
    };
    assert!(!changed(&mut estimator, 0..100, 1000));
    assert!(changed(&mut estimator, 100..140, 1700), "others came");
    assert!(!changed(&mut estimator, 140..400, 1700), "long ago");
    // After a pause the window is short, and nothing has changed.
    assert!(!changed(&mut estimator, 640..700, 1700), "longer ago");
}

#[test]
fn a_link_that_turns_out_to_be_faster_was_not_covered() {
    for since in [None, Some(at_us(1_300_000))] {
        let mut estimator = estimator();
        for place in 0..300 {
            let [from, to] = [place, place + 1].map(|it| {
                let sent = 1_000_000 + it * 1000;
                point(it, sent, sent + 10_000)
            });
            estimator.on_gap(&gap(from, to, Nanos::ZERO, LinkState::BusySpaced));
        }
        assert!(estimator.is_link_covered());
        estimator.on_capacity(CAPACITY.scaled(2.0), PACKET, since);
        assert!(!estimator.is_link_covered(), "since {since:?}");
    }
}
