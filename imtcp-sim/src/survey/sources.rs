//! The class `sources`: sources that the other classes leave out, over one link of constant rate.
//!
//! Datagrams may be small, a source may take nearly all that is left, and the round trip may be
//! that of a local network. Bulk transfers are left out.

use super::draw::Draw;
use super::ground::{Client, Ground};
use super::path::Path;
use super::source::{Source, datagrams, of_kind};
use crate::scenario::ScenarioError;

const MOST_MBPS: f64 = 200.0;
/// The most of the capacity that inelastic traffic takes.
const CROSS_SHARE: f64 = 0.7;
/// What the source takes of what is left.
const SHARES: [f64; 2] = [0.02, 0.95];
const ROUND_TRIPS_MS: [f64; 2] = [0.5, 60.0];
const DATAGRAM_BYTES: [f64; 2] = [200.0, 1200.0];

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "sources");
    let mut ground = Ground::draw_up_to(&mut draw, MOST_MBPS, CROSS_SHARE);
    ground.rtt_ms = draw.between(ROUND_TRIPS_MS[0], ROUND_TRIPS_MS[1]);
    let mbps = draw.evenly(SHARES[0], SHARES[1]) * ground.left_mbps();
    let source = source(&mut draw, mbps);
    let client = Client::draw(&mut draw);
    Path::alone(&format!("sources-{seed}"), &ground, &source, &client, "")
}

fn source(draw: &mut Draw, mbps: f64) -> Source {
    let kind = draw.one_of(&["frames", "chunks", "player", "datagrams", "datagrams"]);
    if kind != "datagrams" {
        return of_kind(draw, kind, mbps);
    }
    let bytes = draw.between(DATAGRAM_BYTES[0], DATAGRAM_BYTES[1]);
    datagrams(mbps, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let mut datagrams = 0;
        for seed in 1..=1000 {
            let path = draw(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let facts = &path.facts;
            assert!(!facts.bulk, "seed {seed}");
            assert!((0.5..=60.0).contains(&facts.rtt_ms), "seed {seed}");
            let [capacity, left] = [&facts.capacity_mbps, &facts.left_mbps].map(|it| it[0]);
            assert!((1.0..=200.0).contains(&capacity), "seed {seed}");
            assert!(left >= 0.2999 * capacity, "seed {seed}");
            datagrams += u32::from(facts.sends.contains("datagrams"));
        }
        // Two kinds of five.
        assert!((350..450).contains(&datagrams), "{datagrams} of 1000");
    }
}
