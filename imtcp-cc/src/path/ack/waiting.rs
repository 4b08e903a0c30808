//! How long packets waited in queues.

use super::base_delay::BaseDelay;
use super::gap::EchoPoint;
use crate::units::{Bandwidth, TimeDelta};
use std::time::Duration;

/// Follows the delay of the path without queues, and the delay above it.
#[derive(Debug)]
pub(super) struct Waiting {
    base: BaseDelay,
    /// The longest time in queues, stored as the least of its negative.
    longest: BaseDelay,
    /// The largest time by which two echoes came closer together than the tight link serves
    /// packets, stored as the least of its negative. Something after that link pushed them
    /// together. Waiting up to this time is not believed.
    pushed: BaseDelay,
}

impl Waiting {
    pub(super) fn new() -> Self {
        Self {
            base: BaseDelay::new(),
            longest: BaseDelay::new(),
            pushed: BaseDelay::new(),
        }
    }

    /// Takes an echo, and the one before it.
    pub(super) fn observe(
        &mut self,
        point: &EchoPoint,
        last: Option<&EchoPoint>,
        capacity: Option<Bandwidth>,
    ) {
        let delay = point.delay(capacity);
        self.base.observe(point.arrived, delay);
        if let (Some(last), Some(rate)) = (last, capacity) {
            let serialisation = TimeDelta::from(rate.time_for(point.size));
            let pushed = serialisation - (point.arrived - last.arrived);
            self.pushed
                .observe(point.arrived, (-pushed).min(TimeDelta::ZERO));
        }
        self.longest
            .observe(point.arrived, -TimeDelta::from(self.base.excess(delay)));
    }

    /// The time that a packet certainly waited. Of the measured time, `doubt` is not believed.
    pub(super) fn of(
        &self,
        point: &EchoPoint,
        capacity: Option<Bandwidth>,
        doubt: Duration,
    ) -> Duration {
        let pushed = self.pushed.get().map_or(Duration::ZERO, TimeDelta::abs);
        self.base
            .excess(point.delay(capacity))
            .saturating_sub(pushed.max(doubt))
    }

    /// The longest recent time in queues.
    pub(super) fn longest(&self) -> Duration {
        self.longest.get().map_or(Duration::MAX, TimeDelta::abs)
    }
}
