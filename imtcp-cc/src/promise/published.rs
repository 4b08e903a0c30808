//! A few words that one thread publishes and any thread reads, without a lock on either side.
//!
//! It is a sequence lock over atomic words. The version is odd while the words change. A reader
//! that sees different versions before and after its reading reads again. The words are atomics,
//! so a torn reading is defined behaviour, and is thrown away.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// How many readings in a row may meet a writer before a reader gives up for now. Writing is a few
/// dozen stores. A writer that is preempted during them must not delay anybody.
const MOST_ATTEMPTS: u32 = 1000;

/// `W` words with a version number.
#[derive(Debug)]
pub(super) struct Published<const W: usize> {
    version: AtomicU64,
    words: [AtomicU64; W],
}

impl<const W: usize> Published<W> {
    pub(super) fn new(words: [u64; W]) -> Self {
        Self {
            version: AtomicU64::new(0),
            words: words.map(AtomicU64::new),
        }
    }

    /// Publishes new words. Only one thread at a time may do so.
    pub(super) fn publish(&self, words: [u64; W]) {
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
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The words and their version; `None` while they change. Never waits.
    pub(super) fn try_read(&self) -> Option<([u64; W], u64)> {
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
    pub(super) fn read(&self) -> Option<([u64; W], u64)> {
        for _ in 0..MOST_ATTEMPTS {
            if let Some(read) = self.try_read() {
                return Some(read);
            }
            std::hint::spin_loop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn what_is_published_is_read_and_the_version_tells() {
        let cell = Published::new([1, 2, 3]);
        let (words, first) = cell.read().expect("nobody writes");
        assert_eq!(words, [1, 2, 3]);
        cell.publish([4, 5, 6]);
        let (words, second) = cell.read().expect("nobody writes");
        assert_eq!(words, [4, 5, 6]);
        assert!(second != first && second == cell.version());
    }

    #[test]
    fn readers_never_see_half_of_a_publication() {
        /// New publications that the readers together have to meet before the writer stops.
        const ENOUGH: u64 = 1000;
        let cell = Published::new([0u64; 16]);
        let (stop, met) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let Some((words, _)) = cell.try_read() else {
                            continue;
                        };
                        let sound = words.iter().all(|word| *word == words[0]) && words[0] >= last;
                        // Without this the writer would wait for readers that are gone.
                        stop.fetch_or(!sound, Ordering::Relaxed);
                        assert!(sound, "{words:?} after {last}");
                        met.fetch_add(u64::from(words[0] > last), Ordering::Relaxed);
                        last = words[0];
                    }
                });
            }
            for round in 1.. {
                cell.publish([round; 16]);
                if round % 1000 == 0 {
                    std::thread::yield_now();
                }
                if met.load(Ordering::Relaxed) >= ENOUGH || stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
