//! The handle of a promise, for any thread of the application.

use super::bulletin::{
    BULLETIN_WORDS, Bulletin, MODE_WORDS, REPORT_WORDS, REQUIREMENT_WORDS, mode_from_words,
    mode_to_words, requirement_from_words, requirement_to_words,
};
use super::forecast::Outlook;
use super::readers::{SlotReports, StatusChanges};
use super::requirement::{FEWEST_ROUND_TRIPS, RejectedRequirement, Requirement};
use super::status::Status;
use super::threads::{Board, Mailbox, Ring, Sleepers};
use crate::bulk_share::BulkShare;
use crate::estimate::Estimate;
use crate::mode::{Mode, RejectedMode};
use crate::path::PathInfo;
use crate::units::{Bandwidth, Bytes};
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of reports kept for readers. At two slots a second they cover over a minute.
pub(super) const RING: usize = 128;

/// What the handle, its readers and the packet path share: one for all paths of a connection.
#[derive(Debug)]
pub(super) struct Shared {
    /// The path in charge, or the last one that was.
    pub(super) path: ArcSwapOption<PathInfo>,
    /// How often another path took charge.
    pub(super) moves: AtomicU64,
    /// The application's latest requirement.
    pub(super) mailbox: Mailbox<REQUIREMENT_WORDS>,
    /// The mode that the application wants.
    pub(super) mode: Mailbox<MODE_WORDS>,
    pub(super) bulletin: Board<BULLETIN_WORDS>,
    pub(super) reports: Ring<REPORT_WORDS, RING>,
    pub(super) sleepers: Sleepers,
    /// The seat in charge, by its number; 0 while there is none. This and the next two are the
    /// packet path's alone.
    pub(super) in_charge: AtomicU64,
    /// The seats that were ever made.
    pub(super) seats: AtomicU64,
    /// The seats that are there.
    pub(super) seated: AtomicU64,
}

impl Shared {
    pub(super) fn new(requirement: Option<Requirement>, mode: Mode) -> Self {
        Self {
            path: ArcSwapOption::empty(),
            moves: AtomicU64::new(0),
            mailbox: Mailbox::new(requirement_to_words(requirement)),
            mode: Mailbox::new(mode_to_words(mode)),
            bulletin: Board::new(Bulletin::default().to_words()),
            reports: Ring::new(),
            sleepers: Sleepers::new(),
            in_charge: AtomicU64::new(0),
            seats: AtomicU64::new(0),
            seated: AtomicU64::new(0),
        }
    }

    pub(super) fn bulletin(&self) -> Bulletin {
        let words = self.bulletin.read();
        words.map_or_else(Bulletin::default, |words| Bulletin::from_words(&words))
    }

    /// Packet path only.
    pub(super) fn publish(&self, bulletin: Bulletin, is_other_status: bool) {
        let publish = || self.bulletin.publish(bulletin.to_words(), is_other_status);
        if is_other_status {
            self.sleepers.tell(publish);
        } else {
            publish();
        }
    }

    /// What was published was of a path that is not in use any more, and so is no longer true.
    /// Packet path only.
    pub(super) fn say_nothing_is_known(&self) {
        let was_idle = self.bulletin().status == Status::Idle;
        self.publish(Bulletin::default(), !was_idle);
    }

    /// The connection is gone. What was measured last stays: it was true at its time. Packet path
    /// only.
    pub(super) fn end(&self) {
        let Bulletin {
            estimate, capacity, ..
        } = self.bulletin();
        let last = Bulletin {
            estimate,
            capacity,
            ..Bulletin::default()
        };
        // Readers are told that it has ended, which says more than that the status is idle.
        self.publish(last, false);
        self.sleepers.end();
    }
}

/// The handle of a connection's promise. It is cheap to clone, works from any thread, and is usable
/// while the connection runs. The packet path never waits for it.
///
/// # When the connection changes its path
///
/// A promise belongs to the connection. What is required stays required when the client's port or
/// address changes, and every handle and reader goes on. Until the new path has carried data and
/// its first acknowledgement is there, nothing is in force: [`Promise::in_force`] is `None`, the
/// status is [`Status::Idle`], and there is no estimate, because those of the old path say nothing
/// about the new one. Then the requirement comes into force on the new path, as if it had just been
/// made. It is not checked against what the new path can carry, because nothing is known of it; the
/// status warns as always. A slot that was running is dropped without a report. [`Promise::moves`]
/// counts.
///
/// # When the connection ends
///
/// [`Promise::has_ended`] becomes true, readers give `None`, nothing is in force any more, and
/// whoever requires something is told [`RejectedRequirement::ConnectionGone`]. The last estimate
/// and the capacity stay, with their age. With quiche a connection ends when either side closes it,
/// or a timeout does, and at the latest when it is dropped.
///
/// The rates of [`Promise::estimate`], [`Promise::share`] and [`Promise::capacity`] are of IP
/// packets. All other rates are of application data.
#[derive(Clone, Debug)]
pub struct Promise {
    pub(super) shared: Arc<Shared>,
}

