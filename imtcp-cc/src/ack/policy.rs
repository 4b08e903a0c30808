//! What the peer is asked about its acknowledgements (draft-ietf-quic-ack-frequency-14).
//!
//! Packets whose arrival is to be known ask for an acknowledgement of their own; for the rest the peer
//! is asked to acknowledge seldom. What is sparse is bounded by what depends on it:
//!
//! - *Loss detection*: at least four acknowledgements a round trip while data flows, so that a loss is
//!   known a quarter of a round trip later at most; and the peer reports reordering as soon as loss
//!   detection can declare a loss by it (draft section 9).
//! - *Window growth*: the window counts bytes and not acknowledgements, and what an acknowledgement
//!   frees, a quarter of the window, is paced. While the window doubles it is an eighth.

use crate::transport::{AckRequest, PeerAcks};
use crate::units::Timestamp;
use std::time::Duration;

/// Acknowledgements per window and per round trip; twice as many while the window doubles.
const PER_ROUND_TRIP: u32 = 4;

/// More packets per acknowledgement save hardly anything: of 32 it is 3 %.
const MOST_PACKETS: u32 = 32;

/// kPacketThreshold (RFC 9002, section 6.1.1), which quiche takes.
const REORDERING_THRESHOLD: u64 = 3;

/// The longest delay: the default max_ack_delay (RFC 9000, section 18.2). Asking for more would make
/// the peer worse than it is by itself.
const LONGEST_DELAY: Duration = Duration::from_millis(25);

/// A request is worth a frame when a value changes by this ratio...
const CHANGE_NUMERATOR: u32 = 3;
const CHANGE_DENOMINATOR: u32 = 2;

/// ...and no sooner than this many round trips after the last.
const ROUND_TRIPS_BETWEEN: u32 = 4;

/// Of this many packets one may ask for an acknowledgement besides those of streams.
const PACKETS_PER_MARK: u32 = 16;

/// Marks that may be saved up.
const MOST_MARKS: u32 = 8;

/// The place of a packet, as far as its echo is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a stream.
    Probe,
    /// Opens a train: with the one behind it, it shows the capacity.
    Opening,
    /// Behind it.
    Second,
    /// Closes the part of a train that leaves at the capacity, or the whole of it.
    Closing,
    /// Anywhere else.
    Other,
}

/// Decides about requests.
#[derive(Debug, Default)]
pub struct AckPolicy {
    peer: Option<PeerAcks>,
    requested: Option<AckRequest>,
    requested_at: Timestamp,
    /// Receive times come with acknowledgements: no packet needs one of its own to be timed.
    timed: bool,
    /// Packets towards the next mark, and marks saved up.
    packets: u32,
    marks: u32,
    /// The packet before this one opened a train with a mark.
    opened: bool,
}

impl AckPolicy {
    /// What the peer understands.
    pub fn on_peer(&mut self, peer: PeerAcks) {
        self.peer = Some(peer);
    }

    /// Whether the peer understands requests.
    pub fn is_understood(&self) -> bool {
        self.least_delay().is_some()
    }

    /// Whether acknowledgements bring the times at which packets arrived.
    pub fn set_timed(&mut self, timed: bool) {
        self.timed = timed;
    }

    fn least_delay(&self) -> Option<Duration> {
        self.peer.and_then(|peer| peer.min_ack_delay)
    }

    /// How the peer shall acknowledge from now on, if that is news. `window` is in packets.
    pub fn request(
        &mut self,
        now: Timestamp,
        smoothed_rtt: Duration,
        window: u32,
        doubling: bool,
    ) -> Option<AckRequest> {
        let least = self.least_delay()?;
        let parts = if doubling {
            2 * PER_ROUND_TRIP
        } else {
            PER_ROUND_TRIP
        };
        let packets = (window / parts).clamp(2, MOST_PACKETS);
        let wanted = AckRequest {
            ack_eliciting_threshold: u64::from(packets - 1),
            max_ack_delay: (smoothed_rtt / parts).min(LONGEST_DELAY).max(least),
            reordering_threshold: REORDERING_THRESHOLD,
        };
        if let Some(present) = self.requested {
            let early = now < self.requested_at + smoothed_rtt * ROUND_TRIPS_BETWEEN;
            if early || !is_news(&present, &wanted) {
                return None;
            }
        }
        self.requested = Some(wanted);
        self.requested_at = now;
        Some(wanted)
    }

