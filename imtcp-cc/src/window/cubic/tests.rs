mod properties;

use super::*;
use crate::control::Phase;
use std::time::Duration;

const DATAGRAM: Bytes = Bytes::new(1200);
const SECOND: u64 = 1_000_000;

fn at(micros: u64) -> Timestamp {
    Timestamp::from_nanos(micros * 1000)
}

/// An acknowledged packet on a path of 100 ms.
fn acked(bytes: u64, now_us: u64) -> AckedBytes {
    AckedBytes {
        now: at(now_us),
        size: Bytes::new(bytes),
        sent: at(now_us - 100_000),
        application_limited: false,
        smoothed_rtt: Duration::from_millis(100),
        latest_rtt: Duration::from_millis(100),
    }
}

/// A window of 1000 datagrams in slow start, after a second.
fn thousand() -> Cubic {
    let mut law = Cubic::new(10, DATAGRAM);
    law.on_ack(&acked(1_200_000 - 12_000, SECOND));
    assert_eq!(law.window(), Bytes::new(1_200_000));
    law
}

/// The same window after congestion at two seconds: 700 datagrams, with a W_max of 1000.
fn reduced() -> Cubic {
    let mut law = thousand();
    assert!(law.on_congestion(at(2 * SECOND), at(2 * SECOND - 100_000), None));
    law
}

fn near(window: Bytes, expected: u64) {
    assert!(
        window.get().abs_diff(expected) <= 2,
        "{window}, not {expected}"
    );
}

#[test]
fn cube_roots_are_rounded_down() {
    for (number, root) in [(0, 0), (1, 1), (7, 1), (8, 2), (26, 2), (27, 3)] {
        assert_eq!(cube_root(number), root, "{number}");
    }
    assert_eq!(cube_root(u128::from(u32::MAX).pow(3)), u64::from(u32::MAX));
    // cbrt(2^128) = 2^42.67
    assert_eq!(cube_root(u128::MAX), 6_981_463_658_331);
}

#[test]
fn k_is_the_cube_root_of_what_is_missing() {
    // cbrt((1000 - 700) / 0.4) = cbrt(750) = 9.085603 s.
    assert_eq!(k_us(Bytes::new(300 * 1200), DATAGRAM), 9_085_602);
    // cbrt(0.4 / 0.4) = 1 s, whatever a datagram is.
    assert_eq!(k_us(Bytes::new(400), Bytes::new(1000)), SECOND);
    assert_eq!(k_us(Bytes::ZERO, DATAGRAM), 0);
}

#[test]
fn the_curve_passes_the_reduced_window_w_max_and_what_lies_beyond() {
    let window = Bytes::new(840_000);
    let epoch = Epoch::new(at(0), Some(Bytes::new(1_200_000)), window, DATAGRAM);
    let curve = |micros| epoch.w_cubic(Nanos::new(micros * 1000), DATAGRAM);
    near(curve(0), 840_000);
    near(curve(9_085_602), 1_200_000);
    // 0.4 * 5^3 = 50 datagrams on both sides of K.
    near(curve(9_085_602 + 5 * SECOND), 1_260_000);
    near(curve(9_085_602 - 5 * SECOND), 1_140_000);
}

#[test]
fn congestion_leaves_seven_tenths_once_per_round_trip() {
    let mut law = reduced();
    assert_eq!(law.window(), Bytes::new(840_000));
    assert_eq!(law.slow_start_threshold(), Some(Bytes::new(840_000)));
    assert_eq!(law.phase(), Phase::Recovery);
    assert!(!law.on_congestion(at(2 * SECOND + 1), at(2 * SECOND), None));
    assert_eq!(law.window(), Bytes::new(840_000));
    assert_eq!(law.state.w_max, Some(Bytes::new(1_200_000)));
}

#[test]
fn fast_convergence_lowers_w_max_below_a_window_that_fell() {
    let mut law = reduced();
    assert!(law.on_congestion(at(3 * SECOND), at(2 * SECOND + 1), None));
    // 840000 * 1.7 / 2; 840000 * 0.7.
    assert_eq!(law.state.w_max, Some(Bytes::new(714_000)));
    assert_eq!(law.window(), Bytes::new(588_000));
    assert_eq!(law.state.prior_window, Bytes::new(840_000));
}

#[test]
fn a_window_that_came_back_has_a_w_max_of_its_own() {
    let mut law = reduced();
    law.state.base.window = Bytes::new(1_200_000);
    assert!(law.on_congestion(at(3 * SECOND), at(2 * SECOND + 1), None));
    assert_eq!(law.state.w_max, Some(Bytes::new(1_200_000)));
}

