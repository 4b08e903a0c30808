//! How right, how sharp and how honest readings are. Errors are shares of the capacity.
//!
//! A lower bound is a reading without a value: it has no error. Its interval is as wide as from it
//! to the capacity, and only a truth below it is outside. The truth is a mean over a second, so
//! where the capacity falls in that second it is above the capacity at its middle.

use super::grid::Instant;
use crate::statistics::{median, quantile_of_sorted};
use serde::{Serialize, Serializer};

/// A reading made longer ago than this is of no use, in seconds.
const OLD_S: f64 = 1.0;
/// 1 less the probability of the intervals.
const ALPHA: f64 = 0.05;
/// An interval is falsely confident if the truth is farther outside than this share of the
/// capacity.
const FAR: f64 = 0.25;
/// A change has been followed once the error is below this.
const NEAR: f64 = 0.15;
/// The truth is a mean, so on an idle path it can exceed the capacity by what rounding adds.
const ROUNDING: f64 = 1e-9;

/// The scores of a series of readings. What rests on readings is none without any.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// The median of the errors.
    pub error_p50: Option<f64>,
    /// Their 90th percentile.
    pub error_p90: Option<f64>,
    /// The mean signed error; positive where the readings are too high.
    pub bias: Option<f64>,
    /// The share of the time with a reading that is not too old.
    pub reach: f64,
    /// The share of the time with a value, however old, and not a lower bound alone.
    pub valued: f64,
    /// The share of the readings whose interval holds the truth.
    pub coverage: Option<f64>,
    /// The mean interval score (Gneiting and Raftery 2007): the width of the interval, and 40 times
    /// the distance of the truth if it is outside.
    pub interval_score: Option<f64>,
    /// The share of the time in which the truth is far outside the interval.
    pub false_confidence: f64,
    /// The longest of the times from a change until it was followed, in seconds; infinite for
    /// never, which is written `inf`. None without a change.
    #[serde(serialize_with = "with_inf")]
    pub lag_s: Option<f64>,
}

/// JSON has no infinite numbers, and null says that there is none.
fn with_inf<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) if value.is_infinite() => serializer.serialize_str("inf"),
        value => value.serialize(serializer),
    }
}

/// Scores readings. Where a reading has no interval of its own, the truth is expected at the value
/// plus `around`, in shares of the capacity. `changes_s` is when the truth changes by design, as
/// the server can see it.
pub fn score(instants: &[Instant], around: [f64; 2], changes_s: &[f64]) -> Score {
    let count = instants.len();
    if count == 0 {
        return Score::default();
    }
    let judged: Vec<Judged> = instants
        .iter()
        .filter_map(|instant| Judged::of(instant, around))
        .collect();
    let read = judged.len() as f64;
    let mean = |sum: f64| (read > 0.0).then(|| sum / read);
    let valued = judged.iter().filter(|judged| !judged.lower_bound);
    let signed: Vec<f64> = valued.map(|judged| judged.error).collect();
    let mut errors: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let counted = |which: fn(&Judged) -> bool| judged.iter().filter(|it| which(it)).count() as f64;
    Score {
        error_p50: median(errors.clone()),
        error_p90: quantile_of_sorted(&errors, 0.9),
        bias: (!signed.is_empty()).then(|| signed.iter().sum::<f64>() / signed.len() as f64),
        valued: signed.len() as f64 / count as f64,
        reach: counted(|it| it.age_s <= OLD_S) / count as f64,
        coverage: mean(counted(|it| it.outside <= ROUNDING)),
        interval_score: mean(judged.iter().map(Judged::interval_score).sum()),
        false_confidence: counted(|it| it.outside > FAR) / count as f64,
        lag_s: lag(&judged, changes_s),
    }
}

/// A reading against the truth, in shares of the capacity.
struct Judged {
    at_s: f64,
    error: f64,
    age_s: f64,
    lower_bound: bool,
    width: f64,
    /// How far outside the interval the truth is; not above zero inside.
    outside: f64,
}

impl Judged {
    fn of(instant: &Instant, around: [f64; 2]) -> Option<Self> {
        let reading = instant.reading?;
        let capacity = instant.capacity_bps;
        let value = reading.value_bps / capacity;
        let truth = instant.truth_bps / capacity;
        let [low, high] = match reading.interval_bps {
            Some(interval) => interval.map(|end| end / capacity),
            None => around.map(|offset| value + offset),
        };
        let (width, outside) = match reading.lower_bound {
            true => ((1.0 - low).max(0.0), low - truth),
            false => (high - low, (low - truth).max(truth - high)),
        };
        Some(Self {
            at_s: instant.at_s,
            error: value - truth,
            age_s: instant.at_s - reading.made_s,
            lower_bound: reading.lower_bound,
            width,
            outside,
        })
    }

    fn interval_score(&self) -> f64 {
        self.width + 2.0 / ALPHA * self.outside.max(0.0)
    }
}