impl Promise {
    /// The path that the connection's data takes, or took last; `None` where its transport does not
    /// tell.
    pub fn path(&self) -> Option<PathInfo> {
        let path = self.shared.path.load();
        path.as_deref().cloned()
    }

    /// How often the connection has changed its path: each time, what was known of the old one was
    /// dropped, the slot that was running ended without a report, and the requirement was carried
    /// over.
    pub fn moves(&self) -> u64 {
        self.shared.moves.load(Ordering::Acquire)
    }

    /// Requires a rate from the next acknowledgement on, or changes the required rate. If none has
    /// come for some round trips, it is from the next packet on that waits or is sent as a probe. A
    /// new evaluation slot begins with this event. To require what is required already changes
    /// nothing. If the promise rests ([`Status::Broken`]), it also rests with a rate that is nine
    /// tenths of the one that failed or more. A lower one is tried at once.
    ///
    /// # Errors
    /// The connection is gone, or its path is known not to allow the requirement: the period is
    /// below two round trips, or the rate is above both what is available and the ceiling's share
    /// of the capacity. The error says what is possible. The previous requirement stays in force.
    pub fn require(&self, requirement: Requirement) -> Result<(), RejectedRequirement> {
        if self.has_ended() {
            return Err(RejectedRequirement::ConnectionGone);
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

    /// Withdraws the requirement, from the same event on as [`Promise::require`]. The window is
    /// free from the next acknowledgement on.
    pub fn withdraw(&self) {
        self.post(None);
    }

    /// The requirement as last set through this handle or a clone of it, or by the configuration.
    pub fn required(&self) -> Option<Requirement> {
        requirement_from_words(self.shared.mailbox.read()?)
    }

    /// Sets what the connection wants of its path, from the next acknowledgement on. While a rate
    /// is required, the mode rests; it comes back when the requirement is withdrawn.
    ///
    /// # Errors
    /// The mode's parameter is out of its range. The mode before stays.
    pub fn set_mode(&self, mode: Mode) -> Result<(), RejectedMode> {
        self.shared.mode.post(mode_to_words(mode.check()?));
        Ok(())
    }

    /// The mode as last set through this handle or a clone of it, or by the configuration.
    pub fn mode(&self) -> Mode {
        self.shared
            .mode
            .read()
            .map_or_else(Mode::default, mode_from_words)
    }

    /// The requirement for which the packet path works now. It becomes [`Promise::required`] with
    /// the event of [`Promise::require`]. `None` while nothing is required, from a change of path
    /// to the first acknowledgement on the new one, and after the end.
    pub fn in_force(&self) -> Option<Requirement> {
        self.bulletin().requirement
    }

    /// The status of the present slot.
    pub fn status(&self) -> Status {
        self.bulletin().status
    }

    /// The latest estimate of the available bandwidth, in IP-layer bits per second, with its
    /// interval, averaging time and flags. [`Estimate::age`] gives its age. When it does not hold
    /// any more, a lower bound takes its place ([`crate::Flags::lower_bound`]), and `None` where
    /// nothing was delivered lately.
    pub fn estimate(&self) -> Option<Estimate> {
        self.bulletin().estimate
    }

    /// What a bulk transfer in the place of this connection would get, in IP-layer bits per second:
    /// its share beside flows that give way, which [`Promise::estimate`] does not count, and less
    /// than that where losses keep its window small. `None` until something is known, and while
    /// nothing that was sent is acknowledged.
    pub fn share(&self) -> Option<BulkShare> {
        self.bulletin().share
    }

    /// C, the capacity of the tight link, in IP-layer bits per second, once known.
    pub fn capacity(&self) -> Option<Bandwidth> {
        self.bulletin().capacity
    }

    /// The knowledge of the path's near future, as of the last packet event, for questions beyond
    /// the two methods below.
    pub fn outlook(&self) -> Option<Outlook> {
        self.bulletin().outlook
    }

    /// The probability, 0 to 1, that `rate` would be achieved over the next `per` if it were
    /// required now. It is 0 if `per` is below two of the path's least round trips. `None` while
    /// nothing recent is known of the path, or nothing that was sent is acknowledged.
    pub fn can_promise(&self, rate: Bandwidth, per: Duration) -> Option<f64> {
        let bulletin = self.bulletin();
        if bulletin
            .least_rtt
            .is_some_and(|rtt| per < rtt * FEWEST_ROUND_TRIPS)
        {
            return Some(0.0);
        }
        Some(bulletin.outlook?.probability(rate, per, 1.0))
    }

    /// The application data that can be delivered within `time` with at least this probability (0
    /// to 1), without taking from others. Data takes half a round trip to arrive, so data sent at
    /// the very end of `time` does not count. `None` while nothing recent is known of the path.
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

    /// Whether the connection is gone: nothing that is required has an effect any more, no report
    /// follows, and whoever awaits one is told so.
    pub fn has_ended(&self) -> bool {
        self.shared.sleepers.has_ended()
    }

    /// Whether both are handles of one promise.
    #[cfg(feature = "quiche")]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    fn bulletin(&self) -> Bulletin {
        self.shared.bulletin()
    }

    fn post(&self, requirement: Option<Requirement>) {
        self.shared.mailbox.post(requirement_to_words(requirement));
    }
}
