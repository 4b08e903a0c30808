//! The packet path's side of a promise: the seat of one path.

use super::bulletin::{
    Bulletin, mode_from_words, mode_to_words, report_to_words, requirement_from_words,
    requirement_to_words,
};
use super::handle::{Promise, Shared};
use super::requirement::Requirement;
use super::status::SlotReport;
use super::threads::Seen;
use crate::estimate::Estimate;
use crate::mode::Mode;
use crate::path::PathInfo;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A path's seat at the promise of its connection. One seat at a time is in charge, that of the
/// path which data takes: it alone takes requirements and tells anything. All seats of a connection
/// are used by one thread at a time, because the connection is.
#[derive(Debug)]
pub(crate) struct PromiseSeat {
    shared: Arc<Shared>,
    /// Names this seat among those of the connection. No seat is number 0.
    number: u64,
    path: Option<Arc<PathInfo>>,
    seen: Seen,
    seen_mode: Seen,
}

impl PromiseSeat {
    /// The seat of a connection's first path, in charge, with the requirement and the mode that
    /// hold from the start.
    pub(crate) fn new(requirement: Option<Requirement>, mode: Mode) -> Self {
        let shared = Arc::new(Shared::new(requirement, mode));
        let seat = Self::among(shared);
        seat.shared.in_charge.store(seat.number, Ordering::Relaxed);
        seat
    }

    /// The seat of another path of the same connection. It takes charge when data takes its path.
    /// `requirement` and `mode` are as above: they hold if nobody has asked for others yet.
    pub(crate) fn beside(promise: &Promise, requirement: Option<Requirement>, mode: Mode) -> Self {
        // A transport may replace the controller of its first path before anything was sent, by one
        // that is configured otherwise.
        let words = requirement_to_words(requirement);
        promise.shared.mailbox.post_first(words);
        promise.shared.mode.post_first(mode_to_words(mode));
        Self::among(Arc::clone(&promise.shared))
    }

    fn among(shared: Arc<Shared>) -> Self {
        shared.seated.fetch_add(1, Ordering::Relaxed);
        let number = shared.seats.fetch_add(1, Ordering::Relaxed) + 1;
        Self {
            shared,
            number,
            path: None,
            seen: Seen::NOTHING,
            seen_mode: Seen::NOTHING,
        }
    }

    /// The path that handles speak of while this seat is in charge.
    pub(super) fn set_path(&mut self, path: PathInfo) {
        let path = Some(Arc::new(path));
        self.path.clone_from(&path);
        if self.is_in_charge() {
            self.shared.path.store(path);
        }
    }

    /// A handle for the application.
    pub(crate) fn handle(&self) -> Promise {
        Promise {
            shared: Arc::clone(&self.shared),
        }
    }

    fn is_in_charge(&self) -> bool {
        self.shared.in_charge.load(Ordering::Relaxed) == self.number
    }

    /// Data takes this path. True if it took another one before, or this one was left meanwhile:
    /// then the requirement is news again. If not, this costs one load.
    pub(super) fn take_charge(&mut self) -> bool {
        let shared = &self.shared;
        if self.is_in_charge() || shared.sleepers.has_ended() {
            return false;
        }
        // Of the path in charge, if nobody told that it was left.
        shared.say_nothing_is_known();
        shared.in_charge.store(self.number, Ordering::Relaxed);
        let last = shared.path.swap(self.path.clone());
        if last != self.path {
            shared.moves.fetch_add(1, Ordering::Release);
        }
        self.seen = Seen::NOTHING;
        self.seen_mode = Seen::NOTHING;
        true
    }

    /// Data takes this path no longer.
    pub(super) fn leave(&self) {
        if self.is_in_charge() {
            self.shared.in_charge.store(0, Ordering::Relaxed);
            self.shared.say_nothing_is_known();
        }
    }

    /// The connection ends. No seat is in charge any more.
    pub(super) fn end(&self) {
        if !self.shared.sleepers.has_ended() {
            self.shared.in_charge.store(0, Ordering::Relaxed);
            self.shared.end();
        }
    }

