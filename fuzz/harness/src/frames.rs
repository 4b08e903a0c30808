//! The three frames, as bytes: ACK_FREQUENCY, IMMEDIATE_ACK, ACK_RECEIVE_TIMESTAMPS.
//!
//! Input: a byte for the mode, what was asked for (numbers: the most timestamps, the exponent),
//! then by mode
//!
//! - 0, 1, 2: frames of a 1-RTT, a Handshake and a 0-RTT packet;
//! - 3: the largest acknowledged number, room in bytes, a Receive Timestamps field;
//! - 4: what a frame says, as numbers: the frame is made of it here, and it is known what is to be
//!   read.

use crate::input::{Input, Output};
use crate::{Met, Seed};
use quiche::ack_frequency::{self, Request};
use quiche::cc::ReceiveTime;
use quiche::receive_timestamps::Parameters;
use quiche::receive_timestamps::wire::{self, Stamp};
use quiche::{Error, Type};
use std::collections::BTreeMap;
use std::time::Duration;

/// See [`crate::Target::situations`].
pub const SITUATIONS: &[&str] = &[
    "a request for another frequency",
    "a request for one acknowledgement",
    "a frame with timestamps",
    "a frame that is refused",
    "a field that is read",
    "a field that does not fit",
    "a frame as it was meant",
    "a frame refused as it should be",
];

/// The frame types, on the wire.
const TYPE: [u8; 4] = [0x83, 0x17, 0x83, 0x07];
const TYPE_WITH_ECN: [u8; 4] = [0x83, 0x17, 0x83, 0x08];

/// Five variable-length integers, and a type of two bytes.
const LONGEST_REQUEST: usize = 40;

/// No more bytes of room are tried than a datagram has.
const MOST_ROOM: u64 = 65_536;

/// See [`crate::Target::run`].
pub fn run(bytes: &[u8]) -> Met {
    let mut met = Met::new();
    // An input that ends early has nothing more to say.
    let _ = try_run(&mut Input::new(bytes), &mut met);
    met
}

fn try_run(input: &mut Input, met: &mut Met) -> Option<()> {
    let mode = input.byte()? % 5;
    let asked = wire::parameters(input.number()?, input.below(21)?);
    match mode {
        0 => payload(input.rest(), Type::Short, &asked, met),
        1 => payload(input.rest(), Type::Handshake, &asked, met),
        2 => payload(input.rest(), Type::ZeroRTT, &asked, met),
        3 => field(
            input.number()?,
            usize::try_from(input.below(MOST_ROOM)?).ok()?,
            input.rest(),
            &asked,
            met,
        ),
        _ => known(input, &asked, met)?,
    }
    Some(())
}

fn payload(payload: &[u8], ty: Type, asked: &Parameters, met: &mut Met) {
    requests(payload, ty, met);
    match wire::read_frames(payload, ty == Type::Short, asked) {
        Ok(frames) => {
            for times in &frames {
                let ascending = times.is_sorted_by(|a, b| a.packet_number < b.packet_number);
                assert!(ascending, "each packet once, in order");
                assert!(times.len() as u64 <= asked.max_per_ack());
                assert!(times.is_empty() || ty == Type::Short);
                if !times.is_empty() {
                    met.insert("a frame with timestamps");
                }
            }
        }
        Err(_) => {
            met.insert("a frame that is refused");
        }
    }
}

/// Each request of a packet says the same when it is written and read again.
fn requests(mut payload: &[u8], ty: Type, met: &mut Met) {
    while !payload.is_empty() {
        let Ok((request, length)) = ack_frequency::parse_frame(payload, ty) else {
            return;
        };
        assert!(length > 0, "a frame without a type");
        if let Some(request) = request {
            met.insert(match request {
                Request::Frequency { .. } => "a request for another frequency",
                Request::Immediate => "a request for one acknowledgement",
            });
            let mut out = [0; LONGEST_REQUEST];
            let written = ack_frequency::encode_frame(request, &mut out).expect("room for any");
            assert!(written <= length, "no longer than it came");
            let again = ack_frequency::parse_frame(&out[..written], ty);
            assert_eq!(again, Ok((Some(request), written)));
        }
        payload = &payload[length..];
    }
}

