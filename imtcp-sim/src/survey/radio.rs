//! The class `radio`: one link whose rate follows a walk, the rungs of Wi-Fi or a trace, with
//! losses in bursts and aggregates.

use super::draw::Draw;
use super::ground::{Client, Ground};
use super::path::{Facts, Path};
use super::source::{source, whole};
use super::traces::{Recorded, Traces};
use crate::scenario::{Scenario, ScenarioError};
use crate::trace::drawn;
use std::cmp::Ordering;

/// The most of the mean capacity that inelastic traffic takes.
const CROSS_SHARE: f64 = 0.5;
/// The least and the most of the walk, as shares of the mean capacity.
const WALK: [f64; 2] = [0.2, 2.0];
/// The rates of 802.11n from MCS 0 to 7, as shares of the mean capacity: MCS 7 is twice of it.
const RUNGS: [f64; 8] = [0.2, 0.4, 0.6, 0.8, 1.2, 1.6, 1.8, 2.0];
/// How often a sender on Wi-Fi leaves the best rung, and how often another becomes the best.
const TRIES: f64 = 0.3;
const MOVES: f64 = 0.03;
/// The mean capacity is no higher than this, in Mbit/s.
const FASTEST_MBPS: f64 = 400.0;

/// What the rate follows.
enum Follows {
    /// A walk of any rates.
    Walk,
    /// A walk over the rungs of Wi-Fi, always with aggregates.
    Rungs,
    Trace(Recorded),
}

impl Follows {
    /// Drawn apart from the rest, so that a walk is the same with and without the others.
    fn draw(seed: u64, traces: Option<&Traces>) -> Self {
        let mut draw = Draw::new(seed, "radio.follows");
        if let Some(traces) = traces {
            return Self::Trace(traces.draw(&mut draw));
        }
        match draw.count(1, 4) {
            1 => Self::Rungs,
            2 => Self::Trace(Recorded::drawn(drawn(seed))),
            _ => Self::Walk,
        }
    }
}

/// With `traces` each path follows one of them.
pub(super) fn draw(seed: u64, traces: Option<&Traces>) -> Result<Path, ScenarioError> {
    let follows = Follows::draw(seed, traces);
    let mut draw = Draw::new(seed, "radio");
    let ground = match &follows {
        Follows::Trace(trace) => Ground::draw_at(&mut draw, trace.mean_mbps, CROSS_SHARE),
        _ => Ground::draw_up_to(&mut draw, FASTEST_MBPS, CROSS_SHARE),
    };
    // What is left at the lowest point of the walk bounds no source: radio links do leave less.
    let source = source(&mut draw, ground.left_mbps() * 0.6);
    let client = Client::draw(&mut draw);
    let duration_s = ground.duration_s(&source, false);
    let queue = format!("\"{} B\"", whole(ground.queue_bytes()));
    let link = ground.link(ground.rtt_ms, &queue);
    let link = match &follows {
        Follows::Walk => format!("{link}steps = [{}]\n", walk(&mut draw, &ground, duration_s)),
        Follows::Rungs => format!(
            "{link}steps = [{}]\n",
            rungs(&mut draw, &ground, duration_s)
        ),
        Follows::Trace(trace) => trace.instead_of_rate(&link),
    };
    let fastest = match &follows {
        Follows::Trace(trace) => trace.fastest_mbps,
        _ => WALK[1] * ground.capacity_mbps,
    };
    let always = matches!(follows, Follows::Rungs);
    let text = format!(
        "name = \"radio-{seed}\"\ntitle = \"drawn\"\nduration = \"{duration_s:.3} s\"\n\
         {link}{}{}{}{}",
        losses(&mut draw),
        aggregates(&mut draw, fastest, always),
        ground.cross.text(),
        client.main(&source, ""),
    );
    Scenario::parse(&format!("radio-{seed}.toml"), &text, &[])?;
    Ok(Path {
        text,
        steps: Vec::new(),
        facts: Facts {
            follows: Some(match &follows {
                Follows::Walk => "walk".to_owned(),
                Follows::Rungs => "Wi-Fi".to_owned(),
                Follows::Trace(trace) => trace.name.clone(),
            }),
            ..Facts::of(&ground, &source, &client, duration_s)
        },
    })
}

