//! PIE (RFC 8033, section 4), without its optional parts: packets are dropped at the tail with a
//! probability that follows the queueing delay and its trend.

use super::{Fifo, Waiting};
use crate::random::Random;
use imtcp_cc::units::{Bytes, Timestamp};
use std::time::Duration;

const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
const UPDATE: Duration = Duration::from_millis(15);
/// Below this delay relative to the target, and below this probability, nothing is dropped.
const LOW_DELAY: f64 = 0.5;
const LOW_PROBABILITY: f64 = 0.2;
/// Up to this probability packets are marked and not dropped.
const MOST_MARKED: f64 = 0.1;
/// Queues of two packets are left alone.
const SMALL: Bytes = Bytes::new(3000);

/// PIE's two settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieSettings {
    /// The delay that is aimed at.
    pub target: Duration,
    /// Bursts of this length after a quiet time are let through.
    pub burst: Duration,
}

impl Default for PieSettings {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            burst: Duration::from_millis(150),
        }
    }
}

#[derive(Debug)]
pub(super) struct Pie {
    settings: PieSettings,
    random: Random,
    probability: f64,
    /// What the packet that left last had waited, in seconds.
    delay_s: f64,
    old_delay_s: f64,
    burst_left: Duration,
    next_update: Timestamp,
}

impl Pie {
    pub(super) fn new(settings: PieSettings, random: Random) -> Self {
        Self {
            settings,
            random,
            probability: 0.0,
            delay_s: 0.0,
            old_delay_s: 0.0,
            burst_left: settings.burst,
            next_update: Timestamp::ZERO + UPDATE,
        }
    }

    /// Whether a packet that comes now is dropped.
    pub(super) fn drops(&mut self, now: Timestamp, fifo: &Fifo) -> bool {
        self.catch_up(now, fifo);
        if !self.burst_left.is_zero() {
            return false;
        }
        let low_s = LOW_DELAY * self.settings.target.as_secs_f64();
        let is_low = self.old_delay_s < low_s && self.probability < LOW_PROBABILITY;
        !is_low && fifo.bytes > SMALL && self.random.chance(self.probability)
    }

    /// Whether a mark is enough (section 5.1). Above that, capable senders are dropped from, too.
    pub(super) fn may_mark(&self) -> bool {
        self.probability <= MOST_MARKED
    }

    pub(super) fn pop(&mut self, fifo: &mut Fifo, now: Timestamp) -> Option<Waiting> {
        self.catch_up(now, fifo);
        let popped = fifo.pop()?;
        self.delay_s = now.saturating_since(popped.came).as_secs_f64();
        Some(popped)
    }

    /// Makes the updates that have been due since the last event. Nothing changed between them.
    fn catch_up(&mut self, now: Timestamp, fifo: &Fifo) {
        while self.next_update <= now {
            let delay_s = if fifo.bytes == Bytes::ZERO {
                0.0
            } else {
                self.delay_s
            };
            self.update(delay_s);
            let is_at_rest = self.probability == 0.0
                && (delay_s, self.old_delay_s) == (0.0, 0.0)
                && self.burst_left == self.settings.burst;
            self.next_update = self.next_update + UPDATE;
            if is_at_rest {
                // Until something waits again, updates change nothing.
                let missed = now.saturating_since(self.next_update).as_nanos() / UPDATE.as_nanos();
                let missed = u32::try_from(missed).unwrap_or(u32::MAX);
                self.next_update = self.next_update + UPDATE.saturating_mul(missed);
            }
        }
    }

    fn update(&mut self, delay_s: f64) {
        let target_s = self.settings.target.as_secs_f64();
        let step = ALPHA * (delay_s - target_s) + BETA * (delay_s - self.old_delay_s);
        let divisor = match self.probability {
            p if p < 1e-6 => 2048.0,
            p if p < 1e-5 => 512.0,
            p if p < 1e-4 => 128.0,
            p if p < 1e-3 => 32.0,
            p if p < 1e-2 => 8.0,
            p if p < 1e-1 => 2.0,
            _ => 1.0,
        };
        self.probability += step / divisor;
        if delay_s == 0.0 && self.old_delay_s == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_left = self.burst_left.saturating_sub(UPDATE);
        let low_s = LOW_DELAY * target_s;
        if self.probability == 0.0 && delay_s < low_s && self.old_delay_s < low_s {
            self.burst_left = self.settings.burst;
        }
        self.old_delay_s = delay_s;
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{ms, waiting};
    use super::*;

    fn pie() -> Pie {
        Pie::new(PieSettings::default(), Random::for_component(1, "pie"))
    }

    #[test]
    fn the_probability_follows_the_delay_and_its_trend() {
        let mut pie = pie();
        pie.update(0.030);
        // (0.125 (0.030 - 0.015) + 1.25 0.030) / 2048
        assert!((pie.probability - 0.039_375 / 2048.0).abs() < 1e-15);
        let before = pie.probability;
        pie.update(0.030);
        // No trend; between 1e-5 and 1e-4 the step is a 128th.
        assert!((pie.probability - before - 0.001_875 / 128.0).abs() < 1e-15);
        pie.update(0.0);
        // (-0.001875 - 0.0375) / 128 is more than there was.
        assert_eq!(pie.probability, 0.0);
    }

    #[test]
    fn a_burst_after_a_quiet_time_is_let_through() {
        let mut pie = pie();
        let mut fifo = Fifo::default();
        (0..50).for_each(|_| fifo.push(waiting(0, 0.0)));
        pie.delay_s = 0.2;
        pie.probability = 1.0;
        assert!(!pie.drops(ms(149.0), &fifo), "{pie:?}");
        assert!(pie.drops(ms(151.0), &fifo), "{pie:?}");
    }

    #[test]
    fn two_packets_and_low_delays_are_left_alone() {
        let mut pie = pie();
        (pie.burst_left, pie.old_delay_s) = (Duration::ZERO, 0.1);
        pie.probability = 1.0;
        let mut fifo = Fifo::default();
        (0..2).for_each(|_| fifo.push(waiting(0, 0.0)));
        assert!(!pie.drops(ms(1.0), &fifo));
        fifo.push(waiting(0, 0.0));
        assert!(pie.drops(ms(1.0), &fifo));
        // Half of the target of 15 ms, and a probability of 20 %.
        (pie.old_delay_s, pie.probability) = (0.0074, 0.19);
        assert!((0..100).all(|_| !pie.drops(ms(1.0), &fifo)));
        pie.old_delay_s = 0.0076;
        assert!((0..100).any(|_| pie.drops(ms(1.0), &fifo)));
    }

    #[test]
    fn marks_are_enough_up_to_a_tenth() {
        let mut pie = pie();
        for (probability, enough) in [(0.0, true), (0.1, true), (0.11, false)] {
            pie.probability = probability;
            assert_eq!(pie.may_mark(), enough, "{probability}");
        }
    }

    #[test]
    fn after_a_long_rest_it_is_as_at_the_beginning() {
        let mut pie = pie();
        let fifo = Fifo::default();
        pie.probability = 0.3;
        assert!(!pie.drops(ms(3_600_000.0), &fifo));
        assert_eq!((pie.probability, pie.burst_left), (0.0, pie.settings.burst));
        assert!(pie.next_update > ms(3_600_000.0), "{pie:?}");
    }
}
