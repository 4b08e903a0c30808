//! The class `fixed`: one FIFO link of constant rate, with inelastic traffic or none.

use super::draw::Draw;
use super::ground::{Client, Ground};
use super::path::Path;
use super::source::source;
use crate::scenario::ScenarioError;

/// The most of the capacity that inelastic traffic takes.
const CROSS_SHARE: f64 = 0.9;

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "fixed");
    let ground = Ground::draw(&mut draw, CROSS_SHARE);
    let source = source(&mut draw, ground.left_mbps());
    let client = Client::draw(&mut draw);
    Path::alone(&format!("fixed-{seed}"), &ground, &source, &client, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let mut crossed = 0;
        for seed in 1..=1000 {
            let path = draw(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let scenario = path.scenario(&[]).expect("it was valid");
            assert_eq!((scenario.links.len(), scenario.flows.len()), (1, 1));
            let [capacity, left] = [&path.facts.capacity_mbps, &path.facts.left_mbps].map(|v| v[0]);
            assert!((1.0..=1000.0).contains(&capacity), "seed {seed}");
            assert!(
                left >= 0.0999 * capacity,
                "seed {seed}: {left} of {capacity}"
            );
            assert!(
                (10.0..=40.0).contains(&path.facts.duration_s),
                "seed {seed}"
            );
            crossed += scenario.traffic.len();
        }
        // Five kinds of six.
        assert!((780..880).contains(&crossed), "{crossed} of 1000");
    }
}
