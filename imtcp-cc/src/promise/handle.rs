//! The handle of a promise, for any thread of the application, and its counterpart on the packet
//! path.

use super::bulletin::{
    BULLETIN_WORDS, Bulletin, REPORT_WORDS, REQUIREMENT_WORDS, report_from_words, report_to_words,
    requirement_from_words, requirement_to_words,
};
use super::forecast::Outlook;
use super::published::Published;
use super::readers::{SlotReports, StatusChanges};
use super::requirement::{RejectedRequirement, Requirement};
use super::sleepers::Sleepers;
use super::status::{SlotReport, Status};
use crate::estimate::Estimate;
use crate::path::PathInfo;
use crate::units::{Bandwidth, Bytes};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The number of reports kept for readers. At two slots a second they cover over a minute.
const RING: usize = 128;

/// What the handle, its readers and the packet path share.
#[derive(Debug)]
pub(super) struct Shared {
    path: OnceLock<PathInfo>,
    /// The application's latest requirement.
    mailbox: Published<REQUIREMENT_WORDS>,
    /// A lock that threads take when they require something. The packet path never takes it.
    requiring: Mutex<()>,
    bulletin: Published<BULLETIN_WORDS>,
    /// The ring of reports: slot n is at n modulo the length, with its number as the first word.
    reports: [Published<REPORT_WORDS>; RING],
    /// The number of reports so far.
    reported: AtomicU64,
    /// The number of changes of the status so far.
    pub(super) status_changes: AtomicU64,
    /// The path is gone: nothing follows.
    pub(super) ended: AtomicBool,
    pub(super) sleepers: Sleepers,
}

impl Shared {
    pub(super) fn bulletin(&self) -> Bulletin {
        let read = self.bulletin.read();
        read.map_or_else(Bulletin::default, |(words, _)| Bulletin::from_words(&words))
    }

    pub(super) fn reported(&self) -> u64 {
        self.reported.load(Ordering::Acquire)
    }

    /// The number of the oldest report that is there. One cell is left out, because it may be
    /// written while it is read.
    pub(super) fn oldest_report(&self) -> u64 {
        self.reported().saturating_sub(RING as u64 - 1)
    }

    /// A report; `None` if it was overwritten.
    pub(super) fn read_report(&self, number: u64) -> Option<SlotReport> {
        let (words, _) = self.reports[cell(number)].read()?;
        let is_present = self.reported().saturating_sub(number) < RING as u64;
        is_present.then(|| report_from_words(words))
    }
}

/// The handle of one path's promise. It is cheap to clone, works from any thread, and is usable
/// while the connection runs. The packet path never waits for it.
///
/// The rates of [`Promise::estimate`] and [`Promise::capacity`] are of IP packets. All other rates
/// are of application data.
#[derive(Clone, Debug)]
pub struct Promise {
    shared: Arc<Shared>,
}

impl Promise {
    /// The path that this is about; `None` where its transport does not tell.
    pub fn path(&self) -> Option<&PathInfo> {
        self.shared.path.get()
    }

    /// Requires a rate from the next packet event on, or changes the required rate. A new
    /// evaluation slot begins with this event.
    ///
    /// # Errors
    /// If the path is gone, or is known not to allow the requirement: the period is below two round trips, or
    /// the rate is above both what is available and the ceiling's share of the capacity. The error
    /// says what is possible. The previous requirement stays in force.
    pub fn require(&self, requirement: Requirement) -> Result<(), RejectedRequirement> {
        if self.has_ended() {
            return Err(RejectedRequirement::PathGone);
        }
        let bulletin = self.bulletin();
        let most = bulletin.outlook.and_then(|outlook| {
            // Without a capacity there is no bound on what may turn out to be available.
            outlook.capacity.map(|_| outlook.reach())
        });
        requirement.check(bulletin.smoothed_rtt, most)?;
        self.post(Some(requirement));
        Ok(())
    }

    /// Changes the requirement. It does the same as [`Promise::require`].
    ///
    /// # Errors
    /// As [`Promise::require`].
    pub fn change(&self, requirement: Requirement) -> Result<(), RejectedRequirement> {
        self.require(requirement)
    }

    /// Withdraws the requirement from the next packet event on.
    pub fn withdraw(&self) {
        self.post(None);
    }

    /// The requirement as last set through this handle or a clone of it.
    pub fn required(&self) -> Option<Requirement> {
        self.shared
            .mailbox
            .read()
            .and_then(|(words, _)| requirement_from_words(words))
    }

