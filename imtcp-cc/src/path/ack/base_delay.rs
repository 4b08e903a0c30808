//! The base delay: the delay of the path with nothing in its queues.

use crate::units::{TimeDelta, Timestamp};
use std::time::Duration;

/// How long a minimum is believed. If the path changes, its new floor shows after this time. BBR
/// uses ten seconds for its minimum RTT, for the same reason: a flow that lets queues drain at all
/// does so more often than this.
const MEMORY: Duration = Duration::from_secs(10);

/// The memory is forgotten in this many steps.
const BUCKETS: usize = 10;

/// A sliding minimum of delays, in constant memory.
#[derive(Debug, Clone)]
pub struct BaseDelay {
    /// The minimum of each step of the memory; `newest` is the step that holds `now`.
    minima: [Option<TimeDelta>; BUCKETS],
    newest: u64,
    /// The least of the minima. It is kept because it is read several times per acknowledgement.
    least: Option<TimeDelta>,
}

impl BaseDelay {
    /// A minimum without any delay yet.
    pub fn new() -> Self {
        Self {
            minima: [None; BUCKETS],
            newest: 0,
            least: None,
        }
    }

    /// Takes a delay that was seen at `now`.
    pub fn observe(&mut self, now: Timestamp, delay: TimeDelta) {
        self.advance(now);
        let slot = &mut self.minima[Self::slot(self.newest)];
        *slot = Some(slot.map_or(delay, |least| least.min(delay)));
        self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
    }

    /// The least delay within the memory.
    pub fn get(&self) -> Option<TimeDelta> {
        self.least
    }

    /// The part of `delay` above the base: the time spent in queues.
    pub fn excess(&self, delay: TimeDelta) -> Duration {
        self.get()
            .and_then(|base| (delay - base).to_duration())
            .unwrap_or(Duration::ZERO)
    }

    fn advance(&mut self, now: Timestamp) {
        let step = Self::step(now);
        if step <= self.newest {
            return;
        }
        // After a long silence every step is stale, and only so many steps have to be cleared.
        for stale in (self.newest + 1..=step).rev().take(BUCKETS) {
            self.minima[Self::slot(stale)] = None;
        }
        self.newest = step;
        self.least = self.minima.iter().flatten().min().copied();
    }

    fn step(now: Timestamp) -> u64 {
        let nanos_per_step = u64::try_from(MEMORY.as_nanos()).unwrap_or(u64::MAX) / BUCKETS as u64;
        now.as_nanos() / nanos_per_step
    }

    fn slot(step: u64) -> usize {
        usize::try_from(step % BUCKETS as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(s: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_secs(s))
    }

    #[test]
    fn the_minimum_is_kept_for_its_memory_and_then_forgotten() {
        let mut base = BaseDelay::new();
        base.observe(seconds(0), TimeDelta::from_nanos(100));
        base.observe(seconds(5), TimeDelta::from_nanos(150));
        assert_eq!(base.get(), Some(TimeDelta::from_nanos(100)));
        base.observe(seconds(9), TimeDelta::from_nanos(160));
        assert_eq!(base.get(), Some(TimeDelta::from_nanos(100)));
        base.observe(seconds(11), TimeDelta::from_nanos(170));
        assert_eq!(base.get(), Some(TimeDelta::from_nanos(150)));
        base.observe(seconds(1000), TimeDelta::from_nanos(400));
        assert_eq!(base.get(), Some(TimeDelta::from_nanos(400)));
    }

    #[test]
    fn excess_is_never_negative() {
        let mut base = BaseDelay::new();
        assert_eq!(base.excess(TimeDelta::from_nanos(5)), Duration::ZERO);
        base.observe(seconds(0), TimeDelta::from_nanos(100));
        assert_eq!(
            base.excess(TimeDelta::from_nanos(130)),
            Duration::from_nanos(30)
        );
        assert_eq!(base.excess(TimeDelta::from_nanos(70)), Duration::ZERO);
    }
}
