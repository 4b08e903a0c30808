//! A few words that one thread publishes and any thread reads, without a lock on either side.
//!
//! It is a sequence lock over atomic words. The version is odd while the words change. A reader
//! that sees different versions before and after its reading reads again. The words are atomics,
//! so a torn reading is defined behaviour, and is thrown away.

use super::sync::{AtomicU64, Ordering, fence, spin_loop};

/// How many readings in a row may meet a writer before a reader gives up for now. Writing is a few
/// dozen stores. A writer that is preempted during them must not delay anybody.
const MOST_ATTEMPTS: u32 = 1000;

/// `W` words with a version number.
#[derive(Debug)]
pub(crate) struct Published<const W: usize> {
    version: AtomicU64,
    words: [AtomicU64; W],
}

impl<const W: usize> Published<W> {
    pub(crate) fn new(words: [u64; W]) -> Self {
        Self {
            version: AtomicU64::new(0),
            words: words.map(AtomicU64::new),
        }
    }

    /// Publishes new words. Only one thread at a time may do so.
    pub(crate) fn publish(&self, words: [u64; W]) {
        let version = self.version.load(Ordering::Relaxed);
        self.version
            .store(version.wrapping_add(1), Ordering::Relaxed);
        // No store of a word may be seen before the odd version.
        fence(Ordering::Release);
        for (cell, word) in self.words.iter().zip(words) {
            cell.store(word, Ordering::Relaxed);
        }
        self.version
            .store(version.wrapping_add(2), Ordering::Release);
    }

    /// The version of the latest publication. It changes with each publication. One load.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether nothing was published since the cell was made.
    pub(crate) fn is_first(&self) -> bool {
        self.version() == Self::version_after(0)
    }

    /// The version after so many publications.
    pub(crate) fn version_after(publications: u64) -> u64 {
        publications.wrapping_mul(2)
    }

    /// The words and their version; `None` while they change. Never waits.
    pub(crate) fn try_read(&self) -> Option<([u64; W], u64)> {
        let before = self.version.load(Ordering::Acquire);
        if before % 2 == 1 {
            return None;
        }
        let words = std::array::from_fn(|index| self.words[index].load(Ordering::Relaxed));
        // No load of a word may happen after the second look at the version.
        fence(Ordering::Acquire);
        (self.version.load(Ordering::Relaxed) == before).then_some((words, before))
    }

    /// The words and their version. Tries for some microseconds if they change at this moment.
    pub(crate) fn read(&self) -> Option<([u64; W], u64)> {
        for _ in 0..MOST_ATTEMPTS {
            if let Some(read) = self.try_read() {
                return Some(read);
            }
            spin_loop();
        }
        None
    }
}
