//! Estimates as they are made, in a CSV file.

use anyhow::{Context, Result};
use imtcp_cc::event::{Event, Subscriber};
use imtcp_cc::units::Timestamp;
use imtcp_cc::{Estimate, EstimatorKind};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const HEADER: &str = "path,seconds,estimator,available_bps,low_bps,high_bps,window_s,flags";

/// A file of estimates. Lines are buffered: on the packet path a full buffer goes to the page
/// cache, a few microseconds twice a minute.
pub struct EstimateLog {
    started: Instant,
    lines: Arc<Mutex<Lines>>,
}

#[derive(Debug)]
struct Lines {
    file: BufWriter<File>,
    /// Why a line was lost.
    failed: Option<io::Error>,
}

impl Lines {
    fn lock(lines: &Mutex<Self>) -> MutexGuard<'_, Self> {
        lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&mut self, line: &str) {
        if let Err(error) = writeln!(self.file, "{line}") {
            self.failed.get_or_insert(error);
        }
    }
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
            lines: Arc::new(Mutex::new(Lines { file, failed: None })),
        })
    }

    /// Takes the estimates of one path, whose controller counts time from `origin`.
    pub(crate) fn of_path(&self, path: u64, origin: Instant) -> PathLog {
        PathLog {
            path,
            origin: origin.saturating_duration_since(self.started),
            lines: Arc::clone(&self.lines),
        }
    }

    /// Writes what is still buffered.
    ///
    /// # Errors
    /// Here, or before, a line could not be written.
    pub fn finish(&self) -> Result<()> {
        let mut lines = Lines::lock(&self.lines);
        let written = lines.file.flush();
        let outcome = lines.failed.take().map_or(written, Err);
        outcome.context("cannot write the file of estimates")
    }
}

/// Writes the estimates of one path.
#[derive(Debug)]
pub(crate) struct PathLog {
    path: u64,
    origin: Duration,
    lines: Arc<Mutex<Lines>>,
}

impl Subscriber for PathLog {
    fn on_event(&self, _now: Timestamp, event: &Event) {
        if let Event::EstimateUpdated {
            estimator,
            estimate,
        } = event
        {
            let line = line(self.path, self.origin, *estimator, estimate);
            // A disk that is full shows in `finish`.
            Lines::lock(&self.lines).write(&line);
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
    use nix::libc::O_NONBLOCK;
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt;
    use std::process::Command;

    fn estimate() -> Estimate {
        Estimate {
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
        }
    }

    #[test]
    fn lines_that_were_lost_on_the_way_are_told_at_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        // It stands for a disk: without a reader it takes nothing.
        let pipe = folder.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("there is a mkfifo").success());
        let read = || {
            let mut options = OpenOptions::new();
            let reader = options.read(true).custom_flags(O_NONBLOCK).open(&pipe);
            reader.expect("it is there")
        };
        let reader = read();
        let log = EstimateLog::create(&pipe).expect("somebody reads");
        let path = log.of_path(1, Instant::now());
        let event = Event::EstimateUpdated {
            estimator: EstimatorKind::Statistical,
            estimate: estimate(),
        };
        drop(reader);
        for _ in 0..1000 {
            path.on_event(Timestamp::ZERO, &event);
        }
        let _reader = read();
        let error = log.finish().expect_err("most lines are missing");
        let said = error.to_string();
        assert_eq!(said, "cannot write the file of estimates");
    }

    #[test]
    fn a_line_has_the_columns_of_the_header() {
        let line = line(
            3,
            Duration::from_secs(2),
            EstimatorKind::Statistical,
            &estimate(),
        );
        assert_eq!(
            line,
            "3,2.500000,statistical,20000000,19000000,21000000,0.250000,application_limited+changed"
        );
        assert_eq!(line.split(',').count(), HEADER.split(',').count());
    }
}
