use super::*;
use crate::units::Timestamp;
use std::time::Duration;

const PACKET: Bytes = Bytes::new(1250);

/// Dispersions of echoes as they came, in microseconds, packet by packet, read over 50 us. One
/// packet in `bunch` left `bunch` times 100 us after the one before, and the others at once.
fn dispersions(
    bunch: u64,
    arrivals_us: impl IntoIterator<Item = f64>,
) -> impl Iterator<Item = Dispersion> {
    let (mut first, mut from) = (0, 0.0);
    let arrivals = (0u64..).zip(arrivals_us);
    let micros = |span: f64| Nanos::of(Duration::from_secs_f64(span / 1e6));
    arrivals.filter_map(move |(last, at)| {
        let left = |packet: u64| (packet / bunch * bunch * 100) as f64;
        let apart = at - from;
        if last == 0 || apart < 50.0 {
            return None;
        }
        let bytes = PACKET.times(last - first);
        let dispersion = Dispersion {
            nanos_per_byte: apart * 1e3 / bytes.as_f64(),
            first,
            last,
            bytes,
            time: micros(apart),
            sent_time: micros(left(last) - left(first)),
            sent: Timestamp::ZERO,
            is_rushed: false,
            is_stretched: true,
        };
        (first, from) = (last, at);
        Some(dispersion)
    })
}

/// What blocks say at their median, in Mbit/s.
fn megabits(late: &Late) -> f64 {
    8e3 / f64::from(late.blocks()[late.count / 2])
}

/// What the first blocks say that say something of a capacity in Mbit/s, of packets that left
/// in bunches of twenty.
fn told(capacity_mbps: u64, arrivals_us: impl IntoIterator<Item = f64>) -> Option<f64> {
    told_of_bunches(20, capacity_mbps, arrivals_us)
}

fn told_of_bunches(
    bunch: u64,
    capacity_mbps: u64,
    arrivals_us: impl IntoIterator<Item = f64>,
) -> Option<f64> {
    let mut blocks = Blocks::default();
    let capacity = Bandwidth::from_mbps(capacity_mbps);
    dispersions(bunch, arrivals_us)
        .find_map(|dispersion| blocks.on_dispersion(&dispersion, capacity))
        .map(|late| megabits(&late))
}

/// Echoes of packets 100 us apart, each late by up to 90 us.
fn late_by_chance(count: u32) -> impl Iterator<Item = f64> {
    let at = (0..count).map(|at| f64::from(at) * 100.0);
    at.zip(by_chance()).map(|(at, chance)| at + 90.0 * chance)
}

/// Echoes of packets on a link of 100 Mbit/s, with none or one of others between two.
fn among_others(count: usize) -> impl Iterator<Item = f64> {
    let mut at_us = 0.0;
    by_chance().take(count).map(move |chance| {
        at_us += if chance < 0.5 { 100.0 } else { 200.0 };
        at_us
    })
}

/// Numbers between 0 and 1 by chance (SplitMix64).
fn by_chance() -> impl Iterator<Item = f64> {
    (1..).map(|at: u64| {
        let mut z = at.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    })
}

#[test]
fn packets_that_come_at_ticks_show_the_link_and_not_the_ticks() {
    // A packet takes 286 us, a link of 35 Mbit/s. Each way has ticks of 100 us, so that many
    // packets come 200 us apart, as from a link of 50 Mbit/s.
    let tick = |at: f64, phase: f64| ((at - phase) / 100.0).ceil() * 100.0 + phase;
    let arrivals = (0..800).map(|at| tick(tick(f64::from(at) * 286.0, 0.0), 30.0));
    let found = told(50, arrivals).expect("no block is as fast");
    assert!((found - 35.0).abs() < 1.0, "{found} Mbit/s");
}

#[test]
fn hosts_that_are_late_by_chance_show_the_link() {
    let found = told(160, late_by_chance(800)).expect("no block is as fast");
    assert!((found - 100.0).abs() < 3.0, "{found} Mbit/s");
    assert_eq!(
        told(100, late_by_chance(8000)),
        None,
        "that is the link's own"
    );
}

#[test]
fn a_few_blocks_take_the_place_of_a_refuted_capacity() {
    let refuted = |arrivals: &mut dyn Iterator<Item = f64>| {
        let mut blocks = Blocks::default();
        for dispersion in dispersions(20, arrivals) {
            let _ = blocks.on_dispersion(&dispersion, Bandwidth::from_mbps(400));
        }
        blocks.on_refuted().map(|late| megabits(&late))
    };
    let found = refuted(&mut late_by_chance(60)).expect("there are four blocks");
    assert!((found - 100.0).abs() < 5.0, "{found} Mbit/s");
    assert_eq!(refuted(&mut late_by_chance(30)), None, "there are fewer");
    assert_eq!(refuted(&mut among_others(60)), None);
}

#[test]
fn traffic_of_others_does_not_take_back_what_it_adds() {
    assert_eq!(told_of_bunches(1, 100, among_others(200_000)), None);
}

#[test]
fn what_others_add_grows_with_the_time_in_which_packets_left() {
    // Two packets of others after every second one, on a link of 100 Mbit/s.
    let arrivals = (0..1000).map(|at| f64::from(at / 2 * 400 + at % 2 * 100));
    assert_eq!(told_of_bunches(1, 100, arrivals.clone()), None);
    // Nobody sends so much in no time: ticks of a link of 50 Mbit/s look like that.
    let found = told(100, arrivals).expect("no traffic explains that");
    assert!((found - 50.0).abs() < 1.0, "{found} Mbit/s");
    // Nor is it known of packets that always leave at the capacity's own pace, or slower.
    let late = |count| late_by_chance(count);
    assert_eq!(told_of_bunches(1, 160, late(800)), None);
    assert!(told_of_bunches(20, 160, late(800)).is_some());
}

#[test]
fn regular_traffic_that_pauses_leaves_the_link_its_capacity() {
    // Every second packet on a link of 100 Mbit/s follows one of others, but not always.
    let mut at_us = 0.0;
    let arrivals = (0..20_000).map(|at| {
        let is_on = at % 1000 >= 200;
        at_us += if is_on && at % 2 == 0 { 200.0 } else { 100.0 };
        at_us
    });
    assert_eq!(told(100, arrivals), None);
}
