//! The gate decides what the next packet may carry, and when to ask again.

use std::cmp;
use std::time::Instant;

use super::hold::Shortage;
use super::PluginRecovery;
use crate::cc::PeerAcks;
use crate::cc::Release;
use crate::cc::SendContext;
use crate::frame;
use crate::packet::Epoch;
use crate::recovery::RecoveryOps;

/// A released packet has at least this much room for application data, whatever size the controller
/// asks for. It takes the longest header of a STREAM frame, and some bytes.
const LEAST_PAYLOAD: usize = 32;

/// The header of a DATAGRAM frame, with its length in two bytes.
const DATAGRAM_HEADER: usize = 3;

/// What the connection knows about the packet it is about to build.
pub(crate) struct PacketRequest {
    pub(crate) now: Instant,
    pub(crate) epoch: Epoch,
    /// Stream and datagram bytes that this packet could carry.
    pub(crate) queued_bytes: usize,
    /// The length of the datagram that is sent next, if there is one.
    pub(crate) front_datagram: Option<usize>,
    /// The largest packet that buffer, path and peer allow.
    pub(crate) max_size: usize,
    /// Header and AEAD tag.
    pub(crate) overhead: usize,
    /// The packet closes the connection.
    pub(crate) closing: bool,
    /// How the peer acknowledges, once that is known.
    pub(crate) peer_acks: Option<PeerAcks>,
}

/// What a packet may carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// Bytes under congestion control, header and tag included. Acknowledgements are not bound by
    /// it.
    pub(crate) bytes: usize,
    /// Stream and datagram frames may be among them. Everything else need not wait for a release.
    pub(crate) data: bool,
}

impl Allowance {
    /// Anything, up to so many bytes.
    pub(super) fn anything(bytes: usize) -> Self {
        Self { bytes, data: true }
    }

    fn no_data(bytes: usize) -> Self {
        Self { bytes, data: false }
    }
}

impl PluginRecovery {
    /// What the next packet may carry.
    pub(super) fn send_allowance(&mut self, request: &PacketRequest) -> Allowance {
        self.hold.begin_packet();
        self.tell_peer_acks(request.peer_acks);
        // Neither is held by congestion control: RFC 9002, section 2 (CONNECTION_CLOSE) and
        // section 7.5 (probe packets).
        if request.closing || self.inner.loss_probes(request.epoch) > 0 {
            self.hold.pass_by();
            return Allowance::anything(usize::MAX);
        }
        let available = self.window_available();
        if request.epoch != Epoch::Application {
            return Allowance::anything(available);
        }
        if request.queued_bytes == 0 {
            self.hold.end();
            self.retransmission_bytes = 0;
            return Allowance::anything(available);
        }
        let asked = self.controller.next_packet_size().unwrap_or(usize::MAX);
        let packet_size = request.size_for_datagram(asked);
        let limit = cmp::min(
            cmp::max(packet_size, request.overhead + LEAST_PAYLOAD),
            request.max_size,
        );
        if self.hold.declines(&request.shortage(packet_size)) {
            return Allowance::no_data(available);
        }
        self.hold.end();
        if available < limit && self.would_truncate(request, available) {
            self.hold.until(None);
            return Allowance::no_data(available);
        }
        match self
            .controller
            .next_release(&self.send_context(request, available))
        {
            Release::At(time) if time > request.now => self.hold.until(Some(time)),
            Release::Hold => self.hold.until(Some(request.now + self.inner.pto())),
            Release::Now | Release::At(_) => {
                self.hold.release();
                return Allowance::anything(cmp::min(available, limit));
            }
        }
        Allowance::no_data(available)
    }

    /// Whether the window would cut short a packet that an acknowledgement soon lets out whole.
    /// Filling the rest of the window with a runt costs a packet of queue for a few bytes.
    fn would_truncate(&self, request: &PacketRequest, available: usize) -> bool {
        let whole = request.queued_bytes + request.overhead + frame::MAX_STREAM_OVERHEAD;
        available < whole && self.inner.bytes_in_flight.get() > 0
    }

    fn send_context(&self, request: &PacketRequest, available: usize) -> SendContext {
        SendContext {
            now: request.now,
            queued_bytes: request.queued_bytes,
            retransmission: self.retransmission_bytes > 0,
            bytes_in_flight: self.inner.bytes_in_flight.get(),
            cwnd_available: available,
            max_datagram_size: request.max_size,
        }
    }

    /// Window less bytes in flight; unlike `cwnd_available()` it knows no exception for probes.
    fn window_available(&self) -> usize {
        self.inner
            .cwnd()
            .saturating_sub(self.inner.bytes_in_flight.get())
    }

    /// `send()` has nothing more to send on this path. Data that stays behind has a timer: the
    /// event loop sleeps until the next one, and calls `send()` for no other reason than that.
    pub(super) fn on_send_done(&mut self, now: Instant, queued_bytes: usize) {
        if queued_bytes == 0 {
            self.hold.end();
            if self.inner.cwnd_available() >= self.max_datagram_size {
                self.controller.on_app_limited(now);
                self.mirror_window();
            }
            return;
        }
        let has_loss_timer = self.inner.loss_detection_timer().is_some();
        self.hold
            .leave_behind(now, self.inner.pto(), has_loss_timer);
    }
}

impl PacketRequest {
    /// The size of the packet, if the controller asked for this one. A datagram cannot be divided:
    /// if it does not fit, it has all the room that there is.
    fn size_for_datagram(&self, asked: usize) -> usize {
        match self.front_datagram {
            Some(length) if self.overhead + DATAGRAM_HEADER + length > asked => usize::MAX,
            _ => asked,
        }
    }

    /// How the buffer compares with what the packet should carry.
    fn shortage(&self, packet_size: usize) -> Shortage {
        let data = match self.front_datagram {
            Some(length) => length + DATAGRAM_HEADER,
            None => self.queued_bytes + frame::MAX_STREAM_OVERHEAD,
        };
        Shortage {
            now: self.now,
            offered: self.max_size,
            enough: cmp::min(packet_size, self.overhead + data),
        }
    }
}
