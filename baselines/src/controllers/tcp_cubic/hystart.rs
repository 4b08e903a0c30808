//! `HyStart`, by which Linux leaves slow start before it loses: when a round's acknowledgements
//! come in a train that is as long as half the shortest round trip, or when round trips grow.
//! (Ha and Rhee, Taming the elephants, 2011; it is not RFC 9406.)

use std::time::Duration;

/// Windows below are left alone.
const LOW_WINDOW: u64 = 16;
/// Acknowledgements that are closer belong to one train.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// What a train may be longer, for senders that send in bursts.
const TRAIN_SLACK: Duration = Duration::from_millis(1);
/// Round trips of a round before their minimum means something.
const SAMPLES: u32 = 8;
/// The growth of round trips: an eighth of the shortest, within these bounds.
const LEAST_GROWTH: Duration = Duration::from_millis(4);
const MOST_GROWTH: Duration = Duration::from_millis(16);

/// What is known of the present round.
#[derive(Debug, Default)]
pub(super) struct HyStart {
    found: bool,
    /// It ends when this packet is acknowledged.
    ends_with: u64,
    start: Duration,
    last: Duration,
    shortest: Option<Duration>,
    samples: u32,
}

impl HyStart {
    /// An acknowledgement in slow start; `sent` is the newest packet. Says whether it ends here.
    pub(super) fn is_over(
        &mut self,
        now: Duration,
        window: u64,
        [largest_acked, sent]: [u64; 2],
        [rtt, min_rtt]: [Duration; 2],
    ) -> bool {
        if self.found {
            return false;
        }
        if largest_acked > self.ends_with {
            *self = Self {
                ends_with: sent,
                start: now,
                last: now,
                ..Self::default()
            };
        }
        if window < LOW_WINDOW {
            return false;
        }
        self.found = self.train(now, min_rtt) || self.growth(rtt, min_rtt);
        self.found
    }

    /// After a timeout it looks again.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    fn train(&mut self, now: Duration, min_rtt: Duration) -> bool {
        if now.saturating_sub(self.last) > TRAIN_GAP {
            return false;
        }
        self.last = now;
        now.saturating_sub(self.start) > (min_rtt + TRAIN_SLACK) / 2
    }

    fn growth(&mut self, rtt: Duration, min_rtt: Duration) -> bool {
        let shortest = self.shortest.map_or(rtt, |shortest| shortest.min(rtt));
        self.shortest = Some(shortest);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        shortest > min_rtt + (min_rtt / 8).clamp(LEAST_GROWTH, MOST_GROWTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let mut hystart = HyStart::default();
        let mut at = |ms| hystart.is_over(MS(ms), 40, [10, 50], [MS(30), MS(30)]);
        // The round begins at 100 ms. 15.5 ms are half of round trip and slack.
        let over: Vec<bool> = (100..=116).map(&mut at).collect();
        assert!(!over[..16].contains(&true), "{over:?}");
        assert!(over[16]);
    }

    #[test]
    fn a_gap_breaks_the_train() {
        let mut hystart = HyStart::default();
        let mut at = |ms| hystart.is_over(MS(ms), 40, [10, 50], [MS(30), MS(30)]);
        assert!(!at(100) && !at(103) && !at(104) && !at(120));
    }

    #[test]
    fn round_trips_that_grow_end_it_too() {
        let mut hystart = HyStart::default();
        let mut with =
            |number: u64, rtt| hystart.is_over(MS(number * 50), 40, [10, 50], [MS(rtt), MS(30)]);
        // Eight samples, then the minimum counts: above 30 + 4 ms.
        assert!(!(0..9).any(|number| with(number, 34)));
        let mut hystart = HyStart::default();
        let mut with =
            |number: u64, rtt| hystart.is_over(MS(number * 50), 40, [10, 50], [MS(rtt), MS(30)]);
        assert!(!(0..8).any(|number| with(number, 35)));
        assert!(with(8, 35));
    }

    #[test]
    fn small_windows_are_left_alone() {
        let mut hystart = HyStart::default();
        let mut at = |ms| hystart.is_over(MS(ms), 15, [10, 50], [MS(300), MS(30)]);
        assert!(!(0..100).any(&mut at));
    }
}
