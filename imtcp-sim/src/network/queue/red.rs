//! RED (Floyd and Jacobson, 1993): packets are dropped at the tail with a probability that grows
//! with the mean length of the queue. Above the upper threshold it grows on to 1, which is the
//! variant called gentle.

use super::{Fifo, Waiting};
use crate::random::Random;
use imtcp_cc::units::{Bytes, Timestamp};
use std::time::Duration;

/// The weight of a sample in the mean length.
const WEIGHT: f64 = 0.002;

/// RED's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedSettings {
    /// Below this mean length nothing is dropped.
    pub lower: Bytes,
    /// From here on the probability grows from `most` to 1 at twice this length.
    pub upper: Bytes,
    /// The probability at the upper threshold.
    pub most: f64,
    /// How long a packet takes to be transmitted: while nothing waits, the mean decays as if that
    /// many packets had come.
    pub transmission: Duration,
}

#[derive(Debug)]
pub(super) struct Red {
    settings: RedSettings,
    random: Random,
    mean: f64,
    /// Packets since the last drop.
    since_drop: u32,
    /// From here on an empty queue has yet to let the mean decay.
    empty_since: Timestamp,
}

impl Red {
    pub(super) fn new(settings: RedSettings, random: Random) -> Self {
        Self {
            settings,
            random,
            mean: 0.0,
            since_drop: 0,
            empty_since: Timestamp::ZERO,
        }
    }

    /// Whether a packet that comes now is dropped.
    pub(super) fn drops(&mut self, now: Timestamp, fifo: &Fifo) -> bool {
        self.average(now, fifo);
        let probability = self.probability();
        if probability <= 0.0 {
            self.since_drop = 0;
            return false;
        }
        // Spread evenly: the gaps between drops are uniform.
        let left = 1.0 - f64::from(self.since_drop) * probability;
        self.since_drop += 1;
        let drops = left <= probability || self.random.chance(probability / left);
        if drops {
            self.since_drop = 0;
        }
        drops
    }

    /// Whether a mark is enough (RFC 3168, section 7): not above the upper threshold.
    pub(super) fn may_mark(&self) -> bool {
        self.mean < self.settings.upper.as_f64()
    }

    pub(super) fn pop(&mut self, fifo: &mut Fifo, now: Timestamp) -> Option<Waiting> {
        let popped = fifo.pop();
        if popped.is_some() && fifo.bytes == Bytes::ZERO {
            self.empty_since = now;
        }
        popped
    }

    /// A packet that finds the queue empty may be dropped, and leaves it empty. So the clock goes
    /// on from here.
    fn average(&mut self, now: Timestamp, fifo: &Fifo) {
        if fifo.bytes == Bytes::ZERO {
            let idle = now.saturating_since(self.empty_since);
            self.empty_since = now;
            let packet_s = self.settings.transmission.as_secs_f64().max(1e-9);
            let packets = idle.as_secs_f64() / packet_s;
            self.mean *= libm::pow(1.0 - WEIGHT, packets);
        } else {
            self.mean += WEIGHT * (fifo.bytes.as_f64() - self.mean);
        }
    }

    fn probability(&self) -> f64 {
        let (lower, upper) = (self.settings.lower.as_f64(), self.settings.upper.as_f64());
        let most = self.settings.most;
        match self.mean {
            mean if mean < lower => 0.0,
            mean if mean < upper => most * (mean - lower) / (upper - lower),
            mean => (most + (1.0 - most) * (mean - upper) / upper).min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{ms, waiting};
    use super::*;

    fn red(mean: f64) -> Red {
        let settings = RedSettings {
            lower: Bytes::new(15_000),
            upper: Bytes::new(45_000),
            most: 0.1,
            transmission: Duration::from_millis(1),
        };
        let mut red = Red::new(settings, Random::for_component(1, "red"));
        red.mean = mean;
        red
    }

    #[test]
    fn the_probability_is_that_of_the_mean_length() {
        let at = [10_000.0, 30_000.0, 45_000.0, 67_500.0, 90_000.0, 99_000.0];
        let found = at.map(|mean| red(mean).probability());
        for (found, expected) in found.into_iter().zip([0.0, 0.05, 0.1, 0.55, 1.0, 1.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn gaps_between_drops_are_uniform() {
        let mut fifo = Fifo::default();
        (0..20).for_each(|_| fifo.push(waiting(0, 0.0)));
        let mut red = red(30_000.0);
        // 20 packets of 1500 bytes wait all the time: the mean stays. One of twenty: gaps are
        // 1 to 20 packets, and 10.5 at the mean.
        let drops = (0..21_000).filter(|_| red.drops(ms(1.0), &fifo)).count();
        assert!((1900..2100).contains(&drops), "{drops}");
    }

    #[test]
    fn the_mean_decays_while_nothing_waits() {
        let mut red = red(30_000.0);
        assert!(!red.drops(ms(1000.0), &Fifo::default()));
        // A thousand packets of 1 ms: 0.998^1000 = 0.1351.
        assert!((red.mean - 30_000.0 * 0.135_06).abs() < 1.0, "{}", red.mean);
    }
    /// The drop stopped the clock, and nothing that was popped started it again.
    #[test]
    fn the_mean_decays_after_a_drop_at_an_empty_queue_as_well() {
        let mut fifo = Fifo::default();
        let mut red = red(200_000.0);
        assert!(red.drops(ms(0.0), &fifo) && red.drops(ms(1.0), &fifo));
        assert!(red.pop(&mut fifo, ms(2.0)).is_none());
        red.average(ms(1000.0), &fifo);
        // Each millisecond counts once.
        let expected = 200_000.0 * 0.135_06;
        assert!((red.mean - expected).abs() < 10.0, "{}", red.mean);
    }

    #[test]
    fn the_time_in_which_packets_wait_is_not_idle() {
        let mut fifo = Fifo::default();
        let mut red = red(10_000.0);
        red.average(ms(0.0), &fifo);
        fifo.push(waiting(0, 0.0));
        assert!(red.pop(&mut fifo, ms(500.0)).is_some());
        red.average(ms(600.0), &fifo);
        // A hundred packets of 1 ms: 0.998^100 = 0.8186.
        assert!((red.mean - 8186.0).abs() < 1.0, "{}", red.mean);
    }
}
