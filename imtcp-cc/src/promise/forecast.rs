//! The probability that a rate is achieved over a span: a predictive distribution, as plain
//! arithmetic.
//!
//! Two things can carry a promise. The first is what is *available* over the coming span. It is
//! uncertain: the estimate has an error, and the others' traffic changes ([`Changes`]). If it is
//! not enough, the promise has to *take* from others. Only experience shows whether these
//! competitors yield ([`History`]).
//!
//! ```text
//! P = q h_0^w + (1 - q) h(d)^w,  q = P(u A' >= r),  d = (r - A) / (R - A)
//! P = 0 where r > C
//! ```
//!
//! P is the probability that the promise is kept, r the required rate and A the available
//! bandwidth as estimated. A' is the available bandwidth of the coming span, and u the share of it
//! that a window carries. C is the capacity, and R the ceiling's share of it: no more is taken from
//! others. w is the share of a slot that the span is. h_0 is the share of slots kept without
//! taking, and h(d) the share kept at the depth d.

use super::changes::Changes;
use super::history::History;
use crate::units::{Bandwidth, Bytes};
use std::time::Duration;

/// The standard normal quantile at which an estimate's interval ends: 95 % on two sides.
const INTERVAL_SIGMAS: f64 = 1.96;

/// u, the share of the available bandwidth that a window carries. Such a window answers losses and
/// has to find the gaps of others. If a slot requires between 0.95 and 1 of what is available, it
/// is kept with 0.6, where the estimate alone would say 0.8
/// (`imtcp-sim calibrate --seeds 1..300`).
const USABLE: f64 = 0.95;

/// The knowledge of a path at the time of a question about the future. Rates are goodput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// A, the available bandwidth as estimated, in bits of goodput per second.
    pub available: Bandwidth,
    /// The standard error of A, in bits of goodput per second.
    pub error: Bandwidth,
    /// The differences of A from one averaging window to the next.
    pub changes: Changes,
    /// The length of that averaging window.
    pub window: Duration,
    /// The physical capacity, or what stands in for it.
    pub capacity: Option<Bandwidth>,
    /// The largest share of the capacity that may be reached by taking from others.
    pub ceiling: f64,
    /// The outcomes of earlier slots.
    pub history: History,
}

impl Outlook {
    /// The largest rate that may be reached: what is available, or the most that may be taken from
    /// others if that is more.
    pub fn reach(&self) -> Bandwidth {
        self.available.max(self.most_taken())
    }

    /// R, the largest rate that may be reached by taking from others: the ceiling's share of the
    /// capacity. Without a capacity it is the largest rate that is believed in.
    fn most_taken(&self) -> Bandwidth {
        match self.capacity {
            Some(capacity) => capacity.scaled(self.ceiling),
            None => self.top(),
        }
    }

    /// The largest rate that is believed in: the capacity, and without one twice what is
    /// available, and the error of that.
    fn top(&self) -> Bandwidth {
        self.capacity.unwrap_or_else(|| {
            let twice = self.available.saturating_add(self.available);
            twice.saturating_add(self.error)
        })
    }

    /// Probability that `rate` is available as a mean over `span`, without taking from others.
    pub fn probability_available(&self, rate: Bandwidth, span: Duration) -> f64 {
        if rate.is_zero() {
            return 1.0;
        }
        if self.capacity.is_some_and(|capacity| rate > capacity) {
            return 0.0;
        }
        let usable = (self.available.scaled(USABLE), self.error);
        self.changes
            .probability_above(rate, usable, (self.window, span))
    }

    /// d, how far `rate` goes into what belongs to others if not all of it turns out to be
    /// available: as a share of the way from A to R. It is 0 up to A, and infinite above R.
    pub fn depth(&self, rate: Bandwidth) -> f64 {
        let most = self.most_taken();
        if rate > most {
            f64::INFINITY
        } else if rate <= self.available {
            0.0
        } else {
            let wanted = rate.saturating_sub(self.available).as_bps_f64();
            wanted / most.saturating_sub(self.available).as_bps_f64()
        }
    }

    /// Probability that a promise of `rate` is kept over `span`, which is `share` of a whole slot.
    pub fn probability(&self, rate: Bandwidth, span: Duration, share: f64) -> f64 {
        let share = share.clamp(0.0, 1.0);
        let enough = self.probability_available(rate, span);
        let by_chance = libm::pow(self.history.enough(), share);
        let taken = if self.capacity.is_some_and(|capacity| rate > capacity) {
            0.0
        } else {
            libm::pow(self.history.taking(self.depth(rate)), share)
        };
        enough * by_chance + (1.0 - enough) * taken
    }

