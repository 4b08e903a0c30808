//! A grid of time, and what is read on it.

use super::truth::Truth;
use imtcp_cc::units::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// The distance of two instants.
pub const STEP: Duration = Duration::from_millis(100);
/// The truth is the mean from this long before an instant to this long after it.
pub(super) const AROUND: Duration = Duration::from_millis(500);
/// The connection's first second does not count.
const BEGINNING: Duration = Duration::from_secs(1);

/// What somebody says of the available bandwidth at an instant, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// The value.
    pub value_bps: f64,
    /// The 95 % interval. None where there is a value alone.
    pub interval_bps: Option<[f64; 2]>,
    /// When it was made, in seconds.
    pub made_s: f64,
    /// Whether it says only that at least so much is available.
    pub lower_bound: bool,
}

/// One instant of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Instant {
    /// When, in seconds.
    pub at_s: f64,
    /// What was available around it, in bit/s.
    pub truth_bps: f64,
    /// The capacity that it was left of, in bit/s.
    pub capacity_bps: f64,
    /// What was read.
    pub reading: Option<Reading>,
}

/// From an instant on, this is what is read; none where nothing is said.
pub(super) type Says = (Timestamp, Option<Reading>);

/// Reads a series, whose times ascend, while the application runs. The truth is the mean from
/// `around` before an instant to `around` after it.
pub(super) fn read(
    says: &[Says],
    truth: &Truth,
    (start, end): (Timestamp, Timestamp),
    around: Duration,
) -> Vec<Instant> {
    let step_nanos = u64::try_from(STEP.as_nanos()).unwrap_or(u64::MAX);
    let first = (start + BEGINNING).as_nanos().div_ceil(step_nanos);
    let instants = (first..)
        .map(|count| Timestamp::from_nanos(count * step_nanos))
        .take_while(|at| *at < end);
    let instant = |at: Timestamp| {
        let said = says.partition_point(|(since, _)| *since <= at);
        Some(Instant {
            at_s: at.as_secs_f64(),
            truth_bps: truth.mean(at - around, at + around)?,
            capacity_bps: truth.capacity(at).filter(|capacity| *capacity > 0.0)?,
            reading: said.checked_sub(1).and_then(|index| says[index].1),
        })
    };
    instants.filter_map(instant).collect()
}

/// Somebody who knows the truth of a second ago.
pub(super) fn oracle(truth: &Truth, instants: &[Instant]) -> Vec<Instant> {
    const AGO: Duration = Duration::from_secs(1);
    let read = |instant: &Instant| {
        let at = Timestamp::from_origin(Duration::from_secs_f64(instant.at_s)) - AGO;
        let reading = truth
            .mean(at - AROUND, at + AROUND)
            .map(|value_bps| Reading {
                value_bps,
                interval_bps: None,
                made_s: at.as_secs_f64(),
                lower_bound: false,
            });
        Instant {
            reading,
            ..*instant
        }
    };
    instants.iter().map(read).collect()
}
