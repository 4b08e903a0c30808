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

/// The same in quantiles, in memory that does not grow.
#[derive(Debug)]
pub(super) struct Figures {
    planned: Exact<u64>,
    errors: Exact<u64>,
}

impl Default for Figures {
    fn default() -> Self {
        let exact = || Exact::new_with_max(LONGEST, 3).expect("bounds that the type allows");
        Self {
            planned: exact(),
            errors: exact(),
        }
    }
}

impl Figures {
    pub(super) fn add(&mut self, planned: Duration, achieved: Duration) {
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(LONGEST);
        self.planned.saturating_record(nanos(planned));
        self.errors
            .saturating_record(nanos(planned.abs_diff(achieved)));
    }

    /// The median of what was planned, in microseconds.
    pub(super) fn planned_us(&self) -> f64 {
        micros(self.planned.value_at_quantile(0.5))
    }

    /// This share of the errors is smaller, in microseconds.
    pub(super) fn error_us(&self, share: f64) -> f64 {
        micros(self.errors.value_at_quantile(share))
    }
}

impl Default for Distances {
    fn default() -> Self {
        Self {
            metric: Histogram::new(exponential_buckets(FINEST, 2.0, BOUNDS)),
            figures: Mutex::default(),
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
        tracing::info!(
            release,
            count,
            planned_us = figures.planned_us(),
            error_p50_us = figures.error_us(0.5),
            error_p99_us = figures.error_us(0.99),
            "distances between packets"
        );
    }
}

fn micros(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64() * 1e6
}

impl GapObserver for Distances {
    fn on_gap(&self, planned: Duration, achieved: Duration) {
        self.metric
            .observe(planned.abs_diff(achieved).as_secs_f64());
        // Whole after every call, so a poisoned lock holds nothing half-made.
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        figures.add(planned, achieved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    #[test]
    fn errors_count_whether_early_or_late() {
        let distances = Distances::default();
        let gap = Duration::from_micros(100);
        for achieved in [90, 100, 100, 130] {
            distances.on_gap(gap, Duration::from_micros(achieved));
        }
        let figures = distances.figures.lock().expect("not poisoned");
        assert!((figures.planned_us() - 100.0).abs() < 0.2);
        assert!(figures.error_us(0.5) < 0.1);
        assert!((figures.error_us(0.75) - 10.0).abs() < 0.1);
        assert!((figures.error_us(0.99) - 30.0).abs() < 0.1);
    }

    #[test]
    fn prometheus_reads_every_error() {
        let distances = Distances::default();
        let gap = Duration::from_micros(100);
        for achieved in [90, 100, 100, 130] {
            distances.on_gap(gap, Duration::from_micros(achieved));
        }
        let mut registry = Registry::default();
        registry.register("gap_error", "", distances.metric());
        let mut page = String::new();
        encode(&mut page, &registry).expect("text");
        for line in [
            "gap_error_count 4\n",
            "gap_error_bucket{le=\"0.000016\"} 3\n",
        ] {
            assert!(page.contains(line), "{page}");
        }
    }
}
