//! The stretch between two echoes that follow each other: the raw material of the statistical
//! estimator and of the capacity estimator.

use crate::units::{Bandwidth, Bytes, TimeDelta, Timestamp};
use std::time::Duration;

/// A packet that was the largest of its own acknowledgement, so that the time at which the
/// acknowledgement came is an echo of that packet and of no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoPoint {
    /// The packet number.
    pub number: u64,
    /// Size on the wire.
    pub size: Bytes,
    /// When it really left.
    pub sent: Timestamp,
    /// When its echo came, less the delay that the receiver said it added; or when the packet
    /// arrived, but for a constant, if the receiver told.
    pub arrived: Timestamp,
    /// When the acknowledgement came, whatever delay the receiver says it added. The same as
    /// `arrived` if the receiver told when the packet arrived: those times are checked in another
    /// way ([`super::ReceiveClock`]).
    pub came: Timestamp,
}

impl EchoPoint {
    /// Time from sending to echo, less the packet's own serialisation at `capacity`: what remains
    /// is propagation and waiting in queues, whatever the packet's size.
    pub fn delay(&self, capacity: Option<Bandwidth>) -> TimeDelta {
        let serialisation = capacity.map_or(Duration::ZERO, |rate| rate.time_for(self.size));
        (self.arrived - self.sent) - TimeDelta::from(serialisation)
    }
}

/// Two echo points that follow each other, and what left between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoGap {
    /// The earlier point.
    pub from: EchoPoint,
    /// The later point.
    pub to: EchoPoint,
    /// Bytes on the wire of the packets after `from`, up to and with `to`.
    pub bytes: Bytes,
    /// How many packets those are.
    pub packets: u32,
    /// What can be said of the tight link between the two.
    pub link: LinkState,
}

impl EchoGap {
    /// The gap between the departures from the sender.
    pub fn sent_gap(&self) -> Duration {
        self.to.sent.saturating_since(self.from.sent)
    }

    /// The gap between the echoes; `None` if the later packet's echo came first.
    pub fn arrival_gap(&self) -> Option<Duration> {
        (self.to.arrived - self.from.arrived).to_duration()
    }

    /// The gap between the echoes, or between the acknowledgements as they came if that is longer:
    /// a receiver's words can stretch it, and not shorten it below what we have seen ourselves.
    pub fn seen_gap(&self) -> Option<Duration> {
        let came = self.to.came.saturating_since(self.from.came);
        Some(self.arrival_gap()?.max(came))
    }
}

/// Whether the tight link worked without a pause from the departure of the earlier packet to that
/// of the later one. If it did, `capacity x arrival gap - own bytes` is what others sent meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It did: the packets came as fast as the link serves them, and no faster, so that the sending
    /// gap is also the gap at the link's queue.
    BusySpaced,
    /// It did, if the earlier packet waited at that link: the packets came more slowly than the
    /// link serves them, but not after that waiting time was over.
    BusyQueued,
    /// It did, but the packets left faster than the link serves: a link before it may have
    /// stretched the gap, so that the sending gap says nothing.
    BusyRushed,
    /// It may have been idle: each packet may have found the queue empty.
    Unknown,
}

impl LinkState {
    /// True if the link surely worked all the time.
    pub fn is_busy(self) -> bool {
        self != Self::Unknown
    }
}
