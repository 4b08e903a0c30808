//! Evaluation slots and control slots: the data that is due in them, and the data that came (PT
//! II-A).

use super::requirement::{FEWEST_ROUND_TRIPS, Requirement};
use super::status::Outcome;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// An evaluation slot, which is one period of the requirement.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvaluationSlot {
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    /// The goodput delivered in it.
    pub(super) achieved: Bytes,
    /// How long data waited in it to be sent.
    pub(super) wanting: Duration,
}

impl EvaluationSlot {
    pub(super) fn new(start: Timestamp, requirement: &Requirement) -> Self {
        Self {
            start,
            end: start + requirement.per(),
            achieved: Bytes::ZERO,
            wanting: Duration::ZERO,
        }
    }

    /// The goodput that the whole slot has to deliver.
    pub(super) fn due(requirement: &Requirement) -> Bytes {
        requirement.rate().bytes_in(requirement.per())
    }

    /// The outcome of the slot. A source that had nothing to send for part of it can claim the
    /// rate only for the rest. What it wrote in the last round trip cannot have been acknowledged,
    /// and is left out, too.
    pub(super) fn outcome(&self, requirement: &Requirement, smoothed_rtt: Duration) -> Outcome {
        if self.achieved >= Self::due(requirement) {
            return Outcome::Kept;
        }
        let length = self.end.saturating_since(self.start);
        let claim = self.wanting.saturating_sub(smoothed_rtt);
        // A source that never pauses for a round trip or more does not limit the slot. One that has
        // nothing to send limits it, however short the slot is.
        let pauses = self.wanting.is_zero() || self.wanting + smoothed_rtt < length;
        if pauses && self.achieved >= requirement.rate().bytes_in(claim) {
            return Outcome::SourceLimited;
        }
        Outcome::Missed
    }

    pub(super) fn achieved_rate(&self) -> Bandwidth {
        let length = self.end.saturating_since(self.start);
        Bandwidth::from_bytes_over(self.achieved, length).unwrap_or(Bandwidth::ZERO)
    }
}

/// A control slot: a stretch of a few round trips with a target of its own. Packets are full
/// datagrams.
#[derive(Clone, Copy, Debug)]
pub(super) struct ControlSlot {
    pub(super) start: Timestamp,
    /// srtt_i: the smoothed round trip when the slot began.
    pub(super) srtt: Duration,
    /// s, the length of the slot in round trips.
    pub(super) length: u32,
    /// g_i, the target of the slot, in packets per second.
    pub(super) target: f64,
    /// Whether slow start was over when the slot began. If so, the slot could be steered to its
    /// target.
    pub(super) steered: bool,
    /// The number of packets delivered in it.
    pub(super) achieved: f64,
    /// How long data waited in it to be sent.
    pub(super) wanting: Duration,
}

impl ControlSlot {
    pub(super) fn new(start: Timestamp, srtt: Duration, length: u32, target: f64) -> Self {
        Self {
            start,
            srtt,
            length,
            target,
            steered: true,
            achieved: 0.0,
            wanting: Duration::ZERO,
        }
    }

    pub(super) fn end(&self) -> Timestamp {
        self.start + self.srtt.saturating_mul(self.length)
    }

    /// n_j: the number of round trips since the slot began, from 0.
    pub(super) fn round(&self, now: Timestamp) -> u32 {
        rounds(now.saturating_since(self.start), self.srtt)
    }

    /// g_i srtt_i s: the number of packets that the slot has to deliver.
    pub(super) fn due(&self) -> f64 {
        self.target * self.seconds()
    }

    fn seconds(&self) -> f64 {
        self.srtt.as_secs_f64() * f64::from(self.length)
    }

    /// tput_i: the rate that the slot delivered over `lasted`, in packets per second.
    pub(super) fn throughput(&self, lasted: Duration) -> f64 {
        self.achieved / lasted.as_secs_f64().max(1e-9)
    }

    /// g_i - tput_i: the rate that the slot lacks, in packets per second; negative if it delivered
    /// more than its target. Data that the source did not offer is not lacking. A slot ends with
    /// an acknowledgement, later than planned. For the additional time `bw` is due, and not the
    /// target, which may be many times `bw`. If the source paused, what lacked before is still
    /// lacking.
    pub(super) fn lacking(&self, lasted: Duration, bw: f64) -> f64 {
        let seconds = lasted.as_secs_f64().max(1e-9);
        let carried = (self.target - bw) * self.seconds().min(seconds);
        let lacks = carried + bw * seconds - self.achieved;
        if self.wanting + self.srtt < lasted {
            let offered = carried + bw * self.wanting.as_secs_f64() - self.achieved;
            return lacks.min(offered.max(0.0)) / seconds;
        }
        lacks / seconds
    }
}

/// g_i = bw + (g_{i-1} - tput_{i-1}) of PT II-A, the next target in packets per second. The
/// difference is carried over as packets: if two control slots are not equally long, the next one
/// has to make up for packets. For equal lengths this is the formula as printed. A target is never
/// below zero.
pub(super) fn next_target(bw: f64, lacking: f64, lasted: Duration, next: Duration) -> f64 {
    let carried = lacking * lasted.as_secs_f64() / next.as_secs_f64().max(1e-9);
    (bw + carried).max(0.0)
}

