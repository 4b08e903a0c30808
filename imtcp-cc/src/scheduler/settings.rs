//! What the scheduler is told when a path begins.

use std::time::Duration;

/// How many packets must be ready before a stream starts (IM 3.4.1, the paper's m).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTarget {
    /// m starts at N, the number of packets of a stream. It falls by one after two measurements in
    /// a row that succeed, and rises by one when a stream cannot be completed.
    Dynamic,
    /// m is always this many packets.
    Fixed(u32),
}

/// How long packets may wait for a stream to fill (IM 3.4.2, the paper's T).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTimer {
    /// T = (M / A)(N - 1) + 4 D_RTT, in nanoseconds: M is the packet size, A the available
    /// bandwidth, N the number of packets of a stream, D_RTT the mean deviation of the round trip.
    Adaptive,
    /// T is always this long.
    Fixed(Duration),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SchedulerSettings {
    /// Whether anything is measured at all.
    pub(crate) measurement: bool,
    /// The default estimator reads any packet: it lives on trains, measures no more often than a
    /// small window bears, and only watches a transfer that its window limits. The paper's own
    /// driver lives on streams alone.
    pub(crate) reads_all_packets: bool,
    /// N.
    pub(crate) stream_packets: u32,
    /// k.
    pub(crate) sub_ranges: u32,
    pub(crate) store_target: StoreTarget,
    pub(crate) store_timer: StoreTimer,
    pub(crate) measurement_interval_rtts: u32,
    /// The longest that a packet may be held back for measuring.
    pub(crate) longest_hold: Duration,
    /// Whether the peer is asked about its acknowledgements.
    pub(crate) ack_frequency: bool,
}
