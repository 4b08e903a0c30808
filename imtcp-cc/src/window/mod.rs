//! The congestion window: how many bytes may be in flight.
//!
//! [`CongestionWindow`] holds the window law of one path. There are two laws behind [`WindowLaw`]:
//! [`Cubic`] is RFC 9438 with HyStart++ (RFC 9406), and [`Reno`] is RFC 9002, section 7. A law sees
//! bytes and times and never packets. It does not decide when a packet leaves.

mod base;
mod congestion_window;
mod cubic;
mod hystart;
mod reno;
mod resume;
mod start;
mod stray;
mod undo;
pub(crate) mod usage;

use base::Base;
pub(crate) use congestion_window::CongestionWindow;
use cubic::Cubic;
use reno::Reno;
use resume::{Flight, Resume};
use start::{MeasuredStart, Step};
use stray::{LossEvent, StrayLosses};
use undo::LossRecord;
use usage::WindowUsage;

use crate::control::{Phase, Proportion, Slope, Window};
use crate::units::{Bytes, Timestamp};
use std::fmt::Debug;
use std::time::Duration;

/// The law of a window. What each acknowledgement asks of it is asked of the law itself, and all
/// else through the trait.
#[derive(Debug)]
enum Law {
    Cubic(Box<Cubic>),
    Reno(Box<Reno>),
}

impl Law {
    /// The law of that name, which begins with `initial_window_packets` datagrams, within the limit
    /// of RFC 9002, section 7.2.
    fn new(kind: Window, initial_window_packets: u32, max_datagram_size: Bytes) -> Self {
        let (packets, size) = (initial_window_packets, max_datagram_size);
        match kind {
            Window::Cubic => Self::Cubic(Box::new(Cubic::new(packets, size))),
            Window::Reno => Self::Reno(Box::new(Reno::new(packets, size))),
        }
    }

    #[inline]
    fn on_ack(&mut self, acked: &AckedBytes) {
        match self {
            Self::Cubic(cubic) => cubic.on_ack(acked),
            Self::Reno(reno) => reno.on_ack(acked),
        }
    }

    #[inline]
    fn set_slope(&mut self, slope: Option<Slope>) {
        match self {
            Self::Cubic(cubic) => cubic.set_slope(slope),
            Self::Reno(reno) => reno.set_slope(slope),
        }
    }

    #[inline]
    fn base(&self) -> &Base {
        match self {
            Self::Cubic(cubic) => cubic.base(),
            Self::Reno(reno) => reno.base(),
        }
    }

    /// Whether losses that are no congestion leave the window as it is. The papers' Reno answers
    /// every loss.
    fn pardons(&self) -> bool {
        matches!(self, Self::Cubic(_))
    }

    fn any(&mut self) -> &mut dyn WindowLaw {
        match self {
            Self::Cubic(cubic) => cubic.as_mut(),
            Self::Reno(reno) => reno.as_mut(),
        }
    }
}

/// A packet that was newly acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AckedBytes {
    /// When the acknowledgement came.
    pub now: Timestamp,
    /// The bytes that left flight.
    pub size: Bytes,
    /// When the packet was sent.
    pub sent: Timestamp,
    /// Whether data or flow control credit was missing, so that the window was not fully used. It
    /// stays false if only the controller's own pacing held packets back (RFC 9002, section 7.8).
    pub application_limited: bool,
    /// smoothed_rtt (RFC 9002, section 5.3), this acknowledgement included.
    pub smoothed_rtt: Duration,
    /// The RTT sample of this acknowledgement, without the delay that the peer says it added.
    pub latest_rtt: Duration,
}

/// A law for the congestion window.
trait WindowLaw: Debug + Send + Sync {
    /// A packet was newly acknowledged.
    fn on_ack(&mut self, acked: &AckedBytes);

    /// Packets were lost or marked (RFC 9002, sections 7.3.1 and 7.1), and the newest of them left
    /// at `sent`. Returns true if the law reacts. A packet sent before the last reaction belongs to
    /// that reaction, and causes no new one.
    fn on_congestion(
        &mut self,
        now: Timestamp,
        sent: Timestamp,
        proportion: Option<&Proportion>,
    ) -> bool;

    /// No packet got through for the period of persistent congestion (RFC 9002, section 7.6). It is
    /// called after [`WindowLaw::on_congestion`] for the same losses.
    fn on_persistent_congestion(&mut self);

    /// All packets of the last congestion arrived after all. The law may undo what
    /// [`WindowLaw::on_congestion`] did. Returns true if it does.
    fn on_spurious_congestion(&mut self) -> bool;

    /// Path MTU discovery changed the size of the largest datagram.
    fn on_max_datagram_size(&mut self, size: Bytes);

    /// Sets the growth of the window in congestion avoidance. With `None` the law's own growth
    /// applies again. Slow start and the minimum window stay the law's.
    fn set_slope(&mut self, slope: Option<Slope>);

    /// The window is large enough. If it is in slow start, congestion avoidance begins.
    fn leave_slow_start(&mut self);

    /// Slow start ended because the path was full, and no packet was lost. Without the measurement
    /// the window would have grown to about `limit` before a loss. In congestion avoidance the law
    /// looks for the end of the queue up to there, as after a loss at that window.
    fn leave_towards(&mut self, now: Timestamp, limit: Bytes);

    /// The path has more room than it had when slow start ended, and there was no congestion yet.
    /// Slow start goes on.
    fn resume_slow_start(&mut self);

    /// Sets the window to a size that a remembered path vouches for, or that got through on it.
    fn set_window(&mut self, window: Bytes);

    /// After a jump that proved too large, `pipe` bytes got through in a round trip. The law takes
    /// this for the window at which congestion began.
    fn set_pipe(&mut self, pipe: Bytes);

    /// The state that both laws have.
    fn base(&self) -> &Base;

    /// The window that a connection begins with.
    fn initial_window(&self) -> Bytes {
        self.base().initial_window()
    }

    /// The congestion window, in bytes of UDP payload (RFC 9002, section 7).
    fn window(&self) -> Bytes {
        self.base().window
    }

    /// The slow start threshold, in bytes of UDP payload; `None` before the first congestion.
    #[cfg(test)]
    fn slow_start_threshold(&self) -> Option<Bytes> {
        self.base().threshold
    }

    /// The phase that the law is in (RFC 9002, section 7.3).
    #[cfg(test)]
    fn phase(&self) -> Phase {
        self.base().phase()
    }
}
