//! Token buckets: bursts pass at the link's own rate, and what comes after them at a lower one.

use crate::profile::work_of;
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};

/// What a link does with a packet for which there are no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// The packet waits for them in the link's queue.
    Wait,
    /// The packet is dropped before the queue.
    Drop,
}

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSettings {
    /// Shaper or policer.
    pub without: Without,
    /// Tokens come at this rate; never zero.
    pub rate: Bandwidth,
    /// So many are kept at most.
    pub size: Bytes,
}

impl BucketSettings {
    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        match self.without {
            Without::Wait => "shaper",
            Without::Drop => "policer",
        }
    }
}

/// Tokens, in bit-nanoseconds. The bucket is full at the beginning.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate: Bandwidth,
    most: u64,
    tokens: u64,
    /// The tokens are those of this instant.
    at: Timestamp,
    spent: Option<Timestamp>,
}

impl Bucket {
    /// A full bucket.
    pub fn new(settings: BucketSettings) -> Self {
        let most = work_of(settings.size);
        Self {
            rate: settings.rate,
            most,
            tokens: most,
            at: Timestamp::ZERO,
            spent: None,
        }
    }

    /// Takes a packet's tokens, if there are so many now.
    pub fn take(&mut self, now: Timestamp, size: Bytes) -> bool {
        self.fill(now);
        let needed = self.needed(size);
        if self.tokens < needed {
            self.spent.get_or_insert(now);
            return false;
        }
        self.tokens -= needed;
        true
    }

    /// Takes a packet's tokens as soon as there are so many, and says when that is.
    pub fn take_when_there(&mut self, now: Timestamp, size: Bytes) -> Timestamp {
        self.fill(now);
        let needed = self.needed(size);
        let missing = needed.saturating_sub(self.tokens);
        if missing > 0 {
            self.spent.get_or_insert(now);
            let nanos = missing.div_ceil(self.rate.as_bps().max(1));
            self.fill(Timestamp::from_nanos(
                self.at.as_nanos().saturating_add(nanos),
            ));
        }
        self.tokens = self.tokens.saturating_sub(needed);
        self.at
    }

    /// When a packet first found too few tokens.
    pub fn spent(&self) -> Option<Timestamp> {
        self.spent
    }

    fn fill(&mut self, now: Timestamp) {
        let nanos = now.saturating_since(self.at).as_nanos();
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        let more = self.rate.as_bps().saturating_mul(nanos);
        self.tokens = self.tokens.saturating_add(more).min(self.most);
        self.at = self.at.max(now);
    }

    /// A packet larger than the bucket would never pass; it passes when the bucket is full.
    fn needed(&self, size: Bytes) -> u64 {
        work_of(size).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SIZE: Bytes = Bytes::new(1250);

    fn at_us(us: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_micros(us))
    }

    /// 10 Mbit/s: the tokens of a packet of 1250 bytes come in 1 ms.
    fn bucket(packets: u64) -> Bucket {
        Bucket::new(BucketSettings {
            without: Without::Drop,
            rate: Bandwidth::from_mbps(10),
            size: SIZE.times(packets),
        })
    }

    #[test]
    fn a_full_bucket_passes_its_size_and_then_its_rate() {
        let mut bucket = bucket(3);
        let passed = [0; 4].map(|us| bucket.take(at_us(us), SIZE));
        assert_eq!(passed, [true, true, true, false]);
        assert_eq!(bucket.spent(), Some(Timestamp::ZERO));
        let passed = [999, 1000, 1999, 2000].map(|us| bucket.take(at_us(us), SIZE));
        assert_eq!(passed, [false, true, false, true]);
        // It fills for 10 ms, and no further than three packets.
        let passed = [12_000; 4].map(|us| bucket.take(at_us(us), SIZE));
        assert_eq!(passed, [true, true, true, false]);
    }

    #[test]
    fn what_waits_gets_its_tokens_one_after_the_other() {
        let mut bucket = bucket(2);
        let begins = [0, 0, 0, 1000, 2500].map(|us| bucket.take_when_there(at_us(us), SIZE));
        // Two at once; one waits for 1 ms and the next for 2. At 2.5 ms half of the tokens are
        // there.
        assert_eq!(begins, [0, 0, 1000, 2000, 3000].map(at_us));
    }

    #[test]
    fn no_fraction_of_a_nanosecond_is_lost() {
        // At 7 Mbit/s the tokens of a byte come in 8/7 us. After 1501 bytes of the beginning 700
        // packets of 1500 bytes less one byte have to wait: 1 199 998 857.14 ns.
        let mut bucket = Bucket::new(BucketSettings {
            without: Without::Wait,
            rate: Bandwidth::from_mbps(7),
            size: Bytes::new(1501),
        });
        let mut at = Timestamp::ZERO;
        for _ in 0..701 {
            at = bucket.take_when_there(at, Bytes::new(1500));
        }
        assert_eq!(at, Timestamp::from_nanos(1_199_998_858));
    }

    #[test]
    fn a_packet_larger_than_the_bucket_takes_all_of_it() {
        let mut bucket = bucket(1);
        let large = SIZE.times(2);
        assert!(bucket.take(at_us(0), large) && !bucket.take(at_us(999), large));
        assert!(bucket.take(at_us(1000), large));
    }
}
