//! quiche's loss recovery with a congestion controller of the application's own.
//!
//! [`PluginRecovery`] keeps a whole [`LegacyRecovery`] for loss detection, round trip times, timers
//! and delivery rate, with congestion operations that do nothing ([`silent`]), and mirrors the
//! controller's window into it. It lives below `LegacyRecovery`'s module because that is where the
//! private fields can be read; upstream they would become accessors.

#![warn(clippy::all, missing_docs)]

mod ack_requests;
mod departure;
mod dispatch;
mod gate;
mod handshake_probes;
mod hold;
mod marking;
mod observed;
mod persistent;
mod recovery_ops;
mod silent;

pub(crate) use gate::Allowance;
pub(crate) use gate::PacketRequest;
pub(crate) use observed::Observed;

use std::cmp;
use std::fmt;
use std::time::Duration;
use std::time::Instant;

use super::LegacyRecovery;
use crate::cc::ecn;
use crate::cc::AckReceived;
use crate::cc::AckedPacket;
use crate::cc::CongestionController;
use crate::cc::PacketsLost;
use crate::cc::PathContext;
use crate::cc::ReceiveTime;
use crate::cc::Rtt;
use crate::packet::Epoch;
use crate::recovery::RecoveryConfig;
use crate::recovery::MINIMUM_WINDOW_PACKETS;
use crate::CongestionControlAlgorithm;
use ack_requests::AckRequests;
use hold::Hold;
use marking::Marking;
use persistent::Fate;

pub(crate) struct PluginRecovery {
    inner: LegacyRecovery,
    controller: Box<dyn CongestionController>,
    /// The datagram size that the controller knows.
    max_datagram_size: usize,
    hold: Hold,
    /// The connection's limit that the last DATA_BLOCKED frame named.
    blocked_at: Option<u64>,
    /// Bytes of lost frames that no packet has carried since. An upper bound: part of them may have
    /// been acknowledged meanwhile, or belong to a stream that was reset.
    retransmission_bytes: usize,
    /// When the first round trip was measured.
    first_rtt_sample: Option<Instant>,
    /// The ECN counts of the ACK frame being processed.
    ecn_counts: Option<ecn::Counts>,
    /// Which packets say that marks are taken, and whether the counts can be believed.
    marking: Marking,
    ack_requests: AckRequests,
    /// Newly acknowledged packets, kept for its memory.
    acked: Vec<AckedPacket>,
    /// What the ACK frame being processed says of receive times; kept for its memory as well.
    receive_times: Vec<ReceiveTime>,
}

impl PluginRecovery {
    /// The recovery for a path, if the configuration names a plug-in.
    pub(crate) fn from_config(config: &RecoveryConfig) -> Option<Self> {
        let factory = &config.congestion_controller.as_ref()?.0;
        let controller = factory.build(&PathContext {
            identity: config.path.clone(),
            now: crate::clock::now(),
            max_datagram_size: config.max_send_udp_payload_size,
            initial_window_packets: config.initial_congestion_window_packets,
            initial_rtt: config.initial_rtt,
        });
        let mut inner = LegacyRecovery::new_with_config(&RecoveryConfig {
            // Replaced below; this one only has to be a law that LegacyRecovery knows.
            cc_algorithm: CongestionControlAlgorithm::Reno,
            hystart: false,
            ..config.clone()
        });
        inner.congestion.cc_ops = &silent::SILENT;
        for epoch in &mut inner.epochs {
            epoch.observed.enable();
        }
        let mut recovery = Self {
            inner,
            controller,
            max_datagram_size: config.max_send_udp_payload_size,
            hold: Hold::default(),
            blocked_at: None,
            retransmission_bytes: 0,
            first_rtt_sample: None,
            ecn_counts: None,
            marking: Marking::default(),
            ack_requests: AckRequests::default(),
            acked: Vec::new(),
            receive_times: Vec::new(),
        };
        recovery.mirror_window();
        Some(recovery)
    }

    /// Copies the controller's window to where quiche looks for it. To be called after every
    /// callback.
    fn mirror_window(&mut self) {
        let floor = self.max_datagram_size * MINIMUM_WINDOW_PACKETS;
        self.inner.congestion.congestion_window = cmp::max(self.controller.cwnd(), floor);
    }

