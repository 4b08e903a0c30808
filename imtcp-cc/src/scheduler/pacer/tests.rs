use super::super::{Budget, Lateness};
use super::*;
use crate::units::{Bandwidth, Bytes};

const CREDIT: Duration = Duration::from_millis(1);

const PACKET: Bytes = Bytes::new(1250);

fn at_micros(us: u64) -> Timestamp {
    Timestamp::from_nanos(us * 1000)
}

/// A packet takes 1 ms at this rate.
const RATE: Bandwidth = Bandwidth::from_mbps(10);

fn plan(train_packets: u32) -> PacingPlan {
    PacingPlan {
        train_packets,
        pace: Duration::from_micros(100),
        gap: Duration::from_micros(100),
        rushed_gap: Duration::from_micros(85),
        longest_wait: Duration::from_micros(500),
    }
}

/// Sends `count` packets as early as pacer and mean rate let them go, on a host that wakes at
/// multiples of `tick` microseconds.
fn departures_on(tick: u64, train: u32, count: usize, ready: u32) -> Vec<u64> {
    let (mut pacer, mut budget) = (Pacer::new(), Budget::default());
    let mut lateness = Lateness::default();
    let mut now = at_micros(10_000);
    let mut times = Vec::new();
    while times.len() < count {
        lateness.on_question(now);
        match pacer.next(now, budget.due(), || plan(train), ready) {
            Pace::At(later) => {
                lateness.on_answer(Some(later));
                now = at_micros((later.as_nanos() / 1000).div_ceil(tick) * tick);
            }
            Pace::Now => {
                times.push((now.as_nanos() / 1000) - 10_000);
                pacer.on_sent(now, lateness.credit());
                budget.on_sent(now, lateness.credit(), PACKET, RATE);
            }
        }
    }
    times
}

fn departures(train: u32, count: usize, ready: u32) -> Vec<u64> {
    departures_on(1, train, count, ready)
}

const PLENTY: u32 = 100;

#[test]
fn packets_keep_the_rate_after_the_credit_is_used() {
    assert_eq!(departures(1, 5, PLENTY), [0, 0, 1000, 2000, 3000]);
}

#[test]
fn trains_keep_the_same_mean_rate() {
    let times = departures(4, 12, PLENTY);
    assert_eq!(
        times,
        [
            0, 100, 200, 300, 3000, 3100, 3200, 3300, 7000, 7100, 7200, 7300
        ]
    );
}

#[test]
fn a_burst_that_the_window_has_room_for_is_sent_at_the_pace_of_its_trains() {
    let fast = PacingPlan {
        rushed_gap: plan(2).gap,
        ..plan(2)
    };
    let mut pacer = Pacer::new();
    let mut now = at_micros(10_000);
    for packet in 0..20 {
        if let Pace::At(due) = pacer.next(now, now, || fast, PLENTY) {
            now = due;
        }
        assert_eq!(now, at_micros(10_000 + 100 * packet), "packet {packet}");
        assert_eq!(pacer.next(now, now, || fast, PLENTY), Pace::Now);
        pacer.on_sent(now, CREDIT);
    }
}

/// Such a link has pairs that are rushed, and each of them would be twice as fast as that.
#[test]
fn a_link_that_others_keep_busy_has_not_become_faster() {
    let busy = PacingPlan {
        gap: plan(2).rushed_gap,
        ..plan(2)
    };
    let mut pacer = Pacer::new();
    let mut now = at_micros(10_000);
    for train in 0..40 {
        let plan = if train < 20 { plan(2) } else { busy };
        now = now + Duration::from_millis(10);
        assert_eq!(pacer.next(now, now, || plan, 2), Pace::Now);
        pacer.on_sent(now, CREDIT);
        let Pace::At(second) = pacer.next(now, now, || plan, 1) else {
            panic!("train {train} has no gap");
        };
        assert!(second >= now + plan.rushed_gap, "train {train}");
        now = second;
        assert_eq!(pacer.next(now, now, || plan, 1), Pace::Now);
        pacer.on_sent(now, CREDIT);
    }
}

