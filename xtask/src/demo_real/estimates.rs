//! The server's file of estimates, and what it says in a few figures.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// The estimator that the controller itself goes by.
pub const DEFAULT_ESTIMATOR: &str = "statistical";
/// The paper's.
pub const CLASSIC_ESTIMATOR: &str = "classic";

/// Estimates before this time stand apart: slow start and its losses.
const SETTLED_SECONDS: f64 = 2.0;

/// One line of the file; rates in bit/s.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Since the server's start.
    pub seconds: f64,
    /// Who made it.
    pub estimator: String,
    /// The value.
    pub available: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Reads the file.
pub fn read(path: &Path) -> Result<Vec<Estimate>> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the estimates in {}", path.display()))?;
    text.lines()
        .skip(1)
        .map(|line| parse(line).with_context(|| format!("not an estimate: `{line}`")))
        .collect()
}

fn parse(line: &str) -> Option<Estimate> {
    let mut fields = line.split(',').skip(1);
    let mut field = || fields.next();
    Some(Estimate {
        seconds: field()?.parse().ok()?,
        estimator: field()?.to_owned(),
        available: field()?.parse().ok()?,
        low: field()?.parse().ok()?,
        high: field()?.parse().ok()?,
    })
}

/// The estimates of one estimator in a few figures, all in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// Half are below.
    pub median: f64,
    /// The mean.
    pub mean: f64,
    /// The mean lower end of the 95 % intervals.
    pub low: f64,
    /// The mean upper end.
    pub high: f64,
}

impl Summary {
    /// Of `estimator`'s estimates, counted from [`SETTLED_SECONDS`] after the first one of anybody.
    pub fn of(estimates: &[Estimate], estimator: &str) -> Result<Self> {
        let start = estimates.first().map_or(0.0, |first| first.seconds);
        let settled: Vec<&Estimate> = estimates
            .iter()
            .filter(|estimate| estimate.estimator == estimator)
            .filter(|estimate| estimate.seconds >= start + SETTLED_SECONDS)
            .collect();
        ensure!(
            !settled.is_empty(),
            "the {estimator} estimator made no estimate after {SETTLED_SECONDS} s"
        );
        let count = settled.len();
        let mean = |value: fn(&Estimate) -> f64| {
            settled.iter().map(|estimate| value(estimate)).sum::<f64>() / count as f64
        };
        let mut values: Vec<f64> = settled.iter().map(|estimate| estimate.available).collect();
        values.sort_by(f64::total_cmp);
        Ok(Self {
            count,
            median: values[count / 2],
            mean: mean(|estimate| estimate.available),
            low: mean(|estimate| estimate.low),
            high: mean(|estimate| estimate.high),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_seconds_and_the_other_estimator_do_not_count() {
        let lines = [
            "1,0.5,statistical,90000000,80000000,95000000,0.1,",
            "1,2.4,statistical,70000000,60000000,80000000,4.0,",
            "1,2.6,statistical,20000000,19000000,21000000,4.0,",
            "1,2.7,classic,14000000,13000000,15000000,0.1,out_of_range",
            "1,2.8,statistical,22000000,19000000,23000000,4.0,",
            "1,2.9,statistical,21000000,16000000,25000000,4.0,",
        ];
        let estimates: Vec<_> = lines.iter().filter_map(|line| parse(line)).collect();
        assert_eq!(estimates.len(), lines.len());
        let summary = Summary::of(&estimates, DEFAULT_ESTIMATOR).expect("three are left");
        let expected = Summary {
            count: 3,
            median: 21e6,
            mean: 21e6,
            low: 18e6,
            high: 23e6,
        };
        assert_eq!(summary, expected);
    }

    #[test]
    fn an_estimator_without_estimates_is_an_error_that_names_it() {
        let error = Summary::of(&[], CLASSIC_ESTIMATOR).expect_err("there are none");
        assert!(error.to_string().contains(CLASSIC_ESTIMATOR), "{error}");
    }
}
