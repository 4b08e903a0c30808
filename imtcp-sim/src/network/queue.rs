//! A drop-tail queue, bounded in bytes or in packets.

use super::Packet;
use imtcp_cc::units::Bytes;
use std::collections::VecDeque;

/// How much may wait. The packet being transmitted does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most so many bytes of IP packets.
    Bytes(Bytes),
    /// At most so many packets of any size.
    Packets(u64),
}

/// Packets waiting for the transmitter, first in first out.
#[derive(Debug)]
pub struct Queue {
    limit: QueueLimit,
    waiting: VecDeque<Packet>,
    bytes: Bytes,
}

impl Queue {
    /// An empty queue.
    pub fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
        }
    }

    /// Puts a packet at the tail, or hands it back where it does not fit.
    ///
    /// # Errors
    /// The packet itself: it has to be dropped.
    pub fn push(&mut self, packet: Packet) -> Result<(), Packet> {
        let fits = match self.limit {
            QueueLimit::Bytes(limit) => self.bytes + packet.size <= limit,
            QueueLimit::Packets(limit) => (self.waiting.len() as u64) < limit,
        };
        if !fits {
            return Err(packet);
        }
        self.bytes += packet.size;
        self.waiting.push_back(packet);
        Ok(())
    }

    /// Takes the packet at the head.
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(packet.size);
        Some(packet)
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Packets waiting.
    pub fn packets(&self) -> usize {
        self.waiting.len()
    }
}