/// A train that follows a stream at once would leave faster than the link serves it, to its
/// end.
#[test]
fn a_train_keeps_its_gap_to_the_stream_before_it() {
    let (mut pacer, begun) = (Pacer::new(), at_micros(10_000));
    for packet in 0..4 {
        let now = begun + plan(4).gap * packet;
        assert_eq!(pacer.next(now, now, || plan(4), PLENTY), Pace::Now);
        pacer.on_sent(now, CREDIT);
    }
    let last = begun + Duration::from_millis(400);
    for before_us in [340, 230, 110] {
        pacer.on_sent(last - Duration::from_micros(before_us), CREDIT);
    }
    pacer.on_sent(last, CREDIT);
    let first = Pace::At(last + plan(4).gap);
    assert_eq!(pacer.next(last, last, || plan(4), PLENTY), first);
}

#[test]
fn a_long_train_keeps_its_pace_to_the_end() {
    let times = departures(10, 10, PLENTY);
    assert_eq!(times, [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
}

#[test]
fn asking_again_before_the_packet_leaves_gives_the_same_answer() {
    let (now, later) = (at_micros(10_000), at_micros(10_010));
    let mut pacer = Pacer::new();
    pacer.on_sent(now - Duration::from_micros(50), CREDIT);
    assert_eq!(pacer.next(now, now, || plan(4), PLENTY), Pace::Now);
    // A train has begun, and its first packet keeps no gap to the packet before it.
    assert_eq!(pacer.next(now, now, || plan(4), PLENTY), Pace::Now);
    assert_eq!(pacer.next(later, now, || plan(4), PLENTY), Pace::Now);
    pacer.on_sent(later, CREDIT);
    let second = Pace::At(later + Duration::from_micros(100));
    assert_eq!(pacer.next(later, now, || plan(4), PLENTY), second);
}

#[test]
fn trains_keep_the_mean_rate_and_catch_up_within_them_where_timers_tick() {
    for tick in [1000, 4000] {
        let times = departures_on(tick, 32, 1000, PLENTY);
        let last = times.last().copied().unwrap_or_default();
        assert!(
            (950_000..=1_000_000).contains(&last),
            "1000 packets of 1 ms took {last} us with ticks of {tick} us"
        );
    }
    // A train of four packets, 100 us apart, at a mean rate of 10 Mbit/s: all four leave with
    // one tick.
    assert_eq!(
        departures_on(1000, 4, 8, PLENTY),
        [0, 1000, 1000, 1000, 3000, 4000, 4000, 4000]
    );
}

/// How long each of `count` packets waits that come one by one, a second apart.
fn waits_of_single_packets(pacer: &mut Pacer, count: u64) -> Vec<Duration> {
    let come = (1..=count).map(|second| at_micros(second * 1_000_000));
    let wait = |now: Timestamp| {
        let due = match pacer.next(now, now, || plan(4), 1) {
            Pace::At(due) => due,
            Pace::Now => now,
        };
        assert_eq!(pacer.next(due, due, || plan(4), 1), Pace::Now);
        pacer.on_sent(due, CREDIT);
        pacer.on_drained();
        due.saturating_since(now)
    };
    come.map(wait).collect()
}

#[test]
fn a_single_packet_seldom_waits_for_a_second_that_never_comes() {
    let waits = waits_of_single_packets(&mut Pacer::new(), 200);
    let waited = waits.iter().filter(|wait| !wait.is_zero()).count();
    assert!((2..=10).contains(&waited), "{waited} of 200");
}

#[test]
fn a_single_packet_waits_where_a_second_one_came() {
    let mut pacer = Pacer::new();
    let now = at_micros(10_000);
    assert_eq!(pacer.next(now, now, || plan(4), 2), Pace::Now);
    pacer.on_sent(now, CREDIT);
    pacer.on_drained();
    let waits = waits_of_single_packets(&mut pacer, 2);
    assert_eq!(waits, [plan(4).longest_wait, Duration::ZERO]);
}

#[test]
fn the_last_packet_of_a_burst_does_not_wait() {
    let mut pacer = Pacer::new();
    let mut now = at_micros(10_000);
    for ready in (1..=9).rev() {
        if let Pace::At(due) = pacer.next(now, now, || plan(4), ready) {
            now = due;
        }
        assert_eq!(pacer.next(now, now, || plan(4), ready), Pace::Now);
        pacer.on_sent(now, CREDIT);
    }
    assert_eq!(now, at_micros(10_000 + 8 * 100));
}

#[test]
fn a_short_train_leaves_when_the_data_ends() {
    assert_eq!(departures(4, 2, 2), [0, 100]);
}
