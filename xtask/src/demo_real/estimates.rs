//! What the server's file of estimates says, in a few figures.

use anyhow::{Result, ensure};

use crate::testbed::estimates::Estimate;
use crate::testbed::median;

/// The paper's estimator.
pub const CLASSIC_ESTIMATOR: &str = "classic";

/// Estimates before this time do not count, because of slow start and its losses.
const SETTLED_S: f64 = 2.0;

/// The estimates of one estimator in a few figures, all in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// Half are below.
    pub median_bps: f64,
    /// The mean.
    pub mean_bps: f64,
    /// The mean lower end of the 95 % intervals.
    pub low_bps: f64,
    /// The mean upper end.
    pub high_bps: f64,
}

impl Summary {
    /// Of `estimator`'s estimates, counted from [`SETTLED_S`] after the first one of anybody.
    pub fn of(estimates: &[Estimate], estimator: &str) -> Result<Self> {
        let start = estimates.first().map_or(0.0, |first| first.time_s);
        let settled: Vec<&Estimate> = estimates
            .iter()
            .filter(|estimate| estimate.estimator == estimator)
            .filter(|estimate| estimate.time_s >= start + SETTLED_S)
            .collect();
        ensure!(
            !settled.is_empty(),
            "the {estimator} estimator made no estimate after {SETTLED_S} s"
        );
        let count = settled.len();
        let mean = |value: fn(&Estimate) -> f64| {
            settled.iter().map(|estimate| value(estimate)).sum::<f64>() / count as f64
        };
        let values = settled.iter().map(|estimate| estimate.available_bps);
        Ok(Self {
            count,
            median_bps: median(values).unwrap_or(f64::NAN),
            mean_bps: mean(|estimate| estimate.available_bps),
            low_bps: mean(|estimate| estimate.low_bps),
            high_bps: mean(|estimate| estimate.high_bps),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::estimates::DEFAULT_ESTIMATOR;

    fn estimate(seconds: f64, estimator: &str, mbps: [f64; 3]) -> Estimate {
        let [available, low, high] = mbps.map(|rate| rate * 1e6);
        Estimate {
            time_s: seconds,
            estimator: estimator.to_owned(),
            available_bps: available,
            low_bps: low,
            high_bps: high,
        }
    }

    #[test]
    fn the_first_seconds_and_the_other_estimator_do_not_count() {
        let estimates = [
            estimate(0.5, DEFAULT_ESTIMATOR, [90.0, 80.0, 95.0]),
            estimate(2.4, DEFAULT_ESTIMATOR, [70.0, 60.0, 80.0]),
            estimate(2.6, DEFAULT_ESTIMATOR, [20.0, 19.0, 21.0]),
            estimate(2.7, CLASSIC_ESTIMATOR, [14.0, 13.0, 15.0]),
            estimate(2.8, DEFAULT_ESTIMATOR, [22.0, 19.0, 23.0]),
            estimate(2.9, DEFAULT_ESTIMATOR, [21.0, 16.0, 25.0]),
        ];
        let summary = Summary::of(&estimates, DEFAULT_ESTIMATOR).expect("three are left");
        let expected = Summary {
            count: 3,
            median_bps: 21e6,
            mean_bps: 21e6,
            low_bps: 18e6,
            high_bps: 23e6,
        };
        assert_eq!(summary, expected);
        let summary = Summary::of(&estimates[..5], DEFAULT_ESTIMATOR).expect("two are left");
        assert_eq!(summary.median_bps, 21e6, "between 20 and 22");
    }

    #[test]
    fn an_estimator_without_estimates_is_an_error_that_names_it() {
        let error = Summary::of(&[], CLASSIC_ESTIMATOR).expect_err("there are none");
        assert!(error.to_string().contains(CLASSIC_ESTIMATOR), "{error}");
    }
}
