//! What the connection asks of a path's recovery beyond quiche's own `RecoveryOps`. A plug-in
//! answers it. Every other recovery does as upstream.

use std::cmp;
use std::time::Instant;

use super::Allowance;
use super::PacketRequest;
use crate::cc::ecn;
use crate::cc::AckFrequency;
use crate::cc::CongestionController;
use crate::cc::ReceiveTime;
use crate::ecn::Mark;
use crate::frame::EcnCounts;
use crate::packet::Epoch;
use crate::path::PathMap;
use crate::recovery::Recovery;
use crate::recovery::RecoveryOps;

impl PathMap {
    /// The connection ends, on all its paths.
    pub(crate) fn on_closed(&mut self, now: Instant) {
        for (_, path) in self.iter_mut() {
            path.recovery.on_closed(now);
        }
    }

    /// Writes what the plug-ins have left to log, also those of paths that the connection has left.
    #[cfg(feature = "qlog")]
    pub(crate) fn qlog_plugin_events(&mut self, qlog: &mut qlog::streamer::QlogStreamer) {
        for (_, path) in self.iter_mut() {
            path.recovery.qlog_plugin_events(qlog);
        }
    }
}

impl Recovery {
    /// What the next packet may carry.
    pub(crate) fn send_allowance(&mut self, request: &PacketRequest) -> Allowance {
        match self {
            Self::Plugin(plugin) => plugin.send_allowance(request),
            _ => Allowance::anything(self.cwnd_available()),
        }
    }

    /// Whether a DATA_BLOCKED frame for this limit may be in a packet with or without data.
    pub(crate) fn may_say_blocked(&self, limit: u64, with_data: bool) -> bool {
        match self {
            Self::Plugin(plugin) => plugin.may_say_blocked(limit, with_data),
            _ => true,
        }
    }

    /// The earlier of loss timer and release time.
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        let release = match self {
            Self::Plugin(plugin) => plugin.hold.timer(),
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
            plugin.hold.on_timeout(now);
        }
    }

    /// The path could not be validated, and nothing is sent on it any more.
    pub(crate) fn on_path_failed(&mut self, now: Instant) {
        if let Self::Plugin(plugin) = self {
            plugin.leave_path(Epoch::Application, now);
        }
    }

    /// The connection ends.
    fn on_closed(&mut self, now: Instant) {
        if let Self::Plugin(plugin) = self {
            plugin.controller.on_closed(now);
        }
    }

    /// `send()` ends with so many bytes of application data unsent.
    pub(crate) fn on_send_done(&mut self, now: Instant, queued_bytes: usize) {
        if let Self::Plugin(plugin) = self {
            plugin.on_send_done(now, queued_bytes);
        }
    }

    /// A datagram is begun; returns what its IP header has to say.
    pub(crate) fn begin_datagram(&mut self) -> Mark {
        match self {
            Self::Plugin(plugin) => {
                let wanted = || plugin.controller.takes_marks();
                match plugin
                    .marking
                    .begin_datagram(wanted, plugin.inner.pto_count)
                {
                    true => Mark::Ect0,
                    false => Mark::NotEct,
                }
            }
            _ => Mark::NotEct,
        }
    }

    /// The ECN counts of the ACK frame that comes next.
    pub(crate) fn on_ecn_counts(&mut self, counts: Option<&EcnCounts>) {
        if let Self::Plugin(plugin) = self {
            plugin.ecn_counts = counts.map(|counts| ecn::Counts {
                ect0: counts.ect0_count,
                ect1: counts.ect1_count,
                ce: counts.ecn_ce_count,
            });
        }
    }

    /// The receive times of the ACK frame that comes next, by ascending packet number.
    pub(crate) fn on_receive_times(&mut self, times: &[ReceiveTime]) {
        if let Self::Plugin(plugin) = self {
            plugin.receive_times.clear();
            plugin.receive_times.extend_from_slice(times);
        }
    }

    /// Makes room for a probe of the path MTU. It is no change of the datagram size, which is
    /// `validated`, before it is acknowledged.
    pub(crate) fn prepare_mtu_probe(&mut self, size: usize, validated: usize) {
        match self {
            Self::Plugin(plugin) => {
                plugin.set_datagram_size(validated);
                plugin.inner.max_datagram_size = size;
            }
            _ => self.pmtud_update_max_datagram_size(size),
        }
    }

    /// How much more the application may write: `window` is what congestion control leaves of it,
    /// `flow` what the peer's flow control leaves. Data that waits to be released counts against
    /// the window alone: flow control has counted it when it was written.
    pub(crate) fn send_capacity(
        &self,
        window: u64,
        flow: u64,
        factor: f64,
        queued: usize,
    ) -> usize {
        let scaled = |bytes: u64| (bytes as usize as f64 * factor).ceil() as usize;
        match self {
            Self::Plugin(_) => {
                let unheld = scaled(window).saturating_sub(queued);
                cmp::min(unheld, usize::try_from(flow).unwrap_or(usize::MAX))
            }
            _ => scaled(cmp::min(window, flow)),
        }
    }

    /// What the path's controller asks of the peer's acknowledgements.
    pub(crate) fn wanted_ack_frequency(&mut self, now: Instant) -> Option<AckFrequency> {
        match self {
            Self::Plugin(plugin) => plugin.wanted_ack_frequency(now),
            _ => None,
        }
    }

    /// Whether a probe timeout of this path repeated data in vain.
    pub(crate) fn repeated_in_vain(&self) -> bool {
        match self {
            Self::Plugin(plugin) => plugin.repeated_in_vain(),
            _ => false,
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
                // As everywhere in quiche, a log that cannot be written does not stop the
                // connection.
                qlog.add_event_with_instant(event, time).ok();
            });
    }
}
