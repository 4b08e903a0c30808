//! Virtual time and seeded randomness for the quiche connections of this thread.

use imtcp_cc::units::Timestamp;
use std::time::Instant;

/// Owns the thread's clock and entropy while a simulation runs; dropping it gives both back to the
/// operating system.
#[derive(Debug)]
pub struct VirtualClock {
    /// The real instant that stands for the origin of virtual time. It never shows: connections
    /// only ever see differences.
    origin: Instant,
}

impl VirtualClock {
    /// Takes over the thread's clock, at the origin, and its entropy.
    #[expect(clippy::disallowed_methods, reason = "only differences to it are used")]
    pub fn start(seed: u64) -> Self {
        let clock = Self {
            origin: Instant::now(),
        };
        clock.set(Timestamp::ZERO);
        quiche::entropy::seed_thread(Some(crate::random::component_seed(seed, "quiche")));
        clock
    }

    /// What connections read as the time from now on.
    pub fn set(&self, now: Timestamp) {
        quiche::clock::set(Some(self.instant(now)));
    }

    /// The instant that connections know for a timestamp.
    pub fn instant(&self, at: Timestamp) -> Instant {
        self.origin + at.saturating_since(Timestamp::ZERO)
    }

    /// The timestamp of an instant that a connection named.
    pub fn timestamp(&self, at: Instant) -> Timestamp {
        Timestamp::from_origin(at.saturating_duration_since(self.origin))
    }
}

/// An instant of virtual time, with the clock that shows it to connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment<'a> {
    pub(super) now: Timestamp,
    pub(super) clock: &'a VirtualClock,
}

impl Moment<'_> {
    /// The instant as connections know it.
    pub(super) fn instant(self) -> Instant {
        self.clock.instant(self.now)
    }
}

impl Drop for VirtualClock {
    fn drop(&mut self) {
        quiche::clock::set(None);
        quiche::entropy::seed_thread(None);
    }
}
