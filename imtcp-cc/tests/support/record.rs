//! What is kept of a run.

use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// The record of a run.
#[derive(Default)]
pub struct Tally {
    pub sent: u64,
    pub delivered: u64,
    pub lost: u64,
    pub releases: Vec<Timestamp>,
    /// The longest time for which the core held back data that the window allowed.
    pub longest_hold: Duration,
    pub longest_rtt: Duration,
    /// By how much the core moved the counter of [`super::Run::allocations`].
    pub allocations: i64,
    /// The number of calls of the core meanwhile.
    pub calls: u64,
}

/// The change of the window by an acknowledgement outside slow start.
#[derive(Clone, Copy, Debug)]
pub struct Climb {
    pub before: Bytes,
    pub after: Bytes,
    pub acked: Bytes,
    pub smoothed: Duration,
    /// The core's estimate of the available bandwidth.
    pub available: Bandwidth,
    /// The capacity that the core knows.
    pub capacity: Bandwidth,
    /// Whether the core has measured both lately, and has no lower bound in their place.
    pub is_measured: bool,
}