/// The longest time that a change took, from the change to the first good reading before the next.
fn lag(judged: &[Judged], changes_s: &[f64]) -> Option<f64> {
    let ends = changes_s.iter().skip(1).copied().chain([f64::INFINITY]);
    let lags = changes_s.iter().zip(ends).map(|(change, end)| {
        let after = judged
            .iter()
            .filter(|it| it.at_s >= *change && it.at_s < end);
        let good = after
            .clone()
            .find(|it| it.error.abs() <= NEAR && !it.lower_bound);
        good.map_or(f64::INFINITY, |it| it.at_s - change)
    });
    lags.max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::super::grid::Reading;
    use super::*;

    fn instant(at_s: f64, truth_bps: f64, reading: Option<[f64; 3]>) -> Instant {
        Instant {
            at_s,
            truth_bps,
            capacity_bps: 100.0,
            reading: reading.map(|[low, value_bps, high]| Reading {
                value_bps,
                interval_bps: Some([low, high]),
                made_s: at_s - 0.5,
                lower_bound: false,
            }),
        }
    }

    #[test]
    fn silence_costs_reach_and_a_narrow_interval_beside_the_truth_costs_forty_times() {
        let instants = [
            instant(2.0, 50.0, Some([40.0, 52.0, 60.0])),
            instant(2.1, 50.0, Some([60.0, 62.0, 64.0])),
            instant(2.2, 50.0, Some([80.0, 82.0, 84.0])),
            instant(2.3, 50.0, None),
        ];
        let score = score(&instants, [0.0; 2], &[2.0]);
        assert_eq!(score.reach, 0.75);
        assert_eq!(score.error_p50, Some(0.12));
        assert_eq!(score.coverage, Some(1.0 / 3.0));
        assert_eq!(score.false_confidence, 0.25);
        let expected = (0.2 + (0.04 + 40.0 * 0.1) + (0.04 + 40.0 * 0.3)) / 3.0;
        assert!((score.interval_score.unwrap() - expected).abs() < 1e-9);
        assert_eq!(score.lag_s, Some(0.0));
    }

    #[test]
    fn what_is_old_does_not_reach_and_still_errs() {
        let mut old = instant(2.0, 50.0, Some([40.0, 52.0, 60.0]));
        old.reading.as_mut().unwrap().made_s = 0.9;
        let score = score(&[old], [0.0; 2], &[]);
        assert_eq!(score.reach, 0.0);
        assert!((score.error_p50.unwrap() - 0.02).abs() < 1e-9);
    }

    #[test]
    fn a_lower_bound_reaches_and_covers_and_has_no_error() {
        let mut bound = instant(2.0, 50.0, Some([40.0, 40.0, 1e9]));
        bound.reading.as_mut().unwrap().lower_bound = true;
        let score = score(&[bound], [0.0; 2], &[1.0]);
        assert_eq!(
            (score.reach, score.valued, score.coverage),
            (1.0, 0.0, Some(1.0))
        );
        assert_eq!(score.error_p50, None);
        assert!((score.interval_score.unwrap() - 0.6).abs() < 1e-9);
        assert_eq!(score.lag_s, Some(f64::INFINITY));
    }

    #[test]
    fn a_lower_bound_says_nothing_of_what_is_above() {
        let judged = |truth| {
            let mut bound = instant(2.0, truth, Some([40.0, 40.0, 1e9]));
            bound.reading.as_mut().unwrap().lower_bound = true;
            let score = score(&[bound], [0.0; 2], &[]);
            (score.coverage, score.false_confidence)
        };
        assert_eq!(
            judged(150.0),
            (Some(1.0), 0.0),
            "the capacity has just fallen"
        );
        assert_eq!(judged(39.0), (Some(0.0), 0.0));
        assert_eq!(judged(10.0), (Some(0.0), 1.0));
    }

    #[test]
    fn a_truth_that_rounding_puts_above_an_interval_is_within_it() {
        let covered = |truth| {
            let reading = instant(2.0, truth, Some([40.0, 90.0, 100.0]));
            score(&[reading], [0.0; 2], &[]).coverage
        };
        assert_eq!(covered(100.0 + 1e-12), Some(1.0));
        assert_eq!(covered(100.0 + 1e-3), Some(0.0));
    }

    #[test]
    fn a_change_that_is_never_followed_lags_without_end() {
        let late = |at_s, value| instant(at_s, 50.0, Some([0.0, value, 100.0]));
        let instants = [late(2.0, 90.0), late(2.5, 52.0), late(4.0, 90.0)];
        assert_eq!(score(&instants, [0.0; 2], &[2.0]).lag_s, Some(0.5));
        let lag = score(&instants, [0.0; 2], &[2.0, 3.0]).lag_s;
        assert_eq!(lag, Some(f64::INFINITY));
    }

    #[test]
    fn json_tells_never_from_no_change() {
        let instants = [instant(2.0, 50.0, Some([0.0, 90.0, 100.0]))];
        let written = |changes_s: &[f64]| {
            let score = score(&instants, [0.0; 2], changes_s);
            serde_json::to_value(score).expect("it can be written")["lag_s"].clone()
        };
        assert_eq!(written(&[2.0]), "inf");
        assert_eq!(written(&[]), serde_json::Value::Null);
        let followed = [instant(2.5, 50.0, Some([0.0, 52.0, 100.0]))];
        let followed = score(&followed, [0.0; 2], &[2.0]);
        let followed = serde_json::to_value(followed).expect("it can be written");
        assert_eq!(followed["lag_s"], 0.5);
    }

    #[test]
    fn a_value_alone_gets_the_interval_that_it_is_given() {
        let mut bare = instant(2.0, 50.0, Some([0.0, 60.0, 0.0]));
        bare.reading.as_mut().unwrap().interval_bps = None;
        let score = score(&[bare], [-0.2, 0.0], &[]);
        assert_eq!(score.coverage, Some(1.0));
        assert!((score.interval_score.unwrap() - 0.2).abs() < 1e-9);
    }
}
