//! The proof that the tight link worked without a pause.

use super::gap::{EchoPoint, LinkState};
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// A queue's remaining work may be overestimated by this share of a packet's serialisation time.
/// Clocks and the capacity are no more exact than that.
const WORK_TOLERANCE_DIVISOR: u32 = 100;

/// Follows the least work that the tight link's queue can hold while packets reach it. It counts
/// only known work: the waiting time of the last echoed packet, and our own packets since.
pub(super) struct QueueWork {
    capacity: Option<Bandwidth>,
    /// The size of the last packet, its serialisation time and the tolerance. Packets that follow
    /// each other are nearly always of one size.
    size: Bytes,
    serialisation: Duration,
    tolerance: Duration,
    /// When the queue would run empty if nobody else sent, on the sender's clock.
    empty_at: Timestamp,
    busy: bool,
    /// The same times as if the last echoed packet had not waited.
    bare_empty_at: Timestamp,
    bare_busy: bool,
}

impl QueueWork {
    /// The work after `from`, which waited, and which the link serves in `serialisation`.
    pub(super) fn after(
        from: &EchoPoint,
        waiting: Duration,
        capacity: Option<Bandwidth>,
        serialisation: Option<Duration>,
    ) -> Self {
        let serialisation = serialisation.unwrap_or_default();
        Self {
            capacity,
            size: from.size,
            serialisation,
            tolerance: serialisation / WORK_TOLERANCE_DIVISOR,
            empty_at: from.sent + waiting + serialisation,
            busy: capacity.is_some(),
            bare_empty_at: from.sent + serialisation,
            bare_busy: capacity.is_some(),
        }
    }

    pub(super) fn arrive(&mut self, sent: Timestamp, size: Bytes) {
        let Some(capacity) = self.capacity else {
            return;
        };
        if size != self.size {
            self.size = size;
            self.serialisation = capacity.time_for(size);
            self.tolerance = self.serialisation / WORK_TOLERANCE_DIVISOR;
        }
        let (serialisation, tolerance) = (self.serialisation, self.tolerance);
        self.busy &= sent <= self.empty_at + tolerance;
        self.empty_at = self.empty_at.max(sent) + serialisation;
        self.bare_busy &= sent <= self.bare_empty_at + tolerance;
        self.bare_empty_at = self.bare_empty_at.max(sent) + serialisation;
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