/// A field says the same when it is written and read again; and as much as fits is written.
fn field(largest: u64, room: usize, field: &[u8], asked: &Parameters, met: &mut Met) {
    let Ok((times, length)) = wire::decode(field, largest, asked) else {
        met.insert("a frame that is refused");
        return;
    };
    met.insert("a field that is read");
    let stamps = stamps(&times, asked);
    let whole = wire::encode(largest, &stamps, length).expect("what was read can be written");
    assert!(whole.len() <= length, "no longer than it came");
    assert_eq!(
        wire::decode(&whole, largest, asked),
        Ok((times.clone(), whole.len()))
    );

    let part = wire::encode(largest, &stamps, room).expect("a part of it can be written");
    assert!(part.len() <= room.max(1));
    let (told, _) = wire::decode(&part, largest, asked).expect("a part of it can be read");
    assert_eq!(told, times[..told.len()], "the first ones");
    if let Some(more) = stamps.get(..=told.len()) {
        met.insert("a field that does not fit");
        let longer = wire::encode(largest, more, length).expect("one more can be written");
        assert!(longer.len() > room, "one more would have fitted");
    }
}

fn stamps(times: &[ReceiveTime], asked: &Parameters) -> Vec<Stamp> {
    let stamp = |time: &ReceiveTime| Stamp {
        packet_number: time.packet_number,
        ticks: u64::try_from(time.since_basis.as_micros()).expect("64 bits") >> asked.exponent(),
    };
    times.iter().map(stamp).collect()
}

/// A frame that is put together here.
fn known(input: &mut Input, asked: &Parameters, met: &mut Met) -> Option<()> {
    let largest = input.number()?;
    let ack_delay = input.number()?;
    let first_range = input.below(largest.saturating_add(1))?;
    let with_ecn = input.byte()? & 1 == 1;
    let (ty, counts): (_, &[u64]) = match with_ecn {
        true => (TYPE_WITH_ECN, &[1, 2, 3]),
        false => (TYPE, &[]),
    };
    let mut ranges = Vec::new();
    while let Some(range) = range(input) {
        ranges.push(range);
    }
    let mut frame = Output::new()
        .bytes(&ty)
        .numbers(&[largest, ack_delay, 0, first_range])
        .numbers(counts)
        .numbers(&[ranges.len() as u64]);
    for (delta_largest, deltas) in &ranges {
        frame = frame
            .numbers(&[*delta_largest, deltas.len() as u64])
            .numbers(deltas);
    }
    let read = wire::read_frames(&frame.done(), true, asked);
    let expected = match asked.max_per_ack() {
        0 => Err(Error::InvalidFrame),
        most => meant(largest, &ranges, most, asked.exponent()),
    };
    met.insert(match expected {
        Ok(_) => "a frame as it was meant",
        Err(_) => "a frame refused as it should be",
    });
    assert_eq!(read, expected.map(|times| vec![times]), "{ranges:?}");
    Some(())
}

fn range(input: &mut Input) -> Option<(u64, Vec<u64>)> {
    let delta_largest = input.number()?;
    let deltas = (0..input.below(16)?).map_while(|_| input.number());
    Some((delta_largest, deltas.collect()))
}

