use super::*;
use crate::control::Phase;
use proptest::prelude::*;
use std::time::Duration;

const DATAGRAM: Bytes = Bytes::new(1200);

fn reno() -> Reno {
    Reno::new(10, DATAGRAM)
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

fn acked(bytes: u64, sent_millis: u64) -> AckedBytes {
    AckedBytes {
        now: at(sent_millis),
        size: Bytes::new(bytes),
        sent: at(sent_millis),
        application_limited: false,
        smoothed_rtt: Duration::ZERO,
        latest_rtt: Duration::ZERO,
    }
}

#[test]
fn the_initial_window_is_ten_datagrams_within_the_limit() {
    assert_eq!(reno().window(), Bytes::new(12_000));
    // 10 * 1500 is above 14720; 2 * 9000 is above that limit.
    assert_eq!(Reno::new(10, Bytes::new(1500)).window(), Bytes::new(14_720));
    assert_eq!(Reno::new(10, Bytes::new(9000)).window(), Bytes::new(18_000));
    // A larger initial window than the recommended one is taken as it is asked for.
    assert_eq!(Reno::new(32, Bytes::new(1200)).window(), Bytes::new(38_400));
}

#[test]
fn slow_start_adds_what_is_acknowledged() {
    let mut law = reno();
    assert_eq!(law.phase(), Phase::SlowStart);
    assert_eq!(law.slow_start_threshold(), None);
    for _ in 0..10 {
        law.on_ack(&acked(1200, 1));
    }
    assert_eq!(law.window(), Bytes::new(24_000));
}

#[test]
fn congestion_halves_the_window_once_per_round_trip() {
    let mut law = reno();
    law.on_congestion(at(100), at(50), None);
    assert_eq!(law.window(), Bytes::new(6_000));
    assert_eq!(law.slow_start_threshold(), Some(Bytes::new(6_000)));
    assert_eq!(law.phase(), Phase::Recovery);
    // A packet sent no later than the reaction belongs to the same congestion.
    law.on_congestion(at(110), at(100), None);
    assert_eq!(law.window(), Bytes::new(6_000));
    // A packet sent after the reaction is new congestion.
    law.on_congestion(at(150), at(101), None);
    assert_eq!(law.window(), Bytes::new(3_000));
}

#[test]
fn recovery_ends_with_a_packet_sent_after_the_reduction() {
    let mut law = reno();
    law.on_congestion(at(100), at(50), None);
    law.on_ack(&acked(1200, 100));
    assert_eq!(law.phase(), Phase::Recovery);
    assert_eq!(law.window(), Bytes::new(6_000));
    law.on_ack(&acked(1200, 101));
    assert_eq!(law.phase(), Phase::CongestionAvoidance);
}

#[test]
fn avoidance_grows_by_the_formula_and_keeps_the_remainder() {
    let mut law = reno();
    law.on_congestion(at(100), at(50), None);
    // 1200 * 1200 / 6000 = 240.
    law.on_ack(&acked(1200, 101));
    assert_eq!(law.window(), Bytes::new(6_240));
    // 1440000 / 6240 = 230 and 4800 over; then (1440000 + 4800) / 6470 = 223 and 1990 over.
    law.on_ack(&acked(1200, 101));
    assert_eq!(law.window(), Bytes::new(6_470));
    law.on_ack(&acked(1200, 101));
    assert_eq!(law.window(), Bytes::new(6_693));
    assert_eq!(law.base.credit, 1_990);
}

#[test]
fn small_acknowledgements_add_up() {
    // At a window of 12 MB one byte is worth 1200 / 12000000 of a byte of growth.
    let mut law = Reno::new(10, DATAGRAM);
    law.on_ack(&acked(23_988_000, 1));
    law.on_congestion(at(100), at(50), None);
    assert_eq!(law.window(), Bytes::new(12_000_000));
    for _ in 0..10_000 {
        law.on_ack(&acked(1, 101));
    }
    assert_eq!(law.window(), Bytes::new(12_000_001));
}

#[test]
fn the_window_never_falls_below_two_datagrams() {
    let mut law = reno();
    for round in 0..10 {
        law.on_congestion(at(100 * round + 99), at(100 * round + 50), None);
    }
    assert_eq!(law.window(), Bytes::new(2_400));
    // The threshold may fall below that. It is half of 2400 bytes.
    assert_eq!(law.slow_start_threshold(), Some(Bytes::new(1_200)));
    law.on_ack(&acked(1200, 2_000));
    assert_eq!(law.phase(), Phase::CongestionAvoidance);
}

#[test]
fn persistent_congestion_restarts_slow_start_at_the_minimum() {
    let mut law = reno();
    law.on_congestion(at(100), at(50), None);
    law.on_persistent_congestion();
    assert_eq!(law.window(), Bytes::new(2_400));
    assert_eq!(law.slow_start_threshold(), Some(Bytes::new(6_000)));
    assert_eq!(law.phase(), Phase::SlowStart);
    // The recovery period is forgotten: acknowledgements of older packets count.
    law.on_ack(&acked(1200, 60));
    assert_eq!(law.window(), Bytes::new(3_600));
}

#[test]
fn an_unused_window_does_not_grow() {
    let mut law = reno();
    let idle = AckedBytes {
        application_limited: true,
        ..acked(1200, 1)
    };
    law.on_ack(&idle);
    assert_eq!(law.window(), Bytes::new(12_000));
    law.on_congestion(at(100), at(50), None);
    law.on_ack(&AckedBytes {
        sent: at(101),
        ..idle
    });
    // The acknowledgement ends recovery all the same.
    assert_eq!(law.phase(), Phase::CongestionAvoidance);
    assert_eq!(law.window(), Bytes::new(6_000));
}

#[test]
fn a_new_datagram_size_renews_the_initial_window_and_only_that() {
    let mut law = reno();
    law.on_max_datagram_size(Bytes::new(1400));
    assert_eq!(law.window(), Bytes::new(14_000));
    law.on_ack(&acked(1400, 1));
    law.on_max_datagram_size(Bytes::new(1200));
    assert_eq!(law.window(), Bytes::new(15_400));
    law.on_max_datagram_size(Bytes::new(9000));
    assert_eq!(law.window(), Bytes::new(18_000));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ack(u64, u64, bool),
    Congestion(u64, u64),
    Persistent,
    Datagram(u64),
    Slope(Option<i64>),
    LeaveSlowStart,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (any::<u64>(), any::<u64>(), any::<bool>()).prop_map(|(b, s, l)| Step::Ack(b, s, l)),
        (0u64..100_000, any::<u64>(), any::<bool>()).prop_map(|(b, s, l)| Step::Ack(b, s, l)),
        (any::<u64>(), any::<u64>()).prop_map(|(n, s)| Step::Congestion(n, s)),
        Just(Step::Persistent),
        any::<u64>().prop_map(Step::Datagram),
        (0u64..65_536).prop_map(Step::Datagram),
        any::<Option<i64>>().prop_map(Step::Slope),
        (-100_000i64..100_000).prop_map(|slope| Step::Slope(Some(slope))),
        Just(Step::LeaveSlowStart),
    ]
}

