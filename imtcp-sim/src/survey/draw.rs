//! Draws of one path. Each seed has a random stream of its own, so a path never depends on another.

use crate::random::Random;

pub(super) struct Draw(Random);

impl Draw {
    pub(super) fn new(seed: u64, class: &str) -> Self {
        Self(Random::for_component(seed, &format!("survey.{class}")))
    }

    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.0.chance(probability)
    }

    /// Draws between two values, with equal chances for equal ratios.
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, self.0.uniform())
    }

    /// Draws between two values, with equal chances for equal differences.
    pub(super) fn evenly(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }

    /// Draws between two values like [`Draw::between`], but the chances fall linearly from the
    /// lower value to none at the upper one.
    pub(super) fn rather_low(&mut self, low: f64, high: f64) -> f64 {
        let share = 1.0 - libm::sqrt(1.0 - self.0.uniform());
        low * libm::pow(high / low, share)
    }

    /// A whole number, both ends included.
    pub(super) fn count(&mut self, least: u32, most: u32) -> u32 {
        let share = self.0.uniform();
        let values = f64::from(most - least + 1);
        (least..most)
            .find(|value| share * values < f64::from(value - least + 1))
            .unwrap_or(most)
    }

    pub(super) fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        let last = u32::try_from(values.len() - 1).unwrap_or(u32::MAX);
        values[self.count(0, last) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_between_their_ends_and_reach_both() {
        let mut draw = Draw::new(1, "test");
        let counts: Vec<u32> = (0..1000).map(|_| draw.count(1, 5)).collect();
        for value in 1..=5 {
            let found = counts.iter().filter(|count| **count == value).count();
            assert!((150..250).contains(&found), "{value}: {found} of 1000");
        }
        let low: Vec<f64> = (0..1000).map(|_| draw.rather_low(1.0, 1000.0)).collect();
        assert!(low.iter().all(|value| (1.0..=1000.0).contains(value)));
        // A triangle: three quarters lie in the lower half of the logarithm.
        let below = low.iter().filter(|value| **value < 31.6).count();
        assert!((700..800).contains(&below), "{below}");
    }
}
