//! The congestion window of one path: its law, its use, and the record of its losses.

use super::start::CROWDED_DIVISOR;
use super::{
    AckedBytes, Flight, Law, LossEvent, LossRecord, MeasuredStart, Resume, Step, StrayLosses,
    WindowUsage,
};
use crate::control::{
    Enough, Phase, Proportion, Reduction, Response, StartPace, Steering, Window, WindowOrder,
    WindowView,
};
use crate::saved::SavedPath;
use crate::transport::{AckInfo, Acked, LossInfo, SentPacket};
use crate::units::{Bytes, Timestamp};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct CongestionWindow {
    law: Law,
    usage: WindowUsage,
    losses: LossRecord,
    stray: StrayLosses,
    start: MeasuredStart,
    resume: Resume,
    /// How much was enough when that was last told.
    enough: Option<Enough>,
    max_datagram: Bytes,
    /// How a promise wants congestion to be answered.
    proportion: Option<Proportion>,
    /// The largest window that a mode allows.
    most: Option<Bytes>,
    /// Whether the source wants all it can get, and no rate bounds it.
    is_greedy: bool,
    /// Whether the last reduction is undone if it proves to rest on a lone loss.
    is_pardonable: bool,
    reduction: Option<Reduction>,
    /// smoothed_rtt of the last acknowledgement.
    smoothed_rtt: Duration,
}

impl CongestionWindow {
    pub(crate) fn new(kind: Window, initial_window_packets: u32, max_datagram: Bytes) -> Self {
        Self {
            law: Law::new(kind, initial_window_packets, max_datagram),
            usage: WindowUsage::default(),
            losses: LossRecord::default(),
            stray: StrayLosses::default(),
            start: MeasuredStart::new(),
            resume: Resume::new(None),
            enough: None,
            max_datagram,
            proportion: None,
            most: None,
            is_greedy: true,
            is_pardonable: false,
            reduction: None,
            smoothed_rtt: Duration::ZERO,
        }
    }

    /// The same, for a path that was seen before.
    pub(crate) fn resume(&mut self, saved: SavedPath) {
        self.resume = Resume::new(Some(saved));
    }

    pub(crate) fn size(&self) -> Bytes {
        self.bounded(self.law.base().window)
    }

    /// What the mode allows of a window.
    fn bounded(&self, window: Bytes) -> Bytes {
        let Some(most) = self.most else { return window };
        window.min(most.max(self.max_datagram.times(2)))
    }

    pub(crate) fn slow_start_threshold(&self) -> Option<Bytes> {
        self.law.base().threshold
    }

    pub(crate) fn phase(&self) -> Phase {
        self.law.base().phase()
    }

    #[inline]
    pub(crate) fn view(&self) -> WindowView {
        let base = self.law.base();
        let (size, phase) = (self.bounded(base.window), base.phase());
        WindowView {
            size,
            phase,
            is_used: !self.usage.is_underused(size, phase, self.max_datagram),
            start: self.start_pace(size),
            reduction: self.reduction,
        }
    }

    fn start_pace(&self, size: Bytes) -> StartPace {
        if self.resume.is_jumping() {
            return StartPace::Jump;
        }
        match self.enough {
            Some(enough) if self.start.is_trusting() => {
                StartPace::Filling(enough.window.as_f64() / size.as_f64().max(1.0))
            }
            _ => StartPace::Free,
        }
    }

    /// The size of the path's full datagrams changed, in bytes of UDP payload.
    pub(crate) fn on_max_datagram(&mut self, max_datagram: Bytes) {
        self.max_datagram = max_datagram;
        self.law.any().on_max_datagram_size(max_datagram);
    }

    pub(crate) fn on_sent(&mut self, packet: &SentPacket) {
        self.usage.on_sent(packet.bytes_in_flight);
        self.losses.on_sent(packet.number);
    }

