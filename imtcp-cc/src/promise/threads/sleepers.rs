//! Wakes tasks that await something of the packet path, which never waits for them.

use super::sync::{Arc, ArcSwap, AtomicBool, AtomicWaker, Ordering, fence};
use std::task::{Context, Poll};

type List = Arc<ArcSwap<Vec<Arc<AtomicWaker>>>>;

/// The readers that may be asleep, and whether there is anything left to wait for. The packet path
/// reads the list as it stands; readers that come and go replace it.
#[derive(Debug)]
pub(crate) struct Sleepers {
    list: List,
    ended: AtomicBool,
}

impl Sleepers {
    pub(crate) fn new() -> Self {
        Self {
            list: Arc::new(ArcSwap::from_pointee(Vec::new())),
            ended: AtomicBool::new(false),
        }
    }

    /// Stores something, and wakes all that sleep until it is there. Takes no lock of this crate's;
    /// what a waker does is its runtime's affair. Packet path only.
    pub(crate) fn tell(&self, store: impl FnOnce()) {
        store();
        // The pair of the fence in `poll`: a reader that is not in this list yet, or whose waker is
        // not there yet, sees what was stored.
        fence(Ordering::SeqCst);
        for waker in self.list.load().iter() {
            waker.wake();
        }
    }

    /// Nothing follows. Packet path only.
    pub(crate) fn end(&self) {
        self.tell(|| self.ended.store(true, Ordering::Release));
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// A place for one more reader.
    pub(crate) fn join(&self) -> Sleeper {
        let waker = Arc::new(AtomicWaker::new());
        self.list.rcu(|list| {
            let mut list = Vec::clone(list);
            list.push(Arc::clone(&waker));
            list
        });
        Sleeper {
            waker,
            list: Arc::clone(&self.list),
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.list.load().is_empty()
    }

    /// What `take` finds, now or after being woken; `None` after the end, when it finds nothing.
    pub(crate) fn poll<T>(
        &self,
        sleeper: &Sleeper,
        context: &mut Context<'_>,
        mut take: impl FnMut() -> Option<T>,
    ) -> Poll<Option<T>> {
        if let Some(found) = take() {
            return Poll::Ready(Some(found));
        }
        sleeper.waker.register(context.waker());
        // What came before this wakes nobody, so it has to be looked for once more.
        fence(Ordering::SeqCst);
        // Nothing follows the end, so the end has to be looked for first.
        let has_ended = self.has_ended();
        match take() {
            None if !has_ended => Poll::Pending,
            last => Poll::Ready(last),
        }
    }
}

/// A reader's place among the sleepers, until it is dropped.
#[derive(Debug)]
pub(crate) struct Sleeper {
    waker: Arc<AtomicWaker>,
    list: List,
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.list.rcu(|list| {
            let mut list = Vec::clone(list);
            list.retain(|other| !Arc::ptr_eq(other, &self.waker));
            list
        });
    }
}