proptest! {
    #[test]
    fn the_window_holds_two_datagrams_whatever_happens(
        steps in proptest::collection::vec(any_step(), 0..200), size: u64, packets: u32,
    ) {
        let mut law = Reno::new(packets, Bytes::new(size));
        for step in steps {
            match step {
                Step::Ack(bytes, sent, application_limited) => law.on_ack(&AckedBytes {
                    sent: Timestamp::from_nanos(sent),
                    application_limited,
                    ..acked(bytes, 0)
                }),
                Step::Congestion(now, sent) => {
                    let time = Timestamp::from_nanos;
                    law.on_congestion(time(now), time(sent), None);
                }
                Step::Persistent => law.on_persistent_congestion(),
                Step::Datagram(size) => law.on_max_datagram_size(Bytes::new(size)),
                Step::Slope(slope) => law.set_slope(slope.and_then(steered)),
                Step::LeaveSlowStart => law.leave_slow_start(),
            }
            prop_assert!(law.window() >= law.base.minimum_window(), "after {step:?}");
            prop_assert!(law.window() >= Bytes::new(2), "after {step:?}");
        }
    }

    #[test]
    fn a_round_trip_doubles_the_window_at_most_and_in_avoidance_adds_a_datagram(
        parts in proptest::collection::vec(1u64..1200, 1..100), avoid: bool,
    ) {
        let mut law = reno();
        if avoid {
            law.on_congestion(at(100), at(50), None);
        }
        let before = law.window();
        let mut acked_bytes = Bytes::ZERO;
        for part in parts {
            let part = Bytes::new(part).min(before.saturating_sub(acked_bytes));
            acked_bytes += part;
            law.on_ack(&AckedBytes { size: part, ..acked(0, 101) });
        }
        let growth = law.window().saturating_sub(before);
        prop_assert!(growth <= acked_bytes);
        if avoid {
            prop_assert!(growth <= DATAGRAM, "grew by {growth}");
        } else {
            prop_assert_eq!(growth, acked_bytes);
        }
    }
}

