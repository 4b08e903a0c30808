//! The class `jitter`: the delay of a link of constant rate varies from packet to packet, by about
//! as much as the packets of the source lie apart.
//!
//! Packets keep their order, so a late one holds up those behind it, and they arrive together. The
//! class `mixed` has jitter of milliseconds. Bulk transfers are left out.

use super::draw::Draw;
use super::ground::{Client, Ground};
use super::path::Path;
use super::source::{datagrams, of_kind, whole};
use crate::scenario::ScenarioError;

const MOST_MBPS: f64 = 1000.0;
/// The most of the capacity that inelastic traffic takes.
const CROSS_SHARE: f64 = 0.4;
/// What the source takes of what is left.
const SHARES: [f64; 2] = [0.02, 0.6];
const ROUND_TRIPS_MS: [f64; 2] = [1.0, 150.0];
const DATAGRAM_BYTES: [f64; 2] = [100.0, 1150.0];
/// A faster source would only take longer to simulate.
const MOST_PER_SECOND: f64 = 8000.0;
/// The greatest delay that is added, in distances of the source's packets.
const DISTANCES: [f64; 2] = [0.2, 5.0];
/// The part of the one-way delay that it is at most: no packet arrives before it was sent.
const MOST_OF_DELAY: f64 = 0.9;

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "jitter");
    let mut ground = Ground::draw_up_to(&mut draw, MOST_MBPS, CROSS_SHARE);
    ground.rtt_ms = draw.between(ROUND_TRIPS_MS[0], ROUND_TRIPS_MS[1]);
    let bytes = draw.between(DATAGRAM_BYTES[0], DATAGRAM_BYTES[1]);
    let bits = bytes * 8.0;
    let asked = draw.between(SHARES[0], SHARES[1]) * ground.left_mbps();
    let mbps = asked.min(bits * MOST_PER_SECOND / 1e6);
    let source = match draw.one_of(&["frames", "datagrams", "datagrams"]) {
        "frames" => of_kind(&mut draw, "frames", mbps),
        _ => datagrams(mbps, bytes),
    };
    let apart_ms = bits / (mbps * 1e3);
    let most_ms = MOST_OF_DELAY * ground.rtt_ms / 2.0;
    let jitter_ms = (apart_ms * draw.between(DISTANCES[0], DISTANCES[1])).min(most_ms);
    let client = Client::draw(&mut draw);
    let queue = format!("\"{} B\"", whole(ground.queue_bytes()));
    let link = ground.link(ground.rtt_ms, &queue);
    let link = format!("{link}jitter = \"{} us\"\n", whole(jitter_ms * 1e3));
    let name = format!("jitter-{seed}");
    Path::over(&name, &link, &ground, (&source, &client, ""))
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
            assert!(
                !facts.bulk && path.text.contains("jitter = "),
                "seed {seed}"
            );
            let [capacity, left] = [&facts.capacity_mbps, &facts.left_mbps].map(|it| it[0]);
            assert!((1.0..=1000.0).contains(&capacity), "seed {seed}");
            assert!(left >= 0.5999 * capacity, "seed {seed}");
            datagrams += u32::from(facts.sends.contains("datagrams"));
        }
        // Two kinds of three.
        assert!((600..733).contains(&datagrams), "{datagrams} of 1000");
    }
}
