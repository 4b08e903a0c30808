//! How good the estimates of a transfer were, as an application would have read them.

use serde::{Deserialize, Serialize};

use crate::testbed::estimates::{DEFAULT_ESTIMATOR, Estimate};

/// The estimate is looked at once in this time.
const GRID_S: f64 = 0.1;

/// The beginning of a connection, which does not count.
const SETTLING_S: f64 = 1.0;

/// An older estimate says nothing any more.
const OLDEST_S: f64 = 1.0;

/// Beyond this share of the truth an estimate is wrong, and not just inexact.
const WRONG_SHARE: f64 = 0.3;

/// A moment in which nothing is said counts in the median as this error.
const SILENCE_ERROR: f64 = 1.0;

/// The estimates of one transfer against a truth that did not change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// The error at the median of the time, as a share of the truth.
    pub median_error: f64,
    /// The longest time without a break in which the estimate was wrong, in seconds.
    pub longest_wrong_s: f64,
    /// The share of the time in which there was no estimate.
    #[serde(rename = "silent")]
    pub silent_share: f64,
}

impl Accuracy {
    /// The accuracy in a transfer from `begin_s` to `end_s` on the estimates' clock, where
    /// `truth_bps` was available.
    pub fn of(estimates: &[Estimate], truth_bps: f64, begin_s: f64, end_s: f64) -> Self {
        let mut errors = Vec::new();
        let mut longest_wrong: u32 = 0;
        let mut wrong = 0;
        let mut silent = 0;
        for look in 0.. {
            let now_s = begin_s + SETTLING_S + f64::from(look) * GRID_S;
            if now_s > end_s {
                break;
            }
            let error = newest(estimates, now_s)
                .map(|estimate| (estimate.available_bps / truth_bps - 1.0).abs());
            wrong = match error {
                Some(error) if error > WRONG_SHARE => wrong + 1,
                _ => 0,
            };
            longest_wrong = longest_wrong.max(wrong);
            silent += u32::from(error.is_none());
            errors.push(error.unwrap_or(SILENCE_ERROR));
        }
        errors.sort_by(f64::total_cmp);
        let looks = errors.len();
        Self {
            median_error: errors.get(looks / 2).copied().unwrap_or(SILENCE_ERROR),
            longest_wrong_s: f64::from(longest_wrong) * GRID_S,
            silent_share: f64::from(silent) / looks.max(1) as f64,
        }
    }
}

fn newest(estimates: &[Estimate], now_s: f64) -> Option<&Estimate> {
    let made = estimates
        .iter()
        .rev()
        .filter(|estimate| estimate.estimator == DEFAULT_ESTIMATOR);
    made.skip_while(|estimate| estimate.time_s > now_s)
        .take(1)
        .find(|estimate| estimate.time_s >= now_s - OLDEST_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(seconds: f64, mbps: f64) -> Estimate {
        Estimate {
            time_s: seconds,
            estimator: DEFAULT_ESTIMATOR.to_owned(),
            available_bps: mbps * 1e6,
            low_bps: 0.0,
            high_bps: 1e9,
        }
    }

    /// One estimate every 50 ms from 0 to 10 s.
    fn estimates(mbps: impl Fn(f64) -> f64) -> Vec<Estimate> {
        let times = (0..=200).map(|step| f64::from(step) / 20.0);
        times.map(|time| estimate(time, mbps(time))).collect()
    }

    #[test]
    fn the_first_second_does_not_count_and_the_longest_wrong_time_does() {
        let wrong = |time: f64| time < 0.9 || (4.0..5.49).contains(&time);
        let made = estimates(|time| if wrong(time) { 60.0 } else { 38.0 });
        let accuracy = Accuracy::of(&made, 40e6, 0.0, 10.0);
        assert!((accuracy.median_error - 0.05).abs() < 1e-9, "{accuracy:?}");
        assert!(
            (accuracy.longest_wrong_s - 1.5).abs() < 0.11,
            "{accuracy:?}"
        );
        assert_eq!(accuracy.silent_share, 0.0);
    }

    #[test]
    fn silence_is_not_wrong_and_is_no_estimate_either() {
        let mut made = estimates(|_| 40.0);
        made.retain(|estimate| estimate.time_s < 3.0);
        let accuracy = Accuracy::of(&made, 40e6, 0.0, 10.0);
        // There is none from 4 s, when the last one is a second old, to the end: six of nine
        // seconds.
        assert!(
            (accuracy.silent_share - 6.0 / 9.0).abs() < 0.03,
            "{accuracy:?}"
        );
        assert_eq!(accuracy.longest_wrong_s, 0.0);
        assert_eq!(accuracy.median_error, SILENCE_ERROR);
    }
}
