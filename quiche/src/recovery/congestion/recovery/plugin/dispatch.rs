//! What the connection asks of a path's recovery beyond quiche's own `RecoveryOps`: answered by a
//! plug-in, and as upstream by every other recovery.

use std::cmp;
use std::time::Instant;

use super::PacketRequest;
use crate::cc::AckFrequency;
use crate::cc::CongestionController;
use crate::cc::ReceiveTime;
use crate::recovery::Recovery;
use crate::recovery::RecoveryOps;

impl Recovery {
    /// The bytes that the next packet may take, header and tag included.
    pub(crate) fn send_allowance(&mut self, request: &PacketRequest) -> usize {
        match self {
            Self::Plugin(plugin) => plugin.send_allowance(request),
            _ => self.cwnd_available(),
        }
    }

    /// The earlier of loss timer and release time.
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        let release = match self {
            Self::Plugin(plugin) => plugin.release_timer(),
            _ => None,
        };
        match (self.loss_detection_timer(), release) {
            (Some(loss), Some(release)) => Some(cmp::min(loss, release)),
            (loss, release) => loss.or(release),
        }
    }

    /// Clears a release time that has come.
    pub(crate) fn on_release_timeout(&mut self, now: Instant) {
        if let Self::Plugin(plugin) = self {
            plugin.on_release_timeout(now);
        }
    }

    /// Nothing was left to send when the connection last looked.
    pub(crate) fn on_nothing_to_send(&mut self, now: Instant) {
        if let Self::Plugin(plugin) = self {
            plugin.on_nothing_to_send(now);
        }
    }

    /// The ECN counts of the ACK frame that comes next.
    pub(crate) fn on_ecn_ce_count(&mut self, count: Option<u64>) {
        if let Self::Plugin(plugin) = self {
            plugin.ecn_ce = count;
        }
    }

    /// The receive times of the ACK frame that comes next, by ascending packet number.
    pub(crate) fn on_receive_times(&mut self, times: &[ReceiveTime]) {
        if let Self::Plugin(plugin) = self {
            plugin.receive_times.clear();
            plugin.receive_times.extend_from_slice(times);
        }
    }

    /// Makes room for a probe of the path MTU, which is no change of the datagram size yet.
    pub(crate) fn prepare_mtu_probe(&mut self, size: usize) {
        match self {
            Self::Plugin(plugin) => plugin.inner.max_datagram_size = size,
            _ => self.pmtud_update_max_datagram_size(size),
        }
    }

    /// The bytes of `queued` that are held back by release times and so use up send capacity.
    pub(crate) fn held_bytes(&self, queued: usize) -> usize {
        match self {
            Self::Plugin(_) => queued,
            _ => 0,
        }
    }

    /// What the path's controller asks of the peer's acknowledgements.
    pub(crate) fn wanted_ack_frequency(&mut self, now: Instant) -> Option<AckFrequency> {
        match self {
            Self::Plugin(plugin) => plugin.wanted_ack_frequency(now),
            _ => None,
        }
    }

    /// Whether the controller wants the packet being built to be acknowledged at once.
    pub(crate) fn wants_immediate_ack(&mut self) -> bool {
        match self {
            Self::Plugin(plugin) => plugin.wants_immediate_ack(),
            _ => false,
        }
    }

    pub(crate) fn controller(&self) -> Option<&dyn CongestionController> {
        match self {
            Self::Plugin(plugin) => Some(&*plugin.controller),
            _ => None,
        }
    }

    pub(crate) fn controller_mut(&mut self) -> Option<&mut dyn CongestionController> {
        match self {
            Self::Plugin(plugin) => Some(&mut *plugin.controller),
            _ => None,
        }
    }

    /// Writes the plug-in's own events to the connection's qlog, each at its own time.
    #[cfg(feature = "qlog")]
    pub(crate) fn qlog_plugin_events(&mut self, qlog: &mut qlog::streamer::QlogStreamer) {
        let Self::Plugin(plugin) = self else {
            return;
        };
        plugin
            .controller
            .drain_qlog_events(&mut |time, name, data| {
                let event = qlog::events::JsonEvent {
                    // Set by the streamer, relative to the start of the log.
                    time: 0.0,
                    importance: qlog::events::EventImportance::Core,
                    name: name.to_owned(),
                    data,
                };
                // As everywhere in quiche: a log that cannot be written does not stop the connection.
                qlog.add_event_with_instant(event, time).ok();
            });
    }
}
