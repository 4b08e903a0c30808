//! Packets that leave at given times, and what the receiver says of them.

use super::Step;
use imtcp_cc::units::{Bytes, Timestamp};
use std::time::Duration;

/// The tools take their times from `gettimeofday`, whose unit this is.
const TICK_NS: u64 = 1_000;

/// Packets of one size. Each leaves at its time after the first; then the receiver is asked.
#[derive(Debug)]
pub(super) struct Stream {
    /// The number of the first packet.
    first: u64,
    size: Bytes,
    /// When the packets leave, after the first of them; ascending.
    offsets: Vec<Duration>,
    begun: Option<Timestamp>,
    packets: Vec<Sent>,
    asked: Option<Timestamp>,
    ended: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    sent: Timestamp,
    arrived: Option<Timestamp>,
}

/// A packet that arrived, by the clocks of sender and receiver in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Its place in the stream, from 0.
    pub index: usize,
    /// When it left.
    pub sent_us: u64,
    /// When it arrived.
    pub arrived_us: u64,
}

impl Arrival {
    /// How long it was under way. The clocks of the hosts need not agree, so this may be anything;
    /// only its changes mean something.
    pub(super) fn delay_us(self) -> i64 {
        let whole = |us| i64::try_from(us).unwrap_or(i64::MAX);
        whole(self.arrived_us).saturating_sub(whole(self.sent_us))
    }
}

impl Stream {
    /// `first` is the number of the first packet.
    pub(super) fn new(first: u64, size: Bytes, offsets: Vec<Duration>) -> Self {
        Self {
            first,
            size,
            offsets,
            begun: None,
            packets: Vec::new(),
            asked: None,
            ended: None,
        }
    }

    /// `count` packets, each `gap` after the one before.
    pub(super) fn periodic(first: u64, size: Bytes, count: u32, gap: Duration) -> Self {
        let offsets = (0..count).map(|index| gap.saturating_mul(index));
        Self::new(first, size, offsets.collect())
    }

    /// The number of the first packet of the next stream.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.offsets.len() as u64
    }

    /// What to do now; `None` when the receiver has answered.
    pub(super) fn step(&mut self, now: Timestamp) -> Option<Step> {
        let begun = *self.begun.get_or_insert(now);
        let index = self.packets.len();
        if let Some(offset) = self.offsets.get(index) {
            let due = begun + *offset;
            if now < due {
                return Some(Step::WaitUntil(due));
            }
            self.packets.push(Sent {
                sent: now,
                arrived: None,
            });
            return Some(Step::Send {
                number: self.first + index as u64,
                size: self.size,
            });
        }
        if self.asked.is_none() {
            self.asked = Some(now);
            return Some(Step::Ask);
        }
        self.ended.is_none().then_some(Step::WaitForReport)
    }

    pub(super) fn on_arrival(&mut self, number: u64, arrived: Timestamp) {
        let index = number.checked_sub(self.first);
        let index = index.and_then(|index| usize::try_from(index).ok());
        if let Some(packet) = index.and_then(|index| self.packets.get_mut(index)) {
            packet.arrived.get_or_insert(arrived);
        }
    }

    pub(super) fn on_report(&mut self, now: Timestamp) {
        if self.asked.is_some() {
            self.ended.get_or_insert(now);
        }
    }

    /// How long the receiver's answer took, if it is there.
    pub(super) fn answered_after(&self) -> Option<Duration> {
        Some(self.ended?.saturating_since(self.asked?))
    }

    /// How long the packets took to leave.
    pub(super) fn duration(&self) -> Duration {
        self.offsets.last().copied().unwrap_or_default()
    }

    /// How many packets it has.
    pub(super) fn len(&self) -> usize {
        self.offsets.len()
    }

    /// The packets that arrived, in the order in which they left.
    pub(super) fn arrivals(&self) -> Vec<Arrival> {
        let arrival = |(index, packet): (usize, &Sent)| {
            Some(Arrival {
                index,
                sent_us: packet.sent.as_nanos() / TICK_NS,
                arrived_us: packet.arrived?.as_nanos() / TICK_NS,
            })
        };
        let packets = self.packets.iter().enumerate();
        packets.filter_map(arrival).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_us(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    #[test]
    fn packets_leave_at_their_times_and_then_the_receiver_is_asked() {
        let size = Bytes::new(700);
        let mut stream = Stream::periodic(5, size, 2, Duration::from_micros(40));
        let send = |number| Some(Step::Send { number, size });
        assert_eq!(stream.step(at_us(100)), send(5));
        assert_eq!(stream.step(at_us(100)), Some(Step::WaitUntil(at_us(140))));
        assert_eq!(stream.step(at_us(140)), send(6));
        assert_eq!(stream.step(at_us(140)), Some(Step::Ask));
        assert_eq!(stream.step(at_us(140)), Some(Step::WaitForReport));
        for (number, us) in [(4, 1), (6, 300), (6, 310), (7, 320)] {
            stream.on_arrival(number, at_us(us));
        }
        stream.on_report(at_us(500));
        assert_eq!(stream.step(at_us(500)), None);
        assert_eq!(stream.answered_after(), Some(Duration::from_micros(360)));
        let arrival = Arrival {
            index: 1,
            sent_us: 140,
            arrived_us: 300,
        };
        assert_eq!(stream.arrivals(), [arrival], "each number counts once");
        assert_eq!(arrival.delay_us(), 160);
    }
}
