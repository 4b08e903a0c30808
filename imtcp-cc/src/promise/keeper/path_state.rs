//! What the keeper sees of path and window.

use crate::control::Phase;
use crate::estimate::Estimate;
use crate::measurement::Findings;
use crate::path::PathView;
use crate::transport::Acked;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// How many acknowledgements the mean number of packets in one rests on, about.
const MEMORY: f64 = 16.0;

/// How many packets come with an acknowledgement.
///
/// All but the last of them have waited for it at the peer. They still count as in flight, and the
/// round trip, which is that of the last one, does not show it. So a window takes longer than a
/// round trip to be acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grouped {
    mean: f64,
}

impl Default for Grouped {
    fn default() -> Self {
        Self { mean: 1.0 }
    }
}

impl Grouped {
    pub(super) fn on_ack(&mut self, packets: usize) {
        self.mean += (packets as f64 - self.mean) / MEMORY;
    }

    /// The time in which a window of so many packets is acknowledged, as a multiple of the round
    /// trip: on average half of a group waits.
    fn stretch(self, window: f64) -> f64 {
        let waiting = (self.mean - 1.0).max(0.0) / 2.0;
        window / (window - waiting).max(window / 2.0)
    }
}

/// The state of the path and the window when an acknowledgement comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathState {
    pub(super) now: Timestamp,
    /// The smoothed round trip, and for as long as packets wait for their acknowledgement besides.
    pub(super) smoothed: Duration,
    /// How many packets come with an acknowledgement.
    pub(super) group: f64,
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
        grouped: Grouped,
    ) -> Self {
        let smoothed = acked.info.rtt.smoothed.max(Duration::from_nanos(1));
        let packets = window.as_f64() / path.max_datagram.as_f64().max(1.0);
        Self {
            now: acked.now,
            smoothed: smoothed.mul_f64(grouped.stretch(packets.max(1.0))),
            group: grouped.mean,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(packets: usize, window: f64) -> f64 {
        let mut grouped = Grouped::default();
        (0..200).for_each(|_| grouped.on_ack(packets));
        grouped.stretch(window)
    }

    #[test]
    fn half_of_a_group_waits_for_its_acknowledgement() {
        assert!((stretch(1, 10.0) - 1.0).abs() < 1e-4);
        // Of 8 packets the first waits for 7 others and the last for none: 3.5 of 53.5.
        assert!((stretch(8, 53.5) - 53.5 / 50.0).abs() < 1e-4);
        assert!((stretch(30, 10.0) - 2.0).abs() < 1e-4, "no more than that");
    }
}
