//! How what a flow learnt of its path would have served an application.

use super::flow::{EstimatePoint, RoundTrips, Timed};
use super::rounded;
use crate::endpoint::Said;
use crate::network::FlowId;
use crate::record::Snapshot;
use crate::score::{NEAR, Reading, Reference, START, VERY_NEAR, found, shares_of_truth};
use crate::simulation::Simulation;
use crate::statistics::{median, quantile_of_sorted};
use crate::survey::estimate;
use imtcp_cc::EstimatorKind;
use imtcp_cc::event::Event;
use imtcp_cc::units::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// For each flag that an estimate had the share of the estimates that had it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Flagged(pub BTreeMap<&'static str, f64>);

/// What the truth is a mean of, before and after an instant: a second in all.
pub(super) const SECOND: Duration = Duration::from_millis(500);
/// The same for half a second in all.
pub(super) const HALF_SECOND: Duration = Duration::from_millis(250);

/// What ends a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Whatever is said, lower bounds too.
    Anything,
    /// What is more than a lower bound.
    Results,
}

/// Quantiles of the times between what an estimator said, in round trips of the median length. The
/// flow's first 2 s are left out. The time from then to the first word counts, and that from the
/// last one to the flow's end: who says nothing has one long pause.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pauses {
    /// The median.
    pub p50_rtts: f64,
    /// The 95th percentile.
    pub p95_rtts: f64,
    /// The longest.
    pub longest_rtts: f64,
    /// The same in seconds.
    pub longest_s: f64,
}

/// What a flow's readings of its path come to: the estimates of a flow that measures, or else what
/// quiche says of the path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Read {
    /// The median, in bit/s.
    pub median_bps: u64,
    /// The highest, in bit/s.
    pub highest_bps: u64,
    /// The median of reading / truth.
    pub of_truth: Option<f64>,
    /// Seconds from the start and from each step until all readings are within 20 % of the truth's
    /// mean, and stay there until the next step; null for never.
    pub found_s: Vec<Option<f64>>,
    /// The same for 5 %.
    pub found_5_percent_s: Vec<Option<f64>>,
}

impl Read {
    pub(super) fn of(
        estimates: &[EstimatePoint],
        snapshots: &[Snapshot],
        reference: &Reference,
    ) -> Option<Self> {
        let readings = readings(estimates, snapshots);
        let mut rates: Vec<f64> = readings.iter().map(|reading| reading.rate_bps).collect();
        rates.sort_unstable_by(f64::total_cmp);
        let bps = |rate: f64| imtcp_cc::units::Bandwidth::from_bps_f64(rate).as_bps();
        let seconds = |near| {
            let found = found(&readings, reference, near).into_iter();
            found
                .map(|it| it.map(|it| rounded(it.as_secs_f64())))
                .collect()
        };
        Some(Self {
            highest_bps: bps(*rates.last()?),
            median_bps: bps(median(rates)?),
            of_truth: median(shares_of_truth(&readings, reference)).map(rounded),
            found_s: seconds(NEAR),
            found_5_percent_s: seconds(VERY_NEAR),
        })
    }
}

/// The estimates of a flow that measures. Of other flows, what quiche says of the path.
pub(super) fn readings(estimates: &[EstimatePoint], snapshots: &[Snapshot]) -> Vec<Reading> {
    if estimates.is_empty() {
        let told = snapshots.iter().filter_map(|snapshot| {
            Some(Reading {
                at: snapshot.at,
                rate_bps: snapshot.told_bps.filter(|bps| *bps > 0)? as f64,
            })
        });
        return told.collect();
    }
    let reading = |estimate: &EstimatePoint| Reading {
        at: Timestamp::from_origin(Duration::from_secs_f64(estimate.t_s)),
        rate_bps: estimate.available_bps as f64,
    };
    estimates.iter().map(reading).collect()
}

impl Flagged {
    pub(super) fn of(series: &[Timed]) -> Self {
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        for name in series
            .iter()
            .flat_map(|(_, estimate)| estimate.flags.names())
        {
            *counts.entry(name).or_default() += 1;
        }
        let all = series.len() as f64;
        let share = |(name, count)| (name, rounded(count as f64 / all));
        Self(counts.into_iter().map(share).collect())
    }
}