    /// The requirement for which the packet path works now. It becomes [`Promise::required`] with
    /// the next packet event.
    pub fn in_force(&self) -> Option<Requirement> {
        self.bulletin().requirement
    }

    /// The status of the present slot.
    pub fn status(&self) -> Status {
        self.bulletin().status
    }

    /// The latest estimate of the available bandwidth, in IP-layer bits per second, with its
    /// interval, averaging time and flags. [`Estimate::age`] gives its age. `None` until something
    /// is known.
    pub fn estimate(&self) -> Option<Estimate> {
        self.bulletin().estimate
    }

    /// C, the capacity of the tight link, in IP-layer bits per second, once known.
    pub fn capacity(&self) -> Option<Bandwidth> {
        self.bulletin().capacity
    }

    /// The knowledge of the path's near future, for questions beyond the two methods below.
    pub fn outlook(&self) -> Option<Outlook> {
        self.bulletin().outlook
    }

    /// The probability, 0 to 1, that `rate` would be achieved over the next `per` if it were
    /// required now. `None` while nothing is known of the path.
    pub fn can_promise(&self, rate: Bandwidth, per: Duration) -> Option<f64> {
        let bulletin = self.bulletin();
        if bulletin.smoothed_rtt.is_some_and(|rtt| per < rtt * 2) {
            return Some(0.0);
        }
        Some(bulletin.outlook?.probability(rate, per, 1.0))
    }

    /// The application data that can be delivered within `time` with at least this probability (0
    /// to 1), without taking from others. Data takes half a round trip to arrive, so data sent at
    /// the very end of `time` does not count. `None` while nothing is known of the path.
    pub fn bytes_within(&self, time: Duration, probability: f64) -> Option<Bytes> {
        let bulletin = self.bulletin();
        let half_trip = bulletin.smoothed_rtt? / 2;
        let usable = time.saturating_sub(half_trip);
        Some(bulletin.outlook?.bytes_within(usable, probability))
    }

    /// A reader for the reports of slots that end from now on. Every reader gets each report.
    pub fn reports(&self) -> SlotReports {
        SlotReports::new(Arc::clone(&self.shared))
    }

    /// A reader for changes of the status from now on: early warnings, and their end.
    pub fn status_changes(&self) -> StatusChanges {
        StatusChanges::new(Arc::clone(&self.shared))
    }

    /// Whether the path or its connection is gone: nothing that is required has an effect any more,
    /// no report follows, and whoever awaits one is told so.
    pub fn has_ended(&self) -> bool {
        self.shared.ended.load(Ordering::Acquire)
    }

    fn bulletin(&self) -> Bulletin {
        self.shared.bulletin()
    }

    fn post(&self, requirement: Option<Requirement>) {
        let requiring = self.shared.requiring.lock();
        let _one_at_a_time = requiring.unwrap_or_else(PoisonError::into_inner);
        self.shared
            .mailbox
            .publish(requirement_to_words(requirement));
    }
}

fn cell(number: u64) -> usize {
    usize::try_from(number % RING as u64).unwrap_or(0)
}

/// The packet path's side.
#[derive(Debug)]
pub(crate) struct PromiseSeat {
    shared: Arc<Shared>,
    seen: u64,
}

impl PromiseSeat {
    /// A seat with the requirement that holds from the start.
    pub(crate) fn new(requirement: Option<Requirement>) -> Self {
        let none = [0; REPORT_WORDS];
        let shared = Shared {
            path: OnceLock::new(),
            mailbox: Published::new(requirement_to_words(requirement)),
            requiring: Mutex::new(()),
            bulletin: Published::new(Bulletin::default().to_words()),
            reports: std::array::from_fn(|_| Published::new(none)),
            reported: AtomicU64::new(0),
            status_changes: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            sleepers: Sleepers::default(),
        };
        Self {
            shared: Arc::new(shared),
            // No version is odd at rest, so the first requirement is news.
            seen: 1,
        }
    }

    /// The path that handles speak of. Said once.
    pub(super) fn set_path(&self, path: PathInfo) {
        let _ = self.shared.path.set(path);
    }

    /// A handle for the application.
    pub(crate) fn handle(&self) -> Promise {
        Promise {
            shared: Arc::clone(&self.shared),
        }
    }

    /// The requirement, if it has changed since the last call. If not, this costs one load.
    pub(crate) fn take_requirement(&mut self) -> Option<Option<Requirement>> {
        if self.shared.mailbox.version() == self.seen {
            return None;
        }
        // If a thread is writing at this moment, the next packet event is soon enough.
        let (words, version) = self.shared.mailbox.try_read()?;
        self.seen = version;
        Some(requirement_from_words(words))
    }