    /// Whether the window is in its first slow start. Then it wants to know how much is enough.
    pub(crate) fn is_starting(&self) -> bool {
        !self.start.is_over() || !self.resume.is_over()
    }

    /// Whether the window is in its first slow start, and has not filled the path yet.
    pub(crate) fn is_growing(&self) -> bool {
        self.start.is_searching() && self.law.base().phase() == Phase::SlowStart
    }

    /// Moves the window after an acknowledgement. `enough` bounds slow start. True if the
    /// application limits the transfer, and not the window.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        acked: &Acked<'_>,
        steering: &Steering,
        enough: Option<&Enough>,
    ) -> bool {
        match steering.order {
            WindowOrder::Free => self.law.set_slope(None),
            WindowOrder::LeaveSlowStart => self.law.any().leave_slow_start(),
            WindowOrder::Along(slope) => self.law.set_slope(Some(slope)),
        }
        self.proportion = steering.proportion;
        self.most = steering.most;
        let info = &acked.info;
        self.smoothed_rtt = info.rtt.smoothed;
        self.usage
            .on_ack(acked.now, info.bytes_in_flight, info.rtt.smoothed);
        let base = self.law.base();
        let (size, phase) = (self.bounded(base.window), base.phase());
        let is_underused = self.usage.is_underused(size, phase, self.max_datagram);
        // A source that wants no more than its promised rate never fills its window. The window may
        // grow all the same, so that enough of it remains after a loss. The rate stays the bound,
        // so no burst follows.
        let is_paced = steering.packets_per_second.is_some();
        self.is_greedy = !is_paced;
        // A window that a mode bounds grows no further than the bound.
        let is_capped = size < base.window;
        let is_steered = steering.order != WindowOrder::Free;
        let latest_rtt = info.rtt.latest_without(info.ack_delay);
        let packets = acked.packets.len() as f64;
        let settled = (phase == Phase::CongestionAvoidance).then_some(size);
        self.stray
            .on_acked(packets, latest_rtt, info.rtt.min, settled);
        for packet in acked.packets {
            let mut acked = AckedBytes {
                now: acked.now,
                size: packet.size,
                sent: packet.sent,
                application_limited: is_capped || (is_underused && !is_paced),
                smoothed_rtt: info.rtt.smoothed,
                latest_rtt,
            };
            if self.is_starting() {
                self.bound_start(&mut acked, info, enough, is_steered);
            }
            let was_recovering = self.law.base().phase() == Phase::Recovery;
            self.law.on_ack(&acked);
            if was_recovering && self.law.base().phase() != Phase::Recovery {
                self.judge();
            }
        }
        is_underused || is_paced
    }

    /// Moves the first slow start on: to what is remembered, and not beyond what is enough.
    /// A promise that steers the window knows better whether slow start goes on.
    fn bound_start(
        &mut self,
        acked: &mut AckedBytes,
        info: &AckInfo,
        enough: Option<&Enough>,
        is_steered: bool,
    ) {
        self.enough = enough.copied();
        let flight = Flight {
            in_flight: info.bytes_in_flight,
            least_rtt: info.rtt.min,
            enough,
        };
        if self.resume.on_ack(acked, &flight, self.law.any()) {
            acked.size = Bytes::ZERO;
            return;
        }
        let is_left = self.start.has_left() && !is_steered;
        if self.law.base().phase() != Phase::SlowStart && !is_left {
            self.start.give_up();
        }
        match self.start.on_ack(acked, self.law.base().window, enough) {
            Step::Grow => {}
            Step::Slow => acked.size = Bytes::new(acked.size.get() / CROWDED_DIVISOR),
            // The law sees the acknowledgement, and nothing to grow by.
            Step::Hold => acked.size = Bytes::ZERO,
            Step::Leave => {
                // Slow start would have doubled the window once more.
                let limit = self.law.base().window.times(2);
                self.law.any().leave_towards(acked.now, limit);
            }
            Step::Resume => self.law.any().resume_slow_start(),
        }
    }

    /// A packet was declared lost. [`CongestionWindow::on_loss`] follows.
    pub(crate) fn on_lost(&mut self, number: u64) {
        self.losses.on_lost(number);
        self.stray.on_lost(number);
    }

    /// All lost packets of an event have been passed to [`CongestionWindow::on_lost`].
    pub(crate) fn on_loss(&mut self, now: Timestamp, info: &LossInfo) -> Response {
        self.stray.on_loss(&self.loss_event(now, info));
        if !info.persistent_congestion && self.are_stray() {
            self.losses.on_stray();
            return Response::Nothing;
        }
        let response = self.react(now, info.newest_sent);
        if info.persistent_congestion {
            self.law.any().on_persistent_congestion();
            self.losses.on_proof();
        }
        response
    }

    fn loss_event(&self, now: Timestamp, info: &LossInfo) -> LossEvent {
        LossEvent {
            now,
            sent_over: info.newest_sent.saturating_since(info.oldest_sent),
            smoothed_rtt: self.smoothed_rtt,
            window: self.size().as_f64() / self.max_datagram.as_f64().max(1.0),
            is_slow_start: self.law.base().phase() == Phase::SlowStart,
        }
    }

    /// The peer reported packets marked by a congested router; the newest of them left at
    /// `newest_sent`.
    pub(crate) fn on_mark(&mut self, now: Timestamp, newest_sent: Timestamp) -> Response {
        let response = self.react(now, newest_sent);
        self.losses.on_proof();
        response
    }

    /// A packet that had been declared lost was acknowledged after all.
    pub(crate) fn on_spurious_loss(&mut self, number: u64) {
        self.stray.on_spurious(number);
        if self.losses.on_spurious(number) {
            self.undo();
        }
    }

    /// Recovery is over, so all losses of the event are known.
    fn judge(&mut self) {
        if self.is_pardonable && self.losses.is_lone() {
            self.undo();
        }
    }

    fn undo(&mut self) {
        if self.law.any().on_spurious_congestion() {
            self.losses.on_undone();
            self.resume.on_undone();
        }
    }

    /// Whether the losses of now are no congestion, whatever is promised. A jump to what an earlier
    /// connection measured retreats from any loss (draft-ietf-tsvwg-careful-resume).
    fn are_stray(&mut self) -> bool {
        let base = self.law.base();
        self.law.pardons()
            && self.resume.is_over()
            && match base.phase() {
                Phase::SlowStart => self.stray.is_stray_in_slow_start(),
                Phase::CongestionAvoidance => self.stray.is_stray(base.window),
                Phase::Recovery => false,
            }
    }

    /// Whether a lone loss may leave a window of this size as it was. Without a promise it may, as
    /// CUBIC's may in quiche. A source that wants at least a rate must not have less for having
    /// asked, so it may up to the window that it needs. One that wants no more has a window to
    /// spare.
    fn may_keep(&self, window: Bytes) -> bool {
        self.proportion
            .is_none_or(|proportion| self.is_greedy && window <= proportion.needed)
    }

    fn react(&mut self, now: Timestamp, newest_sent: Timestamp) -> Response {
        let (before, phase) = (self.law.base().window, self.law.base().phase());
        let has_begun = self
            .law
            .any()
            .on_congestion(now, newest_sent, self.proportion.as_ref());
        self.losses.on_reaction(has_begun);
        if !has_begun {
            return Response::Nothing;
        }
        self.stray.on_reduction(before);
        self.reduction = Some(Reduction {
            at: now,
            queue: self.stray.waited(),
            ended_slow_start: phase == Phase::SlowStart,
        });
        self.is_pardonable = phase != Phase::SlowStart && self.may_keep(before);
        self.start.give_up();
        self.resume.on_reduction(now, newest_sent, self.law.any());
        match self.law.base().window < before {
            true => Response::Reduced,
            false => Response::Kept,
        }
    }
}

#[cfg(test)]
mod tests;
