//! The part that both window laws share: the window and its bounds, the slow start threshold, the
//! recovery period (RFC 9002, section 7 and appendix B), and growth along a slope.

use super::{AckedBytes, Phase, Proportion, Slope};
use crate::units::{Bytes, Timestamp};

/// kMinimumWindow in datagrams (RFC 9002, section 7.2).
const MINIMUM_WINDOW_DATAGRAMS: u64 = 2;

/// The largest initial window, unless the minimum window is larger (RFC 9002, section 7.2).
const INITIAL_WINDOW_LIMIT: Bytes = Bytes::new(14_720);

/// The initial window that RFC 9002, section 7.2, recommends, in datagrams.
const RECOMMENDED_PACKETS: u32 = 10;

/// How an acknowledged packet changes the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// The window stays: the packet was sent before the recovery period, or the window is unused.
    None,
    /// The window grows as in slow start.
    SlowStart,
    /// The window follows a slope that a promise has set, in bytes per round trip.
    Steered(i64),
    /// The window grows in congestion avoidance as the law has it, and at least by this slope.
    Own { at_least: Option<i64> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) window: Bytes,
    pub(super) threshold: Option<Bytes>,
    /// congestion_recovery_start_time of appendix B.2.
    recovery_start: Option<Timestamp>,
    in_recovery: bool,
    /// The remainder of the growth: acknowledged bytes times slope that are less than one byte of
    /// window.
    pub(super) credit: i128,
    /// The growth in congestion avoidance that a promise has set, in bytes per round trip.
    slope: Option<Slope>,
    pub(super) max_datagram_size: Bytes,
    initial_window_packets: u32,
    /// Whether the window is still the initial one.
    is_initial: bool,
}

impl Base {
    /// A window of `initial_window_packets` datagrams. Up to the ten datagrams that RFC 9002,
    /// section 7.2, recommends, the limit in bytes of that section applies. A larger initial window
    /// is taken as it is asked for.
    pub(super) fn new(initial_window_packets: u32, max_datagram_size: Bytes) -> Self {
        let mut base = Self {
            window: Bytes::ZERO,
            threshold: None,
            recovery_start: None,
            in_recovery: false,
            credit: 0,
            slope: None,
            // A datagram of no bytes would let the window close for good.
            max_datagram_size: max_datagram_size.max(Bytes::new(1)),
            initial_window_packets,
            is_initial: true,
        };
        base.window = base.initial_window();
        base
    }

    pub(super) fn initial_window(&self) -> Bytes {
        let packets = u64::from(self.initial_window_packets);
        let wanted = self.max_datagram_size.times(packets);
        let window = match self.initial_window_packets > RECOMMENDED_PACKETS {
            true => wanted,
            false => wanted.min(INITIAL_WINDOW_LIMIT),
        };
        window.max(self.minimum_window())
    }

    pub(super) fn minimum_window(&self) -> Bytes {
        self.max_datagram_size.times(MINIMUM_WINDOW_DATAGRAMS)
    }

    /// Whether a packet was sent before the recovery period began (InCongestionRecovery of
    /// RFC 9002, appendix B.5 and B.6).
    pub(super) fn was_sent_before_recovery(&self, sent: Timestamp) -> bool {
        self.recovery_start.is_some_and(|start| sent <= start)
    }

    fn is_below_threshold(&self) -> bool {
        self.threshold
            .is_none_or(|threshold| self.window < threshold)
    }

    /// The part of OnPacketAcked (RFC 9002, appendix B.5) that both laws share.
    pub(super) fn on_ack(&mut self, acked: &AckedBytes) -> Growth {
        if self.was_sent_before_recovery(acked.sent) {
            return Growth::None;
        }
        self.in_recovery = false;
        let is_below_threshold = self.is_below_threshold();
        // RFC 9002, section 7.8, forbids growth alone. An unused window may shrink.
        if acked.application_limited && (is_below_threshold || !self.is_steered_down()) {
            return Growth::None;
        }
        self.is_initial = false;
        match self.slope {
            _ if is_below_threshold => Growth::SlowStart,
            Some(slope) if !slope.is_floor => Growth::Steered(slope.bytes_per_round_trip),
            slope => Growth::Own {
                at_least: slope.map(|slope| slope.bytes_per_round_trip),
            },
        }
    }

    fn is_steered_down(&self) -> bool {
        self.slope
            .is_some_and(|slope| slope.bytes_per_round_trip < 0 && !slope.is_floor)
    }

    /// cwnd += slope * acked / cwnd, in whole bytes of UDP payload. The remainder counts next time.
    pub(super) fn grow_along(&mut self, slope: i128, acked: Bytes) {
        let window = self.window.get().max(1);
        let growth = self.growth(slope, acked, window);
        let window = i128::from(window) + growth;
        let window = u64::try_from(window.max(0)).unwrap_or(u64::MAX);
        self.window = Bytes::new(window).max(self.minimum_window());
        // The threshold follows a window that was steered down. Otherwise slow start would begin.
        self.threshold = self.threshold.map(|threshold| threshold.min(self.window));
    }

