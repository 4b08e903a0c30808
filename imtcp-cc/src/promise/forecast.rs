//! How likely a rate is achieved over a span: a predictive distribution, as plain arithmetic.
//!
//! Two things can carry a promise. What is *available* over the coming span is uncertain: the estimate
//! has an error, and the others' traffic changes; the mean over the span is taken for normal, with the
//! variance of both. Where that is not enough the promise has to *take*, and how that goes with these
//! competitors only experience tells: [`History`].
//!
//! ```text
//! P = Phi((A - r) / sigma) h_0^w + (1 - Phi(...)) h(d)^w,  d = (r - A) / (R - A),  0 where r > R
//! sigma^2 = max(e^2, D / 2 max(1, v / span))
//! ```
//!
//! e is the error of the estimate, D the mean square by which one estimate differs from the next of a
//! window of v that does not overlap: it has the variance of the one and of the other, errors and all, so
//! half of it is what the next differs by from its mean; R the reach (the ceiling's share of the capacity, or A if that
//! is more), w the share of a slot that the span is.

use super::history::History;
use crate::units::{Bandwidth, Bytes};
use std::time::Duration;

/// The standard normal quantile at which an estimate's interval ends: 95 % on two sides.
const INTERVAL_SIGMAS: f64 = 1.96;

/// Without any experience of a path its available bandwidth is taken to change by this share from
/// window to window.
const SWING_PRIOR: f64 = 0.1;
/// For how many differences that counts.
const SWING_PRIOR_WEIGHT: f64 = 2.0;
/// An old difference loses this much of its weight with each new one.
const SWING_MEMORY: f64 = 0.95;

/// What is known of a path when the future is asked for. Rates are goodput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// A: what is available.
    pub available: Bandwidth,
    /// Standard error of A.
    pub error: Bandwidth,
    /// Root of the mean square by which A differs from one averaging window to the next.
    pub swing: Bandwidth,
    /// That averaging window.
    pub window: Duration,
    /// The physical capacity, or what stands in for it.
    pub capacity: Option<Bandwidth>,
    /// The largest share of the capacity that may be reached by taking from others.
    pub ceiling: f64,
    /// What came of earlier slots.
    pub history: History,
}

impl Outlook {
    /// The most that may be had: what is available, or the ceiling's share of the capacity if that is
    /// more.
    pub fn reach(&self) -> Bandwidth {
        let ceiling = self.capacity.map(|capacity| capacity.scaled(self.ceiling));
        self.available.max(ceiling.unwrap_or(Bandwidth::ZERO))
    }

    /// The standard deviation of what is available as a mean over `span`.
    fn deviation(&self, span: Duration) -> f64 {
        let error = self.error.as_bps_f64();
        let swing = self.swing.as_bps_f64();
        // Levels last, so a longer span is not taken to smooth them.
        let shorter = self.window.as_secs_f64() / span.as_secs_f64().max(1e-9);
        let change = swing * swing / 2.0 * shorter.max(1.0);
        libm::sqrt(change.max(error * error))
    }

    /// Probability that `rate` is available as a mean over `span`, without taking from others.
    pub fn probability_available(&self, rate: Bandwidth, span: Duration) -> f64 {
        if rate.is_zero() {
            return 1.0;
        }
        if self.capacity.is_some_and(|capacity| rate > capacity) {
            return 0.0;
        }
        let above = self.available.as_bps_f64() - rate.as_bps_f64();
        let deviation = self.deviation(span);
        if deviation > 0.0 {
            normal_below(above / deviation)
        } else {
            f64::from(u8::from(above >= 0.0))
        }
    }

    /// How far into what belongs to others `rate` goes: a share of the way from A to the reach, above
    /// 1 beyond it; `None` where A is enough.
    pub fn depth(&self, rate: Bandwidth) -> Option<f64> {
        if rate <= self.available {
            return None;
        }
        let wanted = rate.saturating_sub(self.available).as_bps_f64();
        let room = self.reach().saturating_sub(self.available).as_bps_f64();
        Some(if room > 0.0 {
            wanted / room
        } else {
            f64::INFINITY
        })
    }

    /// Probability that a promise of `rate` is kept over `span`, which is `share` of a whole slot.
    pub fn probability(&self, rate: Bandwidth, span: Duration, share: f64) -> f64 {
        let share = share.clamp(0.0, 1.0);
        let enough = self.probability_available(rate, span);
        let by_chance = libm::pow(self.history.enough(), share);
        let taken = match self.depth(rate) {
            Some(depth) if depth > 1.0 => 0.0,
            depth => libm::pow(self.history.taking(depth.unwrap_or(0.0)), share),
        };
        enough * by_chance + (1.0 - enough) * taken
    }