    pub(super) fn publish(&self, bulletin: Bulletin) {
        self.shared.bulletin.publish(bulletin.to_words());
    }

    pub(super) fn report(&self, report: &SlotReport) {
        let number = self.shared.reported.load(Ordering::Relaxed);
        self.shared.reports[cell(number)].publish(report_to_words(report));
        self.shared.reported.store(number + 1, Ordering::Release);
        self.shared.sleepers.wake();
    }

    /// The status that was just published is another one than before.
    pub(super) fn tell_status(&self) {
        self.shared.status_changes.fetch_add(1, Ordering::Release);
        self.shared.sleepers.wake();
    }
}

impl Drop for PromiseSeat {
    /// The controller is gone, and with it the path.
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        self.shared.sleepers.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promise::{Changes, History, Outcome};
    use crate::units::Timestamp;

    fn requirement(mbps: u64) -> Requirement {
        Requirement::new(Bandwidth::from_mbps(mbps), Duration::from_secs(1)).expect("possible")
    }

    fn report(index: u64) -> SlotReport {
        SlotReport {
            index,
            start: Timestamp::from_nanos(index),
            end: Timestamp::from_nanos(index + 1),
            required: Bandwidth::from_mbps(8),
            achieved: Bandwidth::from_mbps(7),
            outcome: Outcome::Missed,
            warned: None,
        }
    }

    #[test]
    fn what_is_required_arrives_once() {
        let mut seat = PromiseSeat::new(Some(requirement(3)));
        assert_eq!(seat.take_requirement(), Some(Some(requirement(3))));
        assert_eq!(seat.take_requirement(), None);
        let handle = seat.handle();
        handle
            .require(requirement(8))
            .expect("nothing known of the path");
        handle
            .clone()
            .change(requirement(9))
            .expect("nothing known of the path");
        assert_eq!(handle.required(), Some(requirement(9)));
        assert_eq!(seat.take_requirement(), Some(Some(requirement(9))));
        handle.withdraw();
        assert_eq!(seat.take_requirement(), Some(None));
        assert_eq!(seat.take_requirement(), None);
    }

    #[test]
    fn what_the_path_does_not_allow_is_rejected_and_changes_nothing() {
        let mut seat = PromiseSeat::new(None);
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
        seat.publish(Bulletin {
            smoothed_rtt: Some(Duration::from_millis(600)),
            ..Bulletin::default()
        });
        let error = handle
            .require(requirement(3))
            .expect_err("1 s holds no two round trips");
        assert!(error.to_string().contains("1.2s and longer"), "{error}");
        assert_eq!(
            handle.can_promise(Bandwidth::from_mbps(1), Duration::from_secs(1)),
            Some(0.0)
        );
        seat.publish(Bulletin {
            outlook: Some(outlook),
            ..Bulletin::default()
        });
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
        let seat = PromiseSeat::new(None);
        let mut early = seat.handle().reports();
        assert_eq!(early.take(), None);
        seat.report(&report(0));
        seat.report(&report(1));
        let mut both = seat.handle().reports();
        assert_eq!(both.take(), None, "these ended before it was asked for");
        assert_eq!(early.take(), Some(report(0)));
        let mut other = early.clone();
        assert_eq!(early.take(), Some(report(1)));
        assert_eq!(other.take(), Some(report(1)));
        for index in 2..202 {
            seat.report(&report(index));
        }
        assert_eq!(
            early.take(),
            Some(report(75)),
            "200 since, the last 127 are there"
        );
        assert_eq!(early.missed(), 73);
        assert_eq!(std::iter::from_fn(|| early.take()).count(), 126);
    }

    #[test]
    fn a_handle_tells_that_its_path_is_gone() {
        let seat = PromiseSeat::new(None);
        let (handle, mut reports) = (seat.handle(), seat.handle().reports());
        assert!(!handle.has_ended());
        seat.report(&report(0));
        drop(seat);
        assert!(handle.has_ended());
        let rejected = handle.require(requirement(3));
        assert_eq!(rejected, Err(RejectedRequirement::PathGone));
        assert_eq!(handle.required(), None);
        assert_eq!(reports.take(), Some(report(0)), "it was there before");
        assert_eq!(reports.take(), None);
    }

    #[test]
    fn a_handle_works_from_other_threads() {
        let mut seat = PromiseSeat::new(None);
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
                seat.report(&report(index));
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
