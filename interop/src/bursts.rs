//! Requests in bursts that the runner's queue holds.

use std::time::{Duration, Instant};

/// So many requests are written at a time, and then none for a while. quiche gives each stream a
/// packet of its own, and the queue of the runner's link holds 25: 40 requests in 0-RTT at once
/// would lose some, which then leave after the handshake.
const BURST: u32 = 12;
const BETWEEN: Duration = Duration::from_millis(5);

/// Requests that are written now, and when there may be more.
#[derive(Debug)]
pub struct Bursts {
    written: u32,
    since: Instant,
}

impl Bursts {
    /// None is written yet.
    pub fn new() -> Self {
        Self {
            written: 0,
            since: Instant::now(),
        }
    }

    /// Whether another request may be written.
    pub fn may_go_on(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.since + BETWEEN {
            self.written = 0;
            self.since = now;
        }
        self.written < BURST
    }

    /// One was.
    pub fn add(&mut self) {
        self.written += 1;
    }

    /// When there may be more, if not now.
    pub fn next(&self) -> Option<Instant> {
        (self.written >= BURST).then(|| self.since + BETWEEN)
    }
}
