//! The class `echoes`: one link of constant rate, and acknowledgements that come late, thinned, in
//! aggregates, over a narrow or a loaded way back, or from another implementation.

use super::draw::Draw;
use super::ground::{Client, Ground};
use super::path::{Facts, Path};
use super::source::{source, whole};
use crate::scenario::{Scenario, ScenarioError};

/// The most of the capacity that inelastic traffic takes.
const CROSS_SHARE: f64 = 0.8;
/// About how many bytes of acknowledgements a byte of data causes, with one for two packets.
const ACKNOWLEDGED: f64 = 0.03;

/// What is done to acknowledgements.
const KINDS: [&str; 6] = [
    "delayed",
    "thinned",
    "aggregated",
    "narrow",
    "loaded",
    "another stack",
];

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "echoes");
    let ground = Ground::draw(&mut draw, CROSS_SHARE);
    let source = source(&mut draw, ground.left_mbps());
    let mut client = Client::draw(&mut draw);
    let duration_s = ground.duration_s(&source, false);
    let kind = draw.one_of(&KINDS);
    let back = back(&mut draw, kind, &ground, &mut client);
    let text = format!(
        "name = \"echoes-{seed}\"\ntitle = \"drawn\"\nduration = \"{duration_s:.3} s\"\n\
         {}{}{}{}{}",
        ground.link(
            ground.rtt_ms,
            &format!("\"{} B\"", whole(ground.queue_bytes()))
        ),
        back.link,
        ground.cross.text(),
        back.traffic,
        client.main(&source, ""),
    );
    Scenario::parse(&format!("echoes-{seed}.toml"), &text, &[])?;
    let mut facts = Facts::of(&ground, &source, &client, duration_s);
    facts.sends = format!("{}, {kind}", facts.sends);
    Ok(Path {
        text,
        steps: Vec::new(),
        facts,
    })
}

/// The way back, as scenarios write it.
#[derive(Default)]
struct Back {
    /// More keys of the link.
    link: String,
    traffic: String,
}

fn back(draw: &mut Draw, kind: &str, ground: &Ground, client: &mut Client) -> Back {
    let mut back = Back::default();
    let capacity_mbps = ground.capacity_mbps;
    match kind {
        "delayed" => {
            let delay_ms = draw.between(1.0, 100.0);
            client.more = match draw.chance(0.5) {
                true => format!("acknowledge = \"timer\", delay = \"{delay_ms:.0} ms\""),
                false => format!("acknowledge = {}", draw.count(3, 20)),
            };
        }
        "thinned" => {
            let keep = draw.count(2, 8);
            back.link = format!("reverse = {{ keep_every_acknowledgement = {keep} }}\n");
        }
        "aggregated" => {
            let every_ms = draw.between(0.5, 10.0);
            let packets = libm::ceil(1.2 * capacity_mbps * 1e3 * every_ms / 12_000.0);
            back.link = format!(
                "reverse = {{ release = {{ every = \"{} us\", packets = {} }} }}\n",
                whole(every_ms * 1e3),
                whole(packets.clamp(2.0, 10_000.0))
            );
        }
        "narrow" => {
            // From a way back that acknowledgements fill to one of a tenth of the capacity.
            let mbps = capacity_mbps * draw.between(ACKNOWLEDGED, 0.1);
            let queue_bytes = (mbps * ground.rtt_ms * 125.0).max(10_000.0);
            back.link = format!(
                "reverse = {{ rate = \"{} bit/s\", queue = \"{} B\" }}\n",
                whole(mbps * 1e6),
                whole(queue_bytes)
            );
        }
        "loaded" => {
            let bps = whole(capacity_mbps * 1e6 * draw.evenly(0.1, 0.9));
            back.traffic = format!(
                "\n[[traffic]]\nname = \"back\"\nlink = \"link\"\ndirection = \"reverse\"\n\
                 kind = \"poisson\"\nsizes = \"mix\"\nrate = \"{bps} bit/s\"\n"
            );
        }
        _ => {
            let stack = draw.one_of(&["quinn", "noq"]);
            client.receive_timestamps = false;
            client.more = format!("stack = \"{stack}\"");
        }
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let mut counts = [0; KINDS.len()];
        for seed in 1..=1000 {
            let path = draw(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            path.scenario(&[]).expect("it was valid");
            let kind = KINDS
                .iter()
                .position(|kind| path.facts.sends.ends_with(kind));
            counts[kind.expect("it is named")] += 1;
        }
        for (kind, count) in KINDS.iter().zip(counts) {
            assert!((110..230).contains(&count), "{kind}: {count} of 1000");
        }
    }
}