    /// The number of reports so far, those of other paths included.
    pub(super) fn reported(&self) -> u64 {
        self.shared.reports.count()
    }

    /// The requirement, if it has changed since the last call. If not, this costs two loads.
    pub(crate) fn take_requirement(&mut self) -> Option<Option<Requirement>> {
        if !self.is_in_charge() {
            return None;
        }
        let words = self.shared.mailbox.take(&mut self.seen)?;
        Some(requirement_from_words(words))
    }

    /// The mode, if it has changed since the last call. If not, this costs two loads.
    pub(super) fn take_mode(&mut self) -> Option<Mode> {
        if !self.is_in_charge() {
            return None;
        }
        let words = self.shared.mode.take(&mut self.seen_mode)?;
        Some(mode_from_words(words))
    }

    pub(super) fn publish(&self, bulletin: Bulletin, is_other_status: bool) {
        if self.is_in_charge() {
            self.shared.publish(bulletin, is_other_status);
        }
    }

    /// Replaces the estimate alone, unless nothing of this path was published yet: until its first
    /// acknowledgement nothing is known of it, whatever it was when it was used before.
    pub(super) fn publish_estimate(&self, estimate: Option<Estimate>) {
        if !self.is_in_charge() {
            return;
        }
        let bulletin = self.shared.bulletin();
        if bulletin.smoothed_rtt.is_some() {
            let bulletin = Bulletin {
                estimate,
                ..bulletin
            };
            self.shared.publish(bulletin, false);
        }
    }

    pub(super) fn report(&self, report: &SlotReport) {
        if self.is_in_charge() {
            let Shared {
                reports, sleepers, ..
            } = &*self.shared;
            sleepers.tell(|| reports.push(report_to_words(report)));
        }
    }
}

