//! The greatest value of the last ten seconds, in constant memory.

use crate::units::Timestamp;
use std::time::Duration;

/// How long a value is kept. If the path changes, its new extreme shows after this time. BBR uses
/// ten seconds for its minimum RTT for the same reason: if a flow lets queues drain, it does so
/// more often than this.
const MEMORY: Duration = Duration::from_secs(10);

/// The memory is divided into this many steps, and forgotten a step at a time.
const STEPS: usize = 10;
const NANOS_PER_STEP: u64 = MEMORY.as_secs() * 1_000_000_000 / STEPS as u64;

/// A sliding maximum. With values in [`std::cmp::Reverse`] it is a sliding minimum.
#[derive(Clone, Debug)]
pub(super) struct SlidingMax<T> {
    /// The greatest value of each step of the memory.
    greatest: [Option<T>; STEPS],
    /// The number of the newest step, counted from the origin of time.
    newest: u64,
    /// The place of the newest step.
    slot: usize,
    /// The end of the newest step.
    until: Timestamp,
    /// The greatest value of all steps. It is kept because it is read several times per
    /// acknowledgement.
    most: Option<T>,
}

impl<T> Default for SlidingMax<T> {
    fn default() -> Self {
        Self {
            greatest: [const { None }; STEPS],
            newest: 0,
            slot: 0,
            until: Timestamp::from_nanos(NANOS_PER_STEP),
            most: None,
        }
    }
}

impl<T: Copy + Ord> SlidingMax<T> {
    /// Takes a value that was seen at `now`.
    #[inline]
    pub(super) fn observe(&mut self, now: Timestamp, value: T) {
        self.advance(now);
        let slot = &mut self.greatest[self.slot];
        // Most values are no extremes. What the newest step has exceeded is none of all steps.
        if slot.is_some_and(|greatest| greatest >= value) {
            return;
        }
        *slot = Some(value);
        self.most = self.most.max(Some(value));
    }

    /// The greatest value within the memory, at the time of the last call of `observe` or
    /// `advance`.
    pub(super) fn get(&self) -> Option<T> {
        self.most
    }

    /// Changes each value in the memory. `change` must keep their order.
    pub(super) fn map(&mut self, change: impl Fn(T) -> T) {
        for value in self.greatest.iter_mut().chain([&mut self.most]) {
            *value = value.map(&change);
        }
    }

    /// Moves the time on to `now`, and forgets values that are too old.
    pub(super) fn advance(&mut self, now: Timestamp) {
        if now < self.until {
            return;
        }
        let step = now.as_nanos() / NANOS_PER_STEP;
        // After a long silence all steps are stale, and each has to be cleared only once.
        for stale in (self.newest + 1..=step).rev().take(STEPS) {
            self.greatest[Self::slot(stale)] = None;
        }
        self.newest = step;
        self.slot = Self::slot(step);
        self.until = Timestamp::from_nanos(step.saturating_add(1).saturating_mul(NANOS_PER_STEP));
        self.most = self.greatest.iter().flatten().max().copied();
    }

    fn slot(step: u64) -> usize {
        usize::try_from(step % STEPS as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
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

    proptest! {
        #[test]
        fn it_is_the_greatest_of_the_last_ten_steps(
            seen in proptest::collection::vec((0u64..2_500_000_000, 0u32..50), 1..200),
        ) {
            let mut sliding = SlidingMax::default();
            let mut now = Timestamp::ZERO;
            let mut all = Vec::new();
            for (later, value) in seen {
                now = now + Duration::from_nanos(later);
                sliding.observe(now, value);
                all.push((now.as_nanos() / NANOS_PER_STEP, value));
                let newest = now.as_nanos() / NANOS_PER_STEP;
                let greatest = all.iter().filter(|(step, _)| step + STEPS as u64 > newest);
                prop_assert_eq!(sliding.get(), greatest.map(|(_, value)| *value).max());
            }
        }
    }

    #[test]
    fn a_change_reaches_all_that_is_kept() {
        let mut most = SlidingMax::default();
        most.observe(at_s(1), 7);
        most.observe(at_s(2), 5);
        most.map(|value| value + 10);
        assert_eq!(most.get(), Some(17));
        most.advance(at_s(11));
        assert_eq!(most.get(), Some(15));
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