#[test]
fn a_whole_window_acknowledged_brings_it_to_the_target() {
    let mut law = reduced();
    let start = 2 * SECOND + 200_000;
    // The stage begins. W_est gains 1200 * 1200 / 840000 * 9 / 17 = 0.9 bytes, less than a whole
    // one. W_cubic(0.1) = 1000 - 0.4 * 725.5071 = 709.7972 datagrams lies 11756.6 bytes above the
    // window, and a datagram brings 16.8 of these bytes.
    law.on_ack(&acked(1200, start));
    assert_eq!(law.window(), Bytes::new(840_016));
    // 0.1 s later W_cubic(0.1) is above W_est. With x = cbrt(750):
    // W_cubic(0.2) = 1000 - 0.4 (x - 0.2)^3 = 1000 - 0.4 * 701.5534 = 719.3786 datagrams.
    law.on_ack(&acked(840_000, start + 100_000));
    near(law.window(), 863_254);
    // Half a window is acknowledged, so the window grows by (W_cubic(0.3) - cwnd) / 2, where
    // W_cubic(0.3) = 1000 - 0.4 * 678.1326 datagrams.
    law.on_ack(&acked(863_254 / 2, start + 200_000));
    near(law.window(), (863_254 + 874_496) / 2);
}

#[test]
fn the_target_is_one_and_a_half_windows_at_most() {
    let mut law = Cubic::new(10, DATAGRAM);
    law.leave_slow_start();
    law.on_ack(&acked(1200, SECOND));
    // 20 s later W_cubic is 10 + 0.4 * 8000 datagrams.
    let late = AckedBytes {
        sent: at(SECOND),
        ..acked(12_000, 21 * SECOND)
    };
    let before = law.window().get();
    law.on_ack(&late);
    let most = before + before * 12_000 / before / 2;
    assert!(
        law.window().get() > before + 4000 && law.window().get() <= most,
        "{}",
        law.window()
    );
}

/// Rounds of 10 ms that acknowledge the whole window.
fn short_rounds(law: &mut Cubic, start_us: u64, rounds: u64) {
    for round in 0..rounds {
        law.on_ack(&AckedBytes {
            sent: at(start_us + 10_000 * round - 10_000),
            smoothed_rtt: Duration::from_millis(10),
            ..acked(law.window().get(), start_us + 10_000 * round)
        });
    }
}

#[test]
fn where_the_path_is_short_it_grows_like_reno() {
    // 20 datagrams, reduced to 14. K = cbrt(6 / 0.4) = 2.47 s: after 0.1 s W_cubic is at 14.7.
    let mut law = Cubic::new(10, DATAGRAM);
    law.on_ack(&acked(12_000, SECOND));
    assert!(law.on_congestion(at(2 * SECOND), at(2 * SECOND - 10_000), None));
    assert_eq!(law.window(), Bytes::new(16_800));
    // W_est grows by alpha datagrams per round trip: 1200 * 9 / 17 = 635.3 bytes.
    short_rounds(&mut law, 2 * SECOND + 20_000, 1);
    assert_eq!(law.window(), Bytes::new(16_800 + 635));
    short_rounds(&mut law, 2 * SECOND + 30_000, 10);
    near(law.window(), 16_800 + 11 * 1200 * 9 / 17);
    // The twelfth round passes cwnd_prior, 24000 bytes. From then on a round brings a whole
    // datagram.
    short_rounds(&mut law, 2 * SECOND + 130_000, 1);
    let before = law.window().get();
    assert!(before > 24_000);
    short_rounds(&mut law, 2 * SECOND + 140_000, 4);
    near(law.window(), before + 4 * 1200);
}

#[test]
fn slow_start_without_loss_ends_with_w_max_at_the_window() {
    let mut law = thousand();
    law.leave_slow_start();
    law.on_ack(&acked(1200, SECOND));
    let epoch = law.state.epoch.expect("congestion avoidance");
    assert_eq!((epoch.k_us, epoch.w_max), (0, Bytes::new(1_200_000)));
    // alpha is 1: W_est is a datagram per round trip.
    let grown = epoch.estimate.get() * 17 * 1_200_000;
    assert_eq!(grown / 17 / 1_200_000, 1_200_001);
}

