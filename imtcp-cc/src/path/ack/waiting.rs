//! How long packets waited in queues.

use super::gap::EchoPoint;
use crate::path::sliding_max::SlidingMax;
use crate::units::{Bandwidth, TimeDelta};
use std::cmp::Reverse;
use std::time::Duration;

/// Follows the delay of the path without queues, and the delay above it.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The base delay: the delay of the path with nothing in its queues.
    base: SlidingMax<Reverse<TimeDelta>>,
    /// The longest time in queues.
    longest: SlidingMax<Duration>,
    /// The largest time by which two echoes came closer together than the tight link serves
    /// packets. Something after that link pushed them together. Waiting up to this time is not
    /// believed.
    pushed: SlidingMax<Duration>,
}

impl Waiting {
    /// Takes an echo, and the one before it.
    pub(super) fn observe(
        &mut self,
        point: &EchoPoint,
        last: Option<&EchoPoint>,
        capacity: Option<Bandwidth>,
    ) {
        let serialisation = capacity.map(|rate| rate.time_for(point.size));
        let delay = point.delay_beyond(serialisation);
        self.base.observe(point.arrived, Reverse(delay));
        if let (Some(last), Some(serialisation)) = (last, serialisation) {
            let pushed = TimeDelta::from(serialisation) - (point.arrived - last.arrived);
            let pushed = pushed.to_duration().unwrap_or(Duration::ZERO);
            self.pushed.observe(point.arrived, pushed);
        }
        self.longest.observe(point.arrived, self.excess(delay));
    }

    /// The part of `delay` above the base: the time spent in queues.
    fn excess(&self, delay: TimeDelta) -> Duration {
        let base = self.base.get();
        base.and_then(|Reverse(base)| (delay - base).to_duration())
            .unwrap_or(Duration::ZERO)
    }

    /// The time that a packet certainly waited. The tight link serves it in `serialisation`, if
    /// that is known. Of the measured time, `doubt` is not believed.
    pub(super) fn of(
        &self,
        point: &EchoPoint,
        serialisation: Option<Duration>,
        doubt: Duration,
    ) -> Duration {
        let pushed = self.pushed.get().unwrap_or(Duration::ZERO);
        self.excess(point.delay_beyond(serialisation))
            .saturating_sub(pushed.max(doubt))
    }

    /// The longest recent time in queues.
    pub(super) fn longest(&self) -> Duration {
        self.longest.get().unwrap_or(Duration::MAX)
    }
}
