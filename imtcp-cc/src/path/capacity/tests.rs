use super::*;
use crate::path::ack::{EchoPoint, LinkState};
use crate::units::Timestamp;
use std::time::Duration;

/// A full packet at 20 Mbit/s, and an acknowledgement of 150 bytes.
const PACKET: Bytes = Bytes::new(1378);
const SERVED: Duration = Duration::from_nanos(551_200);
const PRESSED: Duration = Duration::from_nanos(60_000);

/// Packets that left back to back, echoed `arrival` apart.
fn gap(arrival: Duration) -> EchoGap {
    let at = |number: u64, arrived: Duration| EchoPoint {
        number,
        size: PACKET,
        sent: Timestamp::ZERO,
        arrived: Timestamp::from_origin(arrived),
        came: Timestamp::from_origin(arrived),
    };
    EchoGap {
        from: at(0, Duration::ZERO),
        to: at(1, arrival),
        bytes: PACKET,
        packets: 1,
        waited: Nanos::ZERO,
        is_alone: false,
        link: LinkState::BusyQueued,
    }
}

fn megabits(capacity: &Capacity) -> Option<f64> {
    capacity.get().map(|rate| (rate.as_bps_f64() / 1e6).round())
}

/// Feeds gaps until the capacity is dropped; whether that was called a contradiction.
fn until_dropped(capacity: &mut Capacity, arrival: impl Fn(usize) -> Duration) -> bool {
    for index in 0..1000 {
        let known = capacity.dispersion.get().is_some();
        let news = capacity.on_gap(&gap(arrival(index)), false);
        if known && capacity.dispersion.get().is_none() {
            return news.contradiction;
        }
    }
    panic!("it was not dropped");
}

#[test]
fn a_first_pile_by_chance_is_dropped_and_the_echoes_are_not_blamed() {
    let mut capacity = Capacity::new();
    for arrival in [SERVED, PRESSED, PRESSED, SERVED] {
        let _ = capacity.on_gap(&gap(arrival), false);
    }
    assert_eq!(megabits(&capacity), Some(184.0));
    assert!(!until_dropped(&mut capacity, |_| SERVED));
    for _ in 0..600 {
        assert!(!capacity.on_gap(&gap(SERVED), false).contradiction);
    }
    assert_eq!(megabits(&capacity), Some(20.0));
}

#[test]
fn after_a_refuted_capacity_two_echoes_alike_are_followed_and_six_are_told() {
    let mut capacity = Capacity::new();
    for arrival in [SERVED, PRESSED, PRESSED, SERVED] {
        let _ = capacity.on_gap(&gap(arrival), false);
    }
    assert!(!until_dropped(&mut capacity, |_| SERVED));
    for percent in [60, 100, 150, 100] {
        let _ = capacity.on_gap(&gap(SERVED * percent / 100), false);
    }
    assert!(capacity.dispersion.supposed().is_some());
    for _ in 0..4 {
        assert_eq!(capacity.dispersion.get(), None);
        let _ = capacity.on_gap(&gap(SERVED), false);
    }
    assert_eq!(megabits(&capacity), Some(20.0));
    assert!(capacity.dispersion.get().is_some());
}

/// After how many echoes that were pressed together, of packets that left far apart, their pace is
/// told, if so many others came far apart before.
fn pressed_until_told(far_apart: usize) -> Option<usize> {
    let mut capacity = Capacity::new();
    for _ in 0..far_apart {
        let _ = capacity.on_gap(&gap(SERVED * 10), false);
    }
    assert_eq!(megabits(&capacity), Some(2.0), "a first pile is told");
    let mut pressed = gap(PRESSED);
    pressed.to.sent = Timestamp::from_origin(SERVED * 98 / 10);
    (1..20).find(|_| {
        let _ = capacity.on_gap(&pressed, false);
        let told = capacity.dispersion.get();
        told.is_some_and(|rate| rate > Bandwidth::from_mbps(100))
    })
}

#[test]
fn a_few_far_from_another_few_prove_no_capacity() {
    assert_eq!(pressed_until_told(20), Some(4), "twenty were no chance");
    assert_eq!(pressed_until_told(5), None);
}

/// Feeds echoes, which blame nobody. Returns after how many of them no capacity was told.
fn untold(
    capacity: &mut Capacity,
    indices: std::ops::Range<u32>,
    arrival: impl Fn(u32) -> Duration,
) -> usize {
    let is_untold = |index: &u32| {
        let news = capacity.on_gap(&gap(arrival(*index)), false);
        assert!(!news.contradiction, "blamed at {index}");
        capacity.dispersion.get().is_none()
    };
    indices.filter(is_untold).count()
}