    /// Whether the packet that leaves now asks for an acknowledgement of its own. Asked once for
    /// each.
    pub fn wants_immediate(&mut self, place: Place) -> bool {
        self.packets += 1;
        if self.packets >= PACKETS_PER_MARK {
            self.packets = 0;
            self.marks = (self.marks + 1).min(MOST_MARKS);
        }
        let opened = std::mem::take(&mut self.opened);
        let cost = match place {
            Place::Probe => return true,
            _ if self.timed => return false,
            // The second of a pair was paid for with the first.
            Place::Second => return opened,
            Place::Opening => 2,
            Place::Closing => 1,
            Place::Other => return false,
        };
        if self.marks < cost {
            return false;
        }
        self.marks -= cost;
        self.opened = place == Place::Opening;
        true
    }
}

fn is_news(present: &AckRequest, wanted: &AckRequest) -> bool {
    let differs = |a: u128, b: u128| {
        let (low, high) = (a.min(b), a.max(b));
        high * u128::from(CHANGE_DENOMINATOR) >= low * u128::from(CHANGE_NUMERATOR) && high > low
    };
    let packets = |request: &AckRequest| u128::from(request.ack_eliciting_threshold) + 1;
    differs(packets(present), packets(wanted))
        || differs(
            present.max_ack_delay.as_nanos(),
            wanted.max_ack_delay.as_nanos(),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn policy() -> AckPolicy {
        let mut policy = AckPolicy::default();
        policy.on_peer(PeerAcks {
            min_ack_delay: Some(MS),
            max_ack_delay: 25 * MS,
        });
        policy
    }

    fn at(ms: u32) -> Timestamp {
        Timestamp::from_origin(MS * ms)
    }

    #[test]
    fn a_peer_that_does_not_understand_is_asked_nothing() {
        let mut policy = AckPolicy::default();
        assert_eq!(policy.request(at(0), 20 * MS, 100, false), None);
        policy.on_peer(PeerAcks {
            min_ack_delay: None,
            max_ack_delay: 25 * MS,
        });
        assert_eq!(policy.request(at(0), 20 * MS, 100, false), None);
        assert!(!policy.is_understood());
    }

    #[test]
    fn four_acknowledgements_a_round_trip() {
        let request = policy().request(at(0), 40 * MS, 100, false).unwrap();
        // Every 25th packet: 24 may wait.
        assert_eq!(request.ack_eliciting_threshold, 24);
        assert_eq!(request.max_ack_delay, 10 * MS);
        assert_eq!(request.reordering_threshold, 3);
        let doubling = policy().request(at(0), 40 * MS, 100, true).unwrap();
        assert_eq!(doubling.ack_eliciting_threshold, 11);
        let tiny = policy().request(at(0), MS, 2, false).unwrap();
        assert_eq!((tiny.ack_eliciting_threshold, tiny.max_ack_delay), (1, MS));
    }

    #[test]
    fn only_news_is_sent_and_not_too_often() {
        let mut policy = policy();
        assert!(policy.request(at(0), 40 * MS, 60, false).is_some());
        assert_eq!(policy.request(at(100), 40 * MS, 120, false), None);
        assert_eq!(policy.request(at(200), 40 * MS, 80, false), None);
        assert!(policy.request(at(200), 40 * MS, 92, false).is_some());
    }

    #[test]
    fn marks_are_bounded_and_streams_are_not() {
        let mut policy = policy();
        let trains = [Place::Opening, Place::Second, Place::Other, Place::Closing];
        let packets = 12_000;
        let marked = (0..packets)
            .filter(|i| policy.wants_immediate(trains[i % trains.len()]))
            .count();
        assert!((600..=760).contains(&marked), "{marked}");
        assert!((0..100).all(|_| policy.wants_immediate(Place::Probe)));
        policy.set_timed(true);
        assert!(!trains.iter().any(|place| policy.wants_immediate(*place)));
    }
}
