//! Slots of promises as they end, and what is said of them meanwhile, in a CSV file and as totals.

mod line;
mod totals;

pub use totals::SlotTotals;

use anyhow::{Context, Result};
use imtcp_cc::event::{Event, Subscriber};
use imtcp_cc::promise::{Promise, RejectedRequirement, Requirement, SlotReport};
use imtcp_cc::units::Timestamp;
use line::{HEADER, Line};
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use totals::notice;

/// A file of slots, or none, and totals. A line is written as it comes: there are few, and somebody
/// may be reading along.
pub struct SlotLog {
    started: Instant,
    inner: Mutex<Inner>,
}

struct Inner {
    file: Option<File>,
    /// Lines that could not be written.
    failed: Option<std::io::Error>,
    totals: SlotTotals,
}

impl fmt::Debug for SlotLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotLog").finish_non_exhaustive()
    }
}

impl SlotLog {
    /// Creates the file, if there is to be one; times count from now.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: Option<&Path>) -> Result<Self> {
        let create = |path: &Path| {
            let mut file = File::create(path)?;
            writeln!(file, "{HEADER}")?;
            anyhow::Ok(file)
        };
        let with_name = |path: &Path| {
            create(path)
                .with_context(|| format!("cannot create the file of slots, {}", path.display()))
        };
        Ok(Self {
            started: Instant::now(),
            inner: Mutex::new(Inner {
                file: path.map(with_name).transpose()?,
                failed: None,
                totals: SlotTotals::default(),
            }),
        })
    }

    /// Follows the promise of one path, whose controller counts time from `origin`.
    pub(crate) fn of_path(self: &Arc<Self>, path: u64, origin: Instant) -> PathSlots {
        PathSlots {
            path,
            origin: origin.saturating_duration_since(self.started),
            handle: OnceLock::new(),
            forecast: Mutex::new(None),
            log: Arc::clone(self),
        }
    }

    /// What became of all slots so far.
    ///
    /// # Errors
    /// A line could not be written.
    pub fn finish(&self) -> Result<SlotTotals> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        match inner.failed.take() {
            Some(error) => Err(error).context("cannot write the file of slots"),
            None => Ok(inner.totals),
        }
    }

    /// A path does not allow what is required, for now.
    pub(crate) fn rejected(&self, path: u64, why: &RejectedRequirement) {
        let line = Line {
            event: "rejected",
            what: match why {
                RejectedRequirement::PeriodBelowRoundTrips { .. } => "period",
                RejectedRequirement::AbovePath { .. } => "rate",
                _ => "requirement",
            },
            // Without quotes in it.
            note: format!("\"{why}\""),
            ..Line::default()
        };
        self.note(|totals| totals.rejections += 1);
        self.write(&line.text(path, self.started.elapsed()));
    }

    fn note(&self, change: impl FnOnce(&mut SlotTotals)) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut inner.totals);
    }

    fn write(&self, line: &str) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &mut inner.file
            // One call of the system, lest a reader sees half a line.
            && let Err(error) = file.write_all(line.as_bytes())
        {
            inner.failed.get_or_insert(error);
        }
    }
}

/// Writes what is said of one path's promise.
#[derive(Debug)]
pub(crate) struct PathSlots {
    path: u64,
    origin: Duration,
    handle: OnceLock<Promise>,
    /// That of the slot that runs.
    forecast: Mutex<Option<f64>>,
    log: Arc<SlotLog>,
}

impl PathSlots {
    /// The handle of the connection's promise, to be asked for forecasts.
    pub(crate) fn attach(&self, handle: Promise) {
        // A connection has one.
        let _ = self.handle.set(handle);
    }

    fn since_start(&self, at: Timestamp) -> Duration {
        self.origin + Duration::from_nanos(at.as_nanos())
    }

    /// The probability that what is required would be achieved from now on.
    fn can_promise(&self) -> Option<f64> {
        let handle = self.handle.get()?;
        let required = handle.required()?;
        handle.can_promise(required.rate(), required.per())
    }

    fn line(&self, event: &Event) -> Option<Line> {
        Some(match *event {
            Event::SlotEnded { report } => self.slot(&report),
            Event::PromiseStatusChanged { status } => Line::of_status(status),
            Event::PromiseChanged {
                requirement: Some(requirement),
            } => self.required(&requirement),
            _ => return None,
        })
    }

