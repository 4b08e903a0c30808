//! What the transport tells the controller, and what it asks: plain data, no quiche types.

use crate::units::{Bytes, Timestamp};
use std::time::Duration;

/// The transport's RTT estimate (RFC 9002, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The last sample.
    pub latest: Duration,
    /// The least one on this path.
    pub min: Duration,
    /// smoothed_rtt.
    pub smoothed: Duration,
    /// rttvar: the mean deviation, D_RTT of IM 3.4.2.
    pub variation: Duration,
}

impl RoundTrip {
    /// The last sample without the delay that the peer says it added, which cannot make it less
    /// than the least one (adjusted_rtt of RFC 9002, section 5.3).
    pub fn latest_without(&self, ack_delay: Duration) -> Duration {
        self.latest.saturating_sub(ack_delay).max(self.min)
    }
}

/// A 1-RTT packet left that counts as in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// Packet number.
    pub number: u64,
    /// UDP payload.
    pub size: Bytes,
    /// Whether it left because [`crate::ImTcp::next_release`] let it; false for packets that do not
    /// ask: probes after a timeout, control frames on an idle connection.
    pub released: bool,
    /// In flight with this packet.
    pub bytes_in_flight: Bytes,
}

/// A packet that an acknowledgement newly covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckedPacket {
    /// Packet number.
    pub number: u64,
    /// UDP payload.
    pub size: Bytes,
    /// When it left.
    pub sent: Timestamp,
    /// When it arrived, by the peer's clock, since an origin of the peer's: only differences mean
    /// something (draft-ietf-quic-receive-ts-02). `None` where the peer does not tell.
    pub received: Option<Duration>,
}

/// How the peer acknowledges, from its transport parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAcks {
    /// min_ack_delay of draft-ietf-quic-ack-frequency-14, section 3: the shortest delay that may be
    /// asked for. `None` if the peer does not understand requests.
    pub min_ack_delay: Option<Duration>,
    /// max_ack_delay (RFC 9000, section 18.2).
    pub max_ack_delay: Duration,
}

/// How the peer shall acknowledge: the fields of an ACK_FREQUENCY frame
/// (draft-ietf-quic-ack-frequency-14, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRequest {
    /// Packets that may wait for their acknowledgement: one less than are acknowledged together.
    pub ack_eliciting_threshold: u64,
    /// The longest that they wait.
    pub max_ack_delay: Duration,
    /// How far a packet may be overtaken before that is reported at once.
    pub reordering_threshold: u64,
}

/// An acknowledgement came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckInfo {
    /// The largest packet number that it acknowledges.
    pub largest: u64,
    /// The delay that the receiver says it added (RFC 9000, section 19.3), not clamped.
    pub ack_delay: Duration,
    /// The RTT estimate with this acknowledgement.
    pub rtt: RoundTrip,
    /// In flight after it.
    pub bytes_in_flight: Bytes,
}

/// Packets were declared lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossInfo {
    /// When the last of them had left.
    pub newest_sent: Timestamp,
    /// Whether they make persistent congestion (RFC 9002, section 7.6).
    pub persistent_congestion: bool,
}

/// The question: may the next packet leave?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendRequest {
    /// Application data that waits.
    pub queued: Bytes,
    /// Whether data that was lost waits to be sent again.
    pub retransmission: bool,
    /// What the window still allows.
    pub window_left: Bytes,
    /// A full datagram.
    pub max_datagram: Bytes,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// It may.
    Now,
    /// Not before this time; ask again then, or when something happens.
    At(Timestamp),
    /// Ask again when something happens.
    Hold,
}
