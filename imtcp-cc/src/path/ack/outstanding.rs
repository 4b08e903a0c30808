//! The packets that left and have no echo yet.

use crate::units::{Bytes, Nanos, Timestamp};
use std::collections::VecDeque;

/// The largest number of packets remembered at once. A full window of 1 Gbit/s over 250 ms is
/// 26,000 packets. If more are outstanding, the oldest are forgotten and their echoes are not
/// used.
const MAX_PACKETS: usize = 32_768;

/// The number of packets for which there is room as soon as more than a first flight left: those of
/// 100 Mbit/s over 50 ms. A longer path makes room once more, when a packet leaves.
const INITIAL_PACKETS: usize = 512;

/// A first flight. It may go to an address from which nobody answers.
const FIRST_FLIGHT: usize = 16;

/// Defines a rushed packet. A link upstream of the tight one, and no slower, would hold it back by
/// more than this part of its serialisation time. Its send time is then not the time at which it
/// reached the tight link.
const RUSH_DIVISOR: u64 = 10;

/// A packet that left.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub(super) number: u64,
    /// Its size on the wire.
    pub(super) size: Bytes,
    pub(super) sent: Timestamp,
    pub(super) rushed: bool,
    pub(super) acknowledged: bool,
}

/// The same as it is kept. There may be thousands of them.
#[derive(Clone, Copy, Debug)]
struct Kept {
    sent: Timestamp,
    /// The difference to the number of the oldest packet tells the packet's own. These are the
    /// last 32 bits of it.
    number: u32,
    /// No datagram exceeds this type by more than its IP header.
    size: u16,
    rushed: bool,
    acknowledged: bool,
}

/// Packets in ascending order of their numbers.
#[derive(Debug)]
pub(super) struct Outstanding {
    packets: VecDeque<Kept>,
    /// The numbers of the oldest and of the newest packet, if there are any.
    oldest: u64,
    newest: u64,
    /// The newest packet that was forgotten before it was acknowledged or lost.
    forgotten: Option<u64>,
    /// When an upstream link as fast as the tight one would have passed on all packets sent so
    /// far.
    upstream_free: Timestamp,
}

impl Outstanding {
    pub(super) fn new() -> Self {
        Self {
            packets: VecDeque::new(),
            oldest: 0,
            newest: 0,
            forgotten: None,
            upstream_free: Timestamp::ZERO,
        }
    }

    /// A packet left, which the tight link serves in `serialisation`.
    #[inline]
    pub(super) fn add(&mut self, number: u64, size: Bytes, now: Timestamp, serialisation: Nanos) {
        if !self.packets.is_empty() && number <= self.newest {
            return; // numbers only ever rise; anything else would break the search below
        }
        if self.packets.len() == MAX_PACKETS
            && let Some(forgotten) = self.forget_oldest()
        {
            self.forgotten = Some(forgotten.number);
        }
        if self.packets.len() == FIRST_FLIGHT && self.packets.capacity() < INITIAL_PACKETS {
            self.packets.reserve_exact(INITIAL_PACKETS - FIRST_FLIGHT);
        }
        if number.saturating_sub(self.oldest) > u32::MAX.into() {
            self.packets.clear();
        }
        if self.packets.is_empty() {
            self.oldest = number;
        }
        self.newest = number;
        let close = Nanos::new(serialisation.get() / RUSH_DIVISOR);
        let rushed = self.upstream_free > now.after(close);
        self.upstream_free = self.upstream_free.max(now).after(serialisation);
        self.packets.push_back(Kept {
            sent: now,
            number: low(number),
            size: u16::try_from(size.get()).unwrap_or(u16::MAX),
            rushed,
            acknowledged: false,
        });
    }

    /// Marks the packet as acknowledged, if it is still remembered.
    #[inline]
    pub(super) fn acknowledge(&mut self, number: u64) -> Option<SentPacket> {
        let index = self.position(number)?;
        let packet = &mut self.packets[index];
        packet.acknowledged = true;
        Some(packet.numbered(number))
    }