/// What section 4.1 of draft-ietf-quic-receive-ts-02 makes of ranges, by packet number.
fn meant(
    largest: u64,
    ranges: &[(u64, Vec<u64>)],
    most: u64,
    exponent: u32,
) -> Result<Vec<ReceiveTime>, Error> {
    let mut times = BTreeMap::new();
    let mut previous = None;
    let mut count = 0;
    for (delta_largest, deltas) in ranges {
        let first = largest
            .checked_sub(*delta_largest)
            .ok_or(Error::InvalidFrame)?;
        count += deltas.len() as u64;
        if count > most {
            return Err(Error::InvalidPacket);
        }
        for (number, delta) in (0..).map(|i| first.checked_sub(i)).zip(deltas) {
            let ticks = match previous {
                None => Some(*delta),
                Some(previous) => u64::checked_sub(previous, *delta),
            };
            let ticks = ticks.ok_or(Error::InvalidFrame)?;
            previous = Some(ticks);
            let micros = u64::try_from(u128::from(ticks) << exponent);
            let micros = micros.map_err(|_| Error::InvalidFrame)?;
            times
                .entry(number.ok_or(Error::InvalidFrame)?)
                .or_insert(Duration::from_micros(micros));
        }
    }
    let time = |(packet_number, since_basis)| ReceiveTime {
        packet_number,
        since_basis,
    };
    Ok(times.into_iter().map(time).collect())
}

/// See [`crate::Target::seeds`].
pub fn seeds() -> Vec<Seed> {
    let with = |mode, max, exponent| Output::new().bytes(&[mode]).numbers(&[max, exponent]);
    let request = |fields: &[u64]| Output::new().numbers(&[0xaf]).numbers(fields).done();
    // Packets 3 to 5 at 7, 8 and 9; and packet 9 alone, with ECN counts.
    let told = [0x83, 0x17, 0x83, 0x07, 5, 0, 0, 2, 1, 0, 3, 9, 1, 1];
    let marked = [
        0x83, 0x17, 0x83, 0x08, 9, 0, 0, 0, 1, 2, 3, 1, 0, 1, 0x40, 0xff,
    ];
    let holes = [3, 0, 2, 40, 1, 4, 1, 3, 2, 3, 5, 0, 0];
    vec![
        (
            "requests",
            with(0, 0, 0)
                .bytes(&request(&[7, 9, 25_000, 3]))
                .bytes(&[0x1f])
                .bytes(&request(&[1 << 61, 1 << 40, 1 << 20, 1 << 61]))
                .bytes(&[1, 0])
                .done(),
        ),
        (
            "request-cut-off",
            with(0, 0, 0).bytes(&request(&[7, 9])).done(),
        ),
        (
            "timestamps",
            with(0, 10, 0)
                .bytes(&told)
                .bytes(&[2, 5, 0, 0, 2, 1])
                .bytes(&marked)
                .done(),
        ),
        (
            "timestamps-in-handshake",
            with(1, 10, 0).bytes(&told).done(),
        ),
        ("timestamps-not-asked", with(0, 0, 0).bytes(&told).done()),
        ("request-early", with(2, 0, 0).bytes(&[0x1f]).done()),
        (
            "field",
            with(3, 10, 3).numbers(&[100, 64]).bytes(&holes).done(),
        ),
        (
            "field-cut",
            with(3, 10, 3).numbers(&[100, 7]).bytes(&holes).done(),
        ),
        (
            "field-too-many",
            with(3, 5, 3).numbers(&[100, 64]).bytes(&holes).done(),
        ),
        (
            "known",
            with(4, 10, 20)
                .numbers(&[1000, 0, 7])
                .bytes(&[1])
                .numbers(&[0, 3, 900, 1, 64, 50, 2, 0, 99, 3, 1, 0])
                .done(),
        ),
        (
            "known-before-the-origin",
            with(4, 10, 0)
                .numbers(&[1000, 0, 7])
                .bytes(&[0])
                .numbers(&[0, 2, 5, 6])
                .done(),
        ),
        (
            "known-far-future",
            with(4, 10, 20)
                .numbers(&[1000, 0, 7])
                .bytes(&[0])
                .numbers(&[0, 1, 1 << 45])
                .done(),
        ),
    ]
}
