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
//! A reduction is not undone if its loss proves spurious, because RFC 9002 does not ask for it.

use super::base::{Base, Growth};
use super::{AckedBytes, Proportion, Slope, WindowLaw};
use crate::units::{Bytes, Timestamp};

/// kLossReductionFactor is one half (RFC 9002, appendix B.1).
const LOSS_REDUCTION_DIVISOR: u64 = 2;

/// The NewReno window of RFC 9002.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reno {
    base: Base,
}

impl Reno {
    /// A window of `initial_window_packets` datagrams, within the limit of RFC 9002, section 7.2.
    pub fn new(initial_window_packets: u32, max_datagram_size: Bytes) -> Self {
        Self {
            base: Base::new(initial_window_packets, max_datagram_size),
        }
    }
}

impl WindowLaw for Reno {
    /// OnPacketAcked of appendix B.5. In congestion avoidance the window grows by one datagram per
    /// round trip.
    fn on_ack(&mut self, acked: &AckedBytes) {
        match self.base.on_ack(acked) {
            Growth::None => {}
            Growth::SlowStart => self.base.window += acked.size,
            Growth::Steered(slope) => self.base.grow_along(i128::from(slope), acked.size),
            Growth::Own { at_least } => {
                let datagram = i128::from(self.base.max_datagram_size.get());
                let slope = at_least.map_or(datagram, |slope| datagram.max(i128::from(slope)));
                self.base.grow_along(slope, acked.size);
            }
        }
    }

    fn on_congestion(
        &mut self,
        now: Timestamp,
        sent: Timestamp,
        proportion: Option<&Proportion>,
    ) -> bool {
        if self.base.was_sent_before_recovery(sent) {
            return false;
        }
        let half = Bytes::new(self.base.window.get() / LOSS_REDUCTION_DIVISOR);
        let threshold = self.base.in_proportion(half, proportion);
        self.base.reduce(now, threshold);
        true
    }

    fn on_persistent_congestion(&mut self) {
        self.base.collapse();
    }

    /// Does nothing: RFC 9002 does not ask for a reduction to be undone.
    fn on_spurious_congestion(&mut self) -> bool {
        false
    }

    fn on_max_datagram_size(&mut self, size: Bytes) {
        self.base.on_max_datagram_size(size);
    }

    fn set_slope(&mut self, slope: Option<Slope>) {
        self.base.set_slope(slope);
    }

    fn leave_slow_start(&mut self) {
        self.base.leave_slow_start();
    }

    /// Reno grows by a datagram in a round trip, wherever the last congestion was.
    fn leave_towards(&mut self, _now: Timestamp, _limit: Bytes) {
        self.leave_slow_start();
    }

    fn resume_slow_start(&mut self) {
        self.base.resume_slow_start();
    }

    fn set_window(&mut self, window: Bytes) {
        self.base.set_window(window);
    }

    fn set_pipe(&mut self, pipe: Bytes) {
        let threshold = pipe.get() / LOSS_REDUCTION_DIVISOR;
        self.base.set_threshold(Bytes::new(threshold));
    }

    fn base(&self) -> &Base {
        &self.base
    }
}

#[cfg(test)]
mod tests;
