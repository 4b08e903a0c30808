//! The estimate if the way back sets the echoes' time. It rests on the rate that got through when
//! the path carried no more.
//!
//! A sender that meets congestion has just sent as much as was available. So the upper end of the
//! recently delivered rates is the available bandwidth, if the sender recently met congestion. If
//! it did not, nobody can tell how much more is available, and there is no estimate.

use crate::estimate::{Estimate, Flags};
use crate::path::ack::EchoGap;
use crate::units::{Bandwidth, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// The time that the estimate looks back on: the time between two losses of a flow that recovers
/// slowly.
const WINDOW: Duration = Duration::from_secs(10);

/// The shortest sample, as a time and as a multiple of the echoes' jitter.
const SHORTEST_SAMPLE: Duration = Duration::from_millis(100);
const JITTERS: u32 = 16;

/// The least share by which the value may be too low: the delivered rate includes the time after
/// the loss.
const DOUBT: f64 = 0.04;

/// The largest number of samples in the window, and the fewest that make an estimate.
const MOST: usize = 128;
const FEWEST: usize = 10;

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Timestamp,
    bps: f64,
}

/// Follows the delivered rate.
#[derive(Debug)]
pub(super) struct Peak {
    samples: VecDeque<Sample>,
    scratch: Vec<f64>,
    own_bits: f64,
    sent_s: f64,
    arrived_s: f64,
    congested: Option<Timestamp>,
}

impl Peak {
    pub(super) fn new() -> Self {
        Self {
            samples: VecDeque::with_capacity(MOST),
            scratch: Vec::with_capacity(MOST),
            own_bits: 0.0,
            sent_s: 0.0,
            arrived_s: 0.0,
            congested: None,
        }
    }

    /// Forgets the delivered rates. The time of the last congestion stays known.
    pub(super) fn clear(&mut self) {
        self.samples.clear();
        (self.own_bits, self.sent_s, self.arrived_s) = (0.0, 0.0, 0.0);
    }

    /// The path could not carry what was sent.
    pub(super) fn on_congestion(&mut self, now: Timestamp) {
        self.congested = Some(now);
    }

    /// Whether the path was full recently.
    pub(super) fn met_congestion(&self, now: Timestamp) -> bool {
        let congested = self.congested;
        congested.is_some_and(|at| now.saturating_since(at) <= WINDOW)
    }

    pub(super) fn on_gap(&mut self, gap: &EchoGap, jitter: Duration) {
        let Some(arrived) = gap.arrival_gap() else {
            return;
        };
        self.own_bits += gap.bytes.as_bits_f64();
        self.sent_s += gap.sent_gap().as_secs_f64();
        self.arrived_s += arrived.as_secs_f64();
        // Packets that only joined the queue in between did not get through.
        let time = self.sent_s.max(self.arrived_s);
        if time < SHORTEST_SAMPLE.max(jitter * JITTERS).as_secs_f64() {
            return;
        }
        if self.samples.len() == MOST {
            self.samples.pop_front();
        }
        self.samples.push_back(Sample {
            at: gap.to.arrived,
            bps: self.own_bits / time,
        });
        (self.own_bits, self.sent_s, self.arrived_s) = (0.0, 0.0, 0.0);
    }

    /// The 0.9 quantile of the delivered rates, with the median and the greatest as its interval.
    pub(super) fn estimate(&mut self, now: Timestamp, capacity: Bandwidth) -> Option<Estimate> {
        while self
            .samples
            .front()
            .is_some_and(|oldest| now.saturating_since(oldest.at) > WINDOW)
        {
            self.samples.pop_front();
        }
        if !self.met_congestion(now) || self.samples.len() < FEWEST {
            return None;
        }
        let first = self.samples.front()?.at;
        self.scratch.clear();
        self.scratch.extend(self.samples.iter().map(|s| s.bps));
        self.scratch.sort_unstable_by(f64::total_cmp);
        let count = self.scratch.len();
        let at = |tenths: usize| Bandwidth::from_bps_f64(self.scratch[(count - 1) * tenths / 10]);
        let newest = self.samples.back()?.at;
        Some(Estimate {
            // The peer's clock may be a little ahead of ours.
            at: newest.min(now),
            available: at(9).min(capacity),
            low: at(5).min(capacity),
            high: at(10).max(at(9).scaled(1.0 + DOUBT)),
            window: newest.saturating_since(first),
            flags: Flags {
                aggregated_acks: true,
                ..Flags::default()
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::ack::{EchoPoint, LinkState};
    use crate::units::Bytes;

    /// 100 packets of 1250 bytes in 100 ms, 10 Mbit/s, as one gap.
    fn gap(n: u64) -> EchoGap {
        let point = |at: u64| EchoPoint {
            number: at,
            size: Bytes::new(1250),
            sent: Timestamp::from_origin(Duration::from_millis(at)),
            arrived: Timestamp::from_origin(Duration::from_millis(at + 20)),
            came: Timestamp::from_origin(Duration::from_millis(at + 20)),
        };
        EchoGap {
            from: point(n * 100),
            to: point(n * 100 + 100),
            bytes: Bytes::new(125_000),
            packets: 100,
            waited: Duration::ZERO,
            link: LinkState::Unknown,
        }
    }

    #[test]
    fn nothing_is_said_without_congestion() {
        let mut peak = Peak::new();
        let capacity = Bandwidth::from_mbps(50);
        (0..50).for_each(|n| peak.on_gap(&gap(n), Duration::ZERO));
        let now = Timestamp::from_origin(Duration::from_secs(5));
        assert_eq!(peak.estimate(now, capacity), None);
        peak.on_congestion(now);
        let estimate = peak.estimate(now, capacity).unwrap();
        assert_eq!(estimate.available, Bandwidth::from_mbps(10));
        let later = now + Duration::from_secs(11);
        assert_eq!(peak.estimate(later, capacity), None);
    }

    #[test]
    fn an_arrival_on_a_clock_ahead_of_ours_makes_no_estimate_of_the_future() {
        let mut peak = Peak::new();
        (0..50).for_each(|n| peak.on_gap(&gap(n), Duration::ZERO));
        // The last echo came at 5.02 s, by the peer's clock.
        let now = Timestamp::from_origin(Duration::from_secs(5));
        peak.on_congestion(now);
        let estimate = peak.estimate(now, Bandwidth::from_mbps(50)).unwrap();
        assert_eq!(estimate.at, now);
    }
}
