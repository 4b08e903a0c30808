//! The stretch between two echoes that follow each other: the raw material of the statistical
//! estimator and of the capacity estimator.

use crate::units::{Bytes, Nanos, TimeDelta, Timestamp};

/// A gap may be much too short if other links can have taken more than one in so many of its parts.
/// No other link is slower than the tight one, and most are several times as fast.
const SHORTENED_DIVISOR: u64 = 8;

/// A packet that was the largest of its own acknowledgement. The time at which the acknowledgement
/// came is then an echo of that packet and of no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoPoint {
    /// The packet number.
    pub number: u64,
    /// The size on the wire.
    pub size: Bytes,
    /// When the packet really left.
    pub sent: Timestamp,
    /// When the echo came, less the delay that the receiver said it added. If the receiver told
    /// when the packet arrived, this is that arrival, except for a constant.
    pub arrived: Timestamp,
    /// When the acknowledgement came, whatever delay the receiver says it added. If the receiver
    /// told when the packet arrived, this is the same as `arrived`: those times are checked in
    /// another way ([`super::ReceiveClock`]).
    pub came: Timestamp,
}

impl EchoPoint {
    /// The time from sending to echo, less the packet's own serialisation if it is known. What
    /// remains is propagation and waiting in queues, whatever the packet's size.
    pub(crate) fn delay_beyond(&self, serialisation: Option<Nanos>) -> TimeDelta {
        (self.arrived - self.sent) - serialisation.unwrap_or_default().signed()
    }
}

/// Two echo points that follow each other, and the packets between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoGap {
    /// The earlier point.
    pub from: EchoPoint,
    /// The later point.
    pub to: EchoPoint,
    /// The bytes on the wire of the packets after `from`, up to and including `to`.
    pub bytes: Bytes,
    /// The number of those packets.
    pub packets: u32,
    /// How long the later packet certainly waited in queues.
    pub(crate) waited: Nanos,
    /// Whether the later packet met none of our own at the link, unless others delayed those.
    pub(crate) is_alone: bool,
    /// What can be said of the tight link between the two points.
    pub link: LinkState,
}

impl EchoGap {
    /// The gap between the departures from the sender.
    pub(crate) fn sent_gap(&self) -> Nanos {
        self.to.sent.nanos_since(self.from.sent)
    }

    /// The gap between the echoes. `None` if the later packet's echo came first.
    pub(crate) fn arrival_gap(&self) -> Option<Nanos> {
        (self.to.arrived - self.from.arrived).to_nanos()
    }

    /// The longer of the gap between the echoes and the gap between the acknowledgements as they
    /// came. A receiver's claims can lengthen this gap, but cannot shorten it below what we have
    /// seen ourselves.
    pub(crate) fn seen_gap(&self) -> Option<Nanos> {
        let came = self.to.came.nanos_since(self.from.came);
        Some(self.arrival_gap()?.max(came))
    }

    /// Whether links behind the tight one may have made the gap shorter by much. There a small
    /// packet takes less time than the large one before it, and catches up by the difference. A
    /// frame of a packet and a bit is two such packets.
    pub(crate) fn is_shortened(&self) -> bool {
        let catches_up = self.from.size.saturating_sub(self.to.size);
        catches_up.times(SHORTENED_DIVISOR) > self.bytes
    }

    /// Whether the later acknowledgement came late because the peer waited with it: by more than
    /// `least`, and by more than a tenth of the gap without that. The peer says so, and may lie. So
    /// the gap is left out, and not believed to be shorter.
    pub(crate) fn is_held_by_peer(&self, least: Nanos) -> bool {
        let came = self.to.came.nanos_since(self.from.came);
        let arrival = self.arrival_gap().unwrap_or_default();
        came.times(10) > arrival.times(11) && came > arrival + least
    }
}

/// Whether the tight link worked without a pause from the departure of the earlier packet to that
/// of the later one. If it did, others sent `capacity x arrival gap - own bytes` meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// The link was busy. The packets came as fast as the link serves them, and no faster, so the
    /// sending gap is also the gap at the link's queue.
    BusySpaced,
    /// The link was busy if the earlier packet waited at it. The packets came more slowly than the
    /// link serves them, but before that waiting time was over.
    BusyQueued,
    /// The link was busy, but the packets left faster than it serves them. An earlier link may
    /// have stretched the gap, so the sending gap says nothing.
    BusyRushed,
    /// The link may have been idle: each packet may have found the queue empty.
    Unknown,
}

impl LinkState {
    /// True if the link certainly worked all the time.
    pub fn is_busy(self) -> bool {
        self != Self::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(first: u64, last: u64, packets: u32, bytes: u64) -> EchoGap {
        let point = |number: u64, size: u64| EchoPoint {
            number,
            size: Bytes::new(size),
            sent: Timestamp::ZERO,
            arrived: Timestamp::ZERO,
            came: Timestamp::ZERO,
        };
        EchoGap {
            from: point(0, first),
            to: point(packets.into(), last),
            bytes: Bytes::new(bytes),
            packets,
            waited: Nanos::ZERO,
            is_alone: false,
            link: LinkState::Unknown,
        }
    }

    #[test]
    fn a_small_packet_catches_up_with_the_large_one_before_it() {
        assert!(gap(1228, 400, 1, 400).is_shortened());
        // Of four packets together it is a smaller part: 328 of 4584 bytes.
        assert!(!gap(1228, 900, 4, 4584).is_shortened());
        assert!(!gap(1228, 1228, 1, 1228).is_shortened());
        assert!(!gap(400, 1228, 1, 1228).is_shortened(), "it falls behind");
    }
}
