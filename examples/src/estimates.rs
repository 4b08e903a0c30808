//! Estimates as they are made, in a CSV file.

use anyhow::{Context, Result};
use imtcp_cc::event::{Event, Subscriber};
use imtcp_cc::units::Timestamp;
use imtcp_cc::{Estimate, EstimatorKind};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const HEADER: &str = "path,seconds,estimator,available_bps,low_bps,high_bps,window_s,flags";

/// A file of estimates. Lines are buffered: on the packet path a full buffer goes to the page
/// cache, a few microseconds twice a minute.
pub struct EstimateLog {
    started: Instant,
    file: Arc<Mutex<BufWriter<File>>>,
}

impl std::fmt::Debug for EstimateLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EstimateLog").finish_non_exhaustive()
    }
}

impl EstimateLog {
    /// Creates the file; its times count from now.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path)
            .with_context(|| format!("cannot create the file of estimates, {}", path.display()))?;
        let mut file = BufWriter::new(file);
        writeln!(file, "{HEADER}")?;
        Ok(Self {
            started: Instant::now(),
            file: Arc::new(Mutex::new(file)),
        })
    }

    /// Takes the estimates of one path, whose controller counts time from `origin`.
    pub(crate) fn of_path(&self, path: u64, origin: Instant) -> PathLog {
        PathLog {
            path,
            origin: origin.saturating_duration_since(self.started),
            file: Arc::clone(&self.file),
        }
    }

    /// Writes what is still buffered.
    ///
    /// # Errors
    /// Here, or before, a line could not be written.
    pub fn finish(&self) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.flush().context("cannot write the file of estimates")
    }
}

/// Writes the estimates of one path.
#[derive(Debug)]
pub(crate) struct PathLog {
    path: u64,
    origin: Duration,
    file: Arc<Mutex<BufWriter<File>>>,
}

impl Subscriber for PathLog {
    fn on_event(&self, _now: Timestamp, event: &Event) {
        if let Event::EstimateUpdated {
            estimator,
            estimate,
        } = event
        {
            let line = line(self.path, self.origin, *estimator, estimate);
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            // A disk that is full shows again in `finish`.
            let _ = writeln!(file, "{line}");
        }
    }
}

fn line(path: u64, origin: Duration, estimator: EstimatorKind, estimate: &Estimate) -> String {
    let at = origin + Duration::from_nanos(estimate.at.as_nanos());
    format!(
        "{path},{:.6},{estimator},{},{},{},{:.6},{}",
        at.as_secs_f64(),
        estimate.available.as_bps(),
        estimate.low.as_bps(),
        estimate.high.as_bps(),
        estimate.window.as_secs_f64(),
        estimate.flags.names().collect::<Vec<_>>().join("+"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::Flags;
    use imtcp_cc::units::Bandwidth;

    #[test]
    fn a_line_has_the_columns_of_the_header() {
        let estimate = Estimate {
            at: Timestamp::from_origin(Duration::from_millis(500)),
            available: Bandwidth::from_mbps(20),
            low: Bandwidth::from_mbps(19),
            high: Bandwidth::from_mbps(21),
            window: Duration::from_millis(250),
            flags: Flags {
                application_limited: true,
                changed: true,
                ..Flags::default()
            },
        };
        let line = line(
            3,
            Duration::from_secs(2),
            EstimatorKind::Statistical,
            &estimate,
        );
        assert_eq!(
            line,
            "3,2.500000,statistical,20000000,19000000,21000000,0.250000,application_limited+changed"
        );
        assert_eq!(line.split(',').count(), HEADER.split(',').count());
    }
}
