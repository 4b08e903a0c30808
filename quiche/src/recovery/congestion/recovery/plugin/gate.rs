//! The gate: how many bytes the next packet may take, and when to ask again.

use std::cmp;
use std::time::Instant;

use super::PluginRecovery;
use crate::cc::PeerAcks;
use crate::cc::Release;
use crate::cc::SendContext;
use crate::frame;
use crate::packet::Epoch;
use crate::recovery::RecoveryOps;

/// What the connection knows about the packet it is about to build.
pub(crate) struct PacketRequest {
    pub(crate) now: Instant,
    pub(crate) epoch: Epoch,
    /// Stream and datagram bytes that this packet could carry.
    pub(crate) queued_bytes: usize,
    /// The largest packet that buffer, path and peer allow.
    pub(crate) max_size: usize,
    /// Header and AEAD tag.
    pub(crate) overhead: usize,
    /// The packet closes the connection.
    pub(crate) closing: bool,
    /// How the peer acknowledges, once that is known.
    pub(crate) peer_acks: Option<PeerAcks>,
}

impl PluginRecovery {
    /// The bytes that the next packet may take, header and tag included. Acknowledgements are not
    /// bound by it: with an allowance of 0 a packet that only acknowledges still leaves.
    pub(super) fn send_allowance(&mut self, request: &PacketRequest) -> usize {
        self.released = false;
        self.tell_peer_acks(request.peer_acks);
        // Neither is held by congestion control: RFC 9002, section 2 (CONNECTION_CLOSE) and
        // section 7.5 (probe packets).
        if request.closing || self.inner.loss_probes(request.epoch) > 0 {
            return usize::MAX;
        }
        self.release_timer = None;
        let available = self.window_available();
        if request.epoch != Epoch::Application || request.queued_bytes == 0 {
            self.retransmission_bytes = 0;
            return available;
        }
        let packet_size = self.controller.next_packet_size().unwrap_or(usize::MAX);
        let limit = cmp::min(packet_size, request.max_size);
        if available < limit && self.would_truncate(request, available) {
            return 0;
        }
        match self
            .controller
            .next_release(&self.send_context(request, available))
        {
            Release::At(time) if time > request.now => self.hold_until(time),
            Release::Hold => self.hold_until(request.now + self.inner.pto()),
            Release::Now | Release::At(_) => {
                self.released = true;
                cmp::min(available, limit)
            }
        }
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

    fn hold_until(&mut self, time: Instant) -> usize {
        self.release_timer = Some(time);
        0
    }

    /// Window less bytes in flight; unlike `cwnd_available()` it knows no exception for probes.
    fn window_available(&self) -> usize {
        self.inner
            .cwnd()
            .saturating_sub(self.inner.bytes_in_flight.get())
    }

    /// When the gate wants to be asked again, apart from events.
    pub(super) fn release_timer(&self) -> Option<Instant> {
        self.release_timer
    }

    /// Clears a release time that has come, so that it is not due for ever; the `send()` that
    /// follows asks anew. It has nothing to do with the loss timer, which counts probe timeouts.
    pub(super) fn on_release_timeout(&mut self, now: Instant) {
        self.release_timer = self.release_timer.filter(|time| *time > now);
    }
}
