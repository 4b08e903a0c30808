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

use super::base::{Base, Growth};
use super::{Acked, Phase, WindowLaw};
use crate::units::{Bytes, Timestamp};

/// kLossReductionFactor is one half (RFC 9002, appendix B.1).
const LOSS_REDUCTION_DIVISOR: u64 = 2;

<<<<<<< HEAD
=======
/// The initial window is limited to this, or to the minimum window if that is larger (RFC 9002,
/// section 7.2).
const INITIAL_WINDOW_LIMIT: Bytes = Bytes::new(14_720);
/// The same section: an initial window of ten datagrams is recommended.
const RECOMMENDED_PACKETS: u32 = 10;

>>>>>>> seam
/// The window of RFC 9002.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reno {
    base: Base,
}

impl Reno {
    /// A window of `initial_window_packets` datagrams: within the limit of RFC 9002, section 7.2, but for
    /// those who ask for more than the ten that it recommends.
    pub fn new(initial_window_packets: u32, max_datagram_size: Bytes) -> Self {
<<<<<<< HEAD
        Self {
            base: Base::new(initial_window_packets, max_datagram_size),
        }
=======
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
>>>>>>> seam
    }
}

impl WindowLaw for Reno {
    /// OnPacketAcked of appendix B.5: the slope of avoidance is a datagram per round trip.
    fn on_ack(&mut self, acked: &Acked) {
        match self.base.on_ack(acked) {
            Growth::None => {}
            Growth::SlowStart => self.base.window += acked.size,
            Growth::Steered(slope) => self.base.grow_along(i128::from(slope), acked.size),
            Growth::Own => {
                let datagram = i128::from(self.base.max_datagram_size.get());
                self.base.grow_along(datagram, acked.size);
            }
        }
    }

    fn on_congestion(&mut self, now: Timestamp, sent: Timestamp) -> bool {
        if self.base.was_sent_before_recovery(sent) {
            return false;
        }
        let threshold = Bytes::new(self.base.window.get() / LOSS_REDUCTION_DIVISOR);
        self.base.reduce(now, threshold);
        true
    }

    fn on_persistent_congestion(&mut self) {
        self.base.collapse();
    }

    /// RFC 9002 asks for no undoing.
    fn on_spurious_congestion(&mut self) {}

    fn on_max_datagram_size(&mut self, size: Bytes) {
        self.base.on_max_datagram_size(size);
    }

    fn set_slope(&mut self, bytes_per_round_trip: Option<i64>) {
        self.base.set_slope(bytes_per_round_trip);
    }

    fn leave_slow_start(&mut self) {
        self.base.leave_slow_start();
    }

    fn window(&self) -> Bytes {
        self.base.window
    }

    fn slow_start_threshold(&self) -> Option<Bytes> {
        self.base.threshold
    }

    fn phase(&self) -> Phase {
        self.base.phase()
    }
}

#[cfg(test)]
mod tests;