    fn position(&self, number: u64) -> Option<usize> {
        // Numbers follow each other except for a few that are skipped. So this is the packet's
        // place, or the packet lies before it.
        let ahead = u32::try_from(number.checked_sub(self.oldest)?).ok()?;
        let sought = low(number);
        let guess = usize::try_from(ahead).ok()?;
        let guessed = self.packets.get(guess);
        if guessed.is_some_and(|packet| packet.number == sought) {
            return Some(guess);
        }
        self.packets
            .binary_search_by_key(&ahead, |packet| self.ahead(packet))
            .ok()
    }

    /// By how much a packet's number exceeds that of the oldest.
    fn ahead(&self, packet: &Kept) -> u32 {
        packet.number.wrapping_sub(low(self.oldest))
    }

    /// Forgets the oldest packet if its number is no more than this.
    #[inline]
    pub(super) fn take_up_to(&mut self, number: u64) -> Option<SentPacket> {
        if self.oldest > number {
            return None;
        }
        self.forget_oldest()
    }

    /// Whether a packet after this one was forgotten before anybody knew what became of it.
    #[inline]
    pub(super) fn has_forgotten_after(&self, number: u64) -> bool {
        self.forgotten.is_some_and(|forgotten| forgotten > number)
    }

    #[inline]
    fn forget_oldest(&mut self) -> Option<SentPacket> {
        let packet = self.packets.pop_front()?.numbered(self.oldest);
        if let Some(next) = self.packets.front() {
            self.oldest += u64::from(self.ahead(next));
        }
        Some(packet)
    }
}

impl Kept {
    fn numbered(&self, number: u64) -> SentPacket {
        SentPacket {
            number,
            size: Bytes::new(self.size.into()),
            sent: self.sent,
            rushed: self.rushed,
            acknowledged: self.acknowledged,
        }
    }
}

/// The last 32 bits of a packet number.
#[expect(clippy::cast_possible_truncation, reason = "the rest is known from other packets")]
fn low(number: u64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers that skip a few, around the place at which their last 32 bits begin anew.
    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        let first = (1u64 << 32) - 100;
        proptest::collection::vec(1u64..4, 1..300).prop_map(move |steps| {
            let ascend = |last: &mut u64, step| {
                *last += step;
                Some(*last)
            };
            steps.into_iter().scan(first, ascend).collect()
        })
    }

    proptest! {
        #[test]
        fn packets_are_found_by_their_numbers(numbers in numbers(), taken in 0usize..300) {
            let mut kept = Outstanding::new();
            for number in &numbers {
                let size = Bytes::new(1000 + number % 400);
                kept.add(*number, size, Timestamp::from_nanos(*number), Nanos::ZERO);
            }
            let (gone, there) = numbers.split_at(taken.min(numbers.len()));
            for number in gone {
                let packet = kept.take_up_to(*number).expect("the oldest");
                prop_assert_eq!((packet.number, packet.sent.as_nanos()), (*number, *number));
            }
            for number in numbers[0]..=numbers[numbers.len() - 1] {
                let found = kept.acknowledge(number).map(|packet| (packet.number, packet.size));
                let size = Bytes::new(1000 + number % 400);
                prop_assert_eq!(found, there.contains(&number).then_some((number, size)));
            }
        }
    }

    #[test]
    fn too_many_packets_are_forgotten_and_this_is_known() {
        let mut kept = Outstanding::new();
        let send = |kept: &mut Outstanding, number| {
            kept.add(number, Bytes::new(1200), Timestamp::ZERO, Nanos::ZERO);
        };
        for number in 0..MAX_PACKETS as u64 {
            send(&mut kept, number);
        }
        assert!(!kept.has_forgotten_after(0));
        for number in 0..3 {
            send(&mut kept, MAX_PACKETS as u64 + number);
        }
        assert!(kept.has_forgotten_after(1));
        assert!(!kept.has_forgotten_after(2));
    }

    #[test]
    fn numbers_far_ahead_begin_anew() {
        let mut kept = Outstanding::new();
        let far = 7 + (2u64 << 32);
        for number in [7, far] {
            kept.add(number, Bytes::new(1200), Timestamp::ZERO, Nanos::ZERO);
        }
        assert!(kept.acknowledge(7).is_none());
        assert_eq!(kept.acknowledge(far).map(|packet| packet.number), Some(far));
        assert!(kept.take_up_to(6).is_none());
    }
}
