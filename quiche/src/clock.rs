//! The clock that every connection on this thread reads.
//!
//! quiche takes no `now` in any of its methods: it reads the clock by itself. Here that read goes
//! through one function, and a thread may say what it returns. Two uses:
//!
//! * **Virtual time.** A simulation sets the clock before every call into a connection. Timers,
//!   round trip times, acknowledgement delays and qlog times then follow simulated time.
//! * **True arrival times.** A socket loop that knows when the kernel received a datagram sets the
//!   clock to that time around [`Connection::recv()`] and unsets it afterwards. Acknowledgements
//!   are then taken as of their arrival and not as of the moment the process was scheduled.
//!
//! The setting belongs to the thread and not to a connection: **every** connection driven on this
//! thread sees it until it is unset. Time should not run backwards between calls on the same
//! connection. quiche tolerates it (spans saturate to zero), but a round trip measured across
//! such a step is too short.
//!
//! [`Connection::recv()`]: crate::Connection::recv

#![warn(clippy::all, missing_docs)]

use std::cell::Cell;
use std::time::Instant;
#[cfg(feature = "qlog")]
use std::time::SystemTime;

thread_local! {
    static NOW: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The current time on this thread: what [`set`] was given, or else the real clock.
pub fn now() -> Instant {
    NOW.get().unwrap_or_else(Instant::now)
}

/// Fixes the time that every connection on this thread reads; `None` returns to the real clock.
pub fn set(now: Option<Instant>) {
    NOW.set(now);
}

/// Runs `f` with the clock at `now` and puts the former setting back, also when `f` panics.
pub fn with<R>(now: Instant, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Instant>);

    impl Drop for Restore {
        fn drop(&mut self) {
            set(self.0);
        }
    }

    let _restore = Restore(NOW.replace(Some(now)));
    f()
}

/// The calendar time for file headers: the real one, or the Unix epoch while the clock is set, so
/// that a simulated run writes the same bytes on every day.
#[cfg(feature = "qlog")]
pub(crate) fn calendar() -> SystemTime {
    match NOW.get() {
        Some(_) => SystemTime::UNIX_EPOCH,
        None => SystemTime::now(),
    }
}
