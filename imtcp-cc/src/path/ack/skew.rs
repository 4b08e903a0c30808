//! By how much the peer's clock is slower than ours.
//!
//! An acknowledgement comes after its packet's arrival by the time of the way back. Over some
//! seconds the shortest such time stays the same, unless the clocks drift. Then it grows, or falls,
//! by the same share of the time again and again. A queue on the way back or another route changes
//! it once, and traffic there makes it rise and fall.

use crate::units::{TimeDelta, Timestamp};
use std::time::Duration;

/// The length of a block, of which the shortest time counts.
const BLOCK: Duration = Duration::from_secs(4);

/// The number of changes from block to block that tell a drift.
const CHANGES: usize = 8;

/// The share of them that lie near their middle, and how near, as a share of it.
const ALIKE: usize = 6;
const NEAR: f64 = 0.25;

/// The latest acknowledgement, relative to the arrival of its packet, of a block.
#[derive(Clone, Copy, Debug)]
struct Least {
    at: Timestamp,
    late: TimeDelta,
}

/// Watches how late acknowledgements come by the peer's clock.
#[derive(Debug, Default)]
pub(super) struct Skew {
    /// When the present block began, and what was least late in it.
    block: Option<(Timestamp, Least)>,
    /// What was least late in the block before.
    before: Option<Least>,
    /// The newest changes from block to block, as shares of the time; the oldest is replaced.
    changes: [f64; CHANGES],
    count: usize,
}

impl Skew {
    /// An acknowledgement came at `now`, `late` after its packet's arrival except for a constant.
    /// Returns the drift, as a share of the time, if the acknowledgement tells one: at most `most`.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Timestamp, late: TimeDelta, most: f64) -> Option<f64> {
        let newest = Least { at: now, late };
        let Some((begun, least)) = &mut self.block else {
            self.block = Some((now, newest));
            return None;
        };
        if now.saturating_since(*begun) < BLOCK {
            if late < least.late {
                *least = newest;
            }
            return None;
        }
        let least = *least;
        self.block = Some((now, newest));
        self.end_block(least, most)
    }

    #[cold]
    fn end_block(&mut self, least: Least, most: f64) -> Option<f64> {
        let before = self.before.replace(least)?;
        let time = (least.at - before.at).as_secs_f64();
        // Two blocks may touch where the shortest times are.
        if time < BLOCK.as_secs_f64() / 4.0 {
            return None;
        }
        self.changes[self.count % CHANGES] = (least.late - before.late).as_secs_f64() / time;
        self.count += 1;
        (self.count >= CHANGES).then(|| self.drift(most)).flatten()
    }

    fn drift(&self, most: f64) -> Option<f64> {
        let mut changes = self.changes;
        changes.sort_unstable_by(f64::total_cmp);
        let middle = f64::midpoint(changes[CHANGES / 2 - 1], changes[CHANGES / 2]);
        let is_near = |change: &&f64| (*change - middle).abs() <= NEAR * middle.abs();
        let alike = changes.iter().filter(is_near).count();
        (alike >= ALIKE && middle != 0.0).then(|| middle.clamp(-most, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: f64 = 5e-4;

    /// The last drift told over `secs` seconds with an acknowledgement every 10 ms, whose lateness
    /// in microseconds is `late_us` of the time in seconds and of its number.
    fn told(secs: u64, late_us: impl Fn(f64, u64) -> f64) -> Option<f64> {
        let mut skew = Skew::default();
        let mut told = None;
        for number in 0..secs * 100 {
            let now = Timestamp::from_nanos(number * 10_000_000);
            let late = Duration::from_secs_f64(1.0 + late_us(now.as_secs_f64(), number) / 1e6);
            told = skew.on_ack(now, late.into(), MOST).or(told);
        }
        told
    }

    /// A wait of up to 3 ms on the way back, which one acknowledgement in 16 does not meet.
    fn wait_us(number: u64) -> f64 {
        (number * 7 % 16) as f64 * 200.0
    }

    #[test]
    fn a_drift_is_told_behind_waits_of_the_way_back() {
        for ppm in [50.0, -50.0, 200.0, -20.0] {
            let drift = told(60, |s, number| s * ppm + wait_us(number)).expect("a drift");
            assert!(
                (drift * 1e6 - ppm).abs() < 0.1 * ppm.abs(),
                "{ppm}: {drift}"
            );
        }
        assert_eq!(
            told(60, |s, _| s * 900.0),
            Some(MOST),
            "nobody's clock is so bad"
        );
    }

    #[test]
    fn a_queue_on_the_way_back_is_no_drift() {
        assert_eq!(told(120, |_, number| wait_us(number)), None);
        let longer = |s: f64, _| if s > 41.0 { 5000.0 } else { 0.0 };
        assert_eq!(told(120, longer), None, "another route");
        let loaded = |s: f64, _| 2000.0 * (s / 9.0).sin() + 1500.0 * (s / 3.7).sin();
        assert_eq!(told(120, loaded), None);
    }
}
