//! When packets were to leave, and when they left.
//!
//! [`Timed`] stands between quiche and the controller and passes everything on. The plans it hears
//! go to a planner, which compares them with what happened.

mod planner;
mod timed;

pub use timed::Timed;

use hdrhistogram::Histogram;
use serde::Serialize;
use std::fmt;
use std::time::{Duration, Instant};

/// Longer times count as this one.
const LONGEST: Duration = Duration::from_secs(10);

/// How late each packet left that had a release time, and how far each gap inside a probe stream
/// was from the planned one; in memory that does not grow.
#[derive(Debug)]
pub struct ReleaseTiming {
    lateness: Histogram<u64>,
    planned_gap: Histogram<u64>,
    gap_error: Histogram<u64>,
    unplanned: u64,
}

impl Default for ReleaseTiming {
    fn default() -> Self {
        Self {
            lateness: histogram(),
            planned_gap: histogram(),
            gap_error: histogram(),
            unplanned: 0,
        }
    }
}

/// Nanoseconds to three digits.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(nanos(LONGEST), 3).expect("bounds and digits that the type allows")
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl ReleaseTiming {
    /// The accounts in figures; `None` if no packet had a release time.
    pub fn summary(&self) -> Option<TimingSummary> {
        if self.lateness.is_empty() {
            return None;
        }
        Some(TimingSummary {
            lateness_us: Quantiles::of(&self.lateness),
            planned_gap_us: Quantiles::of(&self.planned_gap),
            gap_error_us: Quantiles::of(&self.gap_error),
            asked_too_late: self.unplanned,
        })
    }

    fn on_asked_too_late(&mut self) {
        self.unplanned += 1;
    }

    fn on_release(&mut self, planned: Instant, actual: Instant) {
        let late = actual.saturating_duration_since(planned);
        self.lateness.saturating_record(nanos(late));
    }

    fn on_gap(&mut self, planned: Duration, achieved: Duration) {
        self.planned_gap.saturating_record(nanos(planned));
        self.gap_error
            .saturating_record(nanos(planned.abs_diff(achieved)));
    }
}

/// How far gaps were from the planned ones, up or down; in memory that does not grow.
#[derive(Debug)]
pub(crate) struct GapErrors(Histogram<u64>);

impl Default for GapErrors {
    fn default() -> Self {
        Self(histogram())
    }
}

impl GapErrors {
    pub(crate) fn add(&mut self, planned: Duration, achieved: Duration) {
        self.0.saturating_record(nanos(planned.abs_diff(achieved)));
    }

    /// The account in figures; `None` without a gap.
    pub(crate) fn summary(&self) -> Option<Quantiles> {
        (!self.0.is_empty()).then(|| Quantiles::of(&self.0))
    }
}

/// What [`ReleaseTiming`] says.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TimingSummary {
    /// How late packets left that had a release time.
    pub lateness_us: Quantiles,
    /// The gaps that probe streams were to have.
    pub planned_gap_us: Quantiles,
    /// How far, up or down, the gaps were from the planned ones.
    pub gap_error_us: Quantiles,
    /// Packets of streams whose time had passed before anybody asked for it; they have no plan to
    /// be compared with.
    pub asked_too_late: u64,
}

/// A distribution of times in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantiles {
    /// How many.
    pub count: u64,
    /// Half of them are shorter.
    pub p50: f64,
    /// 99 % of them are shorter.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Quantiles {
    fn of(histogram: &Histogram<u64>) -> Self {
        let micros = |nanos: u64| Duration::from_nanos(nanos).as_secs_f64() * 1e6;
        Self {
            count: histogram.len(),
            p50: micros(histogram.value_at_quantile(0.5)),
            p99: micros(histogram.value_at_quantile(0.99)),
            max: micros(histogram.max()),
        }
    }
}

impl fmt::Display for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            count,
            p50,
            p99,
            max,
        } = self;
        write!(f, "p50 {p50:.1}, p99 {p99:.1}, max {max:.1} µs of {count}")
    }
}

impl fmt::Display for TimingSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "release times: late by {}", self.lateness_us)?;
        writeln!(f, "gaps in probe streams: planned {}", self.planned_gap_us)?;
        writeln!(f, "gaps in probe streams: off by {}", self.gap_error_us)?;
        write!(
            f,
            "probe packets asked for too late: {}",
            self.asked_too_late
        )
    }
}