    /// The path takes datagrams of this size.
    fn set_datagram_size(&mut self, size: usize) {
        self.inner.max_datagram_size = size;
        if size != self.max_datagram_size {
            self.max_datagram_size = size;
            self.controller.on_max_datagram_size(size);
        }
        self.mirror_window();
    }

    fn rtt(&self) -> Rtt {
        let stats = &self.inner.rtt_stats;
        Rtt {
            latest: stats.latest_rtt,
            min: *stats.min_rtt,
            smoothed: stats.smoothed_rtt,
            variation: stats.rttvar,
        }
    }

    /// Tells the controller what the last run of loss detection found in `epoch`.
    fn report_losses(&mut self, epoch: Epoch, now: Instant) {
        if self.inner.epochs[epoch].observed.is_empty() {
            return;
        }
        let persistent_congestion =
            !self.inner.epochs[epoch].observed.lost().is_empty() && self.is_persistent(epoch);
        let observed = &mut self.inner.epochs[epoch].observed;
        // Upstream's own recovery has this count, for statistics and qlog, and leaves it at zero.
        let bytes: usize = observed.lost().iter().map(|packet| packet.size).sum();
        self.inner.bytes_lost += bytes as u64;
        for &packet_number in observed.spurious() {
            self.controller
                .on_spurious_loss(now, epoch.into(), packet_number);
        }
        if !observed.lost().is_empty() {
            self.controller.on_loss(&PacketsLost {
                now,
                space: epoch.into(),
                lost: observed.lost(),
                persistent_congestion,
                bytes_in_flight: self.inner.bytes_in_flight.get(),
            });
        }
        observed.clear();
        self.mirror_window();
    }

    fn is_persistent(&self, epoch: Epoch) -> bool {
        let fates = self.inner.epochs[epoch]
            .sent_packets
            .iter()
            .map(|packet| Fate {
                time_sent: packet.time_sent,
                ack_eliciting: packet.ack_eliciting && !packet.is_pmtud_probe,
                acked: packet.time_acked.is_some(),
                lost: packet.time_lost.is_some(),
            });
        let stats = &self.inner.rtt_stats;
        let probe_timeout = crate::recovery::RecoveryOps::pto(&self.inner);
        let period = persistent::period(probe_timeout, stats.max_ack_delay);
        persistent::is_persistent(fates, period, self.first_rtt_sample)
    }

    /// Tells the controller which packets an ACK frame acknowledged for the first time.
    fn report_acks(
        &mut self,
        epoch: Epoch,
        largest_acked: u64,
        ack_delay: Duration,
        ecn_ce: Option<u64>,
        now: Instant,
    ) {
        if self.inner.newly_acked.is_empty() {
            return;
        }
        self.acked.clear();
        self.acked
            .extend(self.inner.newly_acked.drain(..).map(|packet| AckedPacket {
                packet_number: packet.pkt_num,
                size: packet.size,
                time_sent: packet.time_sent,
                app_limited: packet.is_app_limited,
            }));
        retain_acked(&mut self.receive_times, &self.acked);
        if self.inner.rtt_stats.has_first_rtt_sample {
            self.first_rtt_sample.get_or_insert(now);
        }
        self.controller.on_ack(&AckReceived {
            now,
            space: epoch.into(),
            largest_acked,
            ack_delay,
            acked: &self.acked,
            rtt: self.rtt(),
            bytes_in_flight: self.inner.bytes_in_flight.get(),
            ecn_ce,
            receive_times: &self.receive_times,
        });
        self.mirror_window();
    }
}

/// Keeps the times of the packets in `acked`; both are by ascending packet number.
fn retain_acked(times: &mut Vec<ReceiveTime>, acked: &[AckedPacket]) {
    // Few peers tell times.
    if times.is_empty() {
        return;
    }
    let mut acked = acked.iter().map(|packet| packet.packet_number).peekable();
    times.retain(|time| {
        while acked
            .next_if(|number| *number < time.packet_number)
            .is_some()
        {}
        acked.peek() == Some(&time.packet_number)
    });
}

impl fmt::Debug for PluginRecovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} controller={:?}", self.inner, self.controller)
    }
}
