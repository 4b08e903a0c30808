//! The class `elastic`: one to twenty flows beside, which take what they can get. Some are there
//! all the time, some join or leave, some are short; some have other round trips.

use super::draw::Draw;
use super::ground::{Client, Ground};
use super::path::{Facts, Path};
use super::source::{source, whole};
use crate::scenario::{Scenario, ScenarioError};
use std::fmt::Write;

/// The kinds of flows beside.
pub(super) const KINDS: [&str; 5] = ["cubic", "tcp-cubic", "bbr2", "reno", "imtcp"];
/// An equal share is not smaller than this: below it windows are a few packets.
const LEAST_SHARE_MBPS: f64 = 0.2;
/// The path and its queue hold at least so many packets of each flow, of this size. With fewer in
/// flight a loss cannot be told from what comes after it, and everybody lives on timeouts.
const LEAST_PACKETS: f64 = 4.0;
const PACKET_BYTES: f64 = 1378.0;
/// The most of the capacity that inelastic traffic takes.
const CROSS_SHARE: f64 = 0.5;
/// The longest round trip.
const LONGEST_RTT_MS: f64 = 400.0;

/// Links in front of the narrow one, whose delays give flows other round trips. A flow that begins
/// at the first of them crosses them all.
struct Approach {
    /// There and back, of each.
    rtt_ms: Vec<f64>,
    /// Of the narrow link.
    narrow_rtt_ms: f64,
    /// Which link the flow that is looked at begins with.
    main: usize,
}

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "elastic");
    let mut ground = Ground::draw(&mut draw, CROSS_SHARE);
    if draw.chance(0.5) {
        ground.leave_out_cross();
    }
    let approach = Approach::draw(&mut draw, ground.rtt_ms);
    ground.rtt_ms = approach.round_trip(approach.main);
    let kinds = kinds(&mut draw, 20.0_f64.min(room(&ground)));
    let source = source(&mut draw, ground.left_mbps() / (kinds.len() + 1) as f64);
    let client = Client::draw(&mut draw);
    let duration_s = ground.duration_s(&source, true);
    let rivals = rivals(&mut draw, &kinds, &approach, duration_s);
    let queue = format!("\"{} B\"", whole(ground.queue_bytes()));
    let from = format!("from = \"{}\"\n", approach.name(approach.main));
    let text = format!(
        "name = \"elastic-{seed}\"\ntitle = \"drawn\"\nduration = \"{duration_s:.3} s\"\n\
         {}{}{}{}{}",
        approach.links(ground.capacity_mbps),
        ground.link(approach.narrow_rtt_ms, &queue),
        ground.cross.text(),
        client.main(&source, &from),
        rivals
    );
    Scenario::parse(&format!("elastic-{seed}.toml"), &text, &[])?;
    let facts = Facts {
        rivals: kinds,
        ..Facts::of(&ground, &source, &client, duration_s)
    };
    Ok(Path {
        text,
        steps: Vec::new(),
        facts,
    })
}

/// The most flows that there is room for beside the one that is looked at.
pub(super) fn room(ground: &Ground) -> f64 {
    let path_bytes = ground.left_mbps() * ground.rtt_ms * 125.0;
    let packets = (path_bytes + ground.queue_bytes()) / PACKET_BYTES;
    (ground.left_mbps() / LEAST_SHARE_MBPS).min(packets / LEAST_PACKETS) - 1.0
}

/// One to so many, all of one kind or each of its own.
pub(super) fn kinds(draw: &mut Draw, most: f64) -> Vec<&'static str> {
    let drawn = draw.between(1.0, most.max(1.0) + 1.0);
    let one = draw.chance(0.5).then(|| draw.one_of(&KINDS));
    let numbers = (1..=20u32).take_while(|number| f64::from(*number) <= drawn);
    numbers
        .map(|_| one.unwrap_or_else(|| draw.one_of(&KINDS)))
        .collect()
}

