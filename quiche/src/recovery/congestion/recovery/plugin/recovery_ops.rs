//! quiche's recovery interface: most of it is the inner recovery's, some of it is reported to the
//! controller as well.

use std::time::Duration;
use std::time::Instant;

#[cfg(feature = "qlog")]
use qlog::events::EventData;

use super::PluginRecovery;
use crate::cc::PacketSent;
use crate::frame::Frame;
use crate::packet::Epoch;
use crate::ranges::RangeSet;
use crate::recovery::Bandwidth;
use crate::recovery::HandshakeStatus;
use crate::recovery::OnAckReceivedOutcome;
use crate::recovery::OnLossDetectionTimeoutOutcome;
#[cfg(feature = "qlog")]
use crate::recovery::QlogMetrics;
use crate::recovery::RecoveryOps;
use crate::recovery::ReleaseDecision;
use crate::recovery::ReleaseTime;
use crate::recovery::Sent;
use crate::Result;
use crate::StartupExit;

/// Methods that are the inner recovery's.
macro_rules! inner {
    ($($(#[$meta:meta])* fn $name:ident(&self $(, $arg:ident: $type:ty)*) $(-> $result:ty)?;)*) => {
        $($(#[$meta])* fn $name(&self $(, $arg: $type)*) $(-> $result)? {
            self.inner.$name($($arg),*)
        })*
    };
}

/// Methods that are the inner recovery's and change it.
macro_rules! inner_mut {
    ($(
        $(#[$meta:meta])*
        fn $name:ident(&mut self $(, $arg:ident: $type:ty)*) $(-> $result:ty)?;
    )*) => {
        $($(#[$meta])* fn $name(&mut self $(, $arg: $type)*) $(-> $result)? {
            self.inner.$name($($arg),*)
        })*
    };
}

impl RecoveryOps for PluginRecovery {
    inner! {
        fn lost_count(&self) -> usize;
        fn bytes_lost(&self) -> u64;
        fn should_elicit_ack(&self, epoch: Epoch) -> bool;
        fn get_largest_acked_on_epoch(&self, epoch: Epoch) -> Option<u64>;
        fn has_lost_frames(&self, epoch: Epoch) -> bool;
        fn loss_probes(&self, epoch: Epoch) -> usize;
        fn get_packet_send_time(&self, now: Instant) -> Instant;
        fn loss_detection_timer(&self) -> Option<Instant>;
        fn cwnd(&self) -> usize;
        fn cwnd_available(&self) -> usize;
        fn rtt(&self) -> Duration;
        fn min_rtt(&self) -> Option<Duration>;
        fn max_rtt(&self) -> Option<Duration>;
        fn rttvar(&self) -> Duration;
        fn pto(&self) -> Duration;
        fn delivery_rate(&self) -> Bandwidth;
        fn max_bandwidth(&self) -> Option<Bandwidth>;
        fn rtt_persistent_jump_count(&self) -> u64;
        fn startup_exit(&self) -> Option<StartupExit>;
        fn max_datagram_size(&self) -> usize;
        fn bytes_in_flight(&self) -> usize;
        fn bytes_in_flight_duration(&self) -> Duration;
        fn gcongestion_enabled(&self) -> bool;
        #[cfg(any(test, feature = "qlog"))]
        fn app_limited(&self) -> bool;
        #[cfg(test)]
        fn lost_frames_count(&self, epoch: Epoch) -> usize;
        #[cfg(test)]
        fn largest_sent_pkt_num_on_path(&self, epoch: Epoch) -> Option<u64>;
        #[cfg(test)]
        fn sent_packets_len(&self, epoch: Epoch) -> usize;
        #[cfg(test)]
        fn in_flight_count(&self, epoch: Epoch) -> usize;
        #[cfg(test)]
        fn pacing_rate(&self) -> u64;
        #[cfg(test)]
        fn pto_count(&self) -> u32;
        #[cfg(test)]
        fn pkt_thresh(&self) -> Option<u64>;
        #[cfg(test)]
        fn time_thresh(&self) -> f64;
        #[cfg(test)]
        fn lost_spurious_count(&self) -> usize;
    }

    inner_mut! {
        fn next_acked_frame(&mut self, epoch: Epoch) -> Option<Frame>;
        fn ping_sent(&mut self, epoch: Epoch);
        fn update_app_limited(&mut self, v: bool);
        fn delivery_rate_update_app_limited(&mut self, v: bool);
        fn update_max_ack_delay(&mut self, max_ack_delay: Duration);
        // Called by quiche for some of the packets that carry no data, and never when no packet is
        // built at all; the controller is told by `on_send_done` instead.
        fn on_app_limited(&mut self);
        #[cfg(test)]
        fn inc_loss_probes(&mut self, epoch: Epoch);
        #[cfg(test)]
        fn detect_lost_packets_for_test(&mut self, epoch: Epoch, now: Instant) -> (usize, usize);
    }

    fn send_quantum(&self) -> usize {
        if self.controller.sends_singly() {
            self.max_datagram_size
        } else {
            self.inner.send_quantum()
        }
    }

    fn next_lost_frame(&mut self, epoch: Epoch) -> Option<Frame> {
        let frame = self.inner.next_lost_frame(epoch)?;
        if let Frame::StreamHeader { length, .. } = frame {
            self.retransmission_bytes = self.retransmission_bytes.saturating_add(length);
        }
        Some(frame)
    }

    fn on_packet_sent(
        &mut self,
        packet: Sent,
        epoch: Epoch,
        handshake_status: HandshakeStatus,
        now: Instant,
        trace_id: &str,
    ) {
        let stream_bytes = stream_bytes(&packet);
        let app_data = stream_bytes.is_some() || has_datagram(&packet);
        self.note_blocked(&packet);
        self.on_ack_requests_sent(&packet);
        self.marking.on_sent(epoch, packet.pkt_num);
        let mut sent = PacketSent {
            now,
            space: epoch.into(),
            packet_number: packet.pkt_num,
            size: packet.size,
            in_flight: packet.in_flight,
            ack_eliciting: packet.ack_eliciting,
            app_data,
            // A packet that was released may carry something else after all.
            released: self.hold.take_release(app_data),
            bytes_in_flight: 0,
        };
        self.inner
            .on_packet_sent(packet, epoch, handshake_status, now, trace_id);
        self.retransmission_bytes = self
            .retransmission_bytes
            .saturating_sub(stream_bytes.unwrap_or(0));
        sent.bytes_in_flight = self.inner.bytes_in_flight();
        self.controller.on_packet_sent(&sent);
        self.mirror_window();
    }

    fn on_ack_received(
        &mut self,
        ranges: &RangeSet,
        ack_delay: u64,
        epoch: Epoch,
        handshake_status: HandshakeStatus,
        now: Instant,
        skip_pn: Option<u64>,
        trace_id: &str,
    ) -> Result<OnAckReceivedOutcome> {
        let outcome = self.inner.on_ack_received(
            ranges,
            ack_delay,
            epoch,
            handshake_status,
            now,
            skip_pn,
            trace_id,
        )?;
        if epoch == Epoch::Application {
            self.on_acked_after_timeout();
        }
        self.report_losses(epoch, now);
        if let Some(largest_acked) = ranges.last() {
            let ack_delay = Duration::from_micros(ack_delay);
            let counts = self.ecn_counts.take();
            let newly_acked = self.inner.newly_acked.iter().map(|packet| packet.pkt_num);
            let ecn_ce = self
                .marking
                .on_ack(epoch, largest_acked, counts, newly_acked);
            self.report_acks(epoch, largest_acked, ack_delay, ecn_ce, now);
        }
        Ok(outcome)
    }

    fn on_loss_detection_timeout(
        &mut self,
        handshake_status: HandshakeStatus,
        now: Instant,
        trace_id: &str,
    ) -> OnLossDetectionTimeoutOutcome {
        let (loss_time, epoch) = self.inner.loss_time_and_space();
        let outcome = self
            .inner
            .on_loss_detection_timeout(handshake_status, now, trace_id);
        if loss_time.is_some() {
            self.report_losses(epoch, now);
        } else {
            if self.inner.epochs[Epoch::Application].loss_probes > 0 {
                self.on_probe_timeout(now);
            }
            self.probe_the_whole_handshake();
            self.controller.on_pto(now, self.inner.pto_count);
            self.mirror_window();
        }
        outcome
    }

    fn on_pkt_num_space_discarded(
        &mut self,
        epoch: Epoch,
        handshake_status: HandshakeStatus,
        now: Instant,
    ) {
        let before = self.inner.bytes_in_flight();
        self.inner
            .on_pkt_num_space_discarded(epoch, handshake_status, now);
        let discarded = before - self.inner.bytes_in_flight();
        self.controller
            .on_space_discarded(now, epoch.into(), discarded);
        self.mirror_window();
    }

    fn on_path_change(&mut self, epoch: Epoch, now: Instant, trace_id: &str) -> (usize, usize) {
        let outcome = self.inner.on_path_change(epoch, now, trace_id);
        self.report_losses(epoch, now);
        if epoch == Epoch::Application {
            self.leave_path(epoch, now);
        }
        outcome
    }

    fn pmtud_update_max_datagram_size(&mut self, size: usize) {
        self.set_datagram_size(size);
    }

    fn update_max_datagram_size(&mut self, size: usize) {
        self.set_datagram_size(size.min(self.max_datagram_size));
    }

    fn get_next_release_time(&self) -> ReleaseDecision {
        ReleaseDecision {
            time: self
                .hold
                .timer()
                .map_or(ReleaseTime::Immediate, ReleaseTime::At),
            allow_burst: false,
        }
    }

    #[cfg(feature = "qlog")]
    fn state_str(&self, _now: Instant) -> &'static str {
        self.controller.state()
    }

    #[cfg(feature = "qlog")]
    fn get_updated_qlog_event_data(&mut self) -> Option<EventData> {
        let rtt = self.rtt();
        self.inner.qlog_metrics.maybe_update(QlogMetrics {
            min_rtt: rtt.min,
            smoothed_rtt: rtt.smoothed,
            latest_rtt: rtt.latest,
            rttvar: rtt.variation,
            cwnd: self.cwnd() as u64,
            bytes_in_flight: self.bytes_in_flight() as u64,
            ssthresh: self.controller.ssthresh().map(|bytes| bytes as u64),
            pacing_rate: self.controller.pacing_rate(),
            lost_packets: Some(self.lost_count() as u64),
            lost_bytes: Some(self.bytes_lost()),
            pto_count: Some(self.inner.pto_count),
            app_limited: Some(self.app_limited()),
            ..Default::default()
        })
    }

    #[cfg(feature = "qlog")]
    fn get_updated_qlog_cc_state(&mut self, now: Instant) -> Option<&'static str> {
        let state = self.state_str(now);
        let previous = std::mem::replace(&mut self.inner.qlog_prev_cc_state, state);
        (state != previous).then_some(state)
    }
}

impl PluginRecovery {
    /// Whether a DATA_BLOCKED frame may leave. quiche queues one for each write that is cut short,
    /// so while data is held there would be one for each time that the application is woken.
    pub(super) fn may_say_blocked(&self, limit: u64, with_data: bool) -> bool {
        with_data || self.blocked_at != Some(limit)
    }

    fn note_blocked(&mut self, packet: &Sent) {
        for frame in &packet.frames {
            if let Frame::DataBlocked { limit } = frame {
                self.blocked_at = Some(*limit);
            }
        }
    }
}

/// The stream data that a packet carries, in bytes; `None` when it has no stream frame.
fn stream_bytes(packet: &Sent) -> Option<usize> {
    packet
        .frames
        .iter()
        .filter_map(|frame| match frame {
            Frame::StreamHeader { length, .. } => Some(*length),
            _ => None,
        })
        .reduce(|total, length| total + length)
}

fn has_datagram(packet: &Sent) -> bool {
    packet
        .frames
        .iter()
        .any(|frame| matches!(frame, Frame::DatagramHeader { .. }))
}
