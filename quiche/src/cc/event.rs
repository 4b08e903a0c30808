//! What a connection tells its controller: plain data, one struct an event.
//!
//! Sizes are bytes of QUIC packets (UDP payload; IP and UDP headers are not counted). A packet that
//! elicits no acknowledgement has size 0, as in quiche's own loss recovery.

use std::time::Duration;
use std::time::Instant;

use crate::packet::Epoch;

/// A packet number space (RFC 9000, section 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PacketSpace {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Application,
}

impl From<Epoch> for PacketSpace {
    fn from(epoch: Epoch) -> Self {
        match epoch {
            Epoch::Initial => Self::Initial,
            Epoch::Handshake => Self::Handshake,
            Epoch::Application => Self::Application,
        }
    }
}

/// When the next packet with application data may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// At once. The answer is permission for one packet. [`PacketSent`] tells whether it was used.
    Now,
    /// Not before this time. The question is asked again at every event until then, and at this
    /// time at the latest.
    At(Instant),
    /// Not yet. The question is asked again at the next event: an acknowledgement, a loss, new
    /// data. So that no controller can stall a connection by mistake it is also asked again one
    /// probe timeout (RFC 9002, section 6.2.1) later.
    Hold,
}

/// The state of the path when quiche asks for the next release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendContext {
    /// The present time.
    pub now: Instant,
    /// Application data (streams and datagrams) that waits to be sent, in bytes; never 0. Data to
    /// be sent again is counted.
    pub queued_bytes: usize,
    /// Lost data waits to be sent again, and goes before new data of the same stream.
    pub retransmission: bool,
    /// Bytes sent, and neither acknowledged nor lost.
    pub bytes_in_flight: usize,
    /// Congestion window less bytes in flight.
    pub cwnd_available: usize,
    /// The largest packet that the path and the peer take.
    pub max_datagram_size: usize,
}

/// quiche's round trip time estimates (RFC 9002, section 5). Until the first sample they hold the
/// configured initial value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt {
    /// The newest sample, the peer's delay included.
    pub latest: Duration,
    /// The smallest sample of the last five minutes.
    pub min: Duration,
    /// Exponentially weighted mean.
    pub smoothed: Duration,
    /// Exponentially weighted mean deviation.
    pub variation: Duration,
}

/// A packet left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSent {
    /// When it was built, which is when [`Connection::send()`](crate::Connection::send) was called.
    pub now: Instant,
    /// Its packet number space.
    pub space: PacketSpace,
    /// Its number. quiche counts through all spaces and skips a number now and then on purpose.
    pub packet_number: u64,
    /// Bytes of this packet.
    pub size: usize,
    /// It counts towards the bytes in flight.
    pub in_flight: bool,
    /// The peer has to acknowledge it.
    pub ack_eliciting: bool,
    /// It carries stream or datagram frames.
    pub app_data: bool,
    /// It left because the controller answered [`Release::Now`], and carries application data.
    /// False for the packets that do not ask: acknowledgements, probes after a timeout, the
    /// handshake, control frames, the close; and for a probe of the path MTU, which takes the place
    /// of a released packet.
    pub released: bool,
    /// Bytes in flight with this packet.
    pub bytes_in_flight: usize,
}

/// One packet that an acknowledgement covers for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckedPacket {
    /// Its number.
    pub packet_number: u64,
    /// Its bytes; 0 when it elicited no acknowledgement.
    pub size: usize,
    /// When it was sent.
    pub time_sent: Instant,
    /// quiche had less to send than the window allowed when it was sent.
    pub app_limited: bool,
}

/// When a packet arrived, by the peer's clock (draft-ietf-quic-receive-ts-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveTime {
    /// Its number.
    pub packet_number: u64,
    /// Time since an origin that the peer chose and keeps for the whole connection. Nothing is
    /// known about the origin, so only the difference of two of these means something.
    ///
    /// In units of 2^e microseconds, rounded down, with the exponent e of
    /// `set_receive_timestamps_exponent()` of [`Config`](crate::Config):
    /// a difference is off by less than one unit, plus what the peer's own clock readings are off
    /// by.
    pub since_basis: Duration,
}

/// An ACK frame acknowledged new packets.
#[derive(Clone, Copy, Debug)]
pub struct AckReceived<'a> {
    /// When the frame was received.
    pub now: Instant,
    /// The packet number space it speaks about.
    pub space: PacketSpace,
    /// The largest number in this frame, which may have been acknowledged before.
    pub largest_acked: u64,
    /// How long the peer held the acknowledgement of `largest_acked`: the frame's own value, not
    /// clamped to the peer's `max_ack_delay`.
    pub ack_delay: Duration,
    /// The packets acknowledged for the first time, by ascending number; never empty.
    pub acked: &'a [AckedPacket],
    /// Round trip times with this acknowledgement.
    pub rtt: Rtt,
    /// Bytes in flight without these packets, and without those declared lost by the same frame.
    pub bytes_in_flight: usize,
    /// The peer's running count, in this space, of packets that arrived with the ECN mark CE, where
    /// it reports one that can be believed (RFC 9000, section 13.4.2.1). An increase is a
    /// congestion event (RFC 9002, section 7.1). `None` unless the controller
    /// [takes marks](super::CongestionController::takes_marks).
    pub ecn_ce: Option<u64>,
    /// When packets of `acked` arrived, by ascending packet number and each once; empty when the
    /// peer reports none. Packets may be missing: the peer reports what it can and what has room.
    ///
    /// These are the peer's words. Times run backwards where packets overtook each other, and where
    /// a peer is mistaken or lies.
    ///
    /// The peer is asked for them with `set_max_receive_timestamps_per_ack()` of
    /// [`Config`](crate::Config).
    pub receive_times: &'a [ReceiveTime],
}

/// One packet declared lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostPacket {
    /// Its number.
    pub packet_number: u64,
    /// Its bytes.
    pub size: usize,
    /// When it was sent.
    pub time_sent: Instant,
}

/// Packets in flight were declared lost (RFC 9002, section 6.1). Probes of the path MTU are not
/// reported: their loss says nothing about congestion (RFC 9000, section 14.4).
#[derive(Clone, Copy, Debug)]
pub struct PacketsLost<'a> {
    /// When they were declared lost.
    pub now: Instant,
    /// Their packet number space.
    pub space: PacketSpace,
    /// The packets by ascending number; never empty.
    pub lost: &'a [LostPacket],
    /// The losses span so much time that congestion is persistent (RFC 9002, section 7.6).
    pub persistent_congestion: bool,
    /// Bytes in flight without these packets.
    pub bytes_in_flight: usize,
}