#[test]
fn time_in_which_the_application_limits_does_not_count() {
    let start = 3 * SECOND;
    let grown = |pause_us: u64, limited: bool| {
        let mut law = reduced();
        law.on_ack(&acked(1200, start));
        law.on_ack(&acked(84_000, start + 100_000));
        let before = law.window();
        for part in 1..=10 {
            law.on_ack(&AckedBytes {
                application_limited: true,
                ..acked(
                    1200,
                    start + 100_000 + pause_us * part / 10 * u64::from(limited),
                )
            });
        }
        assert_eq!(law.window(), before, "not while it is limited");
        law.on_ack(&acked(84_000, start + 200_000 + pause_us));
        law.window()
    };
    assert_eq!(grown(0, true), grown(100 * SECOND, true));
    // Silence: nothing is in flight for 100 s.
    assert_eq!(grown(0, false), grown(100 * SECOND, false));
    // Without the pause in t the window would be another.
    let mut law = reduced();
    law.on_ack(&acked(1200, start));
    for second in 1..=100 {
        law.on_ack(&acked(1, start + second * SECOND / 10));
    }
    law.on_ack(&acked(84_000, start + 10 * SECOND + 100_000));
    assert!(law.window() > grown(0, true) + DATAGRAM);
}

#[test]
fn the_first_slow_start_slows_down_and_ends_as_the_round_trip_grows() {
    let mut law = Cubic::new(10, DATAGRAM);
    let mut windows = Vec::new();
    // Each round has ten datagrams. The first takes 40 ms, the others 60 ms.
    for round in 1..=8_u64 {
        let rtt = Duration::from_millis(if round == 1 { 40 } else { 60 });
        for packet in 0..10 {
            law.on_ack(&AckedBytes {
                sent: at(round * SECOND + packet),
                latest_rtt: rtt,
                ..acked(1200, (round + 1) * SECOND + packet)
            });
        }
        windows.push(law.window().get());
    }
    // The window grows by ten datagrams, then by seven and three quarters, then by ten quarters in
    // each of four rounds.
    assert_eq!(
        windows[..6],
        [24_000, 33_300, 36_300, 39_300, 42_300, 45_300]
    );
    assert_eq!(law.phase(), Phase::CongestionAvoidance);
    assert_eq!(law.slow_start_threshold(), Some(Bytes::new(45_300)));
    assert_eq!(law.state.w_max, None, "no congestion was met");
}

#[test]
fn a_spurious_congestion_is_undone_with_all_that_it_changed() {
    let mut law = reduced();
    for round in 0..20 {
        law.on_ack(&acked(84_000, 3 * SECOND + round * 100_000));
    }
    let (mut undone, mut now) = (law.clone(), 5 * SECOND);
    assert!(undone.on_congestion(at(now), at(now - 1), None));
    assert!(undone.window() < law.window());
    undone.on_spurious_congestion();
    for _ in 0..50 {
        now += 100_000;
        law.on_ack(&acked(84_000, now));
        undone.on_ack(&acked(84_000, now));
        assert_eq!(undone.state, law.state);
    }
    let window = undone.window();
    undone.on_spurious_congestion();
    assert_eq!(undone.window(), window, "once");
}

#[test]
fn a_spurious_congestion_in_slow_start_leaves_slow_start_as_it_was() {
    let mut law = reduced();
    law.on_spurious_congestion();
    assert_eq!(law.window(), Bytes::new(1_200_000));
    assert_eq!(law.slow_start_threshold(), None);
    assert_eq!(law.phase(), Phase::SlowStart);
    assert_eq!(law.state, thousand().state);
}

#[test]
fn a_window_that_has_grown_past_the_old_one_is_not_taken_back() {
    let mut law = reduced();
    law.state.base.window = Bytes::new(1_200_001);
    law.on_spurious_congestion();
    assert_eq!(law.window(), Bytes::new(1_200_001));
    assert_eq!(law.slow_start_threshold(), Some(Bytes::new(840_000)));
}

#[test]
fn persistent_congestion_restarts_slow_start_and_forgets_the_curve() {
    let mut law = reduced();
    law.on_persistent_congestion();
    assert_eq!(law.window(), Bytes::new(2400));
    assert_eq!(law.phase(), Phase::SlowStart);
    law.on_spurious_congestion();
    assert_eq!(law.window(), Bytes::new(2400), "it is no matter of doubt");
    // Back at the threshold: K is 0 and W_max the window (section 4.8).
    law.on_ack(&acked(837_600, 3 * SECOND));
    assert_eq!(law.phase(), Phase::CongestionAvoidance);
    law.on_ack(&acked(1200, 3 * SECOND));
    let epoch = law.state.epoch.expect("congestion avoidance");
    assert_eq!((epoch.k_us, epoch.w_max), (0, Bytes::new(840_000)));
}

#[test]
fn the_window_never_falls_below_two_datagrams() {
    let mut law = Cubic::new(2, DATAGRAM);
    for round in 1..10 {
        assert!(law.on_congestion(at(round * SECOND), at(round * SECOND - 1), None));
    }
    assert_eq!(law.window(), Bytes::new(2400));
    assert_eq!(law.slow_start_threshold(), Some(Bytes::new(2400)));
    law.on_ack(&acked(2400, 20 * SECOND));
    assert_eq!(law.phase(), Phase::CongestionAvoidance);
}

