//! What estimators that watched a flow said.

use super::flow::written;
use super::rounded;
use crate::endpoint::Said;
use crate::record::{Observation, Snapshot};
use crate::score::{Reference, Sample, Score, score};
use crate::statistics::median;
use baselines::estimators::Kind;
use imtcp_cc::EstimatorKind;
use imtcp_cc::event::Event;
use imtcp_cc::units::{Bandwidth, Timestamp};
use serde::Serialize;
use std::time::Duration;

/// Readings of so long are averaged before they are scored, as in [IM] Fig. 10.
const AVERAGED: Duration = Duration::from_millis(500);

/// This project's estimators, which are read at the same times.
const OWN: [(&str, EstimatorKind); 2] = [
    ("default", EstimatorKind::Statistical),
    ("classic", EstimatorKind::Classic),
];

/// What one estimator said.
#[derive(Clone, Debug, Serialize)]
pub struct Observed {
    /// The estimator's name.
    pub name: &'static str,
    /// The median of its readings, in bit/s of IP packets.
    pub median_bps: Option<u64>,
    /// The highest of its readings.
    pub highest_bps: Option<u64>,
    /// Means over 0.5 s of its readings against the truth of that time. There are no intervals, so
    /// there is no coverage. The times to settle are those of the readings themselves.
    pub score: Score,
    /// What an application would have read every tenth of a second.
    pub readings: Vec<ReadingPoint>,
}

/// A reading.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReadingPoint {
    /// When, in seconds.
    #[serde(rename = "t")]
    pub t_s: f64,
    /// The value, in bit/s of IP packets.
    pub bps: u64,
}

/// When, and what was read.
type Read = (Timestamp, Bandwidth);

/// All estimators that watched, and this project's own that had something to say.
pub(super) fn of(
    observations: &[Observation],
    events: &[Said],
    reference: &Reference,
) -> Vec<Observed> {
    if observations.is_empty() {
        return Vec::new();
    }
    let times: Vec<Timestamp> = observations.iter().map(|it| it.at).collect();
    let own = OWN.map(|(name, kind)| (name, read_own(events, kind, &times)));
    let theirs = Kind::ALL.map(|kind| (kind.name(), read(observations, kind)));
    let all = own.into_iter().chain(theirs);
    let told = all.filter(|(_, readings)| !readings.is_empty());
    told.map(|(name, readings)| Observed::new(name, &readings, reference))
        .collect()
}

/// What a server's stack told of its path.
pub(super) fn told(snapshots: &[Snapshot]) -> Vec<ReadingPoint> {
    let told = snapshots
        .iter()
        .filter_map(|it| Some((it.at, Bandwidth::from_bps(it.told_bps?))));
    told.map(|reading| point(&reading)).collect()
}

fn read(observations: &[Observation], wanted: Kind) -> Vec<Read> {
    let reading = |observation: &Observation| {
        let mut estimates = observation.estimates.iter();
        let (_, estimate) = estimates.find(|(kind, _)| *kind == wanted)?;
        Some((observation.at, (*estimate)?))
    };
    observations.iter().filter_map(reading).collect()
}

fn read_own(events: &[Said], wanted: EstimatorKind, times: &[Timestamp]) -> Vec<Read> {
    let mut present = None;
    let mut events = events.iter().peekable();
    let mut readings = Vec::new();
    for at in times {
        while let Some(said) = events.next_if(|said| said.now <= *at) {
            match said.event {
                Event::EstimateUpdated {
                    estimator,
                    estimate,
                } if estimator == wanted => {
                    present = (!estimate.flags.lower_bound).then_some(estimate.available);
                }
                Event::EstimateWithdrawn { estimator } if estimator == wanted => present = None,
                _ => {}
            }
        }
        readings.extend(present.map(|available| (*at, available)));
    }
    readings
}

impl Observed {
    fn new(name: &'static str, readings: &[Read], reference: &Reference) -> Self {
        let rates = readings.iter().map(|(_, rate)| rate.as_bps_f64());
        let scored = written(score(&means(readings), reference));
        let each: Vec<Sample> = readings.chunks(1).filter_map(sample).collect();
        Self {
            name,
            median_bps: median(rates.collect()).map(|rate| Bandwidth::from_bps_f64(rate).as_bps()),
            highest_bps: readings.iter().map(|(_, rate)| rate.as_bps()).max(),
            score: Score {
                coverage95: None,
                settle_s: written(score(&each, reference)).settle_s,
                ..scored
            },
            readings: readings.iter().map(point).collect(),
        }
    }
}

/// The mean of each half second that has readings.
fn means(readings: &[Read]) -> Vec<Sample> {
    let half_second = |at: Timestamp| at.as_nanos().saturating_sub(1) / 500_000_000;
    let chunks = readings.chunk_by(|one, other| half_second(one.0) == half_second(other.0));
    chunks.filter_map(sample).collect()
}

/// The mean of some readings.
fn sample(readings: &[Read]) -> Option<Sample> {
    let (at, _) = readings.last()?;
    let sum: f64 = readings.iter().map(|(_, rate)| rate.as_bps_f64()).sum();
    let mean = sum / readings.len() as f64;
    Some(Sample {
        at: *at,
        available_bps: mean,
        low_bps: mean,
        high_bps: mean,
        window: AVERAGED,
    })
}

fn point((at, rate): &Read) -> ReadingPoint {
    ReadingPoint {
        t_s: rounded(at.as_secs_f64()),
        bps: rate.as_bps(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_of_a_half_second_are_averaged() {
        let at = |tenths: u64| Timestamp::from_nanos(tenths * 100_000_000);
        let readings: Vec<Read> = [(1, 10), (2, 20), (5, 30), (6, 100), (10, 200), (11, 7)]
            .map(|(tenths, mbps)| (at(tenths), Bandwidth::from_mbps(mbps)))
            .into();
        let means: Vec<(Timestamp, f64)> = means(&readings)
            .iter()
            .map(|sample| (sample.at, sample.available_bps / 1e6))
            .collect();
        assert_eq!(means, [(at(5), 20.0), (at(10), 150.0), (at(11), 7.0)]);
    }
}
