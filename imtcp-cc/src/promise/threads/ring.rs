//! The last reports of the packet path, for any number of readers.

use super::published::Published;
use super::sync::{AtomicU64, Ordering};

/// The last `N` reports of `W` words each. Report n is in the cell n modulo `N`.
#[derive(Debug)]
pub(crate) struct Ring<const W: usize, const N: usize> {
    cells: [Published<W>; N],
    /// The number of reports so far.
    count: AtomicU64,
}

impl<const W: usize, const N: usize> Ring<W, N> {
    pub(crate) fn new() -> Self {
        Self {
            cells: std::array::from_fn(|_| Published::new([0; W])),
            count: AtomicU64::new(0),
        }
    }

    /// Adds a report, in place of the oldest. Packet path only.
    pub(crate) fn push(&self, words: [u64; W]) {
        let number = self.count.load(Ordering::Relaxed);
        self.cell(number).publish(words);
        self.count.store(number + 1, Ordering::Release);
    }

    /// The number of reports so far.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// The number of the oldest report that is there. One cell is left out, because it may be
    /// written while it is read.
    fn oldest(&self) -> u64 {
        self.count().saturating_sub(N as u64 - 1)
    }

    /// A report that was pushed; `None` if it was overwritten.
    fn read(&self, number: u64) -> Option<[u64; W]> {
        let (words, version) = self.cell(number).read()?;
        // Each turn of the ring publishes in this cell once. A later turn has a later version.
        let turns = number / N as u64 + 1;
        (version == Published::<W>::version_after(turns)).then_some(words)
    }

    fn cell(&self, number: u64) -> &Published<W> {
        &self.cells[usize::try_from(number % N as u64).unwrap_or(0)]
    }
}

/// A reader's place in a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    next: u64,
    missed: u64,
}

impl Place {
    /// Reports that are pushed from now on.
    pub(crate) fn at_end_of<const W: usize, const N: usize>(ring: &Ring<W, N>) -> Self {
        Self {
            next: ring.count(),
            missed: 0,
        }
    }

    /// The oldest report that was not taken from here. Never waits.
    pub(crate) fn take<const W: usize, const N: usize>(
        &mut self,
        ring: &Ring<W, N>,
    ) -> Option<[u64; W]> {
        while self.next < ring.count() {
            let oldest = ring.oldest();
            self.missed += oldest.saturating_sub(self.next);
            self.next = self.next.max(oldest);
            let number = self.next;
            self.next += 1;
            match ring.read(number) {
                Some(words) => return Some(words),
                // The report was overwritten meanwhile.
                None => self.missed += 1,
            }
        }
        None
    }

    /// How many reports were overwritten before they were taken from here.
    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }
}