/// The number of whole round trips in a span.
pub(super) fn rounds(span: Duration, srtt: Duration) -> u32 {
    let count = span.as_nanos() / srtt.as_nanos().max(1);
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The number of round trips that a span covers, of which the last one may be incomplete.
pub(super) fn rounds_up(span: Duration, srtt: Duration) -> u32 {
    let count = span.as_nanos().div_ceil(srtt.as_nanos().max(1));
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// e: the number of round trips in an evaluation slot, at least two.
pub(super) fn evaluation_rounds(per: Duration, srtt: Duration) -> u32 {
    rounds(per, srtt).max(FEWEST_ROUND_TRIPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn requirement() -> Requirement {
        Requirement::new(Bandwidth::from_mbps(8), Duration::from_secs(2)).expect("possible")
    }

    #[test]
    fn targets_make_up_for_what_is_lacking() {
        // bw 1000, g 1000, tput 900 over 1.6 s: 160 packets. Next slot as long: 1100; half as long:
        // 1200.
        let slot = Duration::from_millis(1600);
        assert!((next_target(1000.0, 100.0, slot, slot) - 1100.0).abs() < 1e-9);
        assert!((next_target(1000.0, 100.0, slot, slot / 2) - 1200.0).abs() < 1e-9);
        assert!((next_target(1000.0, -300.0, slot, slot) - 700.0).abs() < 1e-9);
        assert_eq!(next_target(1000.0, -3000.0, slot, slot), 0.0);
    }

    #[test]
    fn a_control_slot_counts_its_round_trips_and_packets() {
        let mut slot = ControlSlot::new(Timestamp::ZERO, RTT, 16, 1000.0);
        let lasted = 16 * RTT;
        assert_eq!(slot.end(), Timestamp::from_origin(lasted));
        assert_eq!(slot.round(Timestamp::from_origin(RTT * 7 + RTT / 2)), 7);
        assert_eq!(rounds_up(RTT * 7 + RTT / 3, RTT), 8);
        assert!((slot.due() - 1600.0).abs() < 1e-9);
        slot.achieved = 1440.0;
        slot.wanting = lasted;
        assert!((slot.lacking(lasted, 1000.0) - 100.0).abs() < 1e-9);
        // The source had data for half of the time: 500 were wanted, 900 came; nothing lacks.
        slot.wanting = lasted / 2;
        assert_eq!(slot.lacking(lasted, 1000.0), 0.0);
        // With 200 packets to make up for, 1000 were wanted: 100 lack over 1.6 s, though the source
        // paused.
        slot.target = 1125.0;
        slot.achieved = 900.0;
        assert!((slot.lacking(lasted, 1000.0) * 1.6 - 100.0).abs() < 1e-9);
    }

    #[test]
    fn what_a_late_end_adds_is_due_at_the_rate_and_not_at_the_target() {
        // 4000/s for two round trips, to make up for 600 packets; it ends half a round trip late.
        let mut slot = ControlSlot::new(Timestamp::ZERO, RTT, 2, 4000.0);
        let lasted = RTT * 5 / 2;
        slot.achieved = 300.0;
        slot.wanting = lasted;
        // 800 + 50 - 300 packets lack, and not 1000 - 300.
        assert!((slot.lacking(lasted, 1000.0) * 0.25 - 550.0).abs() < 1e-9);
        // One that ends early, with its evaluation slot, lacks what was due by then.
        slot.wanting = RTT;
        assert!((slot.lacking(RTT, 1000.0) * 0.1 - 100.0).abs() < 1e-9);
    }

    #[test]
    fn outcomes() {
        let requirement = requirement();
        let mut slot = EvaluationSlot::new(Timestamp::ZERO, &requirement);
        assert_eq!(EvaluationSlot::due(&requirement), Bytes::new(2_000_000));
        slot.wanting = Duration::from_secs(2);
        slot.achieved = Bytes::new(2_000_000);
        assert_eq!(slot.outcome(&requirement, RTT), Outcome::Kept);
        slot.achieved = Bytes::new(1_999_999);
        assert_eq!(slot.outcome(&requirement, RTT), Outcome::Missed);
        // Data for 1.1 s less a round trip: 1 MB could be claimed.
        slot.wanting = Duration::from_millis(1100);
        slot.achieved = Bytes::new(1_000_000);
        assert_eq!(slot.outcome(&requirement, RTT), Outcome::SourceLimited);
        slot.achieved = Bytes::new(999_999);
        assert_eq!(slot.outcome(&requirement, RTT), Outcome::Missed);
        // A source without any data misses nothing.
        slot.wanting = Duration::ZERO;
        slot.achieved = Bytes::ZERO;
        assert_eq!(slot.outcome(&requirement, RTT), Outcome::SourceLimited);
        // Nor does it where the round trip is as long as the slot.
        let longer = Duration::from_secs(2);
        assert_eq!(slot.outcome(&requirement, longer), Outcome::SourceLimited);
        slot.wanting = Duration::from_millis(1);
        assert_eq!(slot.outcome(&requirement, longer), Outcome::Missed);
    }
}
