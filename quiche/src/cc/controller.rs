//! The two traits that an application implements.

use std::any::Any;
use std::fmt::Debug;
use std::time::Duration;
use std::time::Instant;

use super::AckFrequency;
use super::AckReceived;
use super::PacketSent;
use super::PacketSpace;
use super::PacketsLost;
use super::PathIdentity;
use super::PeerAcks;
use super::Release;
use super::SendContext;

/// A congestion controller of one path.
///
/// It answers two questions, *how much* may be in flight ([`cwnd`](Self::cwnd)) and *when* the next
/// packet may leave ([`next_release`](Self::next_release)), and is told what happened. Loss
/// detection, round trip times and probe timeouts stay quiche's.
///
/// It has no clock: every event carries the time. It must not block, and nothing the peer does may
/// make it panic.
pub trait CongestionController: Debug + Send + Sync + Any {
    /// The congestion window, in bytes. Values below two datagrams are taken as two datagrams (RFC
    /// 9002, section 7.2).
    fn cwnd(&self) -> usize;

    /// When may the next packet leave?
    ///
    /// quiche asks for each packet, when application data is queued and the window has room for it.
    /// It does not ask for a packet that would be short only because the window is nearly full, and
    /// waits until the packet fits. It does not ask for a packet that the caller's buffer would cut
    /// short either, unless the caller has no larger buffer. Everything but application data leaves
    /// without asking.
    fn next_release(&mut self, context: &SendContext) -> Release;

    /// The largest size of the next packet in bytes, for packets of equal size; `None` for what
    /// the path allows. A DATAGRAM frame leaves whole, even if it is larger. Asked together with
    /// [`next_release`](Self::next_release).
    fn next_packet_size(&self) -> Option<usize> {
        None
    }

    /// Whether the packet after the last one needs a send of its own, because its distance matters.
    /// An event loop that puts several packets into one send (GSO) learns it from
    /// [`Connection::send_quantum()`](crate::Connection::send_quantum), which is a single datagram
    /// then.
    fn sends_singly(&self) -> bool {
        false
    }

    /// A packet left.
    fn on_packet_sent(&mut self, sent: &PacketSent);

    /// New packets were acknowledged. Losses that the same ACK frame revealed are reported first.
    fn on_ack(&mut self, ack: &AckReceived<'_>);

    /// Packets were declared lost.
    fn on_loss(&mut self, loss: &PacketsLost<'_>);

    /// A packet that had been declared lost was acknowledged after all.
    fn on_spurious_loss(&mut self, _now: Instant, _space: PacketSpace, _packet_number: u64) {}

    /// The probe timer ran out for the `count`-th time in a row. No packet is lost by that.
    fn on_pto(&mut self, _now: Instant, _count: u32) {}

    /// The keys of a space are gone, or the connection leaves the path: `bytes` in flight will
    /// neither be acknowledged nor lost.
    fn on_space_discarded(&mut self, _now: Instant, _space: PacketSpace, _bytes: usize) {}

    /// The connection ends: the application closes it, or an error or a timeout does, or the peer
    /// has. No application data is sent any more. The controller stays until the connection is
    /// dropped, and may be told more than once.
    fn on_closed(&mut self, _now: Instant) {}

    /// The path takes datagrams of this size from now on.
    fn on_max_datagram_size(&mut self, size: usize);

    /// quiche had room in the window and nothing to send.
    fn on_app_limited(&mut self, _now: Instant) {}

    /// How the peer acknowledges. Told once, before the first packet that is sent with the peer's
    /// transport parameters known.
    fn on_peer_acks(&mut self, _peer: &PeerAcks) {}

    /// Whether the peer should acknowledge the next packet at once (an IMMEDIATE_ACK frame of one
    /// byte, within the packet's size). quiche asks for each packet that was answered with
    /// [`Release::Now`], if the peer understands the frame ([`PeerAcks::min_ack_delay`]). If no
    /// application data got into that packet, the next one that is released carries the frame,
    /// without a question.
    fn immediate_ack(&mut self) -> bool {
        false
    }

    /// How the peer should acknowledge from now on; `None` for no change. quiche asks for each
    /// 1-RTT packet with application data, except for probe packets after a timeout, if the peer
    /// understands requests ([`PeerAcks::min_ack_delay`]).
    ///
    /// Not every peer takes an `ack_eliciting_threshold` of 0: picoquic closes the connection. 1,
    /// and an [`immediate_ack()`](Self::immediate_ack) with each packet, come to the same.
    ///
    /// A request travels in that packet or the next one with data. It is sent when it differs from
    /// the one before. It is sent again when it was lost, and when the connection returns to this
    /// path while the peer follows another path's request. Once a round trip is often enough
    /// (draft-ietf-quic-ack-frequency-14, section 8.1).
    fn ack_frequency(&mut self, _now: Instant) -> Option<AckFrequency> {
        None
    }

    /// Whether routers may mark packets instead of dropping them. It is asked once. Packets then
    /// leave with ECT(0) as long as marks come back as they should, if the application writes
    /// [`sent_mark()`](crate::Connection::sent_mark) into its IP headers. Marks are told as
    /// [`AckReceived::ecn_ce`](super::AckReceived::ecn_ce).
    fn takes_marks(&self) -> bool {
        false
    }

    /// A short name of the present state, for qlog's `congestion_state_updated`.
    fn state(&self) -> &'static str;

    /// The slow start threshold in bytes, for qlog.
    fn ssthresh(&self) -> Option<usize> {
        None
    }

    /// The pacing rate in bits per second, for qlog.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// Hands over the controller's own qlog events since the last call: time, name
    /// (`namespace:event`) and data. Called after every event while the connection writes a qlog,
    /// and never otherwise, so a controller has to bound what it keeps.
    #[cfg(feature = "qlog")]
    fn drain_qlog_events(&mut self, _emit: &mut dyn FnMut(Instant, &str, serde_json::Value)) {}
}

/// What is known about a path when its controller is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathContext {
    /// Whose path it is.
    pub identity: PathIdentity,
    /// The present time.
    pub now: Instant,
    /// Bytes of the largest datagram until the path or the peer says otherwise.
    pub max_datagram_size: usize,
    /// `set_initial_congestion_window_packets()` of [`Config`](crate::Config).
    pub initial_window_packets: usize,
    /// [`Config::set_initial_rtt()`](crate::Config::set_initial_rtt).
    pub initial_rtt: Duration,
}

/// Builds controllers, one per path.
///
/// quiche may build a controller and drop it unused: callbacks inside the handshake can still
/// change the configuration.
pub trait Factory: Debug + Send + Sync {
    /// A controller for a new path.
    fn build(&self, path: &PathContext) -> Box<dyn CongestionController>;

    /// Whether its controllers may ask anything of the peer's acknowledgements
    /// ([`ack_frequency()`](CongestionController::ack_frequency),
    /// [`immediate_ack()`](CongestionController::immediate_ack)). If they may, a server sends the
    /// transport parameter `min_ack_delay` to clients that sent theirs, because peers close the
    /// connection for requests of a side without it. A client does not know before it sends its
    /// parameters, so its requests leave only after
    /// [`enable_ack_frequency()`](crate::Config::enable_ack_frequency).
    fn requests_acks(&self) -> bool {
        true
    }
}