impl Drop for PromiseSeat {
    /// The controller is gone. With the last of a connection the connection is.
    fn drop(&mut self) {
        if self.shared.seated.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.end();
        } else {
            self.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promise::forecast::Outlook;
    use crate::promise::{Changes, History, RejectedRequirement};
    use crate::units::{Bandwidth, Timestamp};
    use std::time::Duration;

    fn requirement(mbps: u64) -> Requirement {
        Requirement::new(Bandwidth::from_mbps(mbps), Duration::from_secs(1)).expect("possible")
    }

    #[test]
    fn what_is_required_arrives_once() {
        let mut seat = PromiseSeat::new(Some(requirement(3)), Mode::Standard);
        assert_eq!(seat.take_requirement(), Some(Some(requirement(3))));
        assert_eq!(seat.take_requirement(), None);
        let handle = seat.handle();
        handle
            .require(requirement(8))
            .expect("nothing known of the path");
        handle
            .clone()
            .require(requirement(9))
            .expect("nothing known of the path");
        assert_eq!(handle.required(), Some(requirement(9)));
        assert_eq!(seat.take_requirement(), Some(Some(requirement(9))));
        handle.withdraw();
        assert_eq!(seat.take_requirement(), Some(None));
        assert_eq!(seat.take_requirement(), None);
    }

    #[test]
    fn another_path_with_the_same_settings_is_no_news_for_the_first() {
        let mut seat = PromiseSeat::new(Some(requirement(3)), Mode::Standard);
        assert_eq!(seat.take_requirement(), Some(Some(requirement(3))));
        assert_eq!(seat.take_mode(), Some(Mode::Standard));
        let handle = seat.handle();
        let _same = PromiseSeat::beside(&handle, Some(requirement(3)), Mode::Standard);
        assert_eq!((seat.take_requirement(), seat.take_mode()), (None, None));
        let _other = PromiseSeat::beside(&handle, Some(requirement(4)), Mode::Standard);
        assert_eq!(seat.take_requirement(), Some(Some(requirement(4))));
    }

    #[test]
    fn what_the_path_does_not_allow_is_rejected_and_changes_nothing() {
        let mut seat = PromiseSeat::new(None, Mode::Standard);
        let handle = seat.handle();
        let outlook = Outlook {
            available: Bandwidth::from_mbps(5),
            error: Bandwidth::ZERO,
            changes: Changes::default(),
            window: Duration::from_secs(1),
            capacity: Some(Bandwidth::from_mbps(40)),
            ceiling: 0.5,
            history: History::default(),
        };
        let far = Bulletin {
            smoothed_rtt: Some(Duration::from_millis(600)),
            least_rtt: Some(Duration::from_millis(600)),
            ..Bulletin::default()
        };
        seat.publish(far, false);
        let error = handle
            .require(requirement(3))
            .expect_err("1 s holds no two round trips");
        assert!(error.to_string().contains("1.2s and longer"), "{error}");
        assert_eq!(
            handle.can_promise(Bandwidth::from_mbps(1), Duration::from_secs(1)),
            Some(0.0)
        );
        let known = Bulletin {
            outlook: Some(outlook),
            ..Bulletin::default()
        };
        seat.publish(known, false);
        let error = handle
            .require(requirement(21))
            .expect_err("the ceiling is 20");
        assert!(error.to_string().contains("up to 20.00 Mbit/s"), "{error}");
        let _ = seat.take_requirement();
        assert_eq!(seat.take_requirement(), None);
        assert!(handle.require(requirement(19)).is_ok());
        assert_eq!(
            handle.bytes_within(Duration::from_secs(1), 0.5),
            None,
            "no round trip known"
        );
    }

    #[test]
    fn every_reader_gets_every_report_and_a_late_one_is_told() {
        let seat = PromiseSeat::new(None, Mode::Standard);
        let mut early = seat.handle().reports();
        assert_eq!(early.take(), None);
        seat.report(&SlotReport::missed(0));
        seat.report(&SlotReport::missed(1));
        let mut both = seat.handle().reports();
        assert_eq!(both.take(), None, "these ended before it was asked for");
        assert_eq!(early.take(), Some(SlotReport::missed(0)));
        let mut other = early.clone();
        assert_eq!(early.take(), Some(SlotReport::missed(1)));
        assert_eq!(other.take(), Some(SlotReport::missed(1)));
        for index in 2..202 {
            seat.report(&SlotReport::missed(index));
        }
        assert_eq!(
            early.take(),
            Some(SlotReport::missed(75)),
            "200 since, the last 127 are there"
        );
        assert_eq!(early.missed(), 73);
        assert_eq!(std::iter::from_fn(|| early.take()).count(), 126);
    }

    #[test]
    fn a_handle_tells_that_its_connection_is_gone() {
        let seat = PromiseSeat::new(None, Mode::Standard);
        let (handle, mut reports) = (seat.handle(), seat.handle().reports());
        assert!(!handle.has_ended());
        seat.report(&SlotReport::missed(0));
        drop(seat);
        assert!(handle.has_ended());
        let rejected = handle.require(requirement(3));
        assert_eq!(rejected, Err(RejectedRequirement::ConnectionGone));
        assert_eq!(handle.required(), None);
        assert_eq!(
            reports.take(),
            Some(SlotReport::missed(0)),
            "it was there before"
        );
        assert_eq!(reports.take(), None);
    }

    #[test]
    fn a_handle_works_from_other_threads() {
        let mut seat = PromiseSeat::new(None, Mode::Standard);
        let handle = seat.handle();
        let mut reports = handle.reports();
        let mut last = None;
        std::thread::scope(|scope| {
            let asking = scope.spawn(move || {
                for mbps in 1..=500 {
                    handle.require(requirement(mbps)).expect("possible");
                }
            });
            let reading = scope.spawn(move || {
                let mut taken = 0;
                while taken + reports.missed() < 1000 {
                    taken += u64::from(reports.take().is_some_and(|report| {
                        assert_eq!(report.start, Timestamp::from_nanos(report.index));
                        true
                    }));
                }
                taken
            });
            for index in 0..1000 {
                seat.report(&SlotReport::missed(index));
                last = seat.take_requirement().or(last);
                std::thread::yield_now();
            }
            asking.join().expect("no panic");
            assert!(reading.join().expect("no panic") > 0);
        });
        last = seat.take_requirement().or(last);
        assert_eq!(last, Some(Some(requirement(500))));
    }
}
