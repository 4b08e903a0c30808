//! What a mistaken or malicious peer may send.

use quiche::receive_timestamps::wire::{decode, encode, parameters, read_frames, Stamp};
use quiche::Error;

use super::{asking_server, config, hand_over, told, Draw};
use crate::world::{payload, Side, World, DELAY};

/// The largest variable-length integer.
const LARGEST: u64 = (1 << 62) - 1;
/// An ACK_RECEIVE_TIMESTAMPS frame of packets 3 to 5 that arrived at 7, 8 and 9.
const FRAME: [u8; 14] = [0x83, 0x17, 0x83, 0x07, 5, 0, 0, 2, 1, 0, 3, 9, 1, 1];

fn varints(values: &[u64]) -> Vec<u8> {
    let encode = |value: &u64| (value | 3 << 62).to_be_bytes();
    values.iter().flat_map(encode).collect()
}

fn refused(field: &[u64], exponent: u64) -> Option<Error> {
    decode(&varints(field), 1_000, &parameters(10, exponent)).err()
}

#[test]
fn what_cannot_be_is_an_encoding_error() {
    let malformed = Some(Error::InvalidFrame);
    // Ranges: number, then for each the delta to the largest, the number of times, the times.
    assert_eq!(refused(&[1, 1_001, 1, 5], 0), malformed, "packet -1");
    assert_eq!(
        refused(&[1, 999, 3, 5, 0, 0], 0),
        malformed,
        "packets 1 to -1"
    );
    assert_eq!(refused(&[1, 0, 2, 5, 6], 0), malformed, "time -1");
    assert_eq!(
        refused(&[2, 0, 1, 5, 9, 1, 6], 0),
        malformed,
        "time -1, next range"
    );
    assert_eq!(refused(&[1, 0, 1, LARGEST], 20), malformed, "2^82 us");
    assert_eq!(refused(&[1, 0, 1, LARGEST], 3), malformed, "2^65 us");
    assert_eq!(refused(&[1, 0, 1, LARGEST], 1), None, "2^63 us");
    assert_eq!(refused(&[1, 1_000, 1, 5], 0), None, "packet 0");
    assert_eq!(refused(&[1, 0, 2, 5, 5], 0), None, "time 0");
    assert_eq!(refused(&[0], 0), None, "nothing to tell");
}

#[test]
fn counts_are_not_believed() {
    assert_eq!(refused(&[LARGEST], 0), Some(Error::InvalidFrame));
    assert_eq!(refused(&[LARGEST, 0, 0], 0), Some(Error::InvalidFrame));
    assert_eq!(refused(&[1, 0, LARGEST], 0), Some(Error::InvalidPacket));
    // Where any number is allowed, the bytes that are there are the only limit.
    let unlimited = parameters(LARGEST, 0);
    let field = varints(&[1, 0, LARGEST, 5]);
    assert_eq!(
        decode(&field, LARGEST, &unlimited).err(),
        Some(Error::InvalidFrame)
    );
}

#[test]
fn more_than_asked_for_is_a_violation() {
    let stamps = |count| {
        (0..count)
            .map(|index| Stamp {
                packet_number: 1_000 - 2 * index,
                ticks: 50_000 - index,
            })
            .collect::<Vec<_>>()
    };
    let read = |count| {
        let field = encode(1_000, &stamps(count), 10_000).expect("stamps in order");
        decode(&field, 1_000, &parameters(10, 0))
    };
    assert_eq!(read(10).expect("what was asked for").0.len(), 10);
    assert_eq!(
        read(11).err(),
        Some(Error::InvalidPacket),
        "over all ranges"
    );
}

#[test]
fn a_frame_may_end_nowhere_but_at_its_end() {
    let asked = parameters(10, 0);
    let read = read_frames(&FRAME, true, &asked).expect("a valid frame");
    let told: Vec<_> = read[0]
        .iter()
        .map(|time| (time.packet_number, time.since_basis.as_micros()))
        .collect();
    assert_eq!(told, [(3, 7), (4, 8), (5, 9)]);
    for length in 4..FRAME.len() {
        let cut = read_frames(&FRAME[..length], true, &asked);
        assert_eq!(cut.err(), Some(Error::InvalidFrame), "{length} bytes");
    }
}

#[test]
fn the_frame_with_ecn_counts_is_the_other_type() {
    let mut frame = FRAME.to_vec();
    frame[3] = 0x08;
    frame.splice(8..8, [1, 2, 3]);
    let asked = parameters(10, 0);
    let read = read_frames(&frame, true, &asked).expect("a valid frame");
    assert_eq!(read[0].len(), 3);
    frame[3] = 0x07;
    let without_counts = read_frames(&frame, true, &asked);
    assert!(without_counts.is_err(), "the counts are taken for ranges");
}

