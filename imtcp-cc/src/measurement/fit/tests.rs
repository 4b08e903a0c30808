use super::*;
use crate::measurement::range::SearchRange;
use crate::measurement::record::{Arrival, MeasurementRecord, PacketRecord};
use crate::path::ack::EchoQuality::Single;
use crate::units::{Bytes, Timestamp};
use proptest::prelude::*;

fn points(rates: &[(f64, f64)]) -> Vec<Point> {
    rates
        .iter()
        .map(|&(sent, arrived)| Point {
            sent,
            arrived,
            rounding: 0.0,
        })
        .collect()
}

fn knee(bits_per_second: u64) -> Fit {
    Fit::Knee(Bandwidth::from_bps(bits_per_second))
}

fn fit_of(rates: &[(f64, f64)]) -> Fit {
    fit_points(&points(rates))
}

/// A stream with these send and echo times, in nanoseconds.
fn stream(times: &[(u64, u64)], size: u64) -> MeasurementRecord {
    let packets = u32::try_from(times.len()).expect("a short stream");
    let mut record = MeasurementRecord::new(1, packets);
    record.begin(
        1,
        SearchRange::first(Bandwidth::from_mbps(10)),
        EchoCadence::EveryPacket,
    );
    for (number, &(sent, arrived)) in (0..).zip(times) {
        let sent = Timestamp::from_nanos(sent);
        record.on_sent(1, PacketRecord::sent(number, Bytes::new(size), sent));
        let at = Timestamp::from_nanos(arrived);
        record.on_echo(
            number,
            Arrival {
                at,
                quality: Single,
            },
        );
    }
    record
}

#[test]
fn the_knee_is_the_highest_rate_that_arrives_unslowed() {
    // Slope 1/2 beyond 65: heights 65 + (67.5 - 65)/2 and 65 + (70 - 65)/2.
    let rates = [(62.5, 62.5), (65.0, 65.0), (67.5, 66.25), (70.0, 67.5)];
    assert_eq!(fit_of(&rates), knee(65));
}

#[test]
fn a_rate_that_only_nears_the_identity_is_not_on_line_one() {
    // Knee at 60: errors 0 and 0. Knee at 62: line (i) misses by 1 there, squared 1.
    assert_eq!(
        fit_of(&[(58.0, 58.0), (60.0, 60.0), (62.0, 61.0), (64.0, 62.0)]),
        knee(60)
    );
}

#[test]
fn all_pairs_on_line_one_give_the_highest_rate() {
    assert_eq!(
        fit_of(&[(10.0, 10.0), (20.0, 20.0), (30.0, 30.0)]),
        knee(30)
    );
}

#[test]
fn no_pair_on_line_one_is_told() {
    // On a line of slope 1/2 through (50, 50), all of it above: exact without line (i), while any
    // pair taken onto line (i) misses by half its distance from 50.
    let rates = [(60.0, 55.0), (70.0, 60.0), (80.0, 65.0), (90.0, 70.0)];
    assert_eq!(fit_of(&rates), Fit::NoLineOne);
}

#[test]
fn one_pair_makes_no_line() {
    assert_eq!(fit_of(&[(10.0, 10.0)]), Fit::TooFewPairs);
    assert_eq!(fit_of(&[]), Fit::TooFewPairs);
}

#[test]
fn equal_send_rates_still_give_an_answer() {
    // Arriving unslowed: on line (i). Slowed to 15: the level line through 15 is exact.
    assert_eq!(fit_of(&[(20.0, 20.0); 3]), knee(20));
    assert_eq!(fit_of(&[(20.0, 15.0); 3]), Fit::NoLineOne);
}

#[test]
fn rounded_times_stay_on_line_one() {
    // 1250 B every 100 us is 100 Mbit/s; each echo is off by up to a nanosecond.
    let record = stream(
        &[
            (0, 1_000_000),
            (100_000, 1_099_999),
            (199_000, 1_199_000),
            (297_000, 1_296_999),
        ],
        1250,
    );
    // The highest rate is that of the last gap, 98 us: 10^4 bits / 98 us.
    assert_eq!(
        fit(&record.streams()[0], EchoCadence::EveryPacket),
        knee(102_040_816)
    );
}

#[test]
fn echoes_that_come_together_or_change_places_are_left_out() {
    let record = stream(
        &[(0, 1_000), (1_000, 1_000), (2_000, 900), (3_000, 1_900)],
        1250,
    );
    // Only the last pair has an arrival rate.
    assert_eq!(
        fit(&record.streams()[0], EchoCadence::EveryPacket),
        Fit::TooFewPairs
    );
}

#[test]
fn packets_that_left_together_are_left_out() {
    let record = stream(&[(5, 10), (5, 20), (5, 30)], 1250);
    assert_eq!(
        fit(&record.streams()[0], EchoCadence::EveryPacket),
        Fit::TooFewPairs
    );
}

#[test]
fn every_second_echo_fits_the_rates_of_two_packets() {
    // Packets 2, 4, 6: 2500 B each in 2 ms, 10 Mbit/s, unslowed.
    let times: Vec<(u64, u64)> = (0..6)
        .map(|j| (j * 1_000_000, 50_000_000 + j * 1_000_000))
        .collect();
    let record = stream(&times, 1250);
    assert_eq!(
        fit(&record.streams()[0], EchoCadence::EverySecond),
        knee(10_000_000)
    );
}

proptest! {
    #[test]
    fn any_times_give_a_send_rate_or_none(
        times in proptest::collection::vec((any::<u64>(), any::<u64>()), 2..64),
        size: u64,
    ) {
        let record = stream(&times, size);
        for cadence in [EchoCadence::EveryPacket, EchoCadence::EverySecond] {
            let rates: Vec<u64> = pairs(record.streams()[0].packets(), cadence)
                .filter_map(|pair| pair.send_rate())
                .map(|rate| Bandwidth::from_bps_f64(rate.as_bps_f64()).as_bps())
                .collect();
            if let Fit::Knee(rate) = fit(&record.streams()[0], cadence) {
                prop_assert!(rates.contains(&rate.as_bps()), "{rate} is no send rate");
            }
        }
    }

    #[test]
    fn a_path_without_noise_gives_the_last_rate_below_its_bandwidth(
        available in 40.0f64..70.0, slope in 0.05f64..0.95,
    ) {
        let rates: Vec<(f64, f64)> = (0..9)
            .map(|step| 40.0 + 4.0 * f64::from(step))
            .map(|x| (x, if x <= available { x } else { available + slope * (x - available) }))
            .collect();
        let last = rates.iter().rfind(|(sent, arrived)| sent <= arrived).map(|(sent, _)| *sent);
        let next = last.map(|rate| rate + 4.0);
        match fit_of(&rates) {
            Fit::Knee(found) => {
                let found = Some(found.as_bps_f64());
                prop_assert!(found == last || found == next, "{found:?}, not {last:?}");
            }
            other => prop_assert!(false, "{other:?} at {available}"),
        }
    }
}
