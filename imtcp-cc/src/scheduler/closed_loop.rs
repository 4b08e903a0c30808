//! Whether new data comes because older data was acknowledged.
//!
//! The peer's flow control, a small send buffer, or an application that waits for answers bounds
//! how much data is under way at any time. Then a packet that is held back delays everything behind
//! it, as behind a full window. A live source makes its data when it makes it, and holding a packet
//! back delays that packet alone.

use crate::units::{Bytes, Timestamp};
use std::time::Duration;

/// Data that comes so soon after an acknowledgement comes because of it: a program that is woken by
/// the acknowledgement has written by then. The round trip of a live source may be a multiple of
/// the time from frame to frame, and then its frames follow acknowledgements, too. The shorter this
/// time is, the rarer is that.
const REACTION: Duration = Duration::from_micros(250);

/// What the headers of a full packet took the place of is left over when all else has left. So
/// little is nothing new.
const LEFT_OVER: Bytes = Bytes::new(64);

/// So many of the last 16 times. Where acknowledgements come so often that there is nearly always
/// one just before, nobody can tell, and the loop counts as closed.
const ENOUGH: u32 = 14;

/// Follows when data becomes ready.
#[derive(Debug, Default)]
pub(super) struct ClosedLoop {
    acked: Option<Timestamp>,
    /// The last 16 times at which data became ready after there was none: a bit for each, which is
    /// set if an acknowledgement had just come.
    times: u16,
}

impl ClosedLoop {
    /// An acknowledgement came.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Timestamp) {
        self.acked = Some(now);
    }

    /// So much data is ready, and there was none before.
    #[inline]
    pub(super) fn on_ready(&mut self, now: Timestamp, ready: Bytes) {
        if ready < LEFT_OVER {
            return;
        }
        let soon = |acked: Timestamp| now.saturating_since(acked) <= REACTION;
        self.times = self.times << 1 | u16::from(self.acked.is_some_and(soon));
    }

    /// Whether data comes because older data was acknowledged.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.times.count_ones() >= ENOUGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Bytes = Bytes::new(5000);

    fn at_us(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    /// Acknowledgements every 10 ms, and data `after_us(n)` behind the one of number `n`.
    fn is_closed(after_us: impl Fn(u64) -> u64) -> bool {
        let mut closed_loop = ClosedLoop::default();
        for number in 1..=40 {
            closed_loop.on_ack(at_us(number * 10_000));
            closed_loop.on_ready(at_us(number * 10_000 + after_us(number)), FRAME);
            // What is left of it says nothing.
            closed_loop.on_ready(at_us(number * 10_000 + 9_000), Bytes::new(14));
        }
        closed_loop.is_closed()
    }

    #[test]
    fn who_writes_when_data_is_acknowledged_is_in_a_closed_loop() {
        assert!(is_closed(|_| 0));
        assert!(is_closed(|number| number * 37 % 200));
    }

    #[test]
    fn who_writes_at_times_of_its_own_is_not() {
        assert!(!is_closed(|number| number * 3790 % 10_000));
        assert!(!is_closed(|_| 5_000));
    }

    #[test]
    fn nobody_is_until_that_was_seen() {
        let mut closed_loop = ClosedLoop::default();
        closed_loop.on_ready(at_us(1), FRAME);
        assert!(!closed_loop.is_closed());
    }
}