    /// The whole bytes of the growth, whose remainder becomes the credit. Nearly always everything
    /// fits into 64 bits, where a division takes a fraction of the time.
    fn growth(&mut self, slope: i128, acked: Bytes, window: u64) -> i128 {
        let short = |credit: i128| {
            let credit = i64::try_from(credit).ok()?;
            let (slope, acked) = (i64::try_from(slope).ok()?, i64::try_from(acked.get()).ok()?);
            let credit = slope.checked_mul(acked)?.checked_add(credit)?;
            Some((credit, i64::try_from(window).ok()?))
        };
        if let Some((credit, window)) = short(self.credit) {
            self.credit = credit.rem_euclid(window).into();
            return credit.div_euclid(window).into();
        }
        let acquired = slope.saturating_mul(i128::from(acked.get()));
        let credit = self.credit.saturating_add(acquired);
        self.credit = credit.rem_euclid(window.into());
        credit.div_euclid(window.into())
    }

    /// The law has grown the window from what it was `before`. If the slope of a promise leads
    /// further from there, it follows that slope instead.
    pub(super) fn grow_at_least(&mut self, slope: i64, acked: Bytes, before: &Self) {
        let mut steered = *before;
        steered.grow_along(i128::from(slope), acked);
        if steered.window >= self.window {
            *self = steered;
        }
    }

    /// What a reduction to `threshold` leaves if the flow responds in proportion. Of N flows an
    /// event meets one, so 1 / N of the reduction remains for the window that is needed.
    pub(super) fn in_proportion(&self, threshold: Bytes, proportion: Option<&Proportion>) -> Bytes {
        let Some(proportion) = proportion else {
            return threshold;
        };
        let window = self.window.as_f64().max(1.0);
        let needed = proportion.needed.min(self.window).as_f64();
        let lost = 1.0 - threshold.as_f64() / window;
        let weight = proportion.weight.max(1.0);
        let least = (weight * self.minimum_window().as_f64()).min(needed);
        let kept = (needed * (1.0 - lost / weight)).max(least);
        threshold.max(Bytes::from_f64(kept)).min(self.window)
    }

    /// OnCongestionEvent of RFC 9002, appendix B.6, with the threshold that the law has computed.
    pub(super) fn reduce(&mut self, now: Timestamp, threshold: Bytes) {
        self.is_initial = false;
        self.in_recovery = true;
        self.recovery_start = Some(now);
        self.credit = 0;
        self.threshold = Some(threshold);
        self.window = threshold.max(self.minimum_window());
    }

    /// The reaction to persistent congestion: the second half of OnPacketsLost (RFC 9002,
    /// appendix B.8).
    pub(super) fn collapse(&mut self) {
        self.is_initial = false;
        self.in_recovery = false;
        self.recovery_start = None;
        self.credit = 0;
        self.window = self.minimum_window();
    }

    /// Restores the state from before a reduction that proved spurious. Slope and datagram size
    /// stay.
    pub(super) fn restore(&mut self, before: &Self) {
        *self = Self {
            slope: self.slope,
            max_datagram_size: self.max_datagram_size,
            ..*before
        };
        self.window = self.window.max(self.minimum_window());
    }

    /// The size of the largest datagram changed. An initial window is computed again (RFC 9002,
    /// section 7.2). A window that has moved is kept above its new minimum.
    pub(super) fn on_max_datagram_size(&mut self, size: Bytes) {
        self.max_datagram_size = size.max(Bytes::new(1));
        self.window = if self.is_initial {
            self.initial_window()
        } else {
            self.window.max(self.minimum_window())
        };
    }

    pub(super) fn set_slope(&mut self, slope: Option<Slope>) {
        self.slope = slope;
    }

    pub(super) fn resume_slow_start(&mut self) {
        self.threshold = None;
        self.credit = 0;
    }

    pub(super) fn set_window(&mut self, window: Bytes) {
        self.window = window.max(self.minimum_window());
    }

    pub(super) fn set_threshold(&mut self, threshold: Bytes) {
        self.threshold = Some(threshold.max(self.minimum_window()));
    }

    pub(super) fn leave_slow_start(&mut self) {
        if self.phase() == Phase::SlowStart {
            self.threshold = Some(self.window);
        }
    }

    pub(super) fn phase(&self) -> Phase {
        if self.in_recovery {
            Phase::Recovery
        } else if self.is_below_threshold() {
            Phase::SlowStart
        } else {
            Phase::CongestionAvoidance
        }
    }
}
