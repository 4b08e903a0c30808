//! Instants to timestamps and back, and plain data to plain data.

use crate::transport::{AckedPacket, RoundTrip, SendRequest};
use crate::units::{Bytes, Timestamp};
use std::time::{Duration, Instant};

/// The origin of a controller's timestamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin(pub(super) Instant);

impl Origin {
    /// An instant before the origin becomes the origin.
    pub(super) fn timestamp(self, at: Instant) -> Timestamp {
        Timestamp::from_origin(at.saturating_duration_since(self.0))
    }

    pub(super) fn instant(self, at: Timestamp) -> Instant {
        self.0 + Duration::from_nanos(at.as_nanos())
    }

    pub(super) fn acked(self, packet: &quiche::cc::AckedPacket) -> AckedPacket {
        AckedPacket {
            number: packet.packet_number,
            size: Bytes::from_usize(packet.size),
            sent: self.timestamp(packet.time_sent),
        }
    }
}

pub(super) fn round_trip(rtt: &quiche::cc::Rtt) -> RoundTrip {
    RoundTrip {
        latest: rtt.latest,
        min: rtt.min,
        smoothed: rtt.smoothed,
        variation: rtt.variation,
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
