//! The class `hops`: two to five links with traffic on each. The tight one need not be the narrow
//! one, and may move.

use super::draw::Draw;
use super::ground::{Client, Cross, duration_s};
use super::path::{DROP_TAIL, Facts, Path};
use super::source::{source, whole};
use crate::scenario::{Scenario, ScenarioError};
use imtcp_cc::units::Timestamp;
use std::fmt::Write;
use std::time::Duration;

/// The most of a link's capacity that its traffic takes.
const CROSS_SHARE: f64 = 0.9;
/// How much faster than the slowest link another one may be.
const FASTER: f64 = 8.0;
/// The shortest queue: four packets of 1500 bytes.
const LEAST_QUEUE_BYTES: f64 = 6000.0;
/// The connection has this long to learn the path before anything moves, and as long afterwards.
const LEAST_GAP_S: f64 = 3.0;

struct Link {
    capacity_mbps: f64,
    delay_ms: f64,
    queue_bytes: f64,
    cross: Cross,
    /// The rate of its traffic from the move on, where there is one.
    later_mbps: Option<f64>,
}

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "hops");
    let narrow_mbps = draw.rather_low(1.0, 300.0);
    let rtt_ms = draw.between(2.0, 300.0);
    let queue_bdp = draw.between(0.1, 4.0);
    let count = draw.count(2, 5);
    let moves = draw.chance(0.4);
    let mut links: Vec<Link> = (0..count)
        .map(|number| {
            link(
                &mut draw,
                number,
                narrow_mbps,
                rtt_ms / f64::from(count),
                queue_bdp,
            )
        })
        .collect();
    if moves {
        for link in &mut links {
            let share = draw.evenly(0.02, CROSS_SHARE);
            let crossed = link.cross.kind != "none";
            link.later_mbps = crossed.then_some(share * link.capacity_mbps);
        }
    }
    let left = |later: bool| {
        let left = links.iter().map(|link| {
            let cross = link.later_mbps.filter(|_| later);
            link.capacity_mbps - cross.unwrap_or(link.cross.mbps)
        });
        left.fold(f64::INFINITY, f64::min)
    };
    let least_mbps = left(false).min(left(true));
    let source = source(&mut draw, least_mbps);
    let client = Client::draw(&mut draw);
    let duration_s = duration_s(source.mbps.unwrap_or(least_mbps));
    let at_s = draw.evenly(LEAST_GAP_S, duration_s - LEAST_GAP_S);
    let is_moved = links.iter().any(|link| link.later_mbps.is_some());
    let text = text(seed, duration_s, &links, at_s) + &client.main(&source, "");
    Scenario::parse(&format!("hops-{seed}.toml"), &text, &[])?;
    let phases = if is_moved {
        vec![false, true]
    } else {
        vec![false]
    };
    Ok(Path {
        text,
        steps: match is_moved {
            true => vec![Timestamp::from_origin(Duration::from_secs_f64(at_s))],
            false => Vec::new(),
        },
        facts: Facts {
            capacity_mbps: phases.iter().map(|_| narrow_mbps).collect(),
            left_mbps: phases.iter().map(|later| left(*later)).collect(),
            rtt_ms,
            queue_bytes: links[0].queue_bytes,
            queue_bdp,
            queue_kind: DROP_TAIL,
            tokens: None,
            follows: None,
            sends: source.words,
            application: source.text,
            bulk: source.mbps.is_none(),
            cross: "on each link",
            rivals: Vec::new(),
            ack_frequency: client.ack_frequency,
            receive_timestamps: client.receive_timestamps,
            acknowledge: client.acknowledge,
            duration_s,
        },
    })
}

fn link(draw: &mut Draw, number: u32, narrow_mbps: f64, rtt_ms: f64, queue_bdp: f64) -> Link {
    let capacity_mbps = narrow_mbps * draw.between(1.0, FASTER);
    let queue_bytes = queue_bdp * capacity_mbps * rtt_ms * 125.0;
    Link {
        capacity_mbps,
        delay_ms: rtt_ms / 2.0,
        queue_bytes: queue_bytes.max(LEAST_QUEUE_BYTES),
        cross: Cross::draw_on(
            draw,
            [&format!("cross-{number}"), &format!("link-{number}")],
            capacity_mbps,
            CROSS_SHARE,
        ),
        later_mbps: None,
    }
}

fn text(seed: u64, duration_s: f64, links: &[Link], at_s: f64) -> String {
    let mut text =
        format!("name = \"hops-{seed}\"\ntitle = \"drawn\"\nduration = \"{duration_s:.3} s\"\n");
    for (number, link) in links.iter().enumerate() {
        let _ = write!(
            text,
            "\n[[link]]\nname = \"link-{number}\"\nrate = \"{} bit/s\"\ndelay = \"{} ns\"\n\
             queue = \"{} B\"\n",
            whole(link.capacity_mbps * 1e6),
            whole(link.delay_ms * 1e6),
            whole(link.queue_bytes)
        );
    }
    for link in links {
        text += link.cross.text();
        if let Some(mbps) = link.later_mbps {
            let bps = whole(mbps * 1e6);
            let _ = writeln!(
                text,
                "steps = [{{ at = \"{at_s:.3} s\", rate = \"{bps} bit/s\" }}]"
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let (mut tight_is_wide, mut moved) = (0, 0);
        for seed in 1..=1000 {
            let path = draw(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let scenario = path.scenario(&[]).expect("it was valid");
            assert!((2..=5).contains(&scenario.links.len()), "seed {seed}");
            assert!(
                path.facts.left_mbps.iter().all(|left| *left > 0.0),
                "seed {seed}"
            );
            let rate = |link: &crate::scenario::Link| link.forward.rate.rate_at(Timestamp::ZERO);
            let narrow = scenario
                .links
                .iter()
                .map(rate)
                .min()
                .expect("there are some");
            let nominal = crate::scenario::Nominal::new(&scenario, crate::network::FlowId(0));
            let (tight, _) = nominal.available(Timestamp::ZERO);
            tight_is_wide += u32::from(rate(&scenario.links[tight]) > narrow);
            moved += path.steps.len();
        }
        assert!(
            (200..600).contains(&tight_is_wide),
            "{tight_is_wide} of 1000"
        );
        assert!((300..450).contains(&moved), "{moved} of 1000");
    }
}
