//! The Receive Timestamps field: the draft's examples, and whatever else can be written.

use std::time::Duration;

use quiche::cc::ReceiveTime;
use quiche::receive_timestamps::wire::{decode, encode, parameters, Arrivals, Stamp};

use super::Draw;

/// The first table of section 8: packet number and time since the origin in microseconds.
const FIRST: [(u64, u64); 10] = [
    (87, 300),
    (88, 305),
    (89, 310),
    (90, 320),
    (91, 330),
    (96, 350),
    (97, 355),
    (98, 360),
    (99, 370),
    (100, 380),
];
/// The second table: what came out of order.
const SECOND: [(u64, u64); 4] = [(92, 390), (93, 392), (94, 394), (95, 395)];

/// What the draft calls 380 and 395, as variable-length integers.
const T380: [u8; 2] = [0x41, 0x7c];
const T395: [u8; 2] = [0x41, 0x8b];

fn arrive(arrivals: &mut Arrivals, packets: &[(u64, u64)]) {
    for (packet_number, micros) in packets {
        arrivals.on_packet(*packet_number, Duration::from_micros(*micros));
    }
}

fn times(packets: &[(u64, u64)]) -> Vec<ReceiveTime> {
    let time = |(packet_number, micros): &(u64, u64)| ReceiveTime {
        packet_number: *packet_number,
        since_basis: Duration::from_micros(*micros),
    };
    packets.iter().rev().map(time).collect()
}

#[test]
fn the_drafts_first_example() {
    let mut arrivals = Arrivals::new(parameters(100, 0));
    arrive(&mut arrivals, &FIRST);
    let stamps = arrivals.on_ack(&[87..=91, 96..=100]);
    let field = encode(100, &stamps, 1_000).expect("stamps in order");
    let expected = [
        &[2, 0, 5][..],
        &T380,
        &[10, 10, 5, 5],
        &[9, 5, 20, 10, 10, 5, 5],
    ]
    .concat();
    assert_eq!(field, expected);
    let (read, length) = decode(&field, 100, &parameters(10, 0)).expect("a valid field");
    assert_eq!((read, length), (times(&FIRST), field.len()));
}

#[test]
fn the_drafts_second_example() {
    let mut arrivals = Arrivals::new(parameters(100, 0));
    arrive(&mut arrivals, &FIRST);
    arrivals.on_ack(&[87..=91, 96..=100]);
    arrive(&mut arrivals, &SECOND);
    let stamps = arrivals.on_ack(&[87..=100]);
    let field = encode(100, &stamps, 1_000).expect("stamps in order");
    let expected = [
        &[3, 5, 4][..],
        &T395,
        &[1, 2, 2],
        &[0, 5, 10, 10, 10, 5, 5],
        &[9, 5, 20, 10, 10, 5, 5],
    ]
    .concat();
    assert_eq!(field, expected);
    let (read, _) = decode(&field, 100, &parameters(14, 0)).expect("a valid field");
    assert_eq!(read, times(&[&FIRST[..], &SECOND].concat()));
}

#[test]
fn the_drafts_second_example_without_what_was_told_twice() {
    let mut arrivals = Arrivals::new(parameters(100, 0));
    arrive(&mut arrivals, &FIRST);
    arrivals.on_ack(&[87..=91, 96..=100]);
    arrivals.on_ack(&[87..=91, 96..=100]);
    arrive(&mut arrivals, &SECOND);
    let stamps = arrivals.on_ack(&[87..=100]);
    let field = encode(100, &stamps, 1_000).expect("stamps in order");
    assert_eq!(field, [&[1, 5, 4][..], &T395, &[1, 2, 2]].concat());
}

#[test]
fn only_what_the_frame_acknowledges_is_told() {
    let mut arrivals = Arrivals::new(parameters(100, 0));
    arrive(&mut arrivals, &FIRST);
    let told = arrivals.on_ack(&[90..=98]);
    let numbers: Vec<u64> = told.iter().map(|stamp| stamp.packet_number).collect();
    assert_eq!(numbers, [98, 97, 96, 91, 90]);
}

#[test]
fn the_latest_are_kept_where_not_all_may_be_told() {
    let mut arrivals = Arrivals::new(parameters(3, 0));
    arrive(&mut arrivals, &FIRST);
    let told = arrivals.on_ack(&[87..=100]);
    let numbers: Vec<u64> = told.iter().map(|stamp| stamp.packet_number).collect();
    assert_eq!(numbers, [100, 99, 98]);
    // A connection of a million packets without an ACK frame keeps no million times.
    let mut arrivals = Arrivals::new(parameters(u64::MAX, 0));
    for number in 0..1_000_000 {
        arrivals.on_packet(number, Duration::from_micros(number));
    }
    assert_eq!(arrivals.on_ack(&[0..=1_000_000]).len(), 1_024);
}

