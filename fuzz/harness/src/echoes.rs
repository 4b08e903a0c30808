//! Acknowledgements to echoes, with a peer that says of its clock what it likes.
//!
//! Input: steps, a byte each and what belongs to it; see `Harness::step`.

use crate::input::{Input, Output};
use crate::{Met, Seed};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use imtcp_cc::unstable::{Echo, EchoGap, EchoTracker, Reading, ReceiveClock};
use std::time::Duration;

/// See [`crate::Target::situations`].
pub const SITUATIONS: &[&str] = &[
    "the peer's clock is read",
    "the clock starts anew",
    "the peer is no longer believed",
    "a time that cannot be",
    "a gap",
    "an aggregate",
    "no echo at all",
];

/// A lapse is forgiven after so many acknowledgements in order, and so many are before.
const FORGIVEN_AFTER: usize = 1000;
const LAPSES: usize = 3;

/// Packets of an acknowledgement.
const MOST_ACKED: u64 = 64;
/// Of all.
const MOST_SENT: usize = 4096;

/// Lateness up to which echoes that contradict themselves are still read.
const READABLE: Duration = Duration::from_millis(2);

#[derive(Clone, Copy)]
struct Packet {
    number: u64,
    size: Bytes,
    sent: Timestamp,
    acked: bool,
}

#[derive(Default)]
struct Harness {
    clock: ReceiveClock,
    tracker: EchoTracker,
    met: Met,
    now: Timestamp,
    packets: Vec<Packet>,
    capacity: Option<Bandwidth>,
    restarts: usize,
    acks: usize,
    /// The latest arrival on the peer's clock since times were last not believed.
    latest: Option<Timestamp>,
}

/// See [`crate::Target::run`].
pub fn run(bytes: &[u8]) -> Met {
    let mut input = Input::new(bytes);
    let mut harness = Harness::default();
    while harness.step(&mut input).is_some() {}
    harness.met
}

impl Harness {
    fn step(&mut self, input: &mut Input) -> Option<()> {
        match input.byte()? % 8 {
            // Packets: how many, how far apart, of what size.
            0 | 1 => {
                let (count, pause) = (input.below(64)?, input.micros()?);
                let size = Bytes::new(input.below(65_536)?);
                (0..count).for_each(|_| self.send(pause, size));
            }
            // An acknowledgement of packets in a row; without times, with each its own, evenly.
            2 => self.acknowledge(input, |_, _| Some(None))?,
            3 => self.acknowledge(input, |input, _| input.micros().map(Some))?,
            4 => {
                let (first, pace) = (input.number()?, input.number()?);
                self.acknowledge(input, |_, index| {
                    let micros = first.saturating_add(pace.saturating_mul(index));
                    Some(Some(Duration::from_micros(micros)))
                })?;
            }
            5 => self.now = self.now + input.micros()?,
            6 => self.capacity = input.number().map(Bandwidth::from_kbps),
            _ => match input.byte()? % 4 {
                0 => self.tracker.distrust(self.now, READABLE),
                1 => self.tracker.set_bound(true),
                2 => self.tracker.set_bound(false),
                _ => self.tracker.restart(),
            },
        }
        Some(())
    }

    fn send(&mut self, pause: Duration, size: Bytes) {
        if self.packets.len() == MOST_SENT {
            return;
        }
        self.now = self.now + pause;
        let number = self.packets.len() as u64;
        self.tracker.on_sent(number, size, self.now, self.capacity);
        self.packets.push(Packet {
            number,
            size,
            sent: self.now,
            acked: false,
        });
    }

    /// Reads which packets, the delay, and the times.
    fn acknowledge(
        &mut self,
        input: &mut Input,
        mut time: impl FnMut(&mut Input, u64) -> Option<Option<Duration>>,
    ) -> Option<()> {
        let from = usize::try_from(input.below(self.packets.len().max(1) as u64)?).ok()?;
        let count = usize::try_from(input.below(MOST_ACKED)?).ok()?;
        let ack_delay = input.micros()?;
        let mut newly = Vec::new();
        for packet in self.packets.iter_mut().skip(from).take(count) {
            if !std::mem::replace(&mut packet.acked, true) {
                newly.push((*packet, time(input, newly.len() as u64)?));
            }
        }
        let largest = self.packets.get(from + count.saturating_sub(1));
        let Some((newest, _)) = newly.last() else {
            return Some(());
        };
        let largest = largest.map_or(newest.number, |packet| packet.number);
        let round_trip = self.now.saturating_since(newest.sent);
        let arrived = self.now - ack_delay.min(round_trip);
        let reading = self.read(arrived, &newly, round_trip);
        self.take(arrived, largest, &newly, reading);
        Some(())
    }

    fn read(
        &mut self,
        arrived: Timestamp,
        newly: &[(Packet, Option<Duration>)],
        round_trip: Duration,
    ) -> Reading {
        let was_distrusted = self.clock.is_distrusted();
        let theirs = newly.iter().filter_map(|(_, theirs)| *theirs).next_back();
        let reading = self.clock.on_ack(arrived, theirs, round_trip);
        self.acks += 1;
        match reading {
            Reading::None => self.latest = None,
            Reading::Restarted => {
                self.met.insert("the clock starts anew");
                self.restarts += 1;
                self.latest = None;
                self.tracker.restart();
            }
            Reading::Continued => {
                self.met.insert("the peer's clock is read");
            }
        }
        assert!(theirs.is_some() || reading == Reading::None);
        assert!(!was_distrusted || self.clock.is_distrusted(), "for good");
        assert!(!was_distrusted || reading == Reading::None);
        assert!(reading == Reading::None || self.clock.is_trusted());
        if self.clock.is_distrusted() {
            self.met.insert("the peer is no longer believed");
        }
        let forgiven = self.acks / FORGIVEN_AFTER;
        assert!(self.restarts <= 1 + LAPSES + forgiven, "lapse after lapse");
        reading
    }

