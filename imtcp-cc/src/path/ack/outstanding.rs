//! The packets that left and have no echo yet.

use crate::units::{Bytes, Nanos, Timestamp};
use std::collections::VecDeque;

/// The largest number of packets remembered at once. A full window of 1 Gbit/s over 250 ms is
/// 26,000 packets. If more are outstanding, the oldest are forgotten and their echoes are not
/// used.
const MAX_PACKETS: usize = 32_768;

/// The number of packets for which there is room as soon as more than a first flight left.
const INITIAL_PACKETS: usize = 1_024;

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

/// Packets in ascending order of their numbers.
#[derive(Debug)]
pub(super) struct Outstanding {
    packets: VecDeque<SentPacket>,
    /// When an upstream link as fast as the tight one would have passed on all packets sent so
    /// far.
    upstream_free: Timestamp,
}

impl Outstanding {
    pub(super) fn new() -> Self {
        Self {
            packets: VecDeque::new(),
            upstream_free: Timestamp::ZERO,
        }
    }

    /// A packet left, which the tight link serves in `serialisation`.
    #[inline]
    pub(super) fn add(&mut self, number: u64, size: Bytes, now: Timestamp, serialisation: Nanos) {
        if self
            .packets
            .back()
            .is_some_and(|last| last.number >= number)
        {
            return; // numbers only ever rise; anything else would break the search below
        }
        if self.packets.len() == MAX_PACKETS {
            self.packets.pop_front();
        }
        if self.packets.len() == FIRST_FLIGHT && self.packets.capacity() < INITIAL_PACKETS {
            self.packets.reserve_exact(INITIAL_PACKETS - FIRST_FLIGHT);
        }
        let close = Nanos::new(serialisation.get() / RUSH_DIVISOR);
        let rushed = self.upstream_free > now.after(close);
        self.upstream_free = self.upstream_free.max(now).after(serialisation);
        self.packets.push_back(SentPacket {
            number,
            size,
            sent: now,
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
        Some(*packet)
    }

    fn position(&self, number: u64) -> Option<usize> {
        // Numbers follow each other except for a few that are skipped. So this is the packet's
        // place, or the packet lies before it.
        let ahead = number.checked_sub(self.packets.front()?.number)?;
        let guess = usize::try_from(ahead).ok()?;
        let guessed = self.packets.get(guess);
        if guessed.is_some_and(|packet| packet.number == number) {
            return Some(guess);
        }
        self.packets
            .binary_search_by_key(&number, |packet| packet.number)
            .ok()
    }

    /// Forgets the oldest packet if its number is no more than this.
    #[inline]
    pub(super) fn take_up_to(&mut self, number: u64) -> Option<SentPacket> {
        self.packets
            .front()
            .filter(|packet| packet.number <= number)?;
        self.packets.pop_front()
    }
}
