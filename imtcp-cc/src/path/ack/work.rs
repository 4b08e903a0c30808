//! The proof that the tight link worked without a pause.

use super::gap::{EchoPoint, LinkState};
use crate::units::{Nanos, Timestamp};

/// A queue's remaining work may be overestimated by this share of a packet's serialisation time.
/// Clocks and the capacity are no more exact than that.
const WORK_TOLERANCE_DIVISOR: u64 = 100;

/// Follows the least work that the tight link's queue can hold while packets reach it. It counts
/// only known work: the waiting time of the last echoed packet, and our own packets since.
pub(super) struct QueueWork {
    /// When the queue would run empty if nobody else sent, on the sender's clock.
    empty_at: Timestamp,
    busy: bool,
    /// The same times as if the last echoed packet had not waited.
    bare_empty_at: Timestamp,
    bare_busy: bool,
}

impl QueueWork {
    /// The work after `from`, which waited, and which the link serves in `serialisation`, if that
    /// is known.
    pub(super) fn after(from: &EchoPoint, waiting: Nanos, serialisation: Option<Nanos>) -> Self {
        let busy = serialisation.is_some();
        let bare_empty_at = from.sent.after(serialisation.unwrap_or_default());
        Self {
            empty_at: bare_empty_at.after(waiting),
            busy,
            bare_empty_at,
            bare_busy: busy,
        }
    }

    /// A packet left at `sent`, which the link serves in `serialisation`.
    pub(super) fn arrive(&mut self, sent: Timestamp, serialisation: Nanos) {
        let tolerance = Nanos::new(serialisation.get() / WORK_TOLERANCE_DIVISOR);
        self.busy &= sent <= self.empty_at.after(tolerance);
        self.empty_at = self.empty_at.max(sent).after(serialisation);
        self.bare_busy &= sent <= self.bare_empty_at.after(tolerance);
        self.bare_empty_at = self.bare_empty_at.max(sent).after(serialisation);
    }

    pub(super) fn verdict(&self, spaced: bool) -> LinkState {
        match (self.busy, spaced, self.bare_busy) {
            (false, ..) => LinkState::Unknown,
            (true, false, _) => LinkState::BusyRushed,
            (true, true, true) => LinkState::BusySpaced,
            (true, true, false) => LinkState::BusyQueued,
        }
    }
}
