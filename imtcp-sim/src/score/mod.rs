//! How good a series of estimates is, against the truth.
//!
//! - Each estimate is compared with the truth averaged over the estimate's own window, which ends
//!   at the estimate's time; the truth is on the server's clock ([`Available`]).
//! - The first 2 s of the flow do not count for error, bias or coverage.
//! - After a step the time to settle does not count either, up to 1 s. The rest counts, and all of
//!   it counts where the series never settles. So slow settling shows in the error as well.

mod found;
mod nominal;
mod rung;
mod settle;

pub use found::{NEAR, Reading, VERY_NEAR, found, shares_of_truth};
pub(crate) use nominal::LEAST_SHARE;
pub use rung::{Crossings, Floor, crossings};

use crate::truth::Available;
use imtcp_cc::units::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// What the scores leave out at the beginning of a flow.
pub(crate) const START: Duration = Duration::from_secs(2);
/// The longest part of the settling after a step that the scores leave out.
const LONGEST_PARDON: Duration = Duration::from_secs(1);

/// An estimate as the scores see it; rates in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When it was made, at the server.
    pub at: Timestamp,
    /// The value.
    pub available_bps: f64,
    /// Lower end of its 95 % interval.
    pub low_bps: f64,
    /// Upper end of its 95 % interval.
    pub high_bps: f64,
    /// What it is an average over, up to `at`.
    pub window: Duration,
}

/// What the estimates are measured against.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The available bandwidth on the server's clock.
    pub truth: Available,
    /// When the flow begins and ends.
    pub life: (Timestamp, Timestamp),
    /// When the truth changes by design, as it happens on the links.
    pub steps: Vec<Timestamp>,
    /// How much later the server can see what happens on the tight link.
    pub seen_after: Duration,
    /// Truths below this, in bit/s, are not compared: a relative error against next to nothing says
    /// nothing.
    pub least_truth_bps: f64,
}

/// The scores of a series; `None` where nothing could be scored.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// Mean absolute relative error.
    pub mare: Option<f64>,
    /// Mean signed relative error; positive where the estimates are too high.
    pub bias: Option<f64>,
    /// Share of estimates whose 95 % interval holds the truth.
    pub coverage95: Option<f64>,
    /// Seconds to settle after each step; `None` where it never did.
    pub settle_s: Vec<Option<f64>>,
    /// How many estimates were compared.
    pub scored: usize,
    /// The longest time without a new estimate after the first 2 s, in seconds.
    pub longest_gap_s: Option<f64>,
}

/// Scores a series of estimates in order of time.
pub fn score(samples: &[Sample], reference: &Reference) -> Score {
    let settled = settle::after_steps(samples, reference);
    let mut sums = Sums::default();
    for sample in samples {
        if !stands_apart(sample.at, reference, &settled) {
            sums.add(sample, reference);
        }
    }
    let mean = |sum: f64| (sums.count > 0).then(|| sum / sums.count as f64);
    Score {
        mare: mean(sums.absolute),
        bias: mean(sums.signed),
        coverage95: mean(sums.covered),
        settle_s: settled.iter().map(|s| s.map(|s| s.as_secs_f64())).collect(),
        scored: sums.count,
        longest_gap_s: longest_gap(samples, reference),
    }
}

#[derive(Default)]
struct Sums {
    count: usize,
    absolute: f64,
    signed: f64,
    covered: f64,
}

impl Sums {
    fn add(&mut self, sample: &Sample, reference: &Reference) {
        let truth = reference.truth.mean(sample.at - sample.window, sample.at);
        let Some(truth) = truth.filter(|truth| *truth > 0.0 && *truth >= reference.least_truth_bps)
        else {
            return;
        };
        let error = (sample.available_bps - truth) / truth;
        self.count += 1;
        self.absolute += error.abs();
        self.signed += error;
        self.covered += f64::from(u8::from(
            (sample.low_bps..=sample.high_bps).contains(&truth),
        ));
    }
}

fn stands_apart(at: Timestamp, reference: &Reference, settled: &[Option<Duration>]) -> bool {
    let settling = |(step, settled): (&Timestamp, &Option<Duration>)| {
        settled.is_some_and(|s| at >= *step && at < *step + s.min(LONGEST_PARDON))
    };
    at < reference.life.0 + START || reference.steps.iter().zip(settled).any(settling)
}

fn longest_gap(samples: &[Sample], reference: &Reference) -> Option<f64> {
    let (begin, end) = (reference.life.0 + START, reference.life.1);
    let inside = samples
        .iter()
        .map(|sample| sample.at)
        .filter(|at| (begin..end).contains(at));
    let times: Vec<Timestamp> = [begin].into_iter().chain(inside).chain([end]).collect();
    let gaps = times
        .windows(2)
        .map(|pair| pair[1].saturating_since(pair[0]));
    gaps.max()
        .filter(|_| begin < end)
        .map(|gap| gap.as_secs_f64())
}

#[cfg(test)]
mod tests;
