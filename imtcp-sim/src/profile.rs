//! A rate over time, as a step function, with exact integer arithmetic.
//!
//! Work is counted in bit-nanoseconds: at `r` bit/s, `r` units of it pass in each nanosecond, and a
//! packet of `b` bits takes `b * 10^9` of them. Instants are whole nanoseconds; what a rounded
//! instant leaves over is handed back as a surplus instead of being lost.

use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};

/// A rate from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When the rate begins to hold.
    pub at: Timestamp,
    /// The rate from then on.
    pub rate: Bandwidth,
}

/// A piecewise-constant rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Ascending; the first is at the origin.
    steps: Vec<Step>,
}

/// The work of `bytes` in bit-nanoseconds.
pub fn work_of(bytes: Bytes) -> u64 {
    bytes.get().saturating_mul(8 * 1_000_000_000)
}

impl Profile {
    /// The same rate for ever.
    pub fn constant(rate: Bandwidth) -> Self {
        Self {
            steps: vec![Step {
                at: Timestamp::ZERO,
                rate,
            }],
        }
    }

    /// `initial`, then each step from its instant on. Steps are sorted by time.
    pub fn stepped(initial: Bandwidth, later: &[Step]) -> Self {
        let mut profile = Self::constant(initial);
        let mut later = later.to_vec();
        later.sort_by_key(|step| step.at);
        for step in later {
            profile.set_from(step);
        }
        profile
    }

    fn set_from(&mut self, step: Step) {
        match self.steps.last_mut() {
            Some(last) if last.at == step.at => last.rate = step.rate,
            _ => self.steps.push(step),
        }
    }

    /// The same rates inside [start, stop), zero outside.
    #[must_use]
    pub fn within(&self, start: Timestamp, stop: Timestamp) -> Self {
        let mut clipped = Self::constant(Bandwidth::ZERO);
        clipped.set_from(Step {
            at: start,
            rate: self.rate_at(start),
        });
        for step in self.steps.iter().filter(|s| s.at > start && s.at < stop) {
            clipped.set_from(*step);
        }
        if stop > start {
            clipped.set_from(Step {
                at: stop,
                rate: Bandwidth::ZERO,
            });
        }
        clipped
    }

    /// The same rates, but none above `limit`.
    #[must_use]
    pub fn capped(&self, limit: Bandwidth) -> Self {
        let cap = |step: &Step| Step {
            at: step.at,
            rate: step.rate.min(limit),
        };
        Self {
            steps: self.steps.iter().map(cap).collect(),
        }
    }

    /// Every rate times a ratio.
    #[must_use]
    pub fn scaled(&self, ratio: f64) -> Self {
        let scale = |step: &Step| Step {
            at: step.at,
            rate: step.rate.scaled(ratio),
        };
        Self {
            steps: self.steps.iter().map(scale).collect(),
        }
    }

    /// The steps, ascending, the first at the origin.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The rate that holds at `at`.
    pub fn rate_at(&self, at: Timestamp) -> Bandwidth {
        self.steps[self.segment(at)].rate
    }

    /// The work that passes between two instants.
    pub fn work_between(&self, from: Timestamp, to: Timestamp) -> u64 {
        let mut work = 0u64;
        let mut at = from;
        for index in self.segment(from)..self.steps.len() {
            if at >= to {
                break;
            }
            let end = self.segment_end(index).min(to);
            work = work.saturating_add(self.segment_work(index, at, end));
            at = end;
        }
        work
    }

    /// The first nanosecond by which `work` has passed since `from`, and the surplus that passed
    /// beyond it by then; `None` if it never does because the rate stays zero. While the rate is
    /// zero nothing passes, even where no work is left.
    pub fn when(&self, from: Timestamp, work: u64) -> Option<(Timestamp, u64)> {
        let mut left = work;
        let mut at = from;
        for index in self.segment(from)..self.steps.len() {
            let end = self.segment_end(index);
            let possible = self.segment_work(index, at, end);
            if left <= possible && !self.steps[index].rate.is_zero() {
                return Some(self.finish(index, at, left));
            }
            left -= possible;
            at = end;
        }
        None
    }

    fn finish(&self, index: usize, at: Timestamp, work: u64) -> (Timestamp, u64) {
        let rate = self.steps[index].rate.as_bps().max(1);
        let nanos = work.div_ceil(rate);
        let done = Timestamp::from_nanos(at.as_nanos().saturating_add(nanos));
        (done, nanos.saturating_mul(rate) - work)
    }

    fn segment(&self, at: Timestamp) -> usize {
        self.steps.partition_point(|step| step.at <= at) - 1
    }

    fn segment_end(&self, index: usize) -> Timestamp {
        let far = Timestamp::from_nanos(u64::MAX);
        self.steps.get(index + 1).map_or(far, |next| next.at)
    }

    fn segment_work(&self, index: usize, from: Timestamp, to: Timestamp) -> u64 {
        let nanos = to.as_nanos().saturating_sub(from.as_nanos());
        self.steps[index].rate.as_bps().saturating_mul(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at_ms(ms: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_millis(ms))
    }

    fn mbps(rate: u64) -> Bandwidth {
        Bandwidth::from_mbps(rate)
    }

    #[test]
    fn a_packet_takes_its_serialisation_time_from_any_instant() {
        // 1250 bytes are 10^4 bits: 1 ms at 10 Mbit/s.
        let profile = Profile::constant(mbps(10));
        let work = work_of(Bytes::new(1250));
        assert_eq!(profile.when(at_ms(3), work), Some((at_ms(4), 0)));
    }

    #[test]
    fn the_surplus_of_a_rounded_instant_is_handed_back() {
        // 1500 bytes at 7 Mbit/s take 1 714 285.71 ns: seven of them exactly 12 ms.
        let profile = Profile::constant(mbps(7));
        let work = work_of(Bytes::new(1500));
        let (mut at, mut surplus) = (Timestamp::ZERO, 0);
        for _ in 0..7 {
            (at, surplus) = profile
                .when(at, work - surplus)
                .expect("the rate is not zero");
        }
        assert_eq!((at, surplus), (at_ms(12), 0));
    }

    #[test]
    fn a_rate_step_inside_a_packet_changes_its_rest_only() {
        // Half of the packet passes in 0.5 ms at 10 Mbit/s, the rest takes 1 ms at 5 Mbit/s.
        let half = Timestamp::from_origin(Duration::from_micros(500));
        let step = Step {
            at: half,
            rate: mbps(5),
        };
        let profile = Profile::stepped(mbps(10), &[step]);
        let end = Timestamp::from_origin(Duration::from_micros(1500));
        let work = work_of(Bytes::new(1250));
        assert_eq!(profile.when(Timestamp::ZERO, work), Some((end, 0)));
        assert_eq!(profile.work_between(Timestamp::ZERO, end), work);
    }

    #[test]
    fn a_rate_of_zero_waits_for_the_next_step_or_for_ever() {
        let profile = Profile::constant(mbps(10)).within(at_ms(5), at_ms(6));
        let work = work_of(Bytes::new(1250));
        assert_eq!(profile.when(Timestamp::ZERO, work), Some((at_ms(6), 0)));
        assert_eq!(profile.when(Timestamp::ZERO, work + 1), None);
        assert_eq!(profile.when(Timestamp::ZERO, 0), Some((at_ms(5), 0)));
        assert_eq!(profile.when(at_ms(7), 0), None);
    }
}
