//! Converts quiche's types to those of the core and back, instants and timestamps among them.

use crate::path::{PathInfo, Role};
use crate::transport::{AckInfo, AckRequest, AckedPacket, PeerAcks, RoundTrip, SendRequest};
use crate::units::{Bytes, Timestamp};
use quiche::cc::{PathIdentity, ReceiveTime};
use std::time::{Duration, Instant};

pub(super) fn path_info(path: &PathIdentity) -> PathInfo {
    let role = if path.is_server {
        Role::Server
    } else {
        Role::Client
    };
    PathInfo::new(path.connection.clone(), role, path.local, path.peer)
}

/// The instant at which a controller's timestamps begin.
#[derive(Clone, Copy, Debug)]
pub struct Origin(pub Instant);

impl Origin {
    /// The timestamp of an instant. An instant before the origin becomes the origin.
    pub fn timestamp(self, at: Instant) -> Timestamp {
        Timestamp::from_origin(at.saturating_duration_since(self.0))
    }

    /// The instant of a timestamp.
    pub fn instant(self, at: Timestamp) -> Instant {
        self.0 + Duration::from_nanos(at.as_nanos())
    }

    /// An acknowledged packet with its receive time, if the peer told one. `received` are the
    /// receive times of the same acknowledgement, in the order of packet numbers. Receive times of
    /// earlier packets are dropped from its front.
    pub fn acked(
        self,
        packet: &quiche::cc::AckedPacket,
        received: &mut &[ReceiveTime],
    ) -> AckedPacket {
        while let [first, rest @ ..] = *received
            && first.packet_number < packet.packet_number
        {
            *received = rest;
        }
        let time = received
            .first()
            .filter(|time| time.packet_number == packet.packet_number);
        AckedPacket {
            received: time.map(|time| time.since_basis),
            number: packet.packet_number,
            size: Bytes::from_usize(packet.size),
            sent: self.timestamp(packet.time_sent),
        }
    }
}

/// quiche's round trip times as the core has them.
pub fn round_trip(rtt: &quiche::cc::Rtt) -> RoundTrip {
    RoundTrip {
        latest: rtt.latest,
        min: rtt.min,
        smoothed: rtt.smoothed,
        variation: rtt.variation,
    }
}

pub(super) fn ack_info(ack: &quiche::cc::AckReceived<'_>) -> AckInfo {
    AckInfo {
        largest: ack.largest_acked,
        ack_delay: ack.ack_delay,
        rtt: round_trip(&ack.rtt),
        bytes_in_flight: Bytes::from_usize(ack.bytes_in_flight),
    }
}

pub(super) fn send_request(context: &quiche::cc::SendContext) -> SendRequest {
    SendRequest {
        queued: Bytes::from_usize(context.queued_bytes),
        retransmission: context.retransmission,
        window_left: Bytes::from_usize(context.cwnd_available),
        max_datagram: Bytes::from_usize(context.max_datagram_size),
    }
}

pub(super) fn peer_acks(peer: &quiche::cc::PeerAcks) -> PeerAcks {
    PeerAcks {
        min_ack_delay: peer.min_ack_delay,
        max_ack_delay: peer.max_ack_delay,
    }
}

pub(super) fn ack_request(request: &AckRequest) -> quiche::cc::AckFrequency {
    quiche::cc::AckFrequency {
        ack_eliciting_threshold: request.ack_eliciting_threshold,
        max_ack_delay: request.max_ack_delay,
        reordering_threshold: request.reordering_threshold,
    }
}
