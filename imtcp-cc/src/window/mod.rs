//! The congestion window: how many bytes may be in flight.
//!
//! [`CongestionWindow`] holds the law of one path. [`Cubic`] is RFC 9438 with HyStart++ (RFC 9406);
//! [`Reno`] is the law of RFC 9002, section 7. Both stand behind [`WindowLaw`]. A law sees bytes
//! and times, never packets, and does not decide when a packet leaves.

mod base;
mod congestion_window;
mod cubic;
mod hystart;
mod reno;
mod undo;
mod usage;

pub(crate) use congestion_window::CongestionWindow;
use cubic::Cubic;
use reno::Reno;
use undo::LossRecord;
use usage::WindowUsage;

use crate::control::Phase;
use crate::units::{Bytes, Timestamp};
use std::fmt::Debug;
use std::time::Duration;

/// Which law the window follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Window {
    /// CUBIC (RFC 9438), HyStart++ (RFC 9406) and spurious losses undone: what users of quiche have
    /// unless they choose.
    #[default]
    Cubic,
    /// Reno (RFC 9002, section 7), which the papers build upon.
    Reno,
}

impl Window {
    /// A window of `initial_window_packets` datagrams to begin with, within the limit of RFC 9002,
    /// section 7.2.
    fn law(self, initial_window_packets: u32, max_datagram_size: Bytes) -> Box<dyn WindowLaw> {
        match self {
            Self::Cubic => Box::new(Cubic::new(initial_window_packets, max_datagram_size)),
            Self::Reno => Box::new(Reno::new(initial_window_packets, max_datagram_size)),
        }
    }
}

/// A packet that was newly acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Acked {
    /// When the acknowledgement came.
    pub now: Timestamp,
    /// The bytes that left flight.
    pub size: Bytes,
    /// When it was sent.
    pub sent: Timestamp,
    /// Whether the window was not fully used when the acknowledgement came in, for want of data or
    /// of flow control credit. Packets held back by our own pacing do not make it so (RFC 9002,
    /// section 7.8).
    pub application_limited: bool,
    /// smoothed_rtt with this acknowledgement.
    pub smoothed_rtt: Duration,
    /// Its own sample of the round trip, without the delay that the peer says it added.
    pub latest_rtt: Duration,
}

/// A law for the congestion window.
trait WindowLaw: Debug + Send + Sync {
    /// A packet was newly acknowledged.
    fn on_ack(&mut self, acked: &Acked);

    /// Packets were lost or marked (RFC 9002, sections 7.3.1 and 7.1); `sent` is when the latest
    /// of them was sent. Losses of packets sent before the last reaction belong to that one; true
    /// if this is another one.
    fn on_congestion(&mut self, now: Timestamp, sent: Timestamp) -> bool;

    /// Nothing got through for the period of persistent congestion (RFC 9002, section 7.6). Comes
    /// after [`WindowLaw::on_congestion`] for the same losses.
    fn on_persistent_congestion(&mut self);

    /// Nothing was lost in the last congestion: what [`WindowLaw::on_congestion`] did may be
    /// undone.
    fn on_spurious_congestion(&mut self);

    /// The largest datagram changed its size, as path MTU discovery finds.
    fn on_max_datagram_size(&mut self, size: Bytes);

    /// Grow by this many bytes per round trip in congestion avoidance instead of what the law
    /// itself has, shrink if it is negative; `None` gives it back to the law. Slow start, the
    /// reaction to congestion and the minimum window stay the law's.
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