    /// Asks for the next slot's forecast; returns the last one's, and the next.
    fn forecasts(&self) -> (Option<f64>, Option<f64>) {
        let next = self.can_promise();
        let mut forecast = self.forecast.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::replace(&mut *forecast, next), next)
    }

    fn required(&self, requirement: &Requirement) -> Line {
        let (_, next) = self.forecasts();
        Line {
            event: "required",
            what: requirement.wanted().name(),
            required_bps: Some(requirement.rate().as_bps()),
            can_promise: next,
            ..Line::default()
        }
    }

    fn slot(&self, report: &SlotReport) -> Line {
        let (forecast, next) = self.forecasts();
        self.log.note(|totals| totals.add(report, forecast));
        Line {
            event: "slot",
            what: report.outcome.name(),
            slot: Some(report.index),
            span: Some((self.since_start(report.start), self.since_start(report.end))),
            required_bps: Some(report.required.as_bps()),
            achieved_bps: Some(report.achieved.as_bps()),
            notice: notice(report),
            can_promise: next,
            ..Line::default()
        }
    }
}

impl Subscriber for PathSlots {
    fn on_event(&self, now: Timestamp, event: &Event) {
        if let Some(line) = self.line(event) {
            self.log.write(&line.text(self.path, self.since_start(now)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::promise::{Cause, Outcome, Status};
    use imtcp_cc::units::{Bandwidth, Bytes};

    const SLOT: Duration = Duration::from_secs(2);

    fn millis(millis: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_millis(millis))
    }

    fn report(index: u64, outcome: Outcome, warned: Option<u64>) -> SlotReport {
        SlotReport {
            index,
            start: millis(2000 * index),
            end: millis(2000 * index + 2000),
            required: Bandwidth::from_mbps(8),
            achieved: Bandwidth::from_kbps(7_500),
            outcome,
            warned: warned.map(|after| millis(2000 * index + after)),
        }
    }

    fn written(events: &[(u64, Event)]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("slots.csv");
        let log = SlotLog::create(Some(&file)).expect("it can be created");
        let log = Arc::new(log);
        let path = log.of_path(3, log.started + Duration::from_secs(1));
        for (at, event) in events {
            path.on_event(millis(*at), event);
        }
        log.rejected(
            4,
            &RejectedRequirement::PeriodBelowRoundTrips {
                given: Duration::from_millis(100),
                shortest: Duration::from_millis(120),
            },
        );
        assert_eq!(log.finish().expect("all is written").rejections, 1);
        let text = std::fs::read_to_string(file).expect("it is there");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_event_has_its_columns_and_no_other() {
        let requirement = Requirement::new(Bandwidth::from_mbps(8), SLOT).expect("possible");
        let at_risk = Status::AtRisk {
            cause: Cause::Crowded,
            shortfall: Bytes::new(125_000),
        };
        let broken = Status::Broken {
            cause: Cause::Ceiling,
            shortfall: Bytes::new(250_000),
        };
        let slot = |report| Event::SlotEnded { report };
        let status = |status| Event::PromiseStatusChanged { status };
        let lines = written(&[
            (
                0,
                Event::PromiseChanged {
                    requirement: Some(requirement),
                },
            ),
            (0, status(Status::Kept)),
            (500, status(at_risk)),
            (1900, status(broken)),
            (2010, slot(report(0, Outcome::Missed, Some(500)))),
            (4000, slot(report(1, Outcome::Kept, None))),
        ]);
        let expected = [
            HEADER,
            "3,1.000000,required,at_least,,,,8000000,,,,,,",
            "3,1.000000,status,kept,,,,,,,,,,",
            "3,1.500000,status,at_risk,,,,,,,,crowded,125000,",
            "3,2.900000,status,broken,,,,,,,,ceiling,250000,",
            "3,3.010000,slot,missed,0,1.000000,3.000000,8000000,7500000,1.500000,,,,",
            "3,5.000000,slot,kept,1,3.000000,5.000000,8000000,7500000,,,,,",
        ];
        assert_eq!(lines[..expected.len()], expected);
        let rejected = lines.last().expect("a line");
        assert!(
            rejected.starts_with("4,")
                && rejected.ends_with(
                    ",rejected,period,,,,,,,,,,\"a period of 100ms is below two round trips of \
                     this path; 120ms and longer are possible\""
                ),
            "{rejected}"
        );
        for line in &lines {
            assert_eq!(line.split(',').count(), HEADER.split(',').count(), "{line}");
        }
    }
}
