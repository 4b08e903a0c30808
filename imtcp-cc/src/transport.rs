//! What a transport tells the controller and what it asks, as plain data without quiche types.
//! Sizes are bytes of UDP payload.

use crate::units::{Bytes, Timestamp};
use std::time::Duration;

/// The transport's RTT estimate (RFC 9002, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The last sample (latest_rtt of RFC 9002, section 5.1).
    pub latest: Duration,
    /// The least sample on this path (min_rtt of RFC 9002, section 5.2).
    pub min: Duration,
    /// The smoothed round trip (smoothed_rtt of RFC 9002, section 5.3).
    pub smoothed: Duration,
    /// The mean deviation of the samples (rttvar of RFC 9002, section 5.3; D_RTT of IM 3.4.2).
    pub variation: Duration,
}

impl RoundTrip {
    /// The last sample without the delay that the peer says it added, but no less than the least
    /// sample (adjusted_rtt of RFC 9002, section 5.3).
    pub fn latest_without(&self, ack_delay: Duration) -> Duration {
        self.latest.saturating_sub(ack_delay).max(self.min)
    }
}

/// A 1-RTT packet that counts as in flight (RFC 9002, section 2) left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// The packet number.
    pub number: u64,
    /// The size of the UDP payload.
    pub size: Bytes,
    /// Whether the packet left because [`crate::ImTcp::next_release`] let it. It is false for
    /// packets that do not ask: probes after a timeout, and control frames on an idle connection.
    pub released: bool,
    /// The bytes in flight, this packet included (bytes_in_flight of RFC 9002, appendix B.2).
    pub bytes_in_flight: Bytes,
}

/// A packet that an acknowledgement newly covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckedPacket {
    /// The packet number.
    pub number: u64,
    /// The size of the UDP payload.
    pub size: Bytes,
    /// When the packet left.
    pub sent: Timestamp,
    /// When the packet arrived, by the peer's clock (draft-ietf-quic-receive-ts-02). It counts from
    /// an origin that only the peer knows, so only differences mean something. `None` if the peer
    /// does not tell.
    pub received: Option<Duration>,
}

/// How the peer acknowledges, according to its transport parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAcks {
    /// min_ack_delay of draft-ietf-quic-ack-frequency-14, section 3: the shortest delay that may
    /// be requested. `None` if the peer does not understand requests.
    pub min_ack_delay: Option<Duration>,
    /// max_ack_delay (RFC 9000, section 18.2): the longest delay of the peer without a request.
    pub max_ack_delay: Duration,
}

/// A request to the peer about its acknowledgements: the fields of an ACK_FREQUENCY frame
/// (draft-ietf-quic-ack-frequency-14, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRequest {
    /// How many packets may wait for their acknowledgement: one less than the number that is
    /// acknowledged together (Ack-Eliciting Threshold).
    pub ack_eliciting_threshold: u64,
    /// The longest time that these packets wait (Requested Max Ack Delay).
    pub max_ack_delay: Duration,
    /// By how many packets a packet may be overtaken before the peer reports this at once
    /// (Reordering Threshold).
    pub reordering_threshold: u64,
}

/// An acknowledgement came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckInfo {
    /// The largest packet number that the acknowledgement covers.
    pub largest: u64,
    /// The delay that the receiver says it added (RFC 9000, section 19.3), not clamped.
    pub ack_delay: Duration,
    /// The RTT estimate that includes this acknowledgement.
    pub rtt: RoundTrip,
    /// The bytes in flight after this acknowledgement.
    pub bytes_in_flight: Bytes,
}

/// An acknowledgement and the packets that it newly covers.
#[derive(Clone, Copy, Debug)]
pub struct Acked<'a> {
    /// When the acknowledgement came in.
    pub now: Timestamp,
    /// What the acknowledgement says of the path.
    pub info: AckInfo,
    /// The packets, in ascending order of their numbers.
    pub packets: &'a [AckedPacket],
}

/// Packets were declared lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossInfo {
    /// When the oldest of the lost packets had left.
    pub oldest_sent: Timestamp,
    /// When the newest of the lost packets had left.
    pub newest_sent: Timestamp,
    /// Whether the losses make persistent congestion (RFC 9002, section 7.6).
    pub persistent_congestion: bool,
}

/// The transport's question: may the next packet leave?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendRequest {
    /// The application data that waits to be sent, in bytes.
    pub queued: Bytes,
    /// Whether lost data waits to be sent again.
    pub retransmission: bool,
    /// The bytes that the congestion window still allows: cwnd less the bytes in flight.
    pub window_left: Bytes,
    /// The size of a full datagram.
    pub max_datagram: Bytes,
}

/// The controller's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The packet may leave now.
    Now,
    /// The packet may not leave before this time. Ask again then, or when something happens.
    At(Timestamp),
    /// The packet may not leave yet. Ask again when something happens.
    Hold,
}