    /// The goodput that is available within `time` with at least this probability, without taking
    /// from others. It is zero if nothing is that likely.
    pub fn bytes_within(&self, time: Duration, probability: f64) -> Bytes {
        let likely = |rate| self.probability_available(rate, time) >= probability;
        let mut low = 0;
        let mut high = self.top().as_bps();
        if likely(Bandwidth::from_bps(high)) {
            low = high;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if likely(Bandwidth::from_bps(middle)) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Bandwidth::from_bps(low).bytes_in(time)
    }
}

/// The standard error of an estimate with this 95 % interval.
pub(super) fn error_of(low: Bandwidth, high: Bandwidth) -> Bandwidth {
    high.saturating_sub(low).scaled(0.5 / INTERVAL_SIGMAS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn outlook() -> Outlook {
        Outlook {
            available: Bandwidth::from_mbps(20),
            error: Bandwidth::from_mbps(2),
            changes: Changes::default(),
            window: SECOND,
            capacity: Some(Bandwidth::from_mbps(100)),
            ceiling: 0.5,
            history: History::default(),
        }
    }

    #[test]
    fn of_what_is_available_most_can_be_used() {
        let outlook = outlook();
        let p = |mbps| outlook.probability_available(Bandwidth::from_mbps(mbps), SECOND);
        // 0.95 of 20 is the median, and two sigmas below it 0.97725.
        assert!((p(19) - 0.5).abs() < 1e-12);
        assert!((p(15) - 0.977_25).abs() < 1e-5, "{}", p(15));
        assert_eq!(p(0), 1.0);
        assert_eq!(p(101), 0.0, "above the capacity");
    }

    #[test]
    fn beyond_the_available_experience_decides() {
        let mut outlook = outlook();
        let deep = Bandwidth::from_mbps(44);
        // A 20, reach 50: (44 - 20) / 30 = 0.8, the last quarter: 0.98 (1 - 0.875^2 / 2).
        assert!((outlook.depth(deep) - 0.8).abs() < 1e-12);
        assert!((outlook.probability(deep, SECOND, 1.0) - 0.604_84).abs() < 1e-3);
        // Twenty slots count, and half of one of the prior: (20 + 0.605 / 2) / 20.5.
        for _ in 0..200 {
            outlook.history.add(0.0, 0.8, true);
        }
        assert!((outlook.probability(deep, SECOND, 1.0) - 0.990_36).abs() < 1e-3);
        // Above the ceiling the experience of the deepest quarter counts, too: the capacity, of
        // which the ceiling is a share, may be known badly.
        let beyond = Bandwidth::from_mbps(51);
        assert!((outlook.probability(beyond, SECOND, 1.0) - 0.990_36).abs() < 1e-3);
        let fresh = self::outlook();
        assert!((fresh.probability(beyond, SECOND, 1.0) - 0.604_84).abs() < 1e-3);
    }

    #[test]
    fn without_a_capacity_a_little_more_than_is_available_is_not_deep() {
        let unknown = Outlook {
            capacity: None,
            ..outlook()
        };
        // Twice 20, and an error of 2: (21 - 20) / (42 - 20).
        assert_eq!(unknown.reach(), Bandwidth::from_mbps(42));
        let depth = unknown.depth(Bandwidth::from_mbps(21));
        assert!((depth - 1.0 / 22.0).abs() < 1e-12);
    }

    #[test]
    fn what_must_not_be_taken_is_deep_even_while_it_is_available() {
        // 60 are available, and 50 the most that may be taken: 55 are lost once 54 are available.
        let ample = Outlook {
            available: Bandwidth::from_mbps(60),
            ..outlook()
        };
        assert_eq!(ample.depth(Bandwidth::from_mbps(45)), 0.0);
        assert_eq!(ample.depth(Bandwidth::from_mbps(55)), f64::INFINITY);
    }

    #[test]
    fn bytes_are_the_quantile() {
        // Two sigmas below 19: 15 Mbit/s with 97.7 %; in 1 s that is 1.875 MB.
        let bytes = outlook().bytes_within(SECOND, 0.977_249);
        assert!(bytes.get().abs_diff(1_875_000) < 100, "{bytes}");
        assert_eq!(outlook().bytes_within(SECOND, 0.0), Bytes::new(12_500_000));
        let unknown = Outlook {
            capacity: None,
            ..outlook()
        };
        assert_eq!(unknown.bytes_within(SECOND, 0.977_249), bytes);
    }

    proptest! {
        #[test]
        fn probabilities_are_probabilities_and_fall_with_the_rate(
            available in 0u64..200, error in 0u64..50, change in 0u64..50, window_ms in 1u64..5000,
            capacity in proptest::option::of(1u64..200), ceiling in 0.01..=1.0,
            slots in proptest::collection::vec(
                (0.0..=1.0, 0.0..2.0, any::<bool>()), 0..40,
            ),
            rates in (0u64..250, 0u64..250), span_ms in 0u64..10_000, share in 0.0..=1.0,
        ) {
            let mut changes = Changes::default();
            changes.add(Bandwidth::from_mbps(change));
            let mut outlook = Outlook {
                available: Bandwidth::from_mbps(available),
                error: Bandwidth::from_mbps(error),
                changes,
                window: Duration::from_millis(window_ms),
                capacity: capacity.map(Bandwidth::from_mbps),
                ceiling,
                history: History::default(),
            };
            for (enough, depth, kept) in slots {
                outlook.history.add(enough, depth, kept);
            }
            let span = Duration::from_millis(span_ms);
            let p = |mbps| outlook.probability(Bandwidth::from_mbps(mbps), span, share);
            let (less, more) = (rates.0.min(rates.1), rates.0.max(rates.1));
            prop_assert!((0.0..=1.0).contains(&p(less)) && (0.0..=1.0).contains(&p(more)));
            prop_assert!(p(less) >= p(more) - 1e-9, "{} at {less}, {} at {more}", p(less), p(more));
        }
    }
}
