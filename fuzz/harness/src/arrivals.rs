//! Receive times from the one endpoint to the other: noted, written, read, and compared with what
//! happened.
//!
//! Input: what was asked for (numbers: the most timestamps, the exponent), then steps: an even
//! byte, a packet number and its time in microseconds; an odd byte, an ACK frame: how many ranges,
//! each from and length, and the room in bytes.

use crate::input::{Input, LARGEST, Output};
use crate::{Met, Seed};
use quiche::receive_timestamps::Parameters;
use quiche::receive_timestamps::wire::{self, Arrivals, Stamp};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

/// See [`crate::Target::situations`].
pub const SITUATIONS: &[&str] = &[
    "told",
    "told twice",
    "too long ago",
    "not acknowledged",
    "more than room for",
    "more than kept",
    "not in the order of their numbers",
];

/// quiche keeps no more.
const MOST_KEPT: u64 = 1024;

/// A packet of ours, and in how many ACK frames it could have been told since it came.
struct Packet {
    micros: u64,
    acks: u32,
}

struct Harness {
    arrivals: Arrivals,
    asked: Parameters,
    packets: BTreeMap<u64, Packet>,
    met: Met,
}

/// See [`crate::Target::run`].
pub fn run(bytes: &[u8]) -> Met {
    let mut input = Input::new(bytes);
    let Some((max, exponent)) = input.number().zip(input.below(21)) else {
        return Met::new();
    };
    let asked = wire::parameters(max, exponent);
    let mut harness = Harness {
        arrivals: Arrivals::new(asked),
        asked,
        packets: BTreeMap::new(),
        met: Met::new(),
    };
    while harness.step(&mut input).is_some() {}
    harness.met
}

impl Harness {
    fn step(&mut self, input: &mut Input) -> Option<()> {
        match input.byte()? % 2 {
            0 => {
                let number = input.number()?;
                let micros = input.number()?;
                self.packet(number, micros);
            }
            _ => {
                let count = input.below(16)?;
                let ranges: Vec<_> = (0..count).map_while(|_| range(input)).collect();
                let room = usize::try_from(input.below(2048)?).ok()?;
                self.acknowledge(&ranges, room);
            }
        }
        Some(())
    }

    fn packet(&mut self, number: u64, micros: u64) {
        // A connection drops what it has seen already.
        if self.packets.contains_key(&number) {
            return;
        }
        if self
            .packets
            .last_key_value()
            .is_some_and(|(last, _)| *last > number)
        {
            self.met.insert("not in the order of their numbers");
        }
        self.arrivals
            .on_packet(number, Duration::from_micros(micros));
        // The origin lies before everything.
        let micros = micros.max(1);
        self.packets.insert(number, Packet { micros, acks: 0 });
    }

    fn acknowledge(&mut self, ranges: &[RangeInclusive<u64>], room: usize) {
        let stamps = self.arrivals.on_ack(ranges);
        self.check(ranges, &stamps);
        for stamp in &stamps {
            let packet = &self.packets[&stamp.packet_number];
            self.met.insert(if packet.acks > 0 {
                "told twice"
            } else {
                "told"
            });
        }
        for packet in self.packets.values_mut() {
            packet.acks += 1;
        }
        if let Some(largest) = ranges.iter().map(|range| *range.end()).max() {
            self.send(largest, &stamps, room);
        }
    }

    /// What is told is true, in order, and complete.
    fn check(&mut self, ranges: &[RangeInclusive<u64>], stamps: &[Stamp]) {
        let kept = self.asked.max_per_ack().min(MOST_KEPT);
        assert!(stamps.len() as u64 <= kept);
        assert!(stamps.is_sorted_by(|a, b| a.ticks >= b.ticks));
        let acknowledged = |number: &u64| ranges.iter().any(|range| range.contains(number));
        for stamp in stamps {
            let packet = &self.packets[&stamp.packet_number];
            assert!(acknowledged(&stamp.packet_number));
            assert_eq!(stamp.ticks, packet.micros >> self.asked.exponent());
            assert!(packet.acks < 2, "told a third time");
        }
        let due = self.packets.iter().filter(|(number, packet)| {
            let is_old = packet.acks >= 2;
            if is_old {
                self.met.insert("too long ago");
            } else if !acknowledged(number) {
                self.met.insert("not acknowledged");
            }
            !is_old && acknowledged(number)
        });
        let due = due.count();
        if self.packets.len() as u64 <= kept {
            assert_eq!(stamps.len(), due, "all that are due, each once");
        } else if due > stamps.len() {
            self.met.insert("more than kept");
        }
    }

    /// What arrives is what was told, and as exact as was asked for.
    fn send(&mut self, largest: u64, stamps: &[Stamp], room: usize) {
        let field = wire::encode(largest, stamps, room).expect("stamps in order");
        assert!(field.len() <= room.max(1));
        let (times, length) =
            wire::decode(&field, largest, &self.asked).expect("a field that a peer can read");
        assert_eq!(length, field.len());
        assert!(times.len() <= stamps.len());
        if times.len() < stamps.len() {
            self.met.insert("more than room for");
        }
        let unit = 1u128 << self.asked.exponent();
        for (time, stamp) in times.iter().zip(stamps) {
            assert_eq!(time.packet_number, stamp.packet_number);
            let true_micros = u128::from(self.packets[&stamp.packet_number].micros);
            let told = time.since_basis.as_micros();
            assert!(told <= true_micros && true_micros - told < unit);
        }
    }
}

fn range(input: &mut Input) -> Option<RangeInclusive<u64>> {
    let from = input.number()?;
    let length = input.number()?;
    Some(from..=from.saturating_add(length).min(LARGEST))
}

/// See [`crate::Target::seeds`].
pub fn seeds() -> Vec<Seed> {
    let asked = |max, exponent| Output::new().numbers(&[max, exponent]);
    let packet = |output: Output, number, micros| output.bytes(&[0]).numbers(&[number, micros]);
    let ack =
        |output: Output, from, length, room| output.bytes(&[1]).numbers(&[1, from, length, room]);
    vec![
        (
            "each-twice",
            asked(64, 0)
                .repeat(6, |output, i| {
                    let output = packet(packet(output, 2 * i, 1000 * i), 2 * i + 1, 1000 * i + 90);
                    ack(output, 0, 2 * i + 1, 200)
                })
                .done(),
        ),
        (
            "reordered",
            [
                (4, 10),
                (2, 50),
                (3, 50),
                (9, 7),
                (5, 2000),
                (1 << 40, 1 << 50),
            ]
            .into_iter()
            .fold(asked(64, 4), |output, (number, micros)| {
                packet(output, number, micros)
            })
            .bytes(&[1])
            .numbers(&[3, 2, 3, 9, 0, 1 << 40, 0, 100])
            .done(),
        ),
        (
            "little-room",
            ack(
                asked(64, 0).repeat(30, |output, i| packet(output, i, 100_000 + 70 * i)),
                0,
                30,
                16,
            )
            .done(),
        ),
        (
            "more-than-asked",
            ack(
                asked(4, 10).repeat(9, |output, i| packet(output, 3 * i, 5000 * i)),
                0,
                30,
                200,
            )
            .done(),
        ),
        (
            "not-acknowledged",
            ack(
                ack(packet(packet(asked(9, 0), 1, 5), 7, 9), 0, 3, 99),
                0,
                9,
                99,
            )
            .done(),
        ),
    ]
}
