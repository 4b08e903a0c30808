//! What the controller asks of the peer's acknowledgements.

use std::time::Instant;

use super::PluginRecovery;
use crate::ack_frequency::Request;
use crate::cc::AckFrequency;
use crate::cc::PeerAcks;
use crate::frame::Frame;
use crate::recovery::Sent;

/// The path's part of the requests; the connection keeps their sequence numbers.
#[derive(Debug, Default)]
pub(super) struct AckRequests {
    peer: Option<PeerAcks>,
    /// What this path's controller asked for last. After a migration, or a loss, it is not what the
    /// peer does, and is sent again.
    frequency: Option<AckFrequency>,
    /// The controller asked for an immediate acknowledgement, and no packet has carried it yet.
    immediate: bool,
    /// When a probe timeout ran out that no acknowledgement has followed yet.
    timed_out: Option<Instant>,
    /// Whether a packet was acknowledged after a probe timeout had repeated its data.
    repeated_in_vain: bool,
}

impl PluginRecovery {
    /// Tells the controller about the peer, once.
    pub(super) fn tell_peer_acks(&mut self, peer: Option<PeerAcks>) {
        if let Some(peer) = peer.filter(|_| self.ack_requests.peer.is_none()) {
            self.ack_requests.peer = Some(peer);
            self.controller.on_peer_acks(&peer);
            self.mirror_window();
        }
    }

    /// What the peer should do according to this path's controller.
    pub(super) fn wanted_ack_frequency(&mut self, now: Instant) -> Option<AckFrequency> {
        let asked = self.controller.ack_frequency(now);
        self.mirror_window();
        self.ack_requests.frequency = asked.or(self.ack_requests.frequency);
        self.ack_requests.frequency
    }

    /// Whether the packet being built is to be acknowledged at once.
    pub(super) fn wants_immediate_ack(&mut self) -> bool {
        if self.hold.is_released() && !self.ack_requests.immediate {
            self.ack_requests.immediate = self.controller.immediate_ack();
            self.mirror_window();
        }
        self.hold.is_released() && self.ack_requests.immediate
    }

    /// A probe timeout of the application's space ran out.
    pub(super) fn on_probe_timeout(&mut self, now: Instant) {
        self.ack_requests.timed_out = Some(now);
    }

    /// Packets of the application's space were acknowledged. If one of them had left before the
    /// timeout, only its acknowledgement was late or lost.
    pub(super) fn on_acked_after_timeout(&mut self) {
        let acked = &self.inner.newly_acked;
        if acked.is_empty() {
            return;
        }
        if let Some(at) = self.ack_requests.timed_out.take() {
            self.ack_requests.repeated_in_vain |= acked.iter().any(|it| it.time_sent < at);
        }
    }

    /// Whether a probe timeout repeated data in vain.
    pub(super) fn repeated_in_vain(&self) -> bool {
        self.ack_requests.repeated_in_vain
    }

    pub(super) fn on_ack_requests_sent(&mut self, packet: &Sent) {
        let immediate = Frame::AckRequest(Request::Immediate);
        if self.ack_requests.immediate && packet.frames.contains(&immediate) {
            self.ack_requests.immediate = false;
        }
    }
}
