//! What the times of a gap say.

use crate::path::ack::EchoGap;
use crate::units::{Bandwidth, Bytes, Nanos};

/// Once a capacity is known, packets count only if they were sent at most this far apart, as a
/// percentage of the time that the capacity needs to serve them.
const CLOSE_PERCENT: u32 = 110;

/// What the times of a gap say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) sent: Nanos,
    pub(super) arrival: Nanos,
    /// The gap between the echoes less what the peer says it waited.
    pub(super) unheld: Nanos,
    /// How long the link needs for the bytes at the present capacity.
    pub(super) served: Option<Nanos>,
    /// Whether the packets left about as fast as the link serves them, or faster.
    pub(super) is_close: bool,
}

impl Times {
    pub(super) fn of(gap: &EchoGap, arrival: Nanos, served: Option<Nanos>) -> Self {
        let sent = gap.sent_gap();
        let is_close = |served: Nanos| sent.get() <= served.times(CLOSE_PERCENT).get() / 100;
        Self {
            sent,
            arrival,
            unheld: gap.arrival_gap().unwrap_or_default(),
            served,
            is_close: served.is_some_and(is_close),
        }
    }
}

/// How long the link took for each byte.
pub(super) fn nanos_per_byte(time: Nanos, bytes: Bytes) -> f64 {
    time.get() as f64 / bytes.as_f64().max(1.0)
}

/// A dispersion as a multiple of the capacity's own.
pub(super) fn ratio(nanos_per_byte: f64, capacity: Bandwidth) -> f64 {
    nanos_per_byte * capacity.as_bps_f64() / 8.0e9
}
