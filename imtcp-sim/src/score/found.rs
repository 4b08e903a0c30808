//! The time at which readings of the available bandwidth become good enough, whoever makes them.

use super::Reference;
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// A reading this near to the truth, as a share of it, is good enough for most.
pub const NEAR: f64 = 0.20;
/// The error that IC 3.1 allows (its alpha).
pub const VERY_NEAR: f64 = 0.05;

/// What somebody took the available bandwidth for, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// When it was made.
    pub at: Timestamp,
    /// The value.
    pub rate_bps: f64,
}

/// For the flow's start and for each step, the time until all further readings before the next step
/// differ from the truth's mean before that step by no more than `near`, as a share of it. `None`
/// where the last of them does, or there is none.
pub fn found(readings: &[Reading], reference: &Reference, near: f64) -> Vec<Option<Duration>> {
    let phases = phases(reference).into_iter();
    phases
        .map(|phase| {
            let mut since = None;
            for (reading, share) in shares(readings, reference, phase) {
                if (share - 1.0).abs() > near {
                    since = None;
                } else if since.is_none() {
                    since = Some(reading.at.saturating_since(phase.0));
                }
            }
            since
        })
        .collect()
}

/// All readings, as shares of the truth's mean between the steps around them.
pub fn shares_of_truth(readings: &[Reading], reference: &Reference) -> Vec<f64> {
    let phases = phases(reference).into_iter();
    phases
        .flat_map(|phase| shares(readings, reference, phase))
        .map(|(_, share)| share)
        .collect()
}

type Phase = (Timestamp, Timestamp);

pub(super) fn phases(reference: &Reference) -> Vec<Phase> {
    let (start, end) = reference.life;
    let edges: Vec<Timestamp> = std::iter::once(start)
        .chain(reference.steps.iter().copied())
        .chain([end])
        .collect();
    edges.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

fn shares<'r>(
    readings: &'r [Reading],
    reference: &Reference,
    (start, end): Phase,
) -> impl Iterator<Item = (&'r Reading, f64)> {
    let seen = reference.seen_after;
    let truth = reference.truth.mean(start + seen, end + seen);
    let inside = readings
        .iter()
        .filter(move |reading| (start..end).contains(&reading.at));
    inside.filter_map(move |reading| Some((reading, reading.rate_bps / truth?)))
}
