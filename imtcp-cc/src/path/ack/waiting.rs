//! How long packets waited in queues.

use crate::path::sliding_max::SlidingMax;
use crate::units::{Nanos, TimeDelta, Timestamp};
use std::cmp::Reverse;

/// Follows the delay of the path without queues, and the delay above it.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The base delay: the delay of the path with nothing in its queues.
    base: SlidingMax<Reverse<TimeDelta>>,
    /// The longest time in queues.
    longest: SlidingMax<Nanos>,
    /// The largest time by which two echoes came closer together than the tight link serves
    /// packets. Something after that link pushed them together. Waiting up to this time is not
    /// believed.
    pushed: SlidingMax<Nanos>,
}

impl Waiting {
    /// An echo came at `arrived`, after a `delay` that holds no serialisation.
    pub(super) fn observe(&mut self, arrived: Timestamp, delay: TimeDelta) {
        self.base.observe(arrived, Reverse(delay));
        self.longest.observe(arrived, self.excess(delay));
    }

    /// The tight link serves the packet of an echo in `serialisation`. The echo before it came at
    /// `last`.
    pub(super) fn observe_distance(
        &mut self,
        arrived: Timestamp,
        last: Timestamp,
        serialisation: Nanos,
    ) {
        let pushed = serialisation.signed() - (arrived - last);
        let pushed = pushed.to_nanos().unwrap_or(Nanos::ZERO);
        self.pushed.observe(arrived, pushed);
    }

    /// The part of `delay` above the base: the time spent in queues.
    fn excess(&self, delay: TimeDelta) -> Nanos {
        let base = self.base.get();
        base.and_then(|Reverse(base)| (delay - base).to_nanos())
            .unwrap_or(Nanos::ZERO)
    }

    /// The time that a packet certainly waited, if it had this `delay` beyond its serialisation. Of
    /// the measured time, `doubt` is not believed.
    pub(super) fn of(&self, delay: TimeDelta, doubt: Nanos) -> Nanos {
        let pushed = self.pushed.get().unwrap_or(Nanos::ZERO);
        self.excess(delay).saturating_sub(pushed.max(doubt))
    }

    /// The longest recent time in queues.
    pub(super) fn longest(&self) -> Nanos {
        self.longest.get().unwrap_or(Nanos::MAX)
    }
}
