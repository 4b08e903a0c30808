//! What the controller asks of the peer's acknowledgements (draft-ietf-quic-ack-frequency-14).
//!
//! A packet of which the arrival must be known asks for an acknowledgement of its own. For the
//! other packets the peer is asked to acknowledge seldom. Two things bound how seldom:
//!
//! - *Loss detection*: there are at least ten acknowledgements a round trip while data flows, so
//!   a loss is known at most a tenth of a round trip later. The peer reports reordering as soon as
//!   loss detection can declare a loss by it (draft section 9).
//! - *Window growth*: the window counts bytes and not acknowledgements. The data that an
//!   acknowledgement frees, at most a tenth of the window and 16 packets, is paced. While the
//!   window doubles it is at most half of that.
//!
//! If a window has only a few packets, each is acknowledged, as many peers do by themselves. With
//! every second packet acknowledged, a path of 5 Mbit/s, 10 ms and a queue of two packets lost a
//! twentieth of its goodput. Each of these packets asks for its acknowledgement, because a
//! threshold of 0 is not safe to send: picoquic closes the connection.
//!
//! With an acknowledgement for a quarter of the window, or for 32 packets, goodput fell by more
//! than a per cent on a path of 20 ms. With one for a sixth it was 3.5 % less over 60 drawn paths
//! with queues of 0.03 to 1.5 bandwidth-delay products.

use crate::transport::{AckRequest, PeerAcks};
use crate::units::Timestamp;
use std::time::Duration;

/// The number of acknowledgements per window and per round trip. It doubles while the window
/// doubles.
const PER_ROUND_TRIP: u32 = 10;

/// The largest number of packets per acknowledgement. More packets save little: 6 % of the
/// acknowledgements are left.
const MOST_PACKETS: u32 = 16;

/// The least Ack-Eliciting Threshold to ask for: every second packet.
const LEAST_THRESHOLD: u64 = 1;

/// kPacketThreshold (RFC 9002, section 6.1.1), as in quiche.
const REORDERING_THRESHOLD: u64 = 3;

/// The longest delay to ask for: the default max_ack_delay (RFC 9000, section 18.2). With a longer
/// one than its own the peer would acknowledge later than without a request.
const LONGEST_DELAY: Duration = Duration::from_millis(25);

/// The ratio by which a value must change to make a new request worth a frame.
const CHANGE_NUMERATOR: u32 = 3;
const CHANGE_DENOMINATOR: u32 = 2;

/// The fewest round trips between two requests.
const ROUND_TRIPS_BETWEEN: u32 = 4;

/// One of this many packets may ask for an acknowledgement, besides the packets of streams.
const PACKETS_PER_MARK: u32 = 24;

/// The same while the application is the limit. There are then few packets, and few trains to
/// read.
const PACKETS_PER_MARK_LIMITED: u32 = 6;

/// The largest number of unused marks that may be saved up, in packets.
const MOST_SAVED: u32 = 8 * PACKETS_PER_MARK;

/// The number of marks of a train: its first two packets, the last that leaves at the capacity,
/// and the last of all.
const MARKS_PER_TRAIN: u32 = 4;

/// The place of a packet, as far as its echo is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The packet belongs to a probe stream.
    Probe,
    /// The packet opens a train of this many packets. With the packet after it, it shows the
    /// capacity.
    Opening(u32),
    /// The packet follows the opening one.
    Second,
    /// The packet closes the part of a train that leaves at the capacity, or the whole train.
    Closing,
    /// The packet has any other place.
    Other,
}

/// Decides what to ask of the peer.
#[derive(Debug, Default)]
pub struct AckPolicy {
    peer: Option<PeerAcks>,
    requested: Option<AckRequest>,
    requested_at: Timestamp,
    /// The number of packets that have left and have not paid for a mark yet.
    saved: u32,
    /// The window is so small that each packet is to be acknowledged.
    acknowledges_each: bool,
    /// Whether the train under way is marked. Marks are worth most if they belong to one train.
    marking: bool,
}

impl AckPolicy {
    /// Takes what the peer understands.
    pub fn on_peer(&mut self, peer: PeerAcks) {
        self.peer = Some(peer);
    }

    /// Whether the peer understands requests.
    pub fn is_understood(&self) -> bool {
        self.peer.is_some_and(|peer| peer.min_ack_delay.is_some())
    }

