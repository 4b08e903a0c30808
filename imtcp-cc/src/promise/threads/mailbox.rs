//! What threads of the application ask of the packet path: the latest counts.

use super::published::Published;
use super::sync::Mutex;

/// `W` words from any thread for the packet path.
#[derive(Debug)]
pub(crate) struct Mailbox<const W: usize> {
    latest: Published<W>,
    /// Only one thread at a time may publish. The packet path never waits for this lock.
    posting: Mutex<()>,
}

/// What a taker has seen of a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Seen {
    /// Nothing. No version is odd at rest, so that whatever is there is news.
    pub(crate) const NOTHING: Self = Self(1);
}

impl<const W: usize> Mailbox<W> {
    pub(crate) fn new(words: [u64; W]) -> Self {
        Self {
            latest: Published::new(words),
            posting: Mutex::new(()),
        }
    }

    /// Posts words in place of those before.
    pub(crate) fn post(&self, words: [u64; W]) {
        // A thread that panicked here has left nothing half done: publishing cannot panic.
        let _one_at_a_time = match self.posting.lock() {
            Ok(guard) => guard,
            Err(poisoned) => poisoned.into_inner(),
        };
        self.latest.publish(words);
    }

    /// Posts words if nobody has posted any, and nobody does at this moment. Those that are there
    /// already are no news, and are not posted again. Never waits.
    pub(crate) fn post_first(&self, words: [u64; W]) {
        if let Ok(_one_at_a_time) = self.posting.try_lock()
            && self.latest.is_first()
            && self.latest.try_read().is_none_or(|(old, _)| old != words)
        {
            self.latest.publish(words);
        }
    }

    /// The latest words.
    pub(crate) fn read(&self) -> Option<[u64; W]> {
        self.latest.read().map(|(words, _)| words)
    }

    /// The latest words, if they are others than the taker has seen. If not, this costs one load.
    /// `None` also while a thread posts: the next packet event is soon enough. Never waits.
    pub(crate) fn take(&self, seen: &mut Seen) -> Option<[u64; W]> {
        if self.latest.version() == seen.0 {
            return None;
        }
        let (words, version) = self.latest.try_read()?;
        seen.0 = version;
        Some(words)
    }
}
