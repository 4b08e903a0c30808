//! What the laws share: the window itself, its bounds, slow start's threshold, the recovery period
//! (RFC 9002, section 7 and appendix B), and growth along a slope.

use super::{Acked, Phase};
use crate::units::{Bytes, Timestamp};

/// kMinimumWindow in datagrams (RFC 9002, section 7.2).
const MINIMUM_WINDOW_DATAGRAMS: u64 = 2;

/// The initial window is limited to this, or to the minimum window if that is larger (RFC 9002,
/// section 7.2).
const INITIAL_WINDOW_LIMIT: Bytes = Bytes::new(14_720);
/// The same section: an initial window of ten datagrams is recommended.
const RECOMMENDED_PACKETS: u32 = 10;

/// What an acknowledged packet lets a law do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// Nothing: it was sent before the recovery period, or the window is not used.
    None,
    /// Slow start.
    SlowStart,
    /// Congestion avoidance along a slope that somebody else has set, in bytes per round trip.
    Steered(i64),
    /// Congestion avoidance as the law has it.
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) window: Bytes,
    pub(super) threshold: Option<Bytes>,
    /// congestion_recovery_start_time of appendix B.2.
    recovery_start: Option<Timestamp>,
    in_recovery: bool,
    /// Acknowledged bytes times slope that have not yet made a byte of window.
    pub(super) credit: i128,
    /// Bytes per round trip in congestion avoidance, where somebody else sets them.
    slope: Option<i64>,
    pub(super) max_datagram_size: Bytes,
    initial_window_packets: u32,
    /// Nothing has moved the window yet.
    is_initial: bool,
}

impl Base {
    /// A window of `initial_window_packets` datagrams: within the limit of RFC 9002, section 7.2,
    /// but for those who ask for more than the ten that it recommends.
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

    fn initial_window(&self) -> Bytes {
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

    /// InCongestionRecovery of appendix B.5 and B.6.
    pub(super) fn was_sent_before_recovery(&self, sent: Timestamp) -> bool {
        self.recovery_start.is_some_and(|start| sent <= start)
    }

    fn is_below_threshold(&self) -> bool {
        self.threshold
            .is_none_or(|threshold| self.window < threshold)
    }

    /// OnPacketAcked of appendix B.5, up to where the laws differ.
    pub(super) fn on_ack(&mut self, acked: &Acked) -> Growth {
        if self.was_sent_before_recovery(acked.sent) {
            return Growth::None;
        }
        self.in_recovery = false;
        let is_below_threshold = self.is_below_threshold();
        // RFC 9002, section 7.8, is about growth; a window may shrink unused.
        if acked.application_limited && (is_below_threshold || !self.is_steered_down()) {
            return Growth::None;
        }
        self.is_initial = false;
        match self.slope {
            _ if is_below_threshold => Growth::SlowStart,
            Some(slope) => Growth::Steered(slope),
            None => Growth::Own,
        }
    }

    fn is_steered_down(&self) -> bool {
        self.slope.is_some_and(|slope| slope < 0)
    }

    /// cwnd += slope * acked / cwnd in whole bytes; what is left over counts next time.
    pub(super) fn grow_along(&mut self, slope: i128, acked: Bytes) {
        let window = i128::from(self.window.get().max(1));
        self.credit = self
            .credit
            .saturating_add(slope.saturating_mul(i128::from(acked.get())));
        let growth = self.credit.div_euclid(window);
        self.credit = self.credit.rem_euclid(window);
        let window = u64::try_from((window + growth).max(0)).unwrap_or(u64::MAX);
        self.window = Bytes::new(window).max(self.minimum_window());
        // A window that was steered down is no cause for slow start.
        self.threshold = self.threshold.map(|threshold| threshold.min(self.window));
    }

    /// OnCongestionEvent of appendix B.6, with the threshold that the law has worked out.
    pub(super) fn reduce(&mut self, now: Timestamp, threshold: Bytes) {
        self.is_initial = false;
        self.in_recovery = true;
        self.recovery_start = Some(now);
        self.credit = 0;
        self.threshold = Some(threshold);
        self.window = threshold.max(self.minimum_window());
    }

    /// The second half of OnPacketsLost of appendix B.8.
    pub(super) fn collapse(&mut self) {
        self.is_initial = false;
        self.in_recovery = false;
        self.recovery_start = None;
        self.credit = 0;
        self.window = self.minimum_window();
    }

    /// What stood before a reduction that proved unfounded; steering and datagram size stay.
    pub(super) fn restore(&mut self, before: &Self) {
        *self = Self {
            slope: self.slope,
            max_datagram_size: self.max_datagram_size,
            ..*before
        };
        self.window = self.window.max(self.minimum_window());
    }

    /// RFC 9002, section 7.2: the initial window is computed again; a window that has moved is
    /// only kept above its new minimum.
    pub(super) fn on_max_datagram_size(&mut self, size: Bytes) {
        self.max_datagram_size = size.max(Bytes::new(1));
        self.window = if self.is_initial {
            self.initial_window()
        } else {
            self.window.max(self.minimum_window())
        };
    }

    pub(super) fn set_slope(&mut self, bytes_per_round_trip: Option<i64>) {
        self.slope = bytes_per_round_trip;
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
