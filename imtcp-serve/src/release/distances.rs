//! How well planned distances between packets were kept.

use hdrhistogram::Histogram as Exact;
use imtcp_cc::quiche::GapObserver;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The lowest bound, in seconds: what looking at the clock reaches.
const FINEST: f64 = 1e-6;

/// Bounds; each is twice the one before. The last is 16 ms.
const BOUNDS: u16 = 15;

/// Longer errors count as this one, in nanoseconds.
const LONGEST: u64 = 10_000_000_000;

/// The errors of all connections: how far achieved distances are from planned ones.
#[derive(Debug)]
pub struct Distances {
    metric: Histogram,
    figures: Mutex<Figures>,
}

#[derive(Debug)]
struct Figures {
    planned: Exact<u64>,
    errors: Exact<u64>,
}

impl Default for Distances {
    fn default() -> Self {
        let exact = || Exact::new_with_max(LONGEST, 3).expect("bounds that the type allows");
        Self {
            metric: Histogram::new(exponential_buckets(FINEST, 2.0, BOUNDS)),
            figures: Mutex::new(Figures {
                planned: exact(),
                errors: exact(),
            }),
        }
    }
}

impl Distances {
    /// For Prometheus, in seconds.
    pub fn metric(&self) -> Histogram {
        self.metric.clone()
    }

    /// Tells the figures in the log, if there are any.
    pub fn tell(&self, release: &'static str) {
        let figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = figures.errors.len();
        if count == 0 {
            return;
        }
        let of_planned = |share| micros(figures.planned.value_at_quantile(share));
        let of_errors = |share| micros(figures.errors.value_at_quantile(share));
        tracing::info!(
            release,
            count,
            planned_us = of_planned(0.5),
            error_p50_us = of_errors(0.5),
            error_p99_us = of_errors(0.99),
            "distances between packets"
        );
    }
}

fn micros(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64() * 1e6
}

impl GapObserver for Distances {
    fn on_gap(&self, planned: Duration, achieved: Duration) {
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(LONGEST);
        let error = planned.abs_diff(achieved);
        self.metric.observe(error.as_secs_f64());
        // Whole after every call, so a poisoned lock holds nothing half-made.
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        figures.planned.saturating_record(nanos(planned));
        figures.errors.saturating_record(nanos(error));
    }
}