#[test]
fn times_belong_to_their_frame_alone() {
    let ack = [2, 5, 0, 0, 2];
    let frames = [&FRAME[..], &ack, &[1], &FRAME].concat();
    let read = read_frames(&frames, true, &parameters(10, 0)).expect("valid frames");
    let counts: Vec<usize> = read.iter().map(Vec::len).collect();
    assert_eq!(counts, [3, 0, 0, 3]);
}

#[test]
fn of_a_packet_told_twice_the_first_mention_counts() {
    // Packet 5 at 9 and, in a range of its own, at 4.
    let frame = [0x83, 0x17, 0x83, 0x07, 5, 0, 0, 2, 2, 0, 1, 9, 0, 1, 5];
    let read = read_frames(&frame, true, &parameters(10, 0)).expect("a valid frame");
    assert_eq!(read[0].len(), 1);
    assert_eq!(read[0][0].since_basis.as_micros(), 9);
}

#[test]
fn the_frame_is_for_those_who_asked_and_for_one_rtt_packets() {
    let read = |one_rtt, max| read_frames(&FRAME, one_rtt, &parameters(max, 0)).err();
    assert_eq!(read(true, 10), None);
    assert_eq!(read(true, 0), Some(Error::InvalidFrame), "an unknown frame");
    assert_eq!(
        read(false, 0),
        Some(Error::InvalidFrame),
        "an unknown frame"
    );
    assert_eq!(
        read(false, 10),
        Some(Error::InvalidPacket),
        "not in a handshake"
    );
}

#[test]
fn the_type_takes_four_bytes() {
    let long_type = [&[0xc0, 0, 0, 0, 0x03, 0x17, 0x83, 0x07], &FRAME[4..]].concat();
    let read = read_frames(&long_type, true, &parameters(10, 0));
    assert_eq!(read.err(), Some(Error::InvalidFrame));
}

#[test]
fn no_bytes_make_it_panic() {
    let mut draw = Draw::new(7);
    let mut valid = 0;
    for _ in 0..200_000 {
        let mut frame = FRAME.to_vec();
        for _ in 0..=draw.below(4) {
            let at = 4 + draw.below(FRAME.len() as u64 - 4) as usize;
            // Small numbers are the ones that can be right.
            frame[at] = draw.next() as u8 >> draw.below(8);
        }
        if draw.below(4) == 0 {
            frame.truncate(5 + draw.below(10) as usize);
        }
        let asked = parameters(draw.below(5), draw.below(21));
        if let Ok(read) = read_frames(&frame, true, &asked) {
            valid += 1;
            for times in &read {
                let times_of = |time: &quiche::cc::ReceiveTime| time.packet_number;
                assert!(times.is_sorted_by_key(times_of), "{frame:?}");
                assert!(times.len() as u64 <= asked.max_per_ack(), "{frame:?}");
            }
        }
    }
    assert!(valid > 1_000, "{valid} were valid");
}

/// How the server ends a connection whose client sends more than, or in another unit than, was
/// asked.
fn closed_with(mut world: World, max: u64, exponent: u64) -> (Error, u64) {
    world.client.presume_receive_timestamps_asked(max, exponent);
    for _ in 0..3 {
        world.write(&payload(3_000));
        let mut datagram = vec![0; 2_000];
        while let Ok((size, _)) = world.server.send(&mut datagram) {
            super::receive(&mut world, Side::Server, &mut datagram[..size]).expect("data");
        }
        if let Err(error) = hand_over(&mut world, Side::Client) {
            let local = world.server.local_error().expect("a closing connection");
            assert!(!local.is_app);
            return (error, local.error_code);
        }
    }
    panic!(
        "the server took it all, and was told {:?}",
        told(&mut world, Side::Server)
    );
}

#[test]
fn a_connection_ends_by_what_was_not_asked_for() {
    let world = World::between(config(0, false), config(0, true), 1);
    assert_eq!(closed_with(world, 10, 0), (Error::InvalidFrame, 0x07));
    assert_eq!(
        closed_with(asking_server(2, 0), 10, 0),
        (Error::InvalidPacket, 0x0a)
    );
}

#[test]
fn a_wrong_unit_is_passed_on() {
    // Microseconds where 2^20 of them were asked for: a million times too late, and still valid.
    let mut world = asking_server(10, 20);
    world.client.presume_receive_timestamps_asked(10, 0);
    world.write(&payload(3_000));
    world.run_for(DELAY * 4);
    let told = told(&mut world, Side::Server);
    let last = told.last().expect("a time");
    assert!(last.since_basis > world.elapsed() * 100_000, "{last:?}");
}