#[test]
fn most_dispersions_take_the_place_of_a_few_that_chance_made() {
    // A host is late by up to 3 %. Later it also brings some echoes with the one before.
    let together = |index: u32| {
        let by_chance = u64::from(index) * 7_919_533 % 61_001;
        Duration::from_nanos(20_000 + by_chance)
    };
    let arrival = |index: u32| match index {
        4 | 5 => SERVED * 60 / 100,
        100..132 if index.is_multiple_of(3) => together(index),
        132.. if index.is_multiple_of(16) => together(index),
        _ => SERVED * (97 + index * 29 % 7) / 100,
    };
    let mut capacity = Capacity::new();
    let silent = untold(&mut capacity, 0..120, arrival);
    assert_eq!((megabits(&capacity), silent), (Some(33.0), 3));
    let silent = untold(&mut capacity, 120..200, arrival);
    assert_eq!(silent, 6, "the heap is proved soon");
    for at in 2..20 {
        let silent = untold(&mut capacity, at * 100..(at + 1) * 100, arrival);
        let told = megabits(&capacity);
        assert!(matches!(told, Some(19.0..=21.0)), "{told:?}");
        assert_eq!(silent, 0);
    }
}

/// Echoes of a link of 20 Mbit/s that are off by up to a fifth of what it needs. One in sixteen
/// comes sooner. They look like those of a link that is a third faster, until some come together.
fn off_by_a_fifth(index: u32) -> Duration {
    match index {
        600..640 if index.is_multiple_of(4) => Duration::from_micros(40),
        _ if index.is_multiple_of(16) => SERVED * 75 / 100,
        _ => SERVED * (80 + index * 29 % 41) / 100,
    }
}

/// What such echoes have shown once they are a heap.
fn with_heap() -> Capacity {
    let mut capacity = Capacity::new();
    let _ = untold(&mut capacity, 0..600, off_by_a_fifth);
    assert_eq!((megabits(&capacity), capacity.doubt()), (Some(27.0), 0.0));
    let silent = untold(&mut capacity, 600..1000, off_by_a_fifth);
    assert_eq!(silent, 8, "the heap is proved soon");
    let told = megabits(&capacity);
    assert!(matches!(told, Some(19.0..=21.0)), "{told:?}");
    assert!(capacity.doubt() > 0.0, "it is nothing exact");
    capacity
}

#[test]
fn the_middle_of_what_a_host_spread_takes_the_place_of_a_refuted_pile_near_it() {
    let mut capacity = with_heap();
    // A pile that stands out is the link's own again.
    for _ in 0..400 {
        let _ = capacity.on_gap(&gap(SERVED), false);
    }
    assert_eq!((megabits(&capacity), capacity.doubt()), (Some(20.0), 0.0));
}

#[test]
fn a_heap_whose_middle_moves_is_no_faster_link() {
    let mut capacity = with_heap();
    for index in 1000..2000 {
        let news = capacity.on_gap(&gap(off_by_a_fifth(index) * 90 / 100), false);
        assert_eq!(news.since, None, "at {index}");
    }
    let told = megabits(&capacity);
    assert!(matches!(told, Some(22.0..=23.0)), "{told:?}");
}

#[test]
fn echoes_that_are_always_pressed_together_are_blamed() {
    let mut capacity = Capacity::new();
    let pressed = |index: usize| {
        if index.is_multiple_of(8) {
            PRESSED
        } else {
            SERVED
        }
    };
    assert!(!until_dropped(&mut capacity, pressed));
    assert!(until_dropped(&mut capacity, pressed));
}

#[test]
fn echoes_of_a_fast_link_that_are_late_now_and_then_are_read_over_a_longer_time() {
    let mut capacity = Capacity::new();
    // A packet takes 110 us, and every eighth echo is 90 us late.
    let late = [200, 20, 110, 110, 110, 110, 110, 110];
    for arrival in late.repeat(250) {
        let news = capacity.on_gap(&gap(Duration::from_micros(arrival)), false);
        assert!(!news.contradiction);
    }
    assert_eq!(megabits(&capacity), Some(100.0));
}

/// What is told of a link that takes 286 us for a packet, if packets that follow each other
/// arrive at these times.
fn told_of_286_us(arrivals_us: impl Iterator<Item = u64>) -> Capacity {
    let mut capacity = Capacity::new();
    let mut before = 0;
    for (number, at) in (0..).zip(arrivals_us) {
        let mut gap = gap(Duration::from_micros(at - before));
        (gap.from.number, gap.to.number) = (number, number + 1);
        before = at;
        assert!(!capacity.on_gap(&gap, false).contradiction);
    }
    capacity
}

#[test]
fn a_link_is_told_from_the_ticks_of_its_echoes() {
    // At ticks of 100 us one packet in seven comes 200 us after the one before: 55 Mbit/s.
    let arrivals = (1..=1000u64).map(|number| (number * 286).next_multiple_of(100));
    let capacity = told_of_286_us(arrivals);
    assert!((38.0..=39.0).contains(&megabits(&capacity).expect("a capacity")));
    assert!(!capacity.is_bound());
}

