//! The file of arrivals that `fetch --arrivals` writes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

/// What arrived in each whole period but the first, in bit/s.
pub fn by_period(file: &Path, period: Duration) -> Result<Vec<f64>> {
    let text = fs::read_to_string(file)
        .with_context(|| format!("cannot read the arrivals in {}", file.display()))?;
    let arrivals: Vec<(f64, f64)> = text
        .lines()
        .skip(1)
        .map(|line| {
            let (seconds, bytes) = line.split_once(',')?;
            Some((seconds.parse().ok()?, bytes.parse().ok()?))
        })
        .collect::<Option<_>>()
        .with_context(|| format!("{} is no file of arrivals", file.display()))?;
    Ok(periods(&arrivals, period.as_secs_f64()))
}

/// The rates of whole periods, from pairs of a time in seconds and the bytes until then.
fn periods(arrivals: &[(f64, f64)], period_s: f64) -> Vec<f64> {
    let end = arrivals.last().map_or(0.0, |(seconds, _)| *seconds);
    let until = |at_s: f64| {
        let later = arrivals.partition_point(|(seconds, _)| *seconds <= at_s);
        later.checked_sub(1).map_or(0.0, |last| arrivals[last].1)
    };
    (1..)
        .map(|number| f64::from(number) * period_s)
        .take_while(|start| start + period_s <= end + 1e-6)
        .map(|start| (until(start + period_s) - until(start)) * 8.0 / period_s)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_periods_but_the_first_are_counted() {
        let arrivals: Vec<(f64, f64)> = (0..=70)
            .map(|tenth| (f64::from(tenth) / 10.0, f64::from(tenth) * 100_000.0))
            .collect();
        // 1 MB/s for 7 s, in periods of 2 s: the second and the third.
        let rates = periods(&arrivals, 2.0);
        assert_eq!(rates.len(), 2);
        assert!(
            rates.iter().all(|rate| (rate - 8e6).abs() < 1e6),
            "{rates:?}"
        );
        // Nothing more comes after 3 s; the last entry only marks the end.
        let stalled = [(3.0, 3e6), (6.0, 3e6)];
        assert_eq!(periods(&stalled, 2.0), [12e6, 0.0]);
        assert_eq!(periods(&[], 2.0), [0.0; 0]);
    }
}
