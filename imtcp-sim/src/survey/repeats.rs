//! Runs the same path many times, each begun at another instant, to tell a difference from chance.
//!
//! Flows that compete for a queue amplify the smallest difference. Of two runs that differ by a
//! millisecond, one may carry twice as much as the other. There one pair of runs proves nothing.

use super::compare::Outcome;
use serde::Serialize;

/// A difference of less than this many standard errors may be chance.
const ERRORS: f64 = 2.0;

/// Means over pairs of runs, the first pair included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Repeats {
    /// How many pairs.
    pub pairs: usize,
    /// Mean goodput as a share of the mean without measuring.
    pub goodput: Mean,
    /// By how much the 95th percentile of ages is above that without measuring, in ms.
    pub age_above_ms: Mean,
}

/// A mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

impl Repeats {
    /// `pairs` are runs with measuring and without.
    pub(super) fn of(pairs: &[(Outcome, Outcome)]) -> Self {
        let of = |value: fn(&Outcome) -> Option<f64>| {
            let measuring = pairs.iter().filter_map(|(one, _)| value(one));
            let not_measuring = pairs.iter().filter_map(|(_, other)| value(other));
            (Mean::of(measuring), Mean::of(not_measuring))
        };
        let (one, other) = of(|outcome| Some(outcome.goodput_bps));
        let (age, other_age) = of(|outcome| outcome.age_p95_ms);
        let base = other.mean.max(1.0);
        Self {
            pairs: pairs.len(),
            goodput: Mean {
                mean: one.mean / base,
                error: libm::hypot(one.error, other.error) / base,
            },
            age_above_ms: Mean {
                mean: age.mean - other_age.mean,
                error: libm::hypot(age.error, other_age.error),
            },
        }
    }

    /// The goodput is below `bar_share`, and chance does not make it so.
    pub(super) fn has_less_than(&self, bar_share: f64) -> bool {
        let Mean { mean, error } = self.goodput;
        mean < bar_share && mean + ERRORS * error < 1.0
    }

    /// The data is older than without measuring by more than `bar_ms`, and chance does not make it
    /// so.
    pub(super) fn is_older_by_more_than(&self, bar_ms: f64) -> bool {
        let Mean { mean, error } = self.age_above_ms;
        mean > bar_ms && mean - ERRORS * error > 0.0
    }
}

impl Mean {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean) * (value - mean));
        let variance = squares.sum::<f64>() / (count - 1.0).max(1.0);
        Self {
            mean,
            error: libm::sqrt(variance / count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(goodput_bps: f64, age_ms: f64) -> Outcome {
        Outcome {
            goodput_bps,
            sent_packets: 0,
            lost_packets: 0,
            age_p95_ms: Some(age_ms),
            age_max_ms: None,
            waits: Vec::new(),
        }
    }

    #[test]
    fn the_same_difference_is_one_where_runs_agree_and_chance_where_they_do_not() {
        let pairs = |spread: f64| -> Vec<_> {
            let signs = [-1.0, 1.0, -1.0, 1.0].into_iter();
            signs
                .map(|sign| {
                    let other = outcome(10e6 + sign * spread, 50.0 - sign * spread / 1e5);
                    (
                        outcome(9e6 + sign * spread, 70.0 + sign * spread / 1e5),
                        other,
                    )
                })
                .collect()
        };
        let agree = Repeats::of(&pairs(0.1e6));
        assert!((agree.goodput.mean - 0.9).abs() < 1e-9, "{agree:?}");
        assert!((agree.age_above_ms.mean - 20.0).abs() < 1e-9, "{agree:?}");
        assert!(agree.has_less_than(0.97) && agree.is_older_by_more_than(10.0));
        assert!(!agree.has_less_than(0.9 - 1e-6) && !agree.is_older_by_more_than(20.1));
        let differ = Repeats::of(&pairs(3e6));
        assert!(!differ.has_less_than(0.97) && !differ.is_older_by_more_than(10.0));
    }
}
