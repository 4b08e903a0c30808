//! A probe timeout of the handshake is one of all its packet number spaces.

use super::PluginRecovery;
use crate::packet::Epoch;

impl PluginRecovery {
    /// Probes in the other spaces of the handshake that have data in flight (RFC 9002, section
    /// 6.2.4, which says "should").
    ///
    /// Upstream probes the space alone whose timer ran out. A flight of the server's is in two of
    /// them, and where all of it is lost, the second waits for a timeout that is twice as long as
    /// the first, and then four times.
    pub(super) fn probe_the_whole_handshake(&mut self) {
        let spaces = [Epoch::Initial, Epoch::Handshake];
        let probes = spaces.map(|epoch| self.inner.epochs[epoch].loss_probes);
        let Some(probes) = probes.into_iter().max().filter(|probes| *probes > 0) else {
            return;
        };
        for epoch in spaces {
            let space = &mut self.inner.epochs[epoch];
            if space.loss_probes > 0 || !space.lost_frames_pto.is_empty() {
                continue;
            }
            let in_flight = space
                .sent_packets
                .iter()
                .filter(|p| p.has_data && p.time_acked.is_none() && p.time_lost.is_none())
                .take(probes);
            for packet in in_flight {
                space.loss_probes += 1;
                space.lost_frames_pto.extend_from_slice(&packet.frames);
            }
        }
    }
}
