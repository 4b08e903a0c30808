//! Readers of what a promise tells, to be polled or awaited.

use super::bulletin::report_from_words;
use super::handle::Shared;
use super::status::{SlotReport, Status};
use super::threads::{Place, Sleeper};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A reader for reports of ended slots, oldest first. It may be polled at any interval, or awaited
/// under any runtime.
#[derive(Debug)]
pub struct SlotReports {
    shared: Arc<Shared>,
    sleeper: Sleeper,
    place: Place,
}

impl SlotReports {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            sleeper: shared.sleepers.join(),
            place: Place::at_end_of(&shared.reports),
            shared,
        }
    }

    /// Takes the oldest report that this reader has not taken. `None` until the next slot ends.
    /// Never waits.
    pub fn take(&mut self) -> Option<SlotReport> {
        let words = self.place.take(&self.shared.reports)?;
        Some(report_from_words(words))
    }

    /// The next report, as soon as there is one. `None` once the promise has ended and all reports
    /// were taken ([`super::Promise::has_ended`]).
    pub async fn next(&mut self) -> Option<SlotReport> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The same for futures and streams that are written by hand.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<SlotReport>> {
        let (reports, place) = (&self.shared.reports, &mut self.place);
        let sleepers = &self.shared.sleepers;
        let polled = sleepers.poll(&self.sleeper, context, || place.take(reports));
        polled.map(|words| words.map(report_from_words))
    }

    /// The number of reports that were overwritten before this reader took them. A reader that
    /// falls behind by more than 127 reports loses the oldest.
    pub fn missed(&self) -> u64 {
        self.place.missed()
    }
}

impl Clone for SlotReports {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            sleeper: self.shared.sleepers.join(),
            place: self.place,
        }
    }
}

/// A reader for changes of a promise's status. A reader that comes late sees the latest one alone.
#[derive(Debug)]
pub struct StatusChanges {
    shared: Arc<Shared>,
    sleeper: Sleeper,
    seen: u64,
}

impl StatusChanges {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            sleeper: shared.sleepers.join(),
            seen: shared.bulletin.changes(),
            shared,
        }
    }

    /// The status, if it has changed since this reader last took it. A changed shortfall alone is
    /// no change. Never waits.
    pub fn take(&mut self) -> Option<Status> {
        take_change(&self.shared, &mut self.seen)
    }

    /// The status as soon as it changes: the early warning that a promise will rather not be kept.
    /// `None` once the promise has ended ([`super::Promise::has_ended`]).
    pub async fn next(&mut self) -> Option<Status> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The same for futures and streams that are written by hand.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Status>> {
        let (shared, seen) = (&self.shared, &mut self.seen);
        let take = || take_change(shared, seen);
        shared.sleepers.poll(&self.sleeper, context, take)
    }
}

fn take_change(shared: &Shared, seen: &mut u64) -> Option<Status> {
    let changes = shared.bulletin.changes();
    if changes == *seen {
        return None;
    }
    *seen = changes;
    Some(shared.bulletin().status)
}

impl Clone for StatusChanges {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            sleeper: self.shared.sleepers.join(),
            seen: self.seen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cause;
    use super::super::bulletin::Bulletin;
    use super::super::seat::PromiseSeat;
    use super::*;
    use crate::mode::Mode;
    use crate::units::Bytes;
    use pollster::block_on;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn each_report_is_awaited_and_then_the_end() {
        let seat = PromiseSeat::new(None, Mode::Standard);
        let mut reports = seat.handle().reports();
        let reader = thread::spawn(move || {
            block_on(async {
                let mut indices = Vec::new();
                while let Some(report) = reports.next().await {
                    indices.push(report.index);
                }
                (indices, reports.missed())
            })
        });
        for index in 0..100 {
            seat.report(&SlotReport::missed(index));
            thread::yield_now();
        }
        drop(seat);
        let (indices, missed) = reader.join().expect("no panic");
        assert_eq!((indices, missed), ((0..100).collect(), 0));
    }

    #[test]
    fn a_warning_is_awaited() {
        let seat = PromiseSeat::new(None, Mode::Standard);
        let mut changes = seat.handle().status_changes();
        assert_eq!(changes.take(), None);
        let (tell, told) = mpsc::channel();
        let reader = thread::spawn(move || {
            block_on(async {
                while let Some(status) = changes.next().await {
                    tell.send(status).expect("somebody listens");
                }
            });
        });
        let status = Status::AtRisk {
            cause: Cause::Crowded,
            shortfall: Bytes::new(7),
        };
        let warning = Bulletin {
            status,
            ..Bulletin::default()
        };
        seat.publish(warning, true);
        assert_eq!(told.recv(), Ok(status));
        drop(seat);
        reader.join().expect("no panic");
        assert!(told.recv().is_err(), "once");
    }
}