#[test]
fn a_clock_that_was_turned_back_gives_a_valid_field() {
    let mut arrivals = Arrivals::new(parameters(100, 0));
    arrive(
        &mut arrivals,
        &[(1, 500), (2, 700), (3, 400), (4, 700), (5, 0)],
    );
    let stamps = arrivals.on_ack(&[1..=5]);
    let field = encode(5, &stamps, 1_000).expect("stamps in order");
    let (read, _) = decode(&field, 5, &parameters(5, 0)).expect("a valid field");
    // Times before the origin are told as the first moment after it.
    assert_eq!(
        read,
        times(&[(5, 1), (3, 400), (1, 500), (2, 700), (4, 700)])
    );
}

/// Arrivals with losses, reordering and pauses; by arrival.
fn random_arrivals(draw: &mut Draw) -> Vec<(u64, u64)> {
    let mut time = draw.below(1 << 40);
    let mut packets: Vec<u64> = (0..200).filter(|_| draw.below(10) > 0).collect();
    for index in 1..packets.len() {
        if draw.below(6) == 0 {
            packets.swap(index - 1, index);
        }
    }
    let mut arrive = |number| {
        time += match draw.below(10) {
            0 => 0,
            1 => draw.below(1 << 24),
            _ => draw.below(300),
        };
        (number, time + 1)
    };
    packets.into_iter().map(&mut arrive).collect()
}

#[test]
fn whatever_arrives_is_told_to_the_units_precision() {
    for seed in 0..400 {
        let mut draw = Draw::new(seed);
        let exponent = draw.below(21);
        let asked = parameters(1_000, exponent);
        let packets = random_arrivals(&mut draw);
        let mut arrivals = Arrivals::new(asked);
        arrive(&mut arrivals, &packets);
        let stamps = arrivals.on_ack(&[0..=200]);
        let room = draw.below(700) as usize;
        let field = encode(200, &stamps, room).expect("stamps in order");
        assert!(field.len() <= room.max(1), "seed {seed}");
        let (read, length) = decode(&field, 200, &asked).expect("a valid field");
        assert_eq!(length, field.len(), "seed {seed}");
        for told in &read {
            let (_, micros) = packets
                .iter()
                .find(|(number, _)| *number == told.packet_number)
                .expect("a packet that arrived");
            let truncated = micros >> exponent << exponent;
            assert_eq!(
                told.since_basis,
                Duration::from_micros(truncated),
                "seed {seed}"
            );
        }
        // As many as fit, and the latest of them.
        let complete = encode(200, &stamps[..read.len()], 10_000).expect("stamps in order");
        assert_eq!(complete, field, "seed {seed}");
        if let Some(one_more) = stamps.get(..=read.len()) {
            let longer = encode(200, one_more, 10_000).expect("stamps in order");
            assert!(longer.len() > room, "seed {seed}: one more fits {room}");
        }
    }
}

#[test]
fn counts_that_need_two_bytes_fit_exactly() {
    // 64 stamps in one range: the count takes its second byte with the 64th.
    let stamps: Vec<Stamp> = (0..64)
        .map(|index| Stamp {
            packet_number: 100 - index,
            ticks: 1_000,
        })
        .collect();
    let all = encode(100, &stamps, 1_000).expect("stamps in order");
    assert_eq!(all.len(), 1 + 1 + 2 + 2 + 63);
    let count = |room| {
        let field = encode(100, &stamps, room).expect("stamps in order");
        decode(&field, 100, &parameters(64, 0))
            .expect("a valid field")
            .0
            .len()
    };
    assert_eq!(count(all.len()), 64);
    assert_eq!(count(all.len() - 1), 63);
    // 64 ranges of one stamp.
    let apart: Vec<Stamp> = stamps
        .iter()
        .map(|stamp| Stamp {
            packet_number: stamp.packet_number * 2,
            ..*stamp
        })
        .collect();
    let all = encode(200, &apart, 1_000).expect("stamps in order");
    let room = all.len() - 1;
    let fewer = encode(200, &apart, room).expect("stamps in order");
    assert_eq!(
        decode(&all, 200, &parameters(64, 0))
            .expect("valid")
            .0
            .len(),
        64
    );
    assert_eq!(
        decode(&fewer, 200, &parameters(64, 0))
            .expect("valid")
            .0
            .len(),
        63
    );
}
