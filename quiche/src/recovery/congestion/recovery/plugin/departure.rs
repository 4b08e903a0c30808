//! The connection leaves a path with packets in flight.

use std::time::Instant;

use super::PluginRecovery;
use crate::packet::Epoch;

impl PluginRecovery {
    /// Hands back what is in flight on the path, to be sent on another one.
    ///
    /// Upstream keeps a probe timer for a path that nothing is sent on any more, which hands back a
    /// packet or two each time that it runs out, each time later than before: behind an address
    /// translation that forgot the old port, a window of data takes minutes. Packets that arrive
    /// all the same are sent twice, once in a migration. They are no sign of congestion on either
    /// path.
    pub(super) fn leave_path(&mut self, epoch: Epoch, now: Instant) {
        let space = &mut self.inner.epochs[epoch];
        let mut bytes = 0;
        let under_way = space
            .sent_packets
            .iter_mut()
            .filter(|packet| packet.time_acked.is_none() && packet.time_lost.is_none());
        for packet in under_way {
            packet.time_lost = Some(now);
            space.lost_frames_ack.extend(packet.frames.drain(..));
            if packet.in_flight {
                bytes += packet.size;
                space.in_flight_count -= 1;
            }
        }
        space.loss_probes = 0;
        space.loss_time = None;
        self.inner.bytes_in_flight.saturating_subtract(bytes, now);
        self.inner.loss_timer.clear();
        self.hold.end();
        self.controller.on_space_discarded(now, epoch.into(), bytes);
        self.mirror_window();
    }
}
