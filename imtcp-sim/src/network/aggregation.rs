//! Aggregates: what has been transmitted waits for the next release, as over Wi-Fi, where a station
//! gets the medium now and then and sends everything at once.

use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// How packets are released behind a transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Time between two releases; never zero.
    pub every: Duration,
    /// Most packets of one release; never zero. The rest waits for the next.
    pub packets: u32,
}

/// Gives each packet the time of its release.
#[derive(Clone, Debug)]
pub struct Aggregation {
    release: Release,
    /// The release that is being filled, and how many packets it has.
    current: Timestamp,
    filled: u32,
}

impl Aggregation {
    /// Nothing waits. Releases are at the multiples of the period.
    pub fn new(release: Release) -> Self {
        Self {
            release,
            current: Timestamp::ZERO,
            filled: 0,
        }
    }

    /// When a packet leaves that was transmitted at `now`. Never earlier than the one before it.
    pub fn leaves(&mut self, now: Timestamp) -> Timestamp {
        let period = u64::try_from(self.release.every.as_nanos())
            .unwrap_or(u64::MAX)
            .max(1);
        let next = now.as_nanos().div_ceil(period).saturating_mul(period);
        if next > self.current.as_nanos() {
            self.current = Timestamp::from_nanos(next);
            self.filled = 0;
        }
        if self.filled == self.release.packets {
            self.current = self.current + self.release.every;
            self.filled = 0;
        }
        self.filled += 1;
        self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_millis(ms))
    }

    #[test]
    fn packets_leave_together_and_what_is_too_much_leaves_with_the_next() {
        let mut aggregation = Aggregation::new(Release {
            every: Duration::from_millis(4),
            packets: 2,
        });
        let leaves = [1, 2, 3, 4, 4, 9, 12].map(|at| aggregation.leaves(ms(at)));
        assert_eq!(leaves, [4, 4, 8, 8, 12, 12, 16].map(ms));
    }
}
