//! What the room is built of, as loom knows it.
//!
//! Atomics, fences, locks and `Arc` are loom's own. Two things are stand-ins, because the crates
//! that they come from know nothing of loom:
//!
//! - [`ArcSwap`] orders no more than a pointer with acquire and release does. The real one orders
//!   more, so what holds here holds there.
//! - [`AtomicWaker`] is loom's, which keeps the documented contract with a lock: who registers
//!   first and looks then, and who stores first and wakes then, do not miss each other. That the
//!   real one keeps it is taken for granted.

use loom::sync::atomic::AtomicUsize;
use std::ops::Deref;
use std::task::Waker;

pub use loom::hint::spin_loop;
pub use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
pub use loom::sync::{Arc, Mutex};

/// All values that it ever had, and which one is the latest.
#[derive(Debug)]
pub struct ArcSwap<T> {
    latest: AtomicUsize,
    /// No loom operation happens while this is locked, so no thread ever waits for it.
    values: std::sync::Mutex<Vec<std::sync::Arc<T>>>,
}

pub struct Guard<T>(std::sync::Arc<T>);

impl<T> Deref for Guard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> ArcSwap<T> {
    pub fn from_pointee(value: T) -> Self {
        Self {
            latest: AtomicUsize::new(0),
            values: std::sync::Mutex::new(vec![std::sync::Arc::new(value)]),
        }
    }

    fn value(&self, index: usize) -> std::sync::Arc<T> {
        let values = self.values.lock().expect("nobody panics in here");
        std::sync::Arc::clone(&values[index])
    }

    pub fn load(&self) -> Guard<T> {
        Guard(self.value(self.latest.load(Ordering::Acquire)))
    }

    pub fn rcu(&self, mut change: impl FnMut(&T) -> T) {
        loop {
            let before = self.latest.load(Ordering::Acquire);
            let changed = std::sync::Arc::new(change(&self.value(before)));
            let after = {
                let mut values = self.values.lock().expect("nobody panics in here");
                values.push(changed);
                values.len() - 1
            };
            let swapped =
                self.latest
                    .compare_exchange(before, after, Ordering::AcqRel, Ordering::Acquire);
            if swapped.is_ok() {
                return;
            }
        }
    }
}

#[derive(Debug)]
pub struct AtomicWaker(loom::future::AtomicWaker);

impl AtomicWaker {
    pub fn new() -> Self {
        Self(loom::future::AtomicWaker::new())
    }

    pub fn register(&self, waker: &Waker) {
        self.0.register_by_ref(waker);
    }

    pub fn wake(&self) {
        self.0.wake();
    }
}
