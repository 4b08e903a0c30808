//! The latest dispersions, in ascending order when they are looked at.
//!
//! They are looked at seldom. If few are new then, the new ones are sorted by themselves, and moved
//! in together, in place of those that are too old. To sort all of them would cost more, and so
//! would keeping them sorted all the time. If many are new, all are sorted.

use super::MEMORY;
use super::looks::MOST as MOST_FRESH;
use std::collections::VecDeque;

/// So many new ones are few.
pub(super) const FEW: usize = 64;

#[derive(Debug)]
pub(super) struct Memory {
    /// Oldest first. Between two looks there may be more than [`MEMORY`].
    all: VecDeque<f32>,
    /// The number of dispersions since the last look.
    fresh: usize,
    /// In ascending order, as of the last look.
    sorted: Vec<f32>,
    /// Room for what comes in and for what goes out, in ascending order.
    coming: Vec<f32>,
    going: Vec<f32>,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self {
            all: VecDeque::new(),
            fresh: 0,
            sorted: Vec::new(),
            coming: Vec::new(),
            going: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.sorted.clear();
        self.fresh = 0;
    }

    /// The number of dispersions that count.
    pub(super) fn len(&self) -> usize {
        self.all.len().min(MEMORY)
    }

    /// Makes room once and for all.
    #[cold]
    fn reserve(&mut self) {
        self.all.reserve_exact(MEMORY + MOST_FRESH);
        self.sorted.reserve_exact(MEMORY);
        self.coming.reserve_exact(FEW);
        self.going.reserve_exact(FEW);
    }

    pub(super) fn push(&mut self, dispersion: f32) {
        if self.all.capacity() == 0 {
            self.reserve();
        }
        if self.fresh == MOST_FRESH {
            self.sort();
        }
        self.all.push_back(dispersion);
        self.fresh += 1;
    }

    /// The dispersions as of the last [`Memory::sort`].
    pub(super) fn sorted(&self) -> &[f32] {
        &self.sorted
    }

    /// The dispersions in ascending order.
    pub(super) fn in_order(&mut self) -> &[f32] {
        self.sort();
        &self.sorted
    }

    /// The newest `count` dispersions in ascending order.
    pub(super) fn newest(&mut self, count: usize) -> &[f32] {
        let first = self.all.len().saturating_sub(count);
        self.coming.clear();
        self.coming.extend(self.all.range(first..));
        self.coming.sort_unstable_by(f32::total_cmp);
        &self.coming
    }

    /// Forgets all but the newest `count` dispersions.
    pub(super) fn keep_newest(&mut self, count: usize) {
        self.all.drain(..self.all.len().saturating_sub(count));
        self.sorted.clear();
        self.sorted.extend(&self.all);
        self.sorted.sort_unstable_by_key(|it| it.to_bits());
        self.fresh = 0;
    }

    /// Brings the order up to date.
    pub(super) fn sort(&mut self) {
        if self.fresh > FEW {
            self.keep_newest(MEMORY);
            return;
        }
        let (known, old) = (self.all.len() - self.fresh, self.all.len() - self.len());
        self.coming.clear();
        self.coming.extend(self.all.range(known..));
        self.coming.sort_unstable_by(f32::total_cmp);
        self.going.clear();
        self.going.extend(self.all.drain(..old));
        self.going.sort_unstable_by(f32::total_cmp);
        self.fresh = 0;
        self.take_out();
        self.bring_in();
    }

    /// Closes the places of those that go, from the least up.
    fn take_out(&mut self) {
        let (mut from, mut to) = (0, 0);
        for gone in &self.going {
            let place = from + self.sorted[from..].partition_point(|other| other < gone);
            self.sorted.copy_within(from..place, to);
            to += place - from;
            from = place + 1;
        }
        self.sorted.copy_within(from.., to);
        self.sorted.truncate(self.sorted.len() - self.going.len());
    }

    /// Opens places for those that come, from the greatest down.
    fn bring_in(&mut self) {
        let mut until = self.sorted.len();
        self.sorted.extend_from_slice(&self.coming);
        for (before, new) in self.coming.iter().enumerate().rev() {
            let place = self.sorted[..until].partition_point(|other| other <= new);
            self.sorted.copy_within(place..until, place + before + 1);
            self.sorted[place + before] = *new;
            until = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_sorted_and_holds_the_newest(
            // Few values, so that many are equal.
            values in proptest::collection::vec(0u8..64, 0..3 * MEMORY),
            looks in proptest::collection::vec(1usize..100, 0..100),
        ) {
            let mut memory = Memory::new();
            let mut looks = looks.into_iter();
            let mut next = looks.next();
            for (at, value) in values.iter().enumerate() {
                memory.push(f32::from(*value));
                if next == Some(0) || at + 1 == values.len() {
                    memory.sort();
                    next = looks.next();
                    let mut expected: Vec<_> = values[(at + 1).saturating_sub(MEMORY)..=at]
                        .iter()
                        .map(|value| f32::from(*value))
                        .collect();
                    expected.sort_by(f32::total_cmp);
                    prop_assert_eq!(memory.sorted(), expected);
                }
                next = next.map(|left| left.saturating_sub(1));
            }
        }
    }
}
