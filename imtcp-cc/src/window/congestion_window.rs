//! The congestion window of one path: its law, its use, and the record of its losses.

use super::{AckedBytes, LossRecord, MeasuredStart, Step, WindowLaw, WindowUsage, law};
use crate::control::{Enough, Phase, Proportion, Steering, Window, WindowOrder, WindowView};
use crate::transport::{Acked, LossInfo, SentPacket};
use crate::units::{Bytes, Timestamp};

#[derive(Debug)]
pub(crate) struct CongestionWindow {
    law: Box<dyn WindowLaw>,
    usage: WindowUsage,
    losses: LossRecord,
    start: MeasuredStart,
    max_datagram: Bytes,
    /// How a promise wants congestion to be answered.
    proportion: Option<Proportion>,
}

impl CongestionWindow {
    pub(crate) fn new(kind: Window, initial_window_packets: u32, max_datagram: Bytes) -> Self {
        Self {
            law: law(kind, initial_window_packets, max_datagram),
            usage: WindowUsage::default(),
            losses: LossRecord::default(),
            start: MeasuredStart::new(),
            max_datagram,
            proportion: None,
        }
    }

    pub(crate) fn size(&self) -> Bytes {
        self.law.window()
    }

    pub(crate) fn slow_start_threshold(&self) -> Option<Bytes> {
        self.law.slow_start_threshold()
    }

    pub(crate) fn phase(&self) -> Phase {
        self.law.phase()
    }

    pub(crate) fn view(&self) -> WindowView {
        let (size, phase) = (self.law.window(), self.law.phase());
        WindowView {
            size,
            phase,
            is_used: !self.usage.is_underused(size, phase, self.max_datagram),
        }
    }

    /// The size of the path's full datagrams changed, in bytes of UDP payload.
    pub(crate) fn on_max_datagram(&mut self, max_datagram: Bytes) {
        self.max_datagram = max_datagram;
        self.law.on_max_datagram_size(max_datagram);
    }

    pub(crate) fn on_sent(&mut self, packet: &SentPacket) {
        self.usage.on_sent(packet.bytes_in_flight);
        self.losses.on_sent(packet.number);
    }

    /// Whether the window is in its first slow start. Then it wants to know how much is enough.
    pub(crate) fn is_starting(&self) -> bool {
        !self.start.is_over()
    }

    /// Moves the window after an acknowledgement. `enough` bounds slow start. True if the
    /// application limits the transfer, and not the window.
    pub(crate) fn on_ack(
        &mut self,
        acked: &Acked<'_>,
        steering: &Steering,
        enough: Option<&Enough>,
    ) -> bool {
        match steering.order {
            WindowOrder::Free => self.law.set_slope(None),
            WindowOrder::LeaveSlowStart => self.law.leave_slow_start(),
            WindowOrder::Along(slope) => self.law.set_slope(Some(slope)),
        }
        self.proportion = steering.proportion;
        let info = &acked.info;
        self.usage
            .on_ack(acked.now, info.bytes_in_flight, info.rtt.smoothed);
        let is_underused = !self.view().is_used;
        // A source that wants no more than its promised rate never fills its window. The window may
        // grow all the same, so that enough of it remains after a loss. The rate stays the bound,
        // so no burst follows.
        let is_paced = steering.packets_per_second.is_some();
        for packet in acked.packets {
            let mut acked = AckedBytes {
                now: acked.now,
                size: packet.size,
                sent: packet.sent,
                application_limited: is_underused && !is_paced,
                smoothed_rtt: info.rtt.smoothed,
                latest_rtt: info.rtt.latest_without(info.ack_delay),
            };
            self.bound_start(&mut acked, enough);
            self.law.on_ack(&acked);
        }
        is_underused || is_paced
    }

    /// Keeps the first slow start from growing beyond what is enough.
    fn bound_start(&mut self, acked: &mut AckedBytes, enough: Option<&Enough>) {
        if self.start.is_over() {
            return;
        }
        if self.law.phase() != Phase::SlowStart {
            self.start.give_up();
            return;
        }
        match self.start.on_ack(acked, self.law.window(), enough) {
            Step::Grow => {}
            // The law sees the acknowledgement, and nothing to grow by.
            Step::Hold => acked.size = Bytes::ZERO,
            Step::Leave => self.law.leave_slow_start(),
        }
    }

    /// A packet was declared lost. [`CongestionWindow::on_loss`] follows.
    pub(crate) fn on_lost(&mut self, number: u64) {
        self.losses.on_lost(number);
    }

    /// All lost packets of an event have been passed to [`CongestionWindow::on_lost`]. True if the
    /// window was reduced.
    pub(crate) fn on_loss(&mut self, now: Timestamp, info: &LossInfo) -> bool {
        let is_reduced = self.react(now, info.newest_sent);
        if info.persistent_congestion {
            self.law.on_persistent_congestion();
            self.losses.on_proof();
        }
        is_reduced
    }

    /// The peer reported packets marked by a congested router; the newest of them left at
    /// `newest_sent`. True if the window was reduced.
    pub(crate) fn on_mark(&mut self, now: Timestamp, newest_sent: Timestamp) -> bool {
        let is_reduced = self.react(now, newest_sent);
        self.losses.on_proof();
        is_reduced
    }

    /// A packet that had been declared lost was acknowledged after all.
    pub(crate) fn on_spurious_loss(&mut self, number: u64) {
        if self.losses.on_spurious(number) {
            self.law.on_spurious_congestion();
        }
    }

    fn react(&mut self, now: Timestamp, newest_sent: Timestamp) -> bool {
        let before = self.law.window();
        let has_begun = self
            .law
            .on_congestion(now, newest_sent, self.proportion.as_ref());
        self.losses.on_reaction(has_begun);
        self.law.window() < before
    }
}
