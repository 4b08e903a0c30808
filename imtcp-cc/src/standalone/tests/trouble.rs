//! Paths and hosts that lose, repeat, delay, limit or keep silent; callers that err.

use super::path::{Cross, Limiter, Path, error};
use super::{Ended, Measurement, Method, Report, Settings, Step, within_a_second};
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

fn limited(per_second: f64, burst: f64) -> Report {
    let mut path = Path::new(50.0, 20.0);
    path.limiter = Some(Limiter { per_second, burst });
    path.run(Settings::default())
}

#[test]
fn a_limit_of_replies_is_recognised() {
    for (per_second, burst) in [
        (5.0, 5.0),
        (10.0, 5.0),
        (20.0, 10.0),
        (100.0, 20.0),
        (200.0, 6.0),
    ] {
        let report = limited(per_second, burst);
        let Some(Ended::RateLimited { per_second: found }) = report.ended else {
            panic!("{per_second} a second: {report:?}");
        };
        let off = (f64::from(found) - per_second).abs();
        assert!(
            off <= per_second * 0.35 + 3.0,
            "{per_second} a second: {found}"
        );
        assert_eq!((report.estimate, report.capacity), (None, None));
    }
}

#[test]
fn what_was_read_before_a_limit_was_found_is_no_value() {
    // The first group of trains passes whole, and the next one meets the limit.
    let mut path = Path::new(50.0, 20.0).with(Cross::Poisson(25e6, 1000.0), 1);
    path.limiter = Some(Limiter {
        per_second: 20.0,
        burst: 150.0,
    });
    let report = path.run(Settings::default());
    assert!(
        matches!(report.ended, Some(Ended::RateLimited { .. })),
        "{report:?}"
    );
    assert!(report.measurements > 0, "{report:?}");
    assert_eq!((report.estimate, report.capacity), (None, None));
}

#[test]
fn a_limit_above_what_is_sent_is_none() {
    let report = limited(5_000.0, 500.0);
    assert!(error(&report, 50e6) < 0.01, "{report:?}");
}

#[test]
fn heavy_loss_is_not_taken_for_a_limit() {
    for seed in 0..10 {
        let mut path = Path::new(20.0, 20.0).with(Cross::None, seed);
        path.loss = 0.5;
        let report = path.run(Settings::default());
        assert!(
            !matches!(report.ended, Some(Ended::RateLimited { .. })),
            "{seed}: {report:?}"
        );
    }
}

#[test]
fn a_short_queue_that_overflows_is_not_taken_for_a_limit() {
    for mbps in [0.2, 1.0, 5.0] {
        let mut path = Path::new(mbps, 20.0);
        path.queue_s = 2.5 * 8000.0 / (mbps * 1e6);
        let report = path.run(Settings::default());
        assert!(
            !matches!(report.ended, Some(Ended::RateLimited { .. })),
            "{mbps}: {report:?}"
        );
        assert!(error(&report, mbps * 1e6) < 0.05, "{mbps}: {report:?}");
    }
}

#[test]
fn loss_duplicates_and_disorder_leave_the_value() {
    for seed in 0..10 {
        let mut path = Path::new(20.0, 20.0).with(Cross::None, seed);
        (path.loss, path.duplicates, path.jitter_s) = (0.02, 0.1, 0.0006);
        let report = path.run(Settings::default());
        assert!(error(&report, 20e6) < 0.1, "{seed}: {report:?}");
        assert!(
            report.replies + report.lost <= report.packets_sent,
            "{report:?}"
        );
    }
}

#[test]
fn silence_is_reported_after_three_attempts() {
    let mut path = Path::new(20.0, 20.0);
    path.silent_from_s = 0.0;
    let report = path.run(Settings::default());
    assert_eq!(report.ended, Some(Ended::NoReply));
    assert_eq!(report.estimate, None);
    assert_eq!(report.elapsed, Duration::from_secs(3));
    assert_eq!((report.replies, report.lost), (0, report.packets_sent));
}

/// What comes of a measurement without bounds, or with this one, if the host answers for 30 s.
fn falling_silent(continuous: bool, longest: Option<Duration>, method: Method) -> Report {
    let settings = Settings {
        method,
        continuous,
        longest,
        narrow_enough: 1e-9,
        most_bytes: None,
        ..Settings::default()
    };
    let mut path = Path::new(20.0, 20.0);
    // Losses call for the test of a limit early. It comes once, and would find out.
    path.loss = 0.5;
    path.silent_from_s = 30.0;
    path.run(settings)
}

#[test]
fn a_host_that_falls_silent_ends_a_measurement_without_bounds() {
    for method in [Method::Trains, Method::Search] {
        let report = falling_silent(false, None, method);
        assert_eq!(report.ended, Some(Ended::NoReply), "{report:?}");
        assert!(
            report.replies > 0 && report.elapsed < Duration::from_secs(60),
            "{report:?}"
        );
        let followed = falling_silent(true, Some(Duration::from_secs(90)), method);
        assert_eq!(followed.ended, Some(Ended::Time), "{followed:?}");
    }
}

