//! NewReno as QUIC has it: RFC 9002, section 7 and appendix B.
//!
//! ```text
//!              congestion                     a packet sent after it is acknowledged
//! SlowStart ----------------> Recovery ------------------------> CongestionAvoidance
//!     ^                        |    ^        congestion                  |
//!     |  persistent congestion |    +------------------------------------+
//!     +------------------------+-----------------------------------------+
//! ```
//!
//! A loss that turns out spurious is not undone: RFC 9002 asks for none, and the reduction ends
//! with the next round trip.

use super::{Acked, Phase, WindowLaw};
use crate::units::{Bytes, Timestamp};

/// kMinimumWindow in datagrams (RFC 9002, section 7.2).
const MINIMUM_WINDOW_DATAGRAMS: u64 = 2;

/// kLossReductionFactor is one half (RFC 9002, appendix B.1).
const LOSS_REDUCTION_DIVISOR: u64 = 2;

/// The initial window is limited to this, or to the minimum window if that is larger (RFC 9002,
/// section 7.2).
const INITIAL_WINDOW_LIMIT: Bytes = Bytes::new(14_720);
/// The same section: an initial window of ten datagrams is recommended.
const RECOMMENDED_PACKETS: u32 = 10;

/// The window of RFC 9002.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reno {
    window: Bytes,
    threshold: Option<Bytes>,
    /// congestion_recovery_start_time of appendix B.2.
    recovery_start: Option<Timestamp>,
    in_recovery: bool,
    /// Acknowledged bytes times slope that have not yet made a byte of window.
    credit: i128,
    /// Bytes per round trip in congestion avoidance, where somebody else sets them.
    slope: Option<i64>,
    max_datagram_size: Bytes,
    initial_window_packets: u32,
    /// Nothing has moved the window yet.
    is_initial: bool,
}

impl Reno {
    /// A window of `initial_window_packets` datagrams: within the limit of RFC 9002, section 7.2, but for
    /// those who ask for more than the ten that it recommends.
    pub fn new(initial_window_packets: u32, max_datagram_size: Bytes) -> Self {
        let mut law = Self {
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
        law.window = law.initial_window();
        law
    }

    fn initial_window(&self) -> Bytes {
        let wanted = self
            .max_datagram_size
            .times(u64::from(self.initial_window_packets));
        match self.initial_window_packets > RECOMMENDED_PACKETS {
            true => wanted,
            false => wanted.min(INITIAL_WINDOW_LIMIT),
        }
        .max(self.minimum_window())
    }

    fn minimum_window(&self) -> Bytes {
        self.max_datagram_size.times(MINIMUM_WINDOW_DATAGRAMS)
    }

    /// InCongestionRecovery of appendix B.5 and B.6.
    fn was_sent_before_recovery(&self, sent: Timestamp) -> bool {
        self.recovery_start.is_some_and(|start| sent <= start)
    }

    fn is_below_threshold(&self) -> bool {
        self.threshold
            .is_none_or(|threshold| self.window < threshold)
    }

    /// cwnd += slope * acked / cwnd in whole bytes; what is left over counts next time. Reno's slope
    /// is a datagram per round trip (appendix B.5).
    fn avoid_congestion(&mut self, acked: Bytes) {
        let window = i128::from(self.window.get().max(1));
        let reno = i128::from(self.max_datagram_size.get());
        let slope = self.slope.map_or(reno, i128::from);
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

    fn is_steered_down(&self) -> bool {
        self.slope.is_some_and(|slope| slope < 0)
    }
}

impl WindowLaw for Reno {
    /// OnPacketAcked of appendix B.5.
    fn on_ack(&mut self, acked: &Acked) {
        if self.was_sent_before_recovery(acked.sent) {
            return;
        }
        self.in_recovery = false;
        let is_below_threshold = self.is_below_threshold();
        // RFC 9002, section 7.8, is about growth; a window may shrink unused.
        if acked.application_limited && (is_below_threshold || !self.is_steered_down()) {
            return;
        }
        self.is_initial = false;
        if is_below_threshold {
            self.window += acked.size;
        } else {
            self.avoid_congestion(acked.size);
        }
    }

    /// OnCongestionEvent of appendix B.6.
    fn on_congestion(&mut self, now: Timestamp, sent: Timestamp) {
        if self.was_sent_before_recovery(sent) {
            return;
        }
        self.is_initial = false;
        self.in_recovery = true;
        self.recovery_start = Some(now);
        self.credit = 0;
        let threshold = Bytes::new(self.window.get() / LOSS_REDUCTION_DIVISOR);
        self.threshold = Some(threshold);
        self.window = threshold.max(self.minimum_window());
    }

    /// The second half of OnPacketsLost of appendix B.8.
    fn on_persistent_congestion(&mut self) {
        self.is_initial = false;
        self.in_recovery = false;
        self.recovery_start = None;
        self.credit = 0;
        self.window = self.minimum_window();
    }

    /// RFC 9002, section 7.2: the initial window is computed again; a window that has moved is
    /// only kept above its new minimum.
    fn on_max_datagram_size(&mut self, size: Bytes) {
        self.max_datagram_size = size.max(Bytes::new(1));
        self.window = if self.is_initial {
            self.initial_window()
        } else {
            self.window.max(self.minimum_window())
        };
    }

    fn set_slope(&mut self, bytes_per_round_trip: Option<i64>) {
        self.slope = bytes_per_round_trip;
    }

    fn leave_slow_start(&mut self) {
        if self.phase() == Phase::SlowStart {
            self.threshold = Some(self.window);
        }
    }

    fn window(&self) -> Bytes {
        self.window
    }

    fn slow_start_threshold(&self) -> Option<Bytes> {
        self.threshold
    }

    fn phase(&self) -> Phase {
        if self.in_recovery {
            Phase::Recovery
        } else if self.is_below_threshold() {
            Phase::SlowStart
        } else {
            Phase::CongestionAvoidance
        }
    }
}

#[cfg(test)]
mod tests;