/// The rungs of Wi-Fi, with some time on each: mostly the best and its neighbours. Now and then
/// another is the best.
fn rungs(draw: &mut Draw, ground: &Ground, duration_s: f64) -> String {
    let mean_s = draw.between(0.05, 0.5);
    let mut best = draw.count(2, 7);
    let mut rung = best;
    let mut at_s = 0.001;
    let mut steps = Vec::new();
    while at_s < duration_s - 0.001 {
        let bps = whole(ground.capacity_mbps * 1e6 * RUNGS[rung as usize]);
        steps.push(format!(
            "{{ at = \"{at_s:.3} s\", rate = \"{bps} bit/s\" }}"
        ));
        at_s += draw.evenly(0.5, 1.5) * mean_s;
        if draw.chance(MOVES) {
            best = draw.count(2, 7);
        }
        // A sender tries other rungs, and comes back.
        let away = draw.chance(TRIES);
        rung = match rung.cmp(&best) {
            Ordering::Less if !away => rung + 1,
            Ordering::Greater if !away => rung - 1,
            Ordering::Equal if !away => rung,
            _ if draw.chance(0.5) => (rung + 1).min(7),
            _ => rung.saturating_sub(1),
        };
    }
    steps.join(", ")
}

/// A walk in the logarithm of the rate, which turns back at its ends.
fn walk(draw: &mut Draw, ground: &Ground, duration_s: f64) -> String {
    let mean_mbps = ground.capacity_mbps;
    let period_s = draw.between(0.05, 0.5);
    let stride = draw.between(0.05, 0.5);
    let [low, high] = WALK.map(libm::log);
    let mut at_s = period_s;
    let mut place: f64 = 0.0;
    let mut steps = Vec::new();
    while at_s < duration_s - 0.001 {
        place += draw.evenly(-stride, stride);
        if place > high {
            place = 2.0 * high - place;
        } else if place < low {
            place = 2.0 * low - place;
        }
        let bps = whole(mean_mbps * 1e6 * libm::exp(place));
        steps.push(format!(
            "{{ at = \"{at_s:.3} s\", rate = \"{bps} bit/s\" }}"
        ));
        at_s += period_s;
    }
    steps.join(", ")
}

/// Half of the cells lose packets, in bursts.
fn losses(draw: &mut Draw) -> String {
    let (rate, burst) = (draw.between(0.01, 1.0), draw.between(1.5, 20.0));
    match draw.chance(0.5) {
        true => format!("loss = {{ rate = \"{rate:.4} %\", burst_packets = {burst:.2} }}\n"),
        false => String::new(),
    }
}

/// Half of the cells let packets go in aggregates, large enough for the fastest the link gets.
fn aggregates(draw: &mut Draw, fastest_mbps: f64, always: bool) -> String {
    let every_ms = draw.between(0.5, 10.0);
    let packets = libm::ceil(1.2 * fastest_mbps * 1e3 * every_ms / 12_000.0);
    match draw.chance(0.5) || always {
        true => format!(
            "release = {{ every = \"{} us\", packets = {} }}\n",
            whole(every_ms * 1e3),
            whole(packets.max(2.0))
        ),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::units::Timestamp;

    fn drawn_path(seed: u64) -> (Path, Scenario) {
        let path = draw(seed, None).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let scenario = path.scenario(&[]).expect("it was valid");
        (path, scenario)
    }

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let (mut lossy, mut aggregated) = (0, 0);
        let mut kinds = [0; 3];
        for seed in 1..=1000 {
            let (path, scenario) = drawn_path(seed);
            let link = &scenario.links[0].forward;
            let mean = path.facts.capacity_mbps[0];
            let follows = path.facts.follows.as_deref().expect("it varies");
            let kind = ["walk", "Wi-Fi"].iter().position(|kind| *kind == follows);
            kinds[kind.unwrap_or(2)] += 1;
            lossy += u32::from(link.loss.is_some());
            aggregated += u32::from(link.release.is_some());
            if let Some(trace) = &link.trace {
                let of_trace = trace.mean().as_bps_f64() / 1e6;
                assert!(
                    (mean - of_trace).abs() < 1e-6,
                    "seed {seed}: {mean} {of_trace}"
                );
                continue;
            }
            let changes = path.text.matches("at = ").count() as f64;
            let per_second = changes / path.facts.duration_s;
            assert!(
                (1.8..=24.0).contains(&per_second),
                "seed {seed}: {per_second}"
            );
            for tenth in 0..100 {
                let at = Timestamp::from_nanos(tenth * 100_000_000);
                let share = link.rate.rate_at(at).as_bps_f64() / (mean * 1e6);
                assert!((0.199..=2.001).contains(&share), "seed {seed}: {share}");
                let is_rung = RUNGS.iter().any(|rung| (rung - share).abs() < 1e-3);
                assert!(
                    is_rung || kind == Some(0) || tenth == 0,
                    "seed {seed}: {share}"
                );
            }
        }
        let [walks, rungs, traces] = kinds;
        assert!((430..570).contains(&walks), "{walks} of 1000");
        assert!((200..300).contains(&rungs), "{rungs} of 1000");
        assert!((200..300).contains(&traces), "{traces} of 1000");
        assert!((420..580).contains(&lossy), "{lossy} of 1000");
        // Half of the others, and all with rungs.
        let expected = 500 + rungs / 2;
        let range = expected - 80..expected + 80;
        assert!(range.contains(&aggregated), "{aggregated} of 1000");
    }
}
