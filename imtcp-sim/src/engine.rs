//! The event list: virtual time in whole nanoseconds, ties in the order of scheduling.

use imtcp_cc::units::Timestamp;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What is to happen, ordered by time. Two events at the same instant happen in the order in which
/// they were scheduled, so a run is a function of its inputs alone.
#[derive(Debug)]
pub struct Agenda<E> {
    now: Timestamp,
    scheduled: u64,
    heap: BinaryHeap<Entry<E>>,
}

#[derive(Debug)]
struct Entry<E> {
    at: Timestamp,
    order: u64,
    event: E,
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self {
            now: Timestamp::ZERO,
            scheduled: 0,
            heap: BinaryHeap::new(),
        }
    }
}

impl<E> Agenda<E> {
    /// The virtual instant: that of the event last taken.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// How many events were ever scheduled.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// Schedules `event`. An instant that has passed means now: time never runs backwards.
    pub fn schedule(&mut self, at: Timestamp, event: E) {
        let order = self.scheduled;
        self.scheduled += 1;
        self.heap.push(Entry {
            at: at.max(self.now),
            order,
            event,
        });
    }

    /// Takes the next event that is due before `end` and moves the clock to it.
    pub fn next_before(&mut self, end: Timestamp) -> Option<E> {
        if self.heap.peek()?.at >= end {
            return None;
        }
        let entry = self.heap.pop()?;
        self.now = entry.at;
        Some(entry.event)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    /// Reversed: the heap's greatest entry is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_ties_in_order_of_scheduling() {
        let mut agenda = Agenda::default();
        let at = Timestamp::from_nanos;
        for (nanos, name) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b'), (9, 'e')] {
            agenda.schedule(at(nanos), name);
        }
        let taken: String = std::iter::from_fn(|| agenda.next_before(at(9))).collect();
        assert_eq!(taken, "abcd", "the end itself is excluded");
        assert_eq!(agenda.now(), at(5));
    }

    #[test]
    fn an_event_for_the_past_happens_now() {
        let mut agenda = Agenda::default();
        let at = Timestamp::from_nanos;
        agenda.schedule(at(10), "first");
        assert_eq!(agenda.next_before(at(100)), Some("first"));
        agenda.schedule(at(2), "late");
        assert_eq!(agenda.next_before(at(100)), Some("late"));
        assert_eq!(agenda.now(), at(10));
    }
}
