use super::*;
use crate::measurement::range::SearchRange;
use crate::measurement::record::{Arrival, MeasurementRecord};
use crate::path::ack::EchoQuality::{self, Aggregated, Lost, Single};
use crate::units::{Bandwidth, Bytes, Timestamp};
use proptest::prelude::*;

/// A stream of as many packets, one a millisecond, echoed `delay` us after it was sent.
fn record(echoes: &[(EchoQuality, u64)]) -> MeasurementRecord {
    let packets = u32::try_from(echoes.len()).expect("a short stream");
    let mut record = MeasurementRecord::new(1, packets);
    record.begin(
        1,
        SearchRange::first(Bandwidth::from_mbps(10)),
        EchoCadence::EveryPacket,
    );
    for (number, &(quality, delay)) in (0..).zip(echoes) {
        let sent = Timestamp::from_nanos(number * 1_000_000);
        record.on_sent(1, PacketRecord::sent(number, Bytes::new(1200), sent));
        let at = Timestamp::from_nanos(sent.as_nanos() + delay * 1_000);
        record.on_echo(number, Arrival { at, quality });
    }
    record
}

fn trend(echoes: &[(EchoQuality, u64)], cadence: EchoCadence) -> Trend {
    judge(
        &record(echoes).streams()[0],
        cadence,
        &Thresholds::default(),
    )
}

fn rises(nanos: &[i64]) -> Vec<TimeDelta> {
    nanos.iter().copied().map(TimeDelta::from_nanos).collect()
}

#[test]
fn a_growing_queue_is_an_increasing_trend() {
    let echoes = [10, 11, 13, 16, 20].map(|delay| (Single, delay));
    assert_eq!(trend(&echoes, EchoCadence::EveryPacket), Trend::Increasing);
}

#[test]
fn a_level_delay_is_not_increasing() {
    let echoes = [(Single, 10); 5];
    assert_eq!(
        trend(&echoes, EchoCadence::EveryPacket),
        Trend::NotIncreasing
    );
}

#[test]
fn a_rise_of_the_last_pair_alone_is_a_contradiction() {
    // PCT 1/4 says no, PDT 1 says yes.
    let echoes = [10, 10, 10, 10, 20].map(|delay| (Single, delay));
    assert_eq!(
        trend(&echoes, EchoCadence::EveryPacket),
        Trend::CannotTell(Doubt::Contradiction)
    );
}

#[test]
fn many_small_rises_and_one_fall_are_not_increasing() {
    // The saw-tooth of cross packets on a link that is not full: PCT 3/4, PDT 0.
    let echoes = [10, 11, 12, 13, 10].map(|delay| (Single, delay));
    assert_eq!(
        trend(&echoes, EchoCadence::EveryPacket),
        Trend::NotIncreasing
    );
}

#[test]
fn a_lost_packet_leaves_the_trend_open() {
    let mut echoes = [10, 11, 13, 16, 20].map(|delay| (Single, delay));
    echoes[2].0 = Lost;
    assert_eq!(
        trend(&echoes, EchoCadence::EveryPacket),
        Trend::CannotTell(Doubt::PacketLost)
    );
}

#[test]
fn half_of_the_pairs_suffice_and_fewer_do_not() {
    let mut echoes = [10, 11, 13, 16, 20].map(|delay| (Single, delay));
    // Without packet 3, pairs 2 and 5 remain: two of four.
    echoes[2].0 = Aggregated;
    assert_eq!(trend(&echoes, EchoCadence::EveryPacket), Trend::Increasing);
    // Without packet 2 as well, only pair 5.
    echoes[1].0 = Aggregated;
    assert_eq!(
        trend(&echoes, EchoCadence::EveryPacket),
        Trend::CannotTell(Doubt::TooFewEchoes)
    );
}

#[test]
fn every_second_echo_gives_the_trend_of_a_stream_half_as_long() {
    // The acknowledged ones rise; what the aggregated ones say would be nonsense.
    let echoes = [
        (Aggregated, 900),
        (Single, 10),
        (Aggregated, 900),
        (Single, 12),
        (Aggregated, 900),
        (Single, 16),
    ];
    assert_eq!(trend(&echoes, EchoCadence::EverySecond), Trend::Increasing);
    assert_eq!(
        trend(&echoes, EchoCadence::EveryPacket),
        Trend::CannotTell(Doubt::TooFewEchoes)
    );
}

#[test]
fn a_stream_that_did_not_finish_leaves_the_trend_open() {
    let mut record = MeasurementRecord::new(1, 5);
    record.begin(
        1,
        SearchRange::first(Bandwidth::from_mbps(10)),
        EchoCadence::EveryPacket,
    );
    assert_eq!(
        judge(
            &record.streams()[0],
            EchoCadence::EveryPacket,
            &Thresholds::SINGLE
        ),
        Trend::CannotTell(Doubt::Incomplete)
    );
}

#[test]
fn pathloads_bands_have_a_grey_zone() {
    let judge = |nanos: &[i64]| judge_rises(&rises(nanos), &Thresholds::PATHLOAD);
    // PCT 3/5 = 0.6 grey; PDT 10/20 = 0.5 grey.
    assert_eq!(
        judge(&[5, 5, 5, -3, -2]),
        Trend::CannotTell(Doubt::GreyZone)
    );
    // PCT 0.6 grey, PDT (20 - 2)/22 = 0.82 rises.
    assert_eq!(judge(&[10, 5, 5, -1, -1]), Trend::Increasing);
    // PCT 0.6 grey, PDT (6 - 6)/12 = 0 does not.
    assert_eq!(judge(&[2, 2, 2, -3, -3]), Trend::NotIncreasing);
    // PCT 4/5 rises, PDT (4 - 4)/8 = 0 does not.
    assert_eq!(
        judge(&[1, 1, 1, 1, -4]),
        Trend::CannotTell(Doubt::Contradiction)
    );
}

#[test]
fn trends_count_as_in_the_paper() {
    assert_eq!(Trend::Increasing.as_number(), 1);
    assert_eq!(Trend::NotIncreasing.as_number(), -1);
    assert_eq!(Trend::CannotTell(Doubt::GreyZone).as_number(), 0);
}

proptest! {
    #[test]
    fn the_statistics_stay_in_their_ranges(
        nanos in proptest::collection::vec(any::<i64>(), 0..64),
    ) {
        let rises = rises(&nanos);
        prop_assert_eq!(pct::statistic(&rises).is_none(), nanos.is_empty());
        if let (Some(pct), Some(pdt)) = (pct::statistic(&rises), pdt::statistic(&rises)) {
            prop_assert!((0.0..=1.0).contains(&pct), "PCT {pct}");
            prop_assert!((-1.0..=1.0).contains(&pdt), "PDT {pdt}");
        }
        judge_rises(&rises, &Thresholds::SINGLE);
        judge_rises(&rises, &Thresholds::PATHLOAD);
    }
}
