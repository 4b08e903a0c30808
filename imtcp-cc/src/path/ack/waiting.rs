//! How long packets waited in queues.

use super::route::RouteWatch;
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
    route: RouteWatch,
}

impl Waiting {
    /// An echo came at `arrived`, after a `delay` that holds no serialisation.
    pub(super) fn observe(&mut self, arrived: Timestamp, delay: TimeDelta) {
        self.base.observe(arrived, Reverse(delay));
        self.longest.observe(arrived, self.excess(delay));
    }

    /// The same packet did not leave close behind another, and the tight link serves it in
    /// `serialisation`. True if the path was found to be longer than it was: what was said of
    /// waiting since it became so is wrong.
    pub(super) fn observe_route(
        &mut self,
        arrived: Timestamp,
        delay: TimeDelta,
        serialisation: Nanos,
    ) -> bool {
        let Some(Reverse(base)) = self.base.get() else {
            return false;
        };
        let Some(longer) = self.route.observe(arrived, delay, base, serialisation) else {
            return false;
        };
        self.base = SlidingMax::default();
        self.base.observe(arrived, Reverse(longer));
        self.longest = SlidingMax::default();
        true
    }

    /// The tight link has been faster than was thought for some time, so that each full packet took
    /// `saved` less. From the delays of that time too much was taken for serialisation.
    pub(super) fn on_faster_link(&mut self, saved: Nanos) {
        self.base
            .map(|Reverse(delay)| Reverse(delay + saved.signed()));
        self.pushed.map(|pushed| pushed.saturating_sub(saved));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    fn micros(us: i64) -> TimeDelta {
        TimeDelta::from_nanos(us * 1000)
    }

    /// Packets took 1 ms each, and take 250 us since 10 ms ago. Nobody has known of it, so too much
    /// was taken off their delays, and their echoes seemed to be pushed together.
    #[test]
    fn a_link_that_was_faster_for_some_time_makes_nobody_wait() {
        let mut waiting = Waiting::default();
        waiting.observe(at_ms(0), micros(20_000));
        waiting.observe(at_ms(10), micros(19_250));
        waiting.observe_distance(at_ms(10), at_ms(9), Nanos::new(1_750_000));
        assert_eq!(waiting.of(micros(20_500), Nanos::ZERO), Nanos::new(500_000));
        waiting.on_faster_link(Nanos::new(750_000));
        assert_eq!(waiting.of(micros(20_000), Nanos::ZERO), Nanos::ZERO);
        assert_eq!(
            waiting.of(micros(21_000), Nanos::ZERO),
            Nanos::new(1_000_000)
        );
    }
}
