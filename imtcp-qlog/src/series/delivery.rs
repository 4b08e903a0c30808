//! What reached the other side, from sent packets and acknowledgements; and what was received.

use super::Column;
use crate::read::{Packet, Record, Space};
use std::collections::BTreeMap;

/// The most packets that are remembered until they are acknowledged. It bounds the memory of a log
/// whose acknowledgements are missing.
const MOST_OUTSTANDING: usize = 1 << 20;

/// Bytes that were acknowledged, and bytes that came in.
#[derive(Debug)]
pub(super) struct Delivery {
    /// The sizes of packets by their numbers.
    outstanding: BTreeMap<u64, u64>,
    acknowledged: u64,
    sent_bytes: u64,
    received_bytes: u64,
    received: Column,
}

impl Delivery {
    /// Nothing yet; at most so many points of what comes in.
    pub(super) fn new(most: usize) -> Self {
        Self {
            outstanding: BTreeMap::new(),
            acknowledged: 0,
            sent_bytes: 0,
            received_bytes: 0,
            received: Column::new(most),
        }
    }

    pub(super) fn on_sent(&mut self, packet: Packet) {
        self.sent_bytes = self.sent_bytes.saturating_add(packet.length);
        if let (Space::Application, Some(number)) = (packet.space, packet.number) {
            if self.outstanding.len() >= MOST_OUTSTANDING {
                self.outstanding.pop_first();
            }
            self.outstanding.insert(number, packet.length);
        }
    }

    /// A packet came. Returns how much is acknowledged, if that is more now.
    pub(super) fn on_received(
        &mut self,
        now_ms: f64,
        record: &Record<'_>,
    ) -> Result<Option<u64>, serde_json::Error> {
        let packet = record.packet()?;
        self.received_bytes = self.received_bytes.saturating_add(packet.length);
        self.received.push(now_ms, self.received_bytes as f64);
        if packet.space != Space::Application {
            return Ok(None);
        }
        let before = self.acknowledged;
        for ack in record.acks()? {
            for (first, last) in ack.ranges {
                self.take(first, last);
            }
        }
        Ok((self.acknowledged > before).then_some(self.acknowledged))
    }

    fn take(&mut self, first: u64, last: u64) {
        while let Some((number, size)) = self.outstanding.range(first..=last).next() {
            let (number, size) = (*number, *size);
            self.outstanding.remove(&number);
            self.acknowledged = self.acknowledged.saturating_add(size);
        }
    }

    /// Whether more came in than left.
    pub(super) fn is_receiver(&self) -> bool {
        self.received_bytes > self.sent_bytes
    }

    pub(super) fn into_received(self) -> Column {
        self.received
    }
}
