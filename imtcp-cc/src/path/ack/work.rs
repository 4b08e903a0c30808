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

    /// Whether a packet that leaves at `sent` meets none of our own, unless others delayed those.
    pub(super) fn has_passed(&self, sent: Timestamp) -> bool {
        sent > self.bare_empty_at
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    const SERVED: Nanos = Nanos::from_millis(1);

    #[test]
    fn a_packet_meets_none_of_ours_once_those_before_it_are_served() {
        let at = |us: u64| Timestamp::from_nanos(us * 1000);
        let from = EchoPoint {
            number: 1,
            size: Bytes::new(1250),
            sent: at(0),
            arrived: at(5000),
            came: at(5000),
        };
        // That others delayed the first packet does not make the second one less alone.
        let mut work = QueueWork::after(&from, Nanos::from_millis(10), Some(SERVED));
        assert!(!work.has_passed(at(900)));
        assert!(work.has_passed(at(1100)));
        work.arrive(at(900), SERVED);
        assert!(!work.has_passed(at(1900)));
        assert!(work.has_passed(at(2100)));
    }
}
