//! What the keeper sees of path and window.

use crate::control::Phase;
use crate::estimate::Estimate;
use crate::measurement::Findings;
use crate::path::PathView;
use crate::transport::Acked;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// The state of the path and the window when an acknowledgement comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathState {
    pub(super) now: Timestamp,
    pub(super) smoothed: Duration,
    /// The least round trip: that of the path while its queues are empty.
    pub(super) least: Duration,
    pub(super) cwnd: Bytes,
    pub(super) in_flight: Bytes,
    /// M, the UDP payload of a full datagram, and the size of the same datagram on the wire.
    pub(super) datagram: Bytes,
    pub(super) on_wire: Bytes,
    pub(super) estimate: Option<Estimate>,
    /// The capacity on the wire, and P of PT (4), which may stand in for it where only the taking
    /// is bounded.
    pub(super) capacity: Option<Bandwidth>,
    pub(super) taking: Option<Bandwidth>,
    pub(super) slow_start: bool,
    /// The size of the datagrams that leave now, and the share of packets that were lost lately.
    pub(super) leaving: Bytes,
    pub(super) lost: f64,
}

impl PathState {
    pub(super) fn new(
        acked: &Acked<'_>,
        path: &PathView,
        findings: &Findings<'_>,
        (window, phase): (Bytes, Phase),
    ) -> Self {
        Self {
            now: acked.now,
            smoothed: acked.info.rtt.smoothed.max(Duration::from_nanos(1)),
            least: acked.info.rtt.min,
            cwnd: window,
            in_flight: acked.info.bytes_in_flight,
            datagram: path.max_datagram,
            on_wire: path.packet(),
            leaving: path.datagram,
            lost: path.lost,
            estimate: findings.estimate.copied(),
            capacity: path.shown_capacity(),
            taking: path.bound_of_taking(),
            slow_start: phase == Phase::SlowStart,
        }
    }
}
