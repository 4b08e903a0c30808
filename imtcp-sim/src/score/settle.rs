//! When a series has settled after a step.

use super::{Reference, Sample};
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// The span of the moving median.
const MEDIAN: Duration = Duration::from_millis(500);
/// How near the median must come to the new truth.
const NEAR: f64 = 0.10;
/// How long it must stay there, unless the next step comes first.
const STAY: Duration = Duration::from_secs(5);

/// For each step the time until the moving median of the estimates is within 10 % of the new
/// truth (its mean until the next step) and stays there for 5 s or until the next step.
pub(super) fn after_steps(samples: &[Sample], reference: &Reference) -> Vec<Option<Duration>> {
    if reference.steps.is_empty() {
        return Vec::new();
    }
    let medians = moving_medians(samples);
    let ends = reference
        .steps
        .iter()
        .skip(1)
        .copied()
        .chain([reference.life.1]);
    let phases = reference.steps.iter().copied().zip(ends);
    phases
        .map(|phase| settle_in(phase, &medians, reference))
        .collect()
}

fn settle_in(
    (step, end): (Timestamp, Timestamp),
    medians: &[(Timestamp, f64)],
    reference: &Reference,
) -> Option<Duration> {
    let seen = reference.seen_after;
    let truth = reference.truth.mean(step + seen, end + seen)?;
    let near = |median: f64| (median - truth).abs() <= NEAR * truth;
    let mut since: Option<Timestamp> = None;
    for (at, median) in medians.iter().filter(|(at, _)| (step..end).contains(at)) {
        match since {
            Some(begin) if at.saturating_since(begin) > STAY => break,
            _ if !near(*median) => since = None,
            None => since = Some(*at),
            Some(_) => {}
        }
    }
    since.map(|begin| begin.saturating_since(step))
}

/// At each estimate, the median of those of the last 0.5 s; the mean of the middle two where their
/// number is even.
fn moving_medians(samples: &[Sample]) -> Vec<(Timestamp, f64)> {
    let mut sorted: Vec<f64> = Vec::new();
    let mut oldest = 0;
    let mut medians = Vec::with_capacity(samples.len());
    for sample in samples {
        while samples[oldest].at + MEDIAN <= sample.at && samples[oldest].at < sample.at {
            let gone = position(&sorted, samples[oldest].available_bps);
            sorted.remove(gone);
            oldest += 1;
        }
        sorted.insert(
            position(&sorted, sample.available_bps),
            sample.available_bps,
        );
        medians.push((sample.at, median_of_sorted(&sorted)));
    }
    medians
}

fn position(sorted: &[f64], value: f64) -> usize {
    sorted.partition_point(|other| *other < value)
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    }
}
