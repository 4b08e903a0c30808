//! Wakes tasks that await something of the packet path, which never waits for them.

use arc_swap::ArcSwap;
use atomic_waker::AtomicWaker;
use std::sync::Arc;
use std::task::Waker;

/// The readers that may be asleep. The packet path reads the list as it stands; readers that come
/// and go replace it.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    list: Arc<ArcSwap<Vec<Arc<AtomicWaker>>>>,
}

impl Sleepers {
    /// Wakes all that sleep. Takes no lock.
    pub(super) fn wake(&self) {
        for waker in self.list.load().iter() {
            waker.wake();
        }
    }

    /// A place for one more reader.
    pub(super) fn join(&self) -> Sleeper {
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
}

/// A reader's place among the sleepers, until it is dropped.
#[derive(Debug)]
pub(super) struct Sleeper {
    waker: Arc<AtomicWaker>,
    list: Arc<ArcSwap<Vec<Arc<AtomicWaker>>>>,
}

impl Sleeper {
    /// Falls asleep with this waker. Whoever does has to look once more for what it waits for: what
    /// came before wakes nobody.
    pub(super) fn sleep(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    /// A place for one more reader.
    pub(super) fn join(&self) -> Self {
        let sleepers = Sleepers {
            list: Arc::clone(&self.list),
        };
        sleepers.join()
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn all_that_sleep_are_woken_once_and_who_left_is_not() {
        let sleepers = Sleepers::default();
        let [first, second, gone] = std::array::from_fn(|_| sleepers.join());
        let counts: [Arc<Count>; 3] = std::array::from_fn(|_| Arc::default());
        for (sleeper, count) in [&first, &second, &gone].into_iter().zip(&counts) {
            sleeper.sleep(&Waker::from(Arc::clone(count)));
        }
        drop(gone);
        sleepers.wake();
        sleepers.wake();
        let woken = counts.map(|count| count.0.load(Ordering::Relaxed));
        assert_eq!(woken, [1, 1, 0]);
        drop((first, second));
        assert!(sleepers.list.load().is_empty());
    }
}
