//! The latest news of the packet path, and how often they were worth telling.

use super::published::Published;
use super::sync::{AtomicU64, Ordering};

/// `W` words that the packet path replaces, with a count of the changes that readers wait for.
#[derive(Debug)]
pub(crate) struct Board<const W: usize> {
    latest: Published<W>,
    changes: AtomicU64,
}

impl<const W: usize> Board<W> {
    pub(crate) fn new(words: [u64; W]) -> Self {
        Self {
            latest: Published::new(words),
            changes: AtomicU64::new(0),
        }
    }

    /// Replaces the words. If that is a change, who sees it counted sees these words or later ones.
    /// Packet path only.
    pub(crate) fn publish(&self, words: [u64; W], is_change: bool) {
        self.latest.publish(words);
        if is_change {
            self.changes.fetch_add(1, Ordering::Release);
        }
    }

    /// How often there was a change.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The latest words; `None` if the packet path stands still while it replaces them.
    pub(crate) fn read(&self) -> Option<[u64; W]> {
        self.latest.read().map(|(words, _)| words)
    }
}