#[test]
fn a_path_faster_than_this_side_has_a_lower_bound_alone() {
    let report = Path::new(100_000.0, 1.0).run(Settings::default());
    assert_eq!(report.ended, Some(Ended::SenderTooSlow), "{report:?}");
    let estimate = report.estimate.expect("a bound");
    assert!(estimate.flags.lower_bound);
    assert_eq!(estimate.high, Bandwidth::MAX);
    assert_eq!(report.capacity, None);
}

#[test]
fn a_path_faster_than_this_side_is_followed_by_ten_bursts_a_second_however_near_it_is() {
    for round_trip_ms in [0.1, 1.0, 20.0] {
        let settings = Settings {
            continuous: true,
            most_bytes: None,
            longest: Some(Duration::from_secs(5)),
            ..Settings::default()
        };
        let mut bounds = 0;
        let mut path = Path::new(100_000.0, round_trip_ms);
        let report = path.run_from(0.0, settings, |_, report| bounds = report.measurements);
        assert_eq!(report.ended, Some(Ended::Time), "{report:?}");
        let bits = report.bytes_sent.as_bits_f64();
        let most = 64.0 * 8_000.0 / 0.1;
        // The bursts with which it begins are shorter, and follow each other at once.
        assert!(bits / 5.0 < 1.1 * most, "{round_trip_ms} ms: {report:?}");
        assert!(bounds >= 30, "{round_trip_ms} ms: {report:?}");
    }
}

#[test]
fn bursts_of_which_half_is_lost_do_not_follow_each_other_at_once() {
    let settings = Settings {
        continuous: true,
        most_bytes: None,
        longest: Some(Duration::from_secs(20)),
        ..Settings::default()
    };
    let mut path = Path::new(100_000.0, 0.1);
    path.loss = 0.7;
    let report = path.run(settings);
    let most = 64.0 * 8_000.0 / 0.1;
    assert!(report.bytes_sent.as_bits_f64() / 20.0 < most, "{report:?}");
}

#[test]
fn a_lower_bound_counts_what_acknowledgements_of_several_packets_tell() {
    // A path of 8 Gbit/s. Of each burst only the last packet's time is known.
    let mut measurement = Measurement::new(Settings::default()).expect("defaults");
    let (mut now, mut burst) = (Timestamp::ZERO, Vec::new());
    loop {
        match measurement.step(now) {
            Step::Send { id, .. } => burst.push(id),
            Step::WaitUntil(_) => {
                let behind = burst.len() as u64 - 1;
                let last = burst.pop().expect("it waits for replies");
                now = now + Duration::from_millis(1) + Duration::from_micros(behind);
                for id in burst.drain(..) {
                    measurement.on_arrived(id, now);
                }
                measurement.on_reply(last, now);
            }
            Step::Done => break,
        }
    }
    let report = measurement.report(now);
    assert_eq!(report.ended, Some(Ended::SenderTooSlow), "{report:?}");
    let bound = report.estimate.expect("a bound").available.as_bps_f64();
    // 63 packets in 63 us, and the 2 us by which the shortest round trip was one of three packets.
    let expected = 63.0 * 8_000.0 / 61e-6;
    assert!((bound / expected - 1.0).abs() < 0.01, "{report:?}");
}

#[test]
fn what_is_back_counts_when_the_measurement_is_stopped() {
    let mut measurement = Measurement::new(Settings::default()).expect("defaults");
    let report = |m: &Measurement| m.report(Timestamp::from_nanos(1_000_000_000));
    let mut now = Timestamp::ZERO;
    let mut free = Timestamp::ZERO;
    for _ in 0..60 {
        match measurement.step(now) {
            // 10 Mbit/s, answered at once when served: more than one group of trains.
            Step::Send { id, size } => {
                free = free.max(now) + Duration::from_nanos(size.get() * 800);
                measurement.on_reply(id, free + Duration::from_millis(1));
            }
            Step::WaitUntil(at) => now = at,
            Step::Done => break,
        }
    }
    assert_eq!(report(&measurement).ended, None);
    measurement.stop();
    let stopped = report(&measurement);
    assert_eq!(stopped.ended, Some(Ended::Stopped));
    assert!(error(&stopped, 10e6) < 0.01, "{stopped:?}");
    assert_eq!(measurement.step(now), Step::Done);
}

