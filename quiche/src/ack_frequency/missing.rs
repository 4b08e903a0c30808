//! Packet numbers that were skipped and have not arrived since.

use std::collections::VecDeque;
use std::ops::Range;

/// The number of gaps that are remembered. If a peer leaves more, the oldest are forgotten.
const CAPACITY: usize = 64;

/// Gaps in the packet numbers received, as ascending ranges that do not touch.
#[derive(Debug, Default)]
pub(super) struct Missing {
    gaps: VecDeque<Range<u64>>,
    /// One above the largest number received.
    next: u64,
}

impl Missing {
    /// Takes in a received number. Returns true if it does not continue the numbers before it.
    pub(super) fn on_received(&mut self, number: u64) -> bool {
        if number < self.next {
            self.fill(number);
            return true;
        }
        let skipped = self.next..number;
        self.next = number.saturating_add(1);
        if skipped.is_empty() {
            return false;
        }
        self.gaps.push_back(skipped);
        self.trim();
        true
    }

    /// The smallest missing number above `floor`, or of all.
    pub(super) fn smallest_above(&self, floor: Option<u64>) -> Option<u64> {
        let from = floor.map_or(0, |floor| floor.saturating_add(1));
        let index = self.gaps.partition_point(|gap| gap.end <= from);
        self.gaps.get(index).map(|gap| gap.start.max(from))
    }

    /// Removes a number that arrived late.
    fn fill(&mut self, number: u64) {
        let index = self.gaps.partition_point(|gap| gap.end <= number);
        let Some(gap) = self.gaps.get_mut(index).filter(|gap| gap.contains(&number)) else {
            return;
        };
        let after = number + 1..gap.end;
        gap.end = number;
        let before_is_empty = gap.is_empty();
        if !after.is_empty() {
            self.gaps.insert(index + 1, after);
        }
        if before_is_empty {
            self.gaps.remove(index);
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.gaps.len() > CAPACITY {
            self.gaps.pop_front();
        }
    }
}
