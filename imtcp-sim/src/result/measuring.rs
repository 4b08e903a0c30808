//! What the control unit did.

use super::rounded;
use crate::endpoint::Said;
use imtcp_cc::event::Event;
use serde::Serialize;
use std::time::Duration;

/// Counts of measurements and streams, and how long packets waited for streams to fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measuring {
    /// Measurements that began.
    pub started: u64,
    /// Measurements that ended with a result of the paper's algorithm.
    pub completed: u64,
    /// Measurements that ended without one.
    pub abandoned: u64,
    /// Streams whose first packet left.
    pub streams: u64,
    /// Streams that ended before their last packet.
    pub streams_abandoned: u64,
    /// How long the first packet of a stream waited; nothing without a stream.
    pub waits: Option<Waits>,
}

/// Quantiles of waiting times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Waits {
    /// Median wait, in ms.
    pub p50_ms: f64,
    /// 99th percentile, in ms.
    pub p99_ms: f64,
    /// 99th percentile of each wait divided by what was allowed for it (the paper's T).
    pub p99_of_limit: f64,
}

impl Measuring {
    /// `None` where no measurement began.
    pub(super) fn of(events: &[Said]) -> Option<Self> {
        let mut counts = Self::default();
        let mut waits = Vec::new();
        for said in events {
            match said.event {
                Event::MeasurementStarted { .. } => counts.started += 1,
                Event::MeasurementCompleted { .. } => counts.completed += 1,
                Event::MeasurementAbandoned { .. } => counts.abandoned += 1,
                Event::StreamAbandoned { .. } => counts.streams_abandoned += 1,
                Event::StreamStarted { waited, limit, .. } => {
                    counts.streams += 1;
                    waits.push((waited, limit));
                }
                _ => {}
            }
        }
        counts.waits = Waits::of(&waits);
        (counts.started > 0).then_some(counts)
    }
}

impl Waits {
    fn of(waits: &[(Duration, Duration)]) -> Option<Self> {
        let milliseconds = |(waited, _): &(Duration, Duration)| waited.as_secs_f64() * 1e3;
        let share = |(waited, limit): &(Duration, Duration)| {
            waited.as_secs_f64() / limit.as_secs_f64().max(1e-9)
        };
        Some(Self {
            p50_ms: quantile(waits.iter().map(milliseconds).collect(), 0.5)?,
            p99_ms: quantile(waits.iter().map(milliseconds).collect(), 0.99)?,
            p99_of_limit: quantile(waits.iter().map(share).collect(), 0.99)?,
        })
    }
}

fn quantile(mut values: Vec<f64>, at: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    crate::statistics::quantile_of_sorted(&values, at).map(rounded)
}