#[test]
fn a_slope_takes_the_curves_place_and_gives_it_back_where_the_window_is() {
    let mut law = reduced();
    law.set_slope(steered(6 * 1200));
    law.on_ack(&acked(840_000, 3 * SECOND));
    assert_eq!(law.window(), Bytes::new(840_000 + 7200));
    law.set_slope(steered(-84_720));
    law.on_ack(&acked(847_200, 4 * SECOND));
    assert_eq!(law.window(), Bytes::new(762_480));
    assert_eq!(law.phase(), Phase::CongestionAvoidance);
    law.set_slope(None);
    law.on_ack(&acked(1200, 5 * SECOND));
    let epoch = law.state.epoch.expect("a new stage");
    assert_eq!(epoch.start, at(5 * SECOND));
    // cbrt((1000 - 635.4) / 0.4) = 9.696 s
    assert_eq!(epoch.k_us / 1000, 9_695);
}

/// A slope that the window follows and does not leave.
fn steered(bytes_per_round_trip: i64) -> Option<Slope> {
    Some(Slope {
        bytes_per_round_trip,
        is_floor: false,
    })
}

#[test]
fn a_floor_lifts_the_window_where_the_laws_own_growth_is_slower() {
    // From 700 datagrams towards 1000. A window of acknowledgements is a round trip.
    let grown = |slope: Option<Slope>| {
        let mut law = reduced();
        law.set_slope(slope);
        let before = law.window().get();
        for packet in 0..700 {
            law.on_ack(&acked(1200, 2 * SECOND + 200_000 + packet));
        }
        law.window().get() - before
    };
    let own = grown(None);
    let floor = |bytes_per_round_trip| {
        Some(Slope {
            bytes_per_round_trip,
            is_floor: true,
        })
    };
    assert!(own < 90 * 1200, "{own}");
    // The window grows meanwhile, so it is a little less than 90 datagrams.
    let steep = grown(floor(90 * 1200));
    assert!((80 * 1200..90 * 1200).contains(&steep), "{steep}");
    // A floor below the own growth, or below zero, changes nothing.
    assert_eq!(grown(floor(1)), own);
    assert_eq!(grown(floor(-5000)), own);
}

#[test]
fn a_reduction_in_proportion_leaves_the_rest_to_the_law() {
    let reduced = |weight: f64, needed: u64| {
        let mut law = Cubic::new(100, Bytes::new(1000));
        let needed = Bytes::new(needed);
        let proportion = Proportion { weight, needed };
        assert!(law.on_congestion(at(SECOND), at(SECOND - 1), Some(&proportion)));
        law.window().get()
    };
    // 100 packets, all of them needed: 1 - 0.3 / 4 of them remain. With N = 1 it is the law's 0.7.
    assert_eq!(reduced(4.0, 100_000), 92_500);
    assert_eq!(reduced(1.0, 100_000), 70_000);
    // More than is needed gives way like any other window, down to what proportion leaves.
    assert_eq!(reduced(4.0, 80_000), 74_000);
    assert_eq!(reduced(4.0, 50_000), 70_000);
    // Need does not make a window larger than it was.
    assert_eq!(reduced(1e9, 900_000), 100_000);
    // N flows have N times the least window, as far as it is needed.
    let mut law = Cubic::new(10, Bytes::new(1000));
    for event in 1..20 {
        let proportion = Proportion {
            weight: 4.0,
            needed: Bytes::new(7000),
        };
        law.on_congestion(
            at(event * SECOND),
            at(event * SECOND - 1),
            Some(&proportion),
        );
    }
    assert_eq!(law.window().get(), 7000);
}

#[test]
fn a_start_that_filled_the_path_looks_for_the_end_of_the_queue() {
    let mut law = Cubic::new(10, DATAGRAM);
    law.set_window(Bytes::new(600_000));
    law.leave_towards(at(SECOND), Bytes::new(1_200_000));
    assert_eq!(law.phase(), Phase::CongestionAvoidance);
    let epoch = law.state.epoch.expect("a stage began");
    // cbrt(500 / 0.4) s.
    assert_eq!(
        (epoch.k_us, epoch.w_max),
        (10_772_173, Bytes::new(1_200_000))
    );
    // A congestion below that is the first one, and no reason for fast convergence.
    law.on_congestion(at(2 * SECOND), at(2 * SECOND - 1), None);
    assert_eq!(law.state.w_max, Some(Bytes::new(600_000)));
}
