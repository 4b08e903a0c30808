//! The file of arrivals that `fetch --arrivals` writes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

/// What arrived in each whole period but the first, in bit/s.
pub fn by_period(file: &Path, period: Duration) -> Result<Vec<f64>> {
    Ok(periods(&read(file)?, period.as_secs_f64()))
}

/// The goodput while frames were under way, in bit/s: from the time at which the first bytes of
/// each were to come until all of it was there. Of the first bytes of all frames, the earliest tell
/// when that is.
pub fn within_frames(file: &Path, bytes: u64, period: Duration) -> Result<f64> {
    let goodput = of_frames(&read(file)?, bytes as f64, period.as_secs_f64());
    goodput.with_context(|| format!("there is no whole frame in {}", file.display()))
}

fn read(file: &Path) -> Result<Vec<(f64, f64)>> {
    let text = fs::read_to_string(file)
        .with_context(|| format!("cannot read the arrivals in {}", file.display()))?;
    text.lines()
        .skip(1)
        .map(|line| {
            let (seconds, bytes) = line.split_once(',')?;
            Some((seconds.parse().ok()?, bytes.parse().ok()?))
        })
        .collect::<Option<_>>()
        .with_context(|| format!("{} is no file of arrivals", file.display()))
}

/// The bits of whole frames by the time that they took.
fn of_frames(arrivals: &[(f64, f64)], bytes: f64, period_s: f64) -> Option<f64> {
    // When the first bytes and the last ones of each frame came, after the source had it.
    let mut frames = Vec::new();
    for number in (0..).map(f64::from) {
        let begin = arrivals.partition_point(|(_, there)| *there <= number * bytes);
        let end = arrivals.partition_point(|(_, there)| *there < (number + 1.0) * bytes);
        let (Some((begin, _)), Some((end, _))) = (arrivals.get(begin), arrivals.get(end)) else {
            break;
        };
        frames.push([begin, end].map(|at| at - number * period_s));
    }
    let began = frames
        .iter()
        .map(|[begin, _]| *begin)
        .min_by(f64::total_cmp)?;
    let took: f64 = frames.iter().map(|[_, end]| end - began).sum();
    (took > 0.0).then(|| frames.len() as f64 * bytes * 8.0 / took)
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
    fn frames_that_wait_for_others_take_longer() {
        // 100 kB every second, of which each half takes 0.1 s. The first bytes come 0.1 s late, and
        // the second frame 0.3 s later than that.
        let arrivals = [
            (5.1, 1e3),
            (5.1, 5e4),
            (5.2, 1e5),
            (6.4, 1.5e5),
            (6.5, 2e5),
            (7.0, 2.1e5),
            (7.1, 2.5e5),
            (7.2, 3e5),
            (8.0, 3.1e5),
        ];
        let goodput = of_frames(&arrivals, 1e5, 1.0).unwrap();
        assert!((goodput - 2.4e6 / 0.9).abs() < 1.0, "{goodput}");
        assert_eq!(of_frames(&arrivals, 1e6, 1.0), None);
        assert_eq!(of_frames(&[], 1e5, 1.0), None);
    }

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