impl Pauses {
    pub(super) fn of(
        events: &[Said],
        reference: &Reference,
        round_trips: Option<RoundTrips>,
        heard: Heard,
    ) -> Option<Self> {
        let said = events.iter().filter(|said| match heard {
            Heard::Anything => says_something(said),
            Heard::Results => says_a_result(said),
        });
        let phase = (reference.life.0 + START, reference.life.1);
        let mut pauses = pauses(said.map(|said| said.now), phase);
        pauses.sort_unstable_by(f64::total_cmp);
        let round_trip = round_trips?.p50_ms / 1e3;
        let at = |at| Some(rounded(quantile_of_sorted(&pauses, at)? / round_trip));
        Some(Self {
            p50_rtts: at(0.5)?,
            p95_rtts: at(0.95)?,
            longest_rtts: at(1.0)?,
            longest_s: rounded(*pauses.last()?),
        })
    }
}

/// The seconds from the beginning to the first of these times in order, from one to the next, and
/// from the last to the end.
fn pauses(
    times: impl Iterator<Item = Timestamp>,
    (begin, end): (Timestamp, Timestamp),
) -> Vec<f64> {
    if end <= begin {
        return Vec::new();
    }
    let inside = times.filter(|at| (begin..end).contains(at));
    let pauses = inside.chain([end]).scan(begin, |before, at| {
        let pause = at.saturating_since(*before);
        *before = at;
        Some(pause.as_secs_f64())
    });
    pauses.collect()
}

fn says_something(said: &Said) -> bool {
    default_estimate(said).is_some()
}

fn says_a_result(said: &Said) -> bool {
    default_estimate(said).is_some_and(|estimate| !estimate.flags.lower_bound)
}

/// What the default estimator says in an event, if it does.
fn default_estimate(said: &Said) -> Option<imtcp_cc::Estimate> {
    match said.event {
        Event::EstimateUpdated {
            estimator: EstimatorKind::Statistical,
            estimate,
        } => Some(estimate),
        _ => None,
    }
}

/// The highest that the default estimator said, in bit/s. A lower bound counts: who says that more
/// is available than the path can carry is wrong either way.
pub(super) fn highest_said(events: &[Said]) -> Option<u64> {
    let said = events.iter().filter_map(default_estimate);
    said.map(|estimate| estimate.available.as_bps()).max()
}

/// Whether the flow says anything of its path itself, be it lower bounds alone.
pub(super) fn measures(events: &[Said]) -> bool {
    events.iter().any(says_something)
}

/// The default estimator's score on a grid of time, against the mean of the truth from `around`
/// before each instant to `around` after it; nothing where it said nothing.
pub(super) fn grid(
    simulation: &Simulation<'_>,
    flow: FlowId,
    events: &[Said],
    reference: &Reference,
    around: Duration,
) -> Option<estimate::Score> {
    if !measures(events) {
        return None;
    }
    let (life, steps) = (reference.life, &reference.steps);
    let score = estimate::scored(simulation, flow, events, (life, steps), around);
    Some(estimate::Score {
        error_p50: score.error_p50.map(rounded),
        error_p90: score.error_p90.map(rounded),
        bias: score.bias.map(rounded),
        reach: rounded(score.reach),
        valued: rounded(score.valued),
        coverage: score.coverage.map(rounded),
        interval_score: score.interval_score.map(rounded),
        false_confidence: rounded(score.false_confidence),
        lag_s: score.lag_s.map(rounded),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_one_pause_and_the_beginning_and_the_end_make_pauses_too() {
        let s = |seconds: u64| Timestamp::from_nanos(seconds * 1_000_000_000);
        let phase = (s(2), s(10));
        let of = |times: &[u64]| pauses(times.iter().map(|seconds| s(*seconds)), phase);
        assert_eq!(of(&[1, 5, 6, 11]), [3.0, 1.0, 4.0]);
        assert_eq!(of(&[]), [8.0]);
        assert_eq!(pauses([].into_iter(), (s(2), s(1))), Vec::<f64>::new());
    }
}