fn rivals(draw: &mut Draw, kinds: &[&str], approach: &Approach, duration_s: f64) -> String {
    let mut text = String::new();
    for (index, kind) in kinds.iter().enumerate() {
        // The first one stays, so that there is always somebody.
        let life = match index {
            0 => "long",
            _ => draw.one_of(&["long", "long", "long", "joins", "leaves", "short"]),
        };
        let life = match life {
            "joins" => {
                let start = draw.evenly(0.15, 0.6) * duration_s;
                format!("start = \"{start:.3} s\"")
            }
            "leaves" => {
                let stop = draw.evenly(0.4, 0.85) * duration_s;
                format!("start_within = \"1 s\"\nstop = \"{stop:.3} s\"")
            }
            "short" => {
                let start = draw.evenly(0.05, 0.85) * duration_s;
                let stop = start + draw.between(0.5, 5.0);
                format!("start = \"{start:.3} s\"\nstop = \"{stop:.3} s\"")
            }
            _ => "start_within = \"1 s\"".to_owned(),
        };
        let from = draw.count(0, u32::try_from(approach.rtt_ms.len()).unwrap_or(0));
        let _ = write!(
            text,
            "\n[[flow]]\nname = \"rival-{}\"\ncontroller = \"{kind}\"\n\
             application = {{ kind = \"bulk\" }}\nfrom = \"{}\"\n{life}\n",
            index + 1,
            approach.name(from as usize)
        );
    }
    text
}

impl Approach {
    /// Half of the paths have one round trip for all.
    fn draw(draw: &mut Draw, narrow_rtt_ms: f64) -> Self {
        let links = if draw.chance(0.5) {
            draw.count(1, 3)
        } else {
            0
        };
        let mut left_ms = (LONGEST_RTT_MS - narrow_rtt_ms).min(2.0 * narrow_rtt_ms);
        let mut one = || {
            let rtt_ms = (draw.between(0.2, 2.0) * narrow_rtt_ms).min(left_ms * 0.9);
            left_ms -= rtt_ms;
            rtt_ms
        };
        Self {
            rtt_ms: (0..links).map(|_| one()).collect(),
            narrow_rtt_ms,
            main: draw.count(0, links) as usize,
        }
    }

    /// The name of a link; the last one is the narrow one.
    fn name(&self, index: usize) -> String {
        match self.rtt_ms.len() - index {
            0 => "link".to_owned(),
            away => format!("far-{away}"),
        }
    }

    /// There and back for a flow that begins at this link.
    fn round_trip(&self, from: usize) -> f64 {
        self.narrow_rtt_ms + self.rtt_ms[from..].iter().sum::<f64>()
    }

    /// They are ten times as fast as the narrow one and never drop.
    fn links(&self, capacity_mbps: f64) -> String {
        let link = |(index, rtt_ms): (usize, &f64)| {
            format!(
                "\n[[link]]\nname = \"{}\"\nrate = \"{} bit/s\"\ndelay = \"{} ns\"\n\
                 queue = \"100 MB\"\n",
                self.name(index),
                whole(capacity_mbps * 1e7),
                whole(rtt_ms * 0.5e6)
            )
        };
        self.rtt_ms.iter().enumerate().map(link).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::FlowId;
    use crate::scenario::Nominal;

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let (mut flows, mut other_round_trips, mut seen) = (0, 0, Vec::new());
        for seed in 1..=1000 {
            let path = draw(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let scenario = path.scenario(&[]).expect("it was valid");
            let round_trip = |flow| Nominal::new(&scenario, FlowId(flow)).round_trip();
            assert!((2..=21).contains(&scenario.flows.len()), "seed {seed}");
            let stated = path.facts.rtt_ms / 1e3;
            let found = round_trip(0).as_secs_f64();
            assert!(
                (found - stated).abs() < 1e-6,
                "seed {seed}: {found} {stated}"
            );
            let rivals = 1..scenario.flows.len();
            let differ = rivals.filter(|rival| round_trip(*rival) != round_trip(0));
            other_round_trips += u32::from(differ.count() > 0);
            let (start, stop) = Nominal::new(&scenario, FlowId(1)).life();
            assert!(
                start.as_nanos() == 0 && stop == scenario.end(),
                "seed {seed}"
            );
            flows += scenario.flows.len() - 1;
            seen.extend(path.facts.rivals);
        }
        assert!((3500..7500).contains(&flows), "{flows} beside a thousand");
        assert!(
            (250..550).contains(&other_round_trips),
            "{other_round_trips}"
        );
        for kind in KINDS {
            let count = seen.iter().filter(|seen| **seen == kind).count();
            assert!(count * 7 > seen.len(), "{kind}: {count} of {}", seen.len());
        }
    }
}
