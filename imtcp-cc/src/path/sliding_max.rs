//! The greatest value of the last ten seconds, in constant memory.

use crate::units::Timestamp;
use std::time::Duration;

/// How long a value is kept. If the path changes, its new extreme shows after this time. BBR uses
/// ten seconds for its minimum RTT for the same reason: if a flow lets queues drain, it does so
/// more often than this.
const MEMORY: Duration = Duration::from_secs(10);

/// The memory is divided into this many steps, and forgotten a step at a time.
const STEPS: usize = 10;

/// A sliding maximum. With values in [`std::cmp::Reverse`] it is a sliding minimum.
#[derive(Clone, Debug)]
pub(super) struct SlidingMax<T> {
    /// The greatest value of each step of the memory.
    greatest: [Option<T>; STEPS],
    /// The number of the newest step, counted from the origin of time.
    newest: u64,
    /// The greatest value of all steps. It is kept because it is read several times per
    /// acknowledgement.
    most: Option<T>,
}

impl<T> Default for SlidingMax<T> {
    fn default() -> Self {
        Self {
            greatest: [const { None }; STEPS],
            newest: 0,
            most: None,
        }
    }
}

impl<T: Copy + Ord> SlidingMax<T> {
    /// Takes a value that was seen at `now`.
    pub(super) fn observe(&mut self, now: Timestamp, value: T) {
        self.advance(now);
        let slot = &mut self.greatest[Self::slot(self.newest)];
        *slot = (*slot).max(Some(value));
        self.most = self.most.max(Some(value));
    }

    /// The greatest value within the memory, at the time of the last call of `observe` or
    /// `advance`.
    pub(super) fn get(&self) -> Option<T> {
        self.most
    }

    /// Moves the time on to `now`, and forgets values that are too old.
    pub(super) fn advance(&mut self, now: Timestamp) {
        let step = Self::step(now);
        if step <= self.newest {
            return;
        }
        // After a long silence all steps are stale, and each has to be cleared only once.
        for stale in (self.newest + 1..=step).rev().take(STEPS) {
            self.greatest[Self::slot(stale)] = None;
        }
        self.newest = step;
        self.most = self.greatest.iter().flatten().max().copied();
    }

    fn step(now: Timestamp) -> u64 {
        let nanos_per_step = u64::try_from(MEMORY.as_nanos()).unwrap_or(u64::MAX) / STEPS as u64;
        now.as_nanos() / nanos_per_step
    }

    fn slot(step: u64) -> usize {
        usize::try_from(step % STEPS as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;

    fn at_s(s: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_secs(s))
    }

    #[test]
    fn a_value_is_kept_for_its_memory_and_then_forgotten() {
        let mut least = SlidingMax::default();
        for (s, value, expected) in [
            (0, 100, 100),
            (5, 150, 100),
            (9, 160, 100),
            (11, 170, 150),
            (1000, 400, 400),
        ] {
            least.observe(at_s(s), Reverse(value));
            assert_eq!(least.get(), Some(Reverse(expected)), "after {s} s");
        }
    }

    #[test]
    fn time_that_passes_without_a_value_counts() {
        let mut most = SlidingMax::default();
        most.observe(at_s(1), 7);
        most.advance(at_s(10));
        assert_eq!(most.get(), Some(7));
        most.advance(at_s(11));
        assert_eq!(most.get(), None);
    }
}