    fn take(
        &mut self,
        arrived: Timestamp,
        largest: u64,
        newly: &[(Packet, Option<Duration>)],
        reading: Reading,
    ) {
        let Self {
            clock,
            tracker,
            latest,
            met,
            ..
        } = self;
        let timed = newly.iter().map(|(packet, theirs)| {
            // Asked for all of them, believed or not.
            let at = theirs.and_then(|theirs| clock.arrival(packet.sent, theirs));
            if theirs.is_some() && at.is_none() {
                met.insert("a time that cannot be");
            }
            if let Some(at) = at {
                assert!(at >= packet.sent, "before it left");
                assert!(latest.is_none_or(|latest| latest <= at), "out of order");
                *latest = Some(at);
            }
            (packet.number, at.filter(|_| reading != Reading::None))
        });
        let mut echoes = Vec::new();
        let outcome = tracker.on_ack(
            Some(arrived),
            self.now,
            largest,
            timed,
            self.capacity,
            |echo| echoes.push(*echo),
        );
        assert_eq!(outcome.packets as usize, newly.len());
        let bytes = newly
            .iter()
            .fold(Bytes::ZERO, |sum, (packet, _)| sum + packet.size);
        assert!(outcome.bytes <= bytes);
        self.check_echoes(newly, &echoes);
        for gap in self.tracker.gaps() {
            self.met.insert("a gap");
            self.check_gap(gap);
        }
        assert!(self.tracker.gaps().len() <= newly.len());
    }

    /// Each packet has one echo at most, which says of its sending what is true.
    fn check_echoes(&mut self, newly: &[(Packet, Option<Duration>)], echoes: &[Echo]) {
        if echoes.is_empty() {
            self.met.insert("no echo at all");
        }
        let mut numbers: Vec<u64> = echoes.iter().map(|echo| echo.packet_number).collect();
        numbers.sort_unstable();
        assert!(numbers.is_sorted_by(|a, b| a < b), "one each");
        for echo in echoes {
            let is_newly = |(packet, _): &&(Packet, _)| packet.number == echo.packet_number;
            let (packet, _) = newly.iter().find(is_newly).expect("a packet acknowledged");
            assert_eq!((echo.sent, echo.size), (packet.sent, packet.size));
            if !echo.quality.is_timed() {
                self.met.insert("an aggregate");
            }
        }
    }

    fn check_gap(&self, gap: &EchoGap) {
        let (from, to) = (gap.from, gap.to);
        assert!(from.number < to.number && from.sent <= to.sent);
        let index = |number| usize::try_from(number).expect("a small number");
        let between = &self.packets[index(from.number) + 1..=index(to.number)];
        let bytes = between
            .iter()
            .fold(Bytes::ZERO, |sum, packet| sum + packet.size);
        assert!(to.size <= gap.bytes && gap.bytes <= bytes);
        assert!((1..=between.len()).contains(&(gap.packets as usize)));
    }
}

/// See [`crate::Target::seeds`].
pub fn seeds() -> Vec<Seed> {
    let packets = |output: Output, count, pause| output.bytes(&[0]).numbers(&[count, pause, 1228]);
    let pause = |output: Output, micros| output.bytes(&[5]).numbers(&[micros]);
    let ack = |output: Output, from, count| output.bytes(&[2]).numbers(&[from, count, 0]);
    // Rounds of 56 packets, eight to an acknowledgement that comes 20 ms after the last of them;
    // `told` is what the peer makes of the microseconds since the beginning.
    let told = |rounds: u64, lie: fn(u64) -> u64| {
        Output::new().repeat(rounds, move |output, round| {
            let start = round * 132_000;
            pause(packets(output, 56, 1000), 20_000).repeat(7, |output, i| {
                let output = pause(output, 8000);
                let arrival = start + 20_000 + 8000 * i;
                let numbers = [lie(arrival), 1000, 56 * round + 8 * i, 8, 0];
                output.bytes(&[4]).numbers(&numbers)
            })
        })
    };
    vec![
        (
            "plain",
            pause(
                packets(Output::new().bytes(&[6]).numbers(&[20_000]), 40, 300),
                20_000,
            )
            .repeat(40, |output, i| ack(pause(output, 480), i, 1))
            .done(),
        ),
        (
            "aggregates",
            pause(packets(Output::new(), 63, 100), 20_000)
                .repeat(9, |output, i| ack(pause(output, 900), 7 * i, 7))
                .done(),
        ),
        ("told", told(4, |micros| 1 << 40 | micros).done()),
        ("told-too-fast", told(2, |micros| micros * 100).done()),
        (
            "told-backwards",
            told(2, |micros| 9_000_000 - micros * 9).done(),
        ),
        ("told-the-same", told(4, |_| 5).done()),
        (
            "told-and-then-lied",
            told(6, |micros| micros + (micros / 400_000) * 10_000_000).done(),
        ),
        (
            "told-at-once",
            pause(packets(Output::new(), 40, 1000), 20_000)
                .bytes(&[4])
                .numbers(&[7_000_000, 1000, 0, 40, 0])
                .bytes(&[3])
                .numbers(&[0, 40, 25_000])
                .done(),
        ),
        (
            "lost-and-late",
            pause(packets(Output::new(), 30, 500), 20_000)
                .repeat(10, |output, i| ack(pause(output, 1500), 3 * i + 1, 2))
                .repeat(10, |output, i| ack(pause(output, 100), 3 * i, 2))
                .bytes(&[7, 3, 7, 0])
                .done(),
        ),
    ]
}
