//! By how much the hosts shift the times of echoes.
//!
//! A host that reads a packet late shifts the end of one gap and the beginning of the next, by the
//! same time and in opposite directions. Traffic of others does nothing of the kind: what comes
//! between two packets is not taken from between the next two. So the covariance of dispersions
//! that follow each other is the negative variance of the hosts' lateness. It shows jitters far
//! below the time that the link needs for a packet.

use super::looks::Looks;
use super::ring::Ring;
use crate::units::{Nanos, single};
use std::time::Duration;

/// The number of dispersions from which the middle is taken.
const DISPERSIONS: usize = 256;

/// The number of products in memory, and the fewest that tell a covariance.
const PRODUCTS: usize = 512;
const FEWEST: usize = 64;

/// Dispersions farther from the middle than this share of it hold a packet of others.
const NEAR: f64 = 0.35;

/// How many standard errors below zero a covariance counts as jitter.
const SIGNIFICANT: f64 = 3.0;

/// A deviation from the middle, and the next one, in nanoseconds.
type Pair = (f32, f32);

/// Follows the jitter of echoes.
#[derive(Debug)]
pub(super) struct EchoJitter {
    /// The latest dispersions, in nanoseconds per byte.
    dispersions: Ring<f32, DISPERSIONS>,
    pairs: Ring<Pair, PRODUCTS>,
    scratch: Vec<f32>,
    looks: Looks,
    middle: Option<f64>,
    /// The packet that ended the last dispersion, and that dispersion.
    last: Option<(u64, f64)>,
    deviation: Nanos,
}

impl EchoJitter {
    pub(super) fn new() -> Self {
        Self {
            dispersions: Ring::new(),
            pairs: Ring::new(),
            scratch: Vec::new(),
            looks: Looks::default(),
            middle: None,
            last: None,
            deviation: Nanos::ZERO,
        }
    }

    pub(super) fn clear(&mut self) {
        self.dispersions.clear();
        self.pairs.clear();
        self.looks = Looks::default();
        self.middle = None;
        self.last = None;
        self.deviation = Nanos::ZERO;
    }

    /// The standard deviation of the time by which a single echo is late. Zero if it does not
    /// show.
    pub(super) fn deviation(&self) -> Nanos {
        self.deviation
    }

    /// A busy link dispersed the packets after `from`, up to `to`, with `bytes` on the wire.
    #[inline]
    pub(super) fn on_dispersion(&mut self, (from, to): (u64, u64), nanos: f64, bytes: f64) {
        let dispersion = nanos / bytes.max(1.0);
        self.dispersions.push(single(dispersion));
        let last = self.last.replace((to, dispersion));
        if let (Some((end, before)), Some(middle)) = (last, self.middle)
            && end == from
            && [before, dispersion]
                .iter()
                .all(|it| (it - middle).abs() <= NEAR * middle)
        {
            let deviation = |it: f64| single((it - middle) * bytes);
            self.pairs.push((deviation(before), deviation(dispersion)));
        }
        if self.looks.on_dispersion() {
            self.look();
        }
    }

    fn look(&mut self) {
        self.scratch.clear();
        self.scratch.reserve_exact(DISPERSIONS);
        self.scratch.extend(self.dispersions.iter());
        let half = self.scratch.len() / 2;
        let (_, middle, _) = self
            .scratch
            .select_nth_unstable_by_key(half, |it| it.to_bits());
        self.middle = Some(f64::from(*middle));
        let found = covariance(&self.pairs)
            .filter(|found| found.value < -SIGNIFICANT * found.error)
            .map_or(Duration::ZERO, |found| {
                Duration::from_secs_f64(libm::sqrt(-found.value) / 1e9)
            });
        // Hosts that are late are so by changing times.
        self.looks.on_look(found.is_zero());
        self.deviation = found.into();
    }
}

struct Covariance {
    value: f64,
    /// Its standard error.
    error: f64,
}

fn covariance(pairs: &Ring<Pair, PRODUCTS>) -> Option<Covariance> {
    if pairs.len() < FEWEST {
        return None;
    }
    let count = pairs.len() as f64;
    let pairs = || {
        pairs
            .iter()
            .map(|pair| (f64::from(pair.0), f64::from(pair.1)))
    };
    let mean = |of: fn((f64, f64)) -> f64| pairs().map(of).sum::<f64>() / count;
    let (first, second) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let products = || pairs().map(|pair| (pair.0 - first) * (pair.1 - second));
    let value = products().sum::<f64>() / count;
    let spread = products()
        .map(|it| (it - value) * (it - value))
        .sum::<f64>()
        / count;
    Some(Covariance {
        value,
        error: libm::sqrt(spread / count),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Full packets of a link of 12 Mbit/s, a millisecond each. `late` is by how much each echo is
    /// late, `others` what foreign packets add to each gap.
    fn deviation(late: impl Fn(u64) -> f64, others: impl Fn(u64) -> f64) -> Duration {
        let mut jitter = EchoJitter::new();
        for number in 0..2000 {
            let nanos = 1e6 + late(number + 1) - late(number) + others(number);
            jitter.on_dispersion((number, number + 1), nanos, 1500.0);
        }
        jitter.deviation().into()
    }

    /// Evenly spread over 0 to 1, without order.
    fn even(number: u64) -> f64 {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / 2f64.powi(53)
    }

    #[test]
    fn lateness_of_hosts_shows() {
        // The standard deviation of an even spread over 100 us is 28.9 us.
        let found = deviation(|number| 1e5 * even(number), |_| 0.0).as_secs_f64() * 1e6;
        assert!((24.0..32.0).contains(&found), "{found} us");
    }

    #[test]
    fn traffic_of_others_is_no_jitter() {
        let others = |number| {
            if even(number) < 0.4 {
                1e6 * even(!number)
            } else {
                0.0
            }
        };
        assert_eq!(deviation(|_| 0.0, others), Duration::ZERO);
    }

    #[test]
    fn lateness_shows_beside_traffic_of_others() {
        let others = |number| if even(number) < 0.3 { 1e6 } else { 0.0 };
        let found = deviation(|number| 1e5 * even(number + 7000), others).as_secs_f64() * 1e6;
        assert!((24.0..34.0).contains(&found), "{found} us");
    }
}