#[test]
fn packets_that_left_slower_tell_ticks_from_others() {
    // After a few that leave at once packets leave 200 us apart, as a link of 55 Mbit/s would
    // serve them, and after forty of them `slower` leave 290 us apart.
    let told = |slower: u64| {
        let mut capacity = Capacity::new();
        let (mut left, mut served, mut before) = (0, 0, 0);
        for number in 0..3000 {
            let apart = match number {
                0..10 => 0,
                _ if number % (40 + slower) < 40 => 200,
                _ => 290,
            };
            let sent = [left, left + apart].map(Duration::from_micros);
            left += apart;
            served = left.max(served) + 286;
            let arrived = served.next_multiple_of(100);
            let mut gap = gap(Duration::from_micros(arrived - before));
            before = arrived;
            (gap.from.number, gap.to.number) = (number, number + 1);
            [gap.from.sent, gap.to.sent] = sent.map(Timestamp::from_origin);
            let _ = capacity.on_gap(&gap, false);
        }
        megabits(&capacity).expect("a capacity")
    };
    assert!((38.0..=39.0).contains(&told(20)), "{}", told(20));
    assert!((54.0..=56.0).contains(&told(0)), "nothing tells them apart");
}

#[test]
fn a_refuted_capacity_gives_way_to_what_several_dispersions_show() {
    // Echoes that are late by up to 240 us, by chance. Without the blocks the capacity is
    // refuted once and again, and then the echoes are blamed: there are too few of them for
    // what blocks show by themselves.
    let mixed = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let late = |number: u64| mixed(mixed(number) ^ number.rotate_left(17)) * 240 / (1 << 32);
    let arrivals = (1..=400).map(|number| number * 286 + late(number));
    let capacity = told_of_286_us(arrivals);
    assert!((37.0..=40.0).contains(&megabits(&capacity).expect("a capacity")));
    assert!(!capacity.is_bound());
}

#[test]
fn a_faster_link_shows_in_one_train_of_eight() {
    // A frame of four packets at a time, at the known capacity's pace, and rushed now and then.
    let mut capacity = Capacity::new();
    for _ in 0..300 {
        let _ = capacity.on_gap(&gap(SERVED), false);
    }
    let (mut trains, mut number, mut at) = (0, 1000, Timestamp::ZERO);
    while capacity.get().unwrap() < Bandwidth::from_mbps(60) {
        trains += 1;
        assert!(trains < 200, "{:?}", capacity.get());
        let own = capacity.get().unwrap().time_for(PACKET);
        let apart = if trains % 8 == 0 { own * 85 / 100 } else { own };
        for _ in 0..3 {
            let mut paced = gap(apart.max(SERVED / 4));
            (paced.from.number, paced.to.number) = (number, number + 1);
            (paced.from.sent, paced.to.sent) = (at, at + apart);
            assert!(!capacity.on_gap(&paced, false).contradiction);
            (number, at) = (number + 1, at + apart);
        }
        number += 1;
    }
    assert!(!capacity.is_bound());
}

#[test]
fn an_acknowledgement_that_the_peer_held_back_shows_no_link() {
    // A client that acknowledges every second packet, or after 25 ms, and says how long it
    // waited. The packets left together, or so far apart that one in two waited alone.
    for (sent_us, arrival_us) in [(0, 551), (24_000, 24_500), (24_000, 25_200)] {
        let mut capacity = Capacity::new();
        let mut held = gap(Duration::from_micros(arrival_us));
        held.to.sent = Timestamp::from_origin(Duration::from_micros(sent_us));
        held.to.came = held.to.arrived + Duration::from_millis(25);
        for _ in 0..100 {
            let _ = capacity.on_gap(&held, false);
        }
        assert_eq!(capacity.get(), None, "sent {sent_us} us apart");
    }
    // What a peer says of its delay makes no link faster.
    for (percent, told) in [(95, Some(20.0)), (60, None)] {
        let mut capacity = Capacity::new();
        let mut lie = gap(SERVED * percent / 100);
        lie.to.came = Timestamp::from_origin(SERVED);
        for _ in 0..100 {
            let _ = capacity.on_gap(&lie, false);
        }
        assert_eq!(megabits(&capacity), told, "{percent} %");
    }
}

#[test]
fn what_delivery_exceeds_is_forgotten_with_its_idea_of_what_left_close_together() {
    let mut capacity = Capacity::new();
    // Acknowledgements that the peer delayed look like a link of 0.42 Mbit/s.
    for _ in 0..4 {
        let _ = capacity.on_gap(&gap(Duration::from_millis(26)), false);
    }
    assert!(capacity.get().is_some_and(|found| found.as_bps_f64() < 5e5));
    // 10 Mbit/s are delivered.
    let mut at = Timestamp::ZERO;
    for _ in 0..2000 {
        at = at + Duration::from_micros(1_102);
        let _ = capacity.on_delivered((at, at), PACKET, 1, Nanos::ZERO);
    }
    assert!(capacity.is_bound());
    // Packets that left and came at the same pace are no evidence of any link.
    for _ in 0..600 {
        let mut paced = gap(Duration::from_micros(1_102));
        paced.to.sent = Timestamp::from_origin(Duration::from_micros(1_102));
        let _ = capacity.on_gap(&paced, false);
    }
    assert!(capacity.is_bound());
}
