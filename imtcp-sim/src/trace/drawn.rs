//! Traces from a seed, as a cell makes them: a rate that walks, deliveries in bunches, and times
//! without any.

use super::{OPPORTUNITY, Trace};
use crate::random::Random;

/// How long a drawn trace is until it repeats, in milliseconds.
const PERIOD_MS: u32 = 30_000;
/// The mean rate that the walk is around, in Mbit/s.
const MEAN_MBPS: [f64; 2] = [1.0, 60.0];
/// The least and the most of the walk, as shares of that.
const WALK: [f64; 2] = [0.1, 2.5];

/// How long a bunch of deliveries is, in milliseconds, with the probability of at most that.
const BUNCHES: [(f64, u32); 4] = [(0.4, 1), (0.6, 2), (0.8, 5), (1.0, 10)];

/// The trace that belongs to a seed, named `drawn-SEED`.
pub fn drawn(seed: u64) -> Trace {
    let name = format!("drawn-{seed}");
    let mut random = Random::for_component(seed, "trace");
    let mut cell = Cell::draw(&mut random);
    let mut all = Vec::new();
    let mut credit_bits = 0.0;
    for ms in 1..=PERIOD_MS {
        credit_bits += cell.bits_at(ms, &mut random);
        if ms.is_multiple_of(cell.bunch_ms) {
            while credit_bits >= OPPORTUNITY.as_bits_f64() {
                credit_bits -= OPPORTUNITY.as_bits_f64();
                all.push(ms);
            }
        }
    }
    // The last delivery is the period.
    all.push(PERIOD_MS);
    Trace::new(&name, &all).unwrap_or_else(|| unreachable!("its period is not zero"))
}

struct Cell {
    mean_bits_per_ms: f64,
    /// The place of the walk, as a logarithm.
    place: f64,
    stride: f64,
    stride_ms: f64,
    next_stride_ms: f64,
    bunch_ms: u32,
    /// The mean time between two outages, and of one.
    between_ms: f64,
    outage_ms: f64,
    /// Nothing is delivered until then.
    out_until_ms: f64,
    next_outage_ms: f64,
}

impl Cell {
    fn draw(random: &mut Random) -> Self {
        let mut between = |[low, high]: [f64; 2]| low * libm::pow(high / low, random.uniform());
        let mean_mbps = between(MEAN_MBPS);
        let stride_ms = between([50.0, 500.0]);
        let stride = between([0.05, 0.5]);
        let between_ms = between([3_000.0, 30_000.0]);
        let outage_ms = between([50.0, 500.0]);
        let bunch = random.uniform();
        let first = random.exponential();
        Self {
            mean_bits_per_ms: mean_mbps * 1e3,
            place: 0.0,
            stride,
            stride_ms,
            next_stride_ms: stride_ms,
            bunch_ms: BUNCHES.iter().find(|it| bunch < it.0).map_or(1, |it| it.1),
            between_ms,
            outage_ms,
            out_until_ms: 0.0,
            next_outage_ms: first * between_ms,
        }
    }

    /// What a millisecond can carry.
    fn bits_at(&mut self, ms: u32, random: &mut Random) -> f64 {
        let now_ms = f64::from(ms);
        if now_ms >= self.next_stride_ms {
            self.next_stride_ms += self.stride_ms;
            let [low, high] = WALK.map(libm::log);
            self.place += self.stride * (2.0 * random.uniform() - 1.0);
            if self.place > high {
                self.place = 2.0 * high - self.place;
            } else if self.place < low {
                self.place = 2.0 * low - self.place;
            }
        }
        if now_ms >= self.next_outage_ms {
            self.out_until_ms = now_ms + self.outage_ms * random.exponential();
            self.next_outage_ms = self.out_until_ms + self.between_ms * random.exponential();
        }
        match now_ms < self.out_until_ms {
            true => 0.0,
            false => self.mean_bits_per_ms * libm::exp(self.place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{parse, written};

    #[test]
    fn a_hundred_seeds_draw_a_hundred_cells() {
        let (mut bunched, mut silent) = (0, 0);
        for seed in 1..=100 {
            let trace = drawn(seed);
            assert_eq!(trace.period().as_millis(), u128::from(PERIOD_MS));
            let mean = trace.mean().as_bps_f64() / 1e6;
            assert!((0.1..150.0).contains(&mean), "seed {seed}: {mean}");
            let at: Vec<u128> = trace.slots.iter().map(|slot| slot.at.as_millis()).collect();
            let widest = at.windows(2).map(|pair| pair[1] - pair[0]).max();
            silent += u32::from(widest > Some(150));
            bunched += u32::from(at.iter().take(at.len() - 1).all(|at| at % 5 == 0));
        }
        // Two bunches of five; nearly all have an outage now and then.
        assert!((25..55).contains(&bunched), "{bunched} of 100");
        assert!(silent > 50, "{silent} of 100");
    }

    #[test]
    fn a_seed_draws_the_same_file_again() {
        let text = written(&drawn(7));
        assert_eq!(text, written(&drawn(7)));
        assert_ne!(text, written(&drawn(8)));
        let again = parse("drawn-7", &text).expect("it is a trace");
        assert_eq!(again, drawn(7));
    }
}