    /// The goodput that is available within `time` with at least this probability, without taking from
    /// others; zero where nothing is that likely.
    pub fn bytes_within(&self, time: Duration, probability: f64) -> Bytes {
        let likely = |rate| self.probability_available(rate, time) >= probability;
        let mut low = 0;
        let top = self.capacity.unwrap_or_else(|| {
            let deviation = Bandwidth::from_bps_f64(self.deviation(time));
            (0..8).fold(self.available, |sum, _| sum.saturating_add(deviation))
        });
        let mut high = top.as_bps();
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

/// Phi: the probability that a standard normal variable is below `z`.
fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// Follows by how much the available bandwidth differs from one averaging window to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Swing {
    last: Option<f64>,
    square: f64,
    weight: f64,
}

impl Swing {
    /// A window ended with this mean; windows do not overlap.
    pub(super) fn on_window(&mut self, mean_bps: f64) {
        if let Some(last) = self.last.replace(mean_bps) {
            let difference = mean_bps - last;
            self.square = SWING_MEMORY * self.square + difference * difference;
            self.weight = SWING_MEMORY * self.weight + 1.0;
        }
    }

    /// Root mean square of the differences, with what is believed beforehand at a level of `mean_bps`.
    pub(super) fn get(&self, mean_bps: f64) -> f64 {
        let prior = SWING_PRIOR * mean_bps;
        libm::sqrt(
            (self.square + SWING_PRIOR_WEIGHT * prior * prior) / (self.weight + SWING_PRIOR_WEIGHT),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn outlook() -> Outlook {
        Outlook {
            available: Bandwidth::from_mbps(20),
            error: Bandwidth::from_mbps(3),
            swing: Bandwidth::from_bps(7_071_068),
            window: SECOND,
            capacity: Some(Bandwidth::from_mbps(100)),
            ceiling: 0.5,
            history: History::default(),
        }
    }

    #[test]
    fn what_is_available_is_normal_around_the_estimate() {
        let outlook = outlook();
        let p = |mbps| outlook.probability_available(Bandwidth::from_mbps(mbps), SECOND);
        // sigma = 7.07 / sqrt(2) = 5 Mbit/s: 20 is the median, 10 two sigmas below, 25 one above.
        assert!((p(20) - 0.5).abs() < 1e-12);
        assert!((p(10) - 0.977_25).abs() < 1e-5, "{}", p(10));
        assert!((p(25) - 0.158_66).abs() < 1e-5, "{}", p(25));
        assert_eq!(p(101), 0.0, "above the capacity");
        // Over a quarter of the window the swing doubles.
        let brief = outlook.probability_available(Bandwidth::from_mbps(10), SECOND / 4);
        assert!((brief - normal_below(1.0)).abs() < 1e-6, "{brief}");
        // The estimate's own error is the least.
        let steady = Outlook {
            swing: Bandwidth::ZERO,
            ..outlook
        };
        let p = steady.probability_available(Bandwidth::from_mbps(17), SECOND);
        assert!((p - normal_below(1.0)).abs() < 1e-6, "{p}");
    }

    #[test]
    fn beyond_the_available_experience_decides() {
        let mut outlook = outlook();
        let deep = Bandwidth::from_mbps(44);
        // A 20, reach 50: (44 - 20) / 30 = 0.8, the last quarter, believed at 0.3 (1 - 0.875).
        assert!((outlook.depth(deep).expect("taking") - 0.8).abs() < 1e-12);
        assert!((outlook.probability(deep, SECOND, 1.0) - 0.0375).abs() < 1e-3);
        // Twenty slots count, and two of the prior: (20 + 2 * 0.0375) / 22.
        for _ in 0..200 {
            outlook.history.add(0.0, Some(0.8), true);
        }
        assert!((outlook.probability(deep, SECOND, 1.0) - 0.9125).abs() < 1e-3);
        let beyond = Bandwidth::from_mbps(51);
        assert!(
            outlook.probability(beyond, SECOND, 1.0) < 1e-6,
            "above the ceiling"
        );
    }

    #[test]
    fn bytes_are_the_quantile() {
        // Two sigmas below 20: 10 Mbit/s with 97.7 %; in 1 s that is 1.25 MB.
        let bytes = outlook().bytes_within(SECOND, 0.977_249);
        assert!(bytes.get().abs_diff(1_250_000) < 100, "{bytes}");
        assert_eq!(outlook().bytes_within(SECOND, 1.0), Bytes::ZERO);
        assert_eq!(outlook().bytes_within(SECOND, 0.0), Bytes::new(12_500_000));
    }

    #[test]
    fn the_swing_is_learnt() {
        let mut swing = Swing::default();
        assert!((swing.get(10.0) - 1.0).abs() < 1e-12, "a tenth at first");
        for mean in [10.0, 14.0].repeat(200) {
            swing.on_window(mean);
        }
        assert!((swing.get(12.0) - 4.0).abs() < 0.2, "{}", swing.get(12.0));
    }

    proptest! {
        #[test]
        fn probabilities_are_probabilities_and_fall_with_the_rate(
            available in 0u64..200, error in 0u64..50, swing in 0u64..50, window_ms in 1u64..5000,
            capacity in proptest::option::of(1u64..200), ceiling in 0.01..=1.0,
            slots in proptest::collection::vec(
                (0.0..=1.0, proptest::option::of(0.0..2.0), any::<bool>()), 0..40,
            ),
            rates in (0u64..250, 0u64..250), span_ms in 0u64..10_000, share in 0.0..=1.0,
        ) {
            let mut outlook = Outlook {
                available: Bandwidth::from_mbps(available),
                error: Bandwidth::from_mbps(error),
                swing: Bandwidth::from_mbps(swing),
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