#[test]
fn replies_to_packets_that_never_left_change_nothing() {
    let mut measurement = Measurement::new(Settings::default()).expect("defaults");
    measurement.on_reply(0, Timestamp::ZERO);
    measurement.on_lost(7, Timestamp::ZERO);
    let Step::Send { id, .. } = measurement.step(Timestamp::from_nanos(1_000)) else {
        panic!("the first packet leaves at once");
    };
    measurement.on_reply(id, Timestamp::ZERO); // before it left
    measurement.on_reply(u64::MAX, Timestamp::from_nanos(2_000));
    let report = measurement.report(Timestamp::from_nanos(3_000));
    assert_eq!(
        (report.replies, report.lost, report.packets_sent),
        (0, 0, 1)
    );
}

#[test]
fn the_bytes_end_the_measurement_before_they_are_passed() {
    let report = Path::new(20.0, 20.0)
        .with(Cross::Poisson(8e6, 1000.0), 1)
        .run(Settings {
            most_bytes: Some(Bytes::new(150_000)),
            ..within_a_second()
        });
    assert_eq!(report.ended, Some(Ended::Bytes), "{report:?}");
    assert!(report.bytes_sent <= Bytes::new(150_000), "{report:?}");
    assert!(report.estimate.is_some());
}

#[test]
fn without_bytes_for_the_first_burst_nothing_leaves() {
    let report = Path::new(20.0, 20.0).run(Settings {
        most_bytes: Some(Bytes::new(2_999)),
        ..within_a_second()
    });
    assert_eq!(report.ended, Some(Ended::Bytes), "{report:?}");
    assert_eq!(report.bytes_sent, Bytes::ZERO);
}

#[test]
fn settings_outside_their_ranges_are_named() {
    let good = Settings::default;
    let cases = [
        (
            "packet",
            Settings {
                packet: Bytes::new(63),
                ..good()
            },
        ),
        (
            "narrow_enough",
            Settings {
                narrow_enough: f64::NAN,
                ..good()
            },
        ),
        (
            "sub_ranges",
            Settings {
                sub_ranges: 0,
                ..good()
            },
        ),
        (
            "stream_packets",
            Settings {
                stream_packets: 65,
                ..good()
            },
        ),
        (
            "pause_round_trips",
            Settings {
                pause_round_trips: 101,
                ..good()
            },
        ),
        (
            "reply_timeout",
            Settings {
                reply_timeout: Duration::ZERO,
                ..good()
            },
        ),
        (
            "queue",
            Settings {
                queue: Duration::from_secs(2),
                ..good()
            },
        ),
        (
            "clock_error",
            Settings {
                clock_error: Duration::from_secs(1),
                ..good()
            },
        ),
    ];
    for (name, settings) in cases {
        let error = Measurement::new(settings).expect_err(name);
        assert_eq!(error.setting(), name);
    }
}

/// What is told at the end of 3 s over a link that is far faster than this side for a second, and
/// then serves 20 Mbit/s.
fn slowed_down() -> Report {
    let settings = Settings {
        continuous: true,
        longest: Some(Duration::from_secs(3)),
        most_bytes: None,
        ..Settings::default()
    };
    let mut measurement = Measurement::new(settings).expect("settings within their ranges");
    let mut replies: VecDeque<(u64, Timestamp)> = VecDeque::new();
    let (mut now, mut free) = (Timestamp::ZERO, Timestamp::ZERO);
    loop {
        while let Some((id, at)) = replies.front().copied().filter(|reply| reply.1 <= now) {
            replies.pop_front();
            measurement.on_reply(id, at);
        }
        match measurement.step(now) {
            Step::Send { id, size } => {
                let is_fast = now < Timestamp::from_origin(Duration::from_secs(1));
                let mbps = if is_fast { 100_000 } else { 20 };
                free = free.max(now) + Bandwidth::from_mbps(mbps).time_for(size);
                replies.push_back((id, free + Duration::from_millis(20)));
            }
            Step::WaitUntil(at) => now = replies.front().map_or(at, |reply| reply.1.min(at)),
            Step::Done => return measurement.report(now),
        }
    }
}

#[test]
fn a_path_that_was_faster_than_this_side_has_a_capacity_once_it_is_slower() {
    let report = slowed_down();
    assert!(error(&report, 20e6) < 0.02, "{report:?}");
    let capacity = report.capacity.expect("it is known").as_bps_f64();
    assert!((capacity / 20e6 - 1.0).abs() < 0.02, "{report:?}");
}

#[test]
fn a_group_that_is_cut_short_takes_no_capacity_away() {
    // The first packets of each train find tokens in the bucket, and meet no queue.
    let mut path = Path::new(20.0, 20.0);
    path.bucket = 6000.0;
    for us in (300_000..500_000).step_by(200) {
        let settings = Settings {
            longest: Some(Duration::from_micros(us)),
            narrow_enough: 0.001,
            ..Settings::default()
        };
        let report = path.clone().run(settings);
        assert_eq!(report.ended, Some(Ended::Time), "{us} us: {report:?}");
        assert!(report.capacity.is_some(), "{us} us: {report:?}");
    }
}
