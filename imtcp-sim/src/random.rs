//! One random stream per component, derived from the run's seed and the component's name, so that
//! adding a component never shifts what another one draws.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A component's random stream.
#[derive(Clone, Debug)]
pub struct Random {
    generator: Xoshiro256PlusPlus,
}

impl Random {
    /// The stream of the component `name` in the run with `seed`.
    pub fn for_component(seed: u64, name: &str) -> Self {
        Self {
            generator: Xoshiro256PlusPlus::seed_from_u64(component_seed(seed, name)),
        }
    }

    /// A stream of its own for a part of the component.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self {
            generator: Xoshiro256PlusPlus::seed_from_u64(self.generator.next_u64()),
        }
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        // 53 bits are exactly representable.
        (self.generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// Random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.generator.fill_bytes(&mut bytes);
        bytes
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }

    /// Pareto with mean 1 and the given shape (above 1), by inversion.
    pub fn pareto(&mut self, shape: f64) -> f64 {
        let minimum = (shape - 1.0) / shape;
        minimum * libm::pow(1.0 - self.uniform(), -1.0 / shape)
    }
}

/// Mixes a run's seed with a component's name (FNV-1a over the name, started from the seed's
/// bytes).
pub fn component_seed(seed: u64, name: &str) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    seed.to_le_bytes()
        .iter()
        .chain(name.as_bytes())
        .fold(OFFSET, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(PRIME)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 200_000;

    fn mean(mut draw: impl FnMut() -> f64) -> f64 {
        (0..DRAWS).map(|_| draw()).sum::<f64>() / f64::from(DRAWS)
    }

    #[test]
    fn means_are_one() {
        // Standard errors: exponential 1/sqrt(n) = 0.0022; Pareto of shape 3 has deviation 0.58.
        let mut random = Random::for_component(1, "means");
        let exponential = mean(|| random.exponential());
        assert!((exponential - 1.0).abs() < 0.01, "{exponential}");
        let pareto = mean(|| random.pareto(3.0));
        assert!((pareto - 1.0).abs() < 0.01, "{pareto}");
    }

    #[test]
    fn components_draw_independently_of_each_other() {
        let mut a = Random::for_component(7, "traffic.a");
        let mut b = Random::for_component(7, "traffic.b");
        let product = mean(|| (a.uniform() - 0.5) * (b.uniform() - 0.5));
        // The product's deviation is 1/12, its mean's standard error 0.0002.
        assert!(product.abs() < 0.001, "correlated: {product}");
    }

    #[test]
    fn the_sequence_is_pinned() {
        // A changed generator would silently change every recorded result.
        let mut random = Random::for_component(42, "pin");
        let first: Vec<u64> = (0..3).map(|_| random.generator.next_u64()).collect();
        assert_eq!(first, PINNED);
    }

    const PINNED: [u64; 3] = [
        1_756_259_390_663_653_465,
        16_799_630_410_588_007_933,
        16_592_852_832_064_472_404,
    ];
}