    /// A request to the peer, if it differs from the last one. `window` is in packets.
    pub fn request(
        &mut self,
        now: Timestamp,
        smoothed_rtt: Duration,
        window: u32,
        doubling: bool,
    ) -> Option<AckRequest> {
        let peer = self.peer?;
        let least = peer.min_ack_delay?;
        let longest = LONGEST_DELAY.min(peer.max_ack_delay);
        let parts = if doubling {
            2 * PER_ROUND_TRIP
        } else {
            PER_ROUND_TRIP
        };
        let packets = (window / parts).clamp(1, MOST_PACKETS);
        self.acknowledges_each = packets == 1;
        let wanted = AckRequest {
            ack_eliciting_threshold: u64::from(packets - 1).max(LEAST_THRESHOLD),
            max_ack_delay: (smoothed_rtt / parts).min(longest).max(least),
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

    /// Whether the window was so small, when [`request`](Self::request) was called last, that each
    /// packet is to ask for an acknowledgement of its own.
    pub fn acknowledges_each(&self) -> bool {
        self.acknowledges_each
    }

    /// Whether the packet that leaves now asks for an acknowledgement that shows its arrival. Call
    /// it once for each packet. `limited` is true while the application has less data than the
    /// window allows. `timed` is true if acknowledgements bring the times at which packets arrived:
    /// no packet of a train needs an acknowledgement of its own then.
    pub fn wants_immediate(&mut self, place: Place, limited: bool, timed: bool) -> bool {
        self.saved = (self.saved + 1).min(MOST_SAVED);
        match place {
            Place::Probe => true,
            _ if timed => false,
            Place::Opening(train) => {
                let price = if limited {
                    PACKETS_PER_MARK_LIMITED
                } else {
                    PACKETS_PER_MARK
                };
                let cost = train.min(MARKS_PER_TRAIN) * price;
                self.marking = self.saved >= cost;
                if self.marking {
                    self.saved -= cost;
                }
                self.marking
            }
            Place::Second | Place::Closing => self.marking,
            Place::Other => false,
        }
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
    fn ten_acknowledgements_a_round_trip() {
        let request = policy().request(at(0), 60 * MS, 150, false).unwrap();
        // Every 15th packet: 14 may wait.
        assert_eq!(request.ack_eliciting_threshold, 14);
        assert_eq!(request.max_ack_delay, 6 * MS);
        assert_eq!(request.reordering_threshold, 3);
        let doubling = policy().request(at(0), 60 * MS, 160, true).unwrap();
        assert_eq!(doubling.ack_eliciting_threshold, 7);
    }

    #[test]
    fn a_peer_is_not_asked_to_wait_for_longer_than_it_would() {
        for (own, asked) in [(5, 5), (25, 25), (100, 25)] {
            let mut policy = AckPolicy::default();
            policy.on_peer(PeerAcks {
                min_ack_delay: Some(MS),
                max_ack_delay: own * MS,
            });
            let request = policy.request(at(0), 600 * MS, 150, false).unwrap();
            assert_eq!(request.max_ack_delay, asked * MS, "of {own} ms");
        }
    }

    #[test]
    fn packets_of_a_small_window_ask_one_by_one() {
        let mut policy = policy();
        assert!(!policy.acknowledges_each());
        let tiny = policy.request(at(0), MS, 2, false).unwrap();
        // A threshold of 0 would close a connection with picoquic.
        assert_eq!((tiny.ack_eliciting_threshold, tiny.max_ack_delay), (1, MS));
        assert!(policy.acknowledges_each());
        assert_eq!(policy.request(at(100), MS, 20, false), None);
        assert!(!policy.acknowledges_each(), "every second packet is enough");
    }

    #[test]
    fn only_news_is_sent_and_not_too_often() {
        let mut policy = policy();
        assert!(policy.request(at(0), 40 * MS, 100, false).is_some());
        assert_eq!(policy.request(at(100), 40 * MS, 200, false), None);
        assert_eq!(policy.request(at(200), 40 * MS, 130, false), None);
        assert!(policy.request(at(200), 40 * MS, 154, false).is_some());
    }

    #[test]
    fn marks_are_bounded_and_streams_are_not() {
        let mut policy = policy();
        let mut train = vec![Place::Other; 32];
        (train[0], train[1]) = (Place::Opening(32), Place::Second);
        (train[7], train[31]) = (Place::Closing, Place::Closing);
        let mut marks = |limited| {
            let places = train.iter().cycle().take(32_000);
            places
                .filter(|place| policy.wants_immediate(**place, limited, false))
                .count()
        };
        assert!((1320..=1345).contains(&marks(false)));
        // Each train is read, which is less than one in six.
        assert_eq!(marks(true), 4000);
        assert!((0..100).all(|_| policy.wants_immediate(Place::Probe, false, false)));
        let is_any_marked = train
            .iter()
            .any(|place| policy.wants_immediate(*place, true, true));
        assert!(!is_any_marked);
    }
}
