//! Lets packets leave at the opportunities of a trace.

use super::{OPPORTUNITY, Slot, Trace};
use imtcp_cc::units::{Bytes, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// A trace that is played. An opportunity at which nothing waits is gone. Packets that follow each
/// other share opportunities: a large one may take a part of the next, and small ones leave
/// together.
#[derive(Clone, Debug)]
pub struct Playback {
    trace: Arc<Trace>,
    /// When the present round has begun.
    round: Duration,
    index: usize,
    /// What has been used of the present opportunities.
    used: Bytes,
}

impl Playback {
    /// From the beginning of the trace.
    pub fn new(trace: Arc<Trace>) -> Self {
        Self {
            trace,
            round: Duration::ZERO,
            index: 0,
            used: Bytes::ZERO,
        }
    }

    /// When a packet is through that may begin now.
    pub fn when(&mut self, now: Timestamp, size: Bytes) -> Timestamp {
        while self.at() < now {
            self.advance();
        }
        let mut left = size;
        while left > self.room() {
            left = left.saturating_sub(self.room());
            self.advance();
        }
        self.used += left;
        self.at()
    }

    /// What could leave before `end`, counted from what was asked for before.
    pub(super) fn bytes_until(&mut self, end: Timestamp) -> Bytes {
        let mut sum = Bytes::ZERO;
        while self.at() < end {
            sum += self.room();
            self.advance();
        }
        sum
    }

    fn slot(&self) -> Slot {
        self.trace.slots[self.index]
    }

    fn at(&self) -> Timestamp {
        Timestamp::from_origin(self.round + self.slot().at)
    }

    fn room(&self) -> Bytes {
        let all = OPPORTUNITY.times(u64::from(self.slot().count));
        all.saturating_sub(self.used)
    }

    fn advance(&mut self) {
        self.used = Bytes::ZERO;
        self.index += 1;
        if self.index == self.trace.slots.len() {
            self.index = 0;
            self.round += self.trace.period;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn playback(opportunities_ms: &[u32]) -> Playback {
        Playback::new(Trace::new("t", opportunities_ms).expect("a trace").into())
    }

    fn at_ms(ms: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_millis(ms))
    }

    #[test]
    fn full_packets_leave_one_an_opportunity_and_the_trace_repeats() {
        let mut playback = playback(&[3, 3, 8]);
        let mut now = Timestamp::ZERO;
        let left: Vec<Timestamp> = (0..7)
            .map(|_| {
                now = playback.when(now, Bytes::new(1500));
                now
            })
            .collect();
        assert_eq!(left, [3, 3, 8, 11, 11, 16, 19].map(at_ms));
    }

    #[test]
    fn an_opportunity_that_nobody_takes_is_gone() {
        let mut playback = playback(&[3, 8]);
        assert_eq!(playback.when(at_ms(5), Bytes::new(100)), at_ms(8));
        // What is left of it is gone a moment later, and there at the same instant.
        assert_eq!(playback.when(at_ms(8), Bytes::new(1400)), at_ms(8));
        assert_eq!(playback.when(at_ms(8), Bytes::new(1)), at_ms(11));
        let later = Timestamp::from_nanos(11_000_001);
        assert_eq!(playback.when(later, Bytes::new(1)), at_ms(16));
    }

    #[test]
    fn packets_that_follow_each_other_share_opportunities() {
        let mut playback = playback(&[1, 2, 3, 4]);
        // 1000 bytes leave 500, which 1000 more use before they take 500 of the next.
        let left = [0, 1, 2, 2].map(|now| playback.when(at_ms(now), Bytes::new(1000)));
        assert_eq!(left, [1, 2, 2, 3].map(at_ms));
        assert_eq!(playback.when(at_ms(3), Bytes::new(4000)), at_ms(6));
    }

    #[test]
    fn an_opportunity_at_zero_and_one_at_the_end_are_two() {
        let mut playback = playback(&[0, 10]);
        let mut now = Timestamp::ZERO;
        let left: Vec<Timestamp> = (0..5)
            .map(|_| {
                now = playback.when(now, Bytes::new(1500));
                now
            })
            .collect();
        assert_eq!(left, [0, 10, 10, 20, 20].map(at_ms));
    }
}
