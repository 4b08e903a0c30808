//! A burst of data every period.

use imtcp_cc::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// Frames of a live source or chunks of a video: what the connection does not take at once waits.
#[derive(Debug)]
pub(super) struct Periodic {
    burst: u64,
    period: Duration,
    next: Option<Timestamp>,
    backlog: u64,
    /// Bytes of all bursts so far.
    made: u64,
}

impl Periodic {
    pub(super) fn new(rate: Bandwidth, period: Duration) -> Self {
        Self {
            burst: rate.bytes_in(period).get().max(1),
            period,
            next: None,
            backlog: 0,
            made: 0,
        }
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.next
    }

    pub(super) fn made(&self) -> u64 {
        self.made
    }

    pub(super) fn drive(&mut self, now: Timestamp, connection: &mut quiche::Connection) {
        let mut due = self.next.unwrap_or(now);
        while due <= now {
            self.backlog += self.burst;
            self.made += self.burst;
            due = due + self.period;
        }
        self.next = Some(due);
        if self.backlog > 0 {
            self.backlog -= super::write(connection, self.backlog, false);
        }
    }
}
