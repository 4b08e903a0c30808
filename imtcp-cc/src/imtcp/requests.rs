//! What the peer is asked about its acknowledgements.

use super::ImTcp;
use crate::measurement::pairs::EchoCadence;
use crate::transport::{AckRequest, PeerAcks};
use crate::units::Timestamp;
use crate::window::Phase;

impl ImTcp {
    /// The peer's transport parameters are known.
    pub fn on_peer_acks(&mut self, peer: PeerAcks) {
        if self.config.ack_frequency() {
            self.ack_policy.on_peer(peer);
        }
    }

    /// Whether the packet that [`ImTcp::next_release`] has just let go asks for an acknowledgement
    /// of its own. Asked once for each.
    pub fn immediate_ack(&mut self) -> bool {
        let limited = !self.window_limited;
        self.config.measurement() && self.ack_policy.wants_immediate(self.place, limited)
    }

    /// How the peer shall acknowledge from now on; `None` for no change.
    pub fn ack_request(&mut self, now: Timestamp) -> Option<AckRequest> {
        let rtt = self.rtt?;
        let window = u32::try_from(self.window_packets()).unwrap_or(u32::MAX);
        let doubling = self.window.phase() == Phase::SlowStart;
        self.ack_policy.request(now, rtt.smoothed, window, doubling)
    }

    /// Which packets of a stream have echoes of their own: all that ask for one, or whose arrival
    /// the peer tells.
    pub(super) fn probe_cadence(&self) -> EchoCadence {
        if self.by_peer || self.ack_policy.is_understood() {
            EchoCadence::EveryPacket
        } else {
            self.cadence.get()
        }
    }
}