proptest! {
    #[test]
    fn a_round_trip_adds_the_slope_at_most(
        parts in proptest::collection::vec(1u64..1200, 1..100), slope in -50_000i64..50_000,
    ) {
        let mut law = avoiding();
        law.set_slope(steered(slope));
        let before = law.window();
        let mut left = before;
        for part in parts {
            let part = Bytes::new(part).min(left);
            left = left.saturating_sub(part);
            law.on_ack(&AckedBytes { size: part, ..acked(0, 101) });
        }
        let most = Bytes::new(u64::try_from(slope).unwrap_or(0));
        prop_assert!(law.window() <= before + most, "{} by {slope}", law.window());
    }
}

/// An initial window of twenty datagrams, in congestion avoidance.
fn avoiding() -> Reno {
    let mut law = Reno::new(20, DATAGRAM);
    law.leave_slow_start();
    assert_eq!(law.window(), Bytes::new(24_000));
    assert_eq!(law.phase(), Phase::CongestionAvoidance);
    law
}

#[test]
fn a_slope_replaces_renos_in_congestion_avoidance_alone() {
    let mut law = reno();
    law.set_slope(steered(-100_000));
    law.on_ack(&acked(1200, 1));
    assert_eq!(
        law.window(),
        Bytes::new(13_200),
        "slow start stays the law's"
    );
    law.leave_slow_start();
    law.set_slope(steered(6 * 1200));
    // A whole window is acknowledged at once, with a slope of 6 packets per round trip.
    law.on_ack(&acked(13_200, 1));
    assert_eq!(law.window(), Bytes::new(13_200 + 7200));
    law.set_slope(None);
    law.on_ack(&acked(20_400, 1));
    assert_eq!(law.window(), Bytes::new(20_400 + 1200));
}

#[test]
fn a_window_steered_down_stays_out_of_slow_start_and_above_the_minimum() {
    let mut law = avoiding();
    law.set_slope(steered(-16_640));
    law.on_ack(&acked(24_000, 1));
    assert_eq!(law.window(), Bytes::new(7360));
    law.set_slope(steered(-7360));
    assert_eq!(law.phase(), Phase::CongestionAvoidance);
    let unused = AckedBytes {
        application_limited: true,
        ..acked(7360, 1)
    };
    law.on_ack(&unused);
    assert_eq!(
        law.window(),
        Bytes::new(2400),
        "shrinks unused, to the minimum"
    );
    law.set_slope(steered(7360));
    law.on_ack(&unused);
    assert_eq!(law.window(), Bytes::new(2400), "but does not grow unused");
}

/// A datagram and an acknowledgement as large as numbers go: found by the property above.
#[test]
fn the_largest_numbers_do_not_overflow_the_credit() {
    let mut law = Reno::new(0, Bytes::new(u64::MAX));
    law.on_congestion(at(0), at(0), None);
    law.on_ack(&acked(u64::MAX, 1));
    assert!(law.window() >= Bytes::new(2));
}

/// A slope that the window follows and does not leave.
fn steered(bytes_per_round_trip: i64) -> Option<Slope> {
    Some(Slope {
        bytes_per_round_trip,
        is_floor: false,
    })
}
