//! The congestion window: how many bytes may be in flight.
//!
//! [`Reno`] is the law of RFC 9002, section 7, that everything else is compared with. Other laws
//! stand beside it behind [`WindowLaw`]. A law sees bytes and send times, never packets, and does
//! not decide when a packet leaves.

mod reno;
mod usage;

pub use reno::Reno;
pub use usage::WindowUsage;

use crate::units::{Bytes, Timestamp};
use std::fmt::{self, Debug};

/// A packet that was newly acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// The bytes that left flight.
    pub size: Bytes,
    /// When it was sent.
    pub sent: Timestamp,
    /// Whether the window was not fully used when the acknowledgement came in, for want of data or
    /// of flow control credit. Packets held back by our own pacing do not make it so (RFC 9002,
    /// section 7.8).
    pub application_limited: bool,
}

/// A law for the congestion window.
pub trait WindowLaw: Debug + Send + Sync {
    /// A packet was newly acknowledged.
    fn on_ack(&mut self, acked: &Acked);

    /// Packets were lost or marked (RFC 9002, sections 7.3.1 and 7.1); `sent` is when the latest
    /// of them was sent. Losses of packets sent before the last reaction belong to that one.
    fn on_congestion(&mut self, now: Timestamp, sent: Timestamp);

    /// Nothing got through for the period of persistent congestion (RFC 9002, section 7.6). Comes
    /// after [`WindowLaw::on_congestion`] for the same losses.
    fn on_persistent_congestion(&mut self);

    /// The largest datagram changed its size, as path MTU discovery finds.
    fn on_max_datagram_size(&mut self, size: Bytes);

    /// Grow by this many bytes per round trip in congestion avoidance instead of what the law itself
    /// has, shrink if it is negative; `None` gives it back to the law. Slow start, the reaction to
    /// congestion and the minimum window stay the law's.
    fn set_slope(&mut self, bytes_per_round_trip: Option<i64>);

    /// The window is large enough: from slow start, if it is in it, to congestion avoidance.
    fn leave_slow_start(&mut self);

    /// The congestion window in bytes, counted as RFC 9002 counts them: UDP payload.
    fn window(&self) -> Bytes;

    /// The slow start threshold; `None` before the first congestion.
    fn slow_start_threshold(&self) -> Option<Bytes>;

    /// What the law is doing.
    fn phase(&self) -> Phase;
}

/// The states of RFC 9002, section 7.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The window grows by what is acknowledged.
    SlowStart,
    /// The window grows by one datagram per round trip.
    CongestionAvoidance,
    /// The window was reduced, and no packet sent since has been acknowledged.
    Recovery,
}

impl Phase {
    /// The name, as qlog has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlowStart => "slow_start",
            Self::CongestionAvoidance => "congestion_avoidance",
            Self::Recovery => "recovery",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
