//! The class `radio`: one link whose rate follows a walk, with losses in bursts and aggregates.

use super::draw::Draw;
use super::ground::{Client, Ground};
use super::path::{Facts, Path};
use super::source::{source, whole};
use crate::scenario::{Scenario, ScenarioError};

/// The most of the mean capacity that inelastic traffic takes.
const CROSS_SHARE: f64 = 0.5;
/// The least and the most of the walk, as shares of the mean capacity.
const WALK: [f64; 2] = [0.2, 2.0];
/// The mean capacity is no higher than this, in Mbit/s.
const FASTEST_MBPS: f64 = 400.0;

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "radio");
    let ground = Ground::draw_up_to(&mut draw, FASTEST_MBPS, CROSS_SHARE);
    // What is left at the lowest point of the walk bounds no source: radio links do leave less.
    let source = source(&mut draw, ground.left_mbps() * 0.6);
    let client = Client::draw(&mut draw);
    let duration_s = ground.duration_s(&source, false);
    let walk = walk(&mut draw, ground.capacity_mbps, duration_s);
    let text = format!(
        "name = \"radio-{seed}\"\ntitle = \"drawn\"\nduration = \"{duration_s:.3} s\"\n{}\
         steps = [{walk}]\n{}{}{}{}",
        ground.link(
            ground.rtt_ms,
            &format!("\"{} B\"", whole(ground.queue_bytes()))
        ),
        losses(&mut draw),
        aggregates(&mut draw, ground.capacity_mbps),
        ground.cross.text(),
        client.main(&source, ""),
    );
    Scenario::parse(&format!("radio-{seed}.toml"), &text, &[])?;
    Ok(Path {
        text,
        steps: Vec::new(),
        facts: Facts::of(&ground, &source, &client, duration_s),
    })
}

/// A walk in the logarithm of the rate, which turns back at its ends.
fn walk(draw: &mut Draw, mean_mbps: f64, duration_s: f64) -> String {
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

/// Half of the cells let packets go in aggregates, large enough for the fastest the walk gets.
fn aggregates(draw: &mut Draw, mean_mbps: f64) -> String {
    let every_ms = draw.between(0.5, 10.0);
    let packets = libm::ceil(1.2 * WALK[1] * mean_mbps * 1e3 * every_ms / 12_000.0);
    match draw.chance(0.5) {
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

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let (mut lossy, mut aggregated) = (0, 0);
        for seed in 1..=1000 {
            let path = draw(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let scenario = path.scenario(&[]).expect("it was valid");
            let link = &scenario.links[0].forward;
            let mean = path.facts.capacity_mbps[0];
            let changes = path.text.matches("at = ").count() as f64;
            let per_second = changes / path.facts.duration_s;
            assert!(
                (1.8..=20.1).contains(&per_second),
                "seed {seed}: {per_second}"
            );
            for tenth in 0..100 {
                let at = Timestamp::from_nanos(tenth * 100_000_000);
                let share = link.rate.rate_at(at).as_bps_f64() / (mean * 1e6);
                assert!((0.199..=2.001).contains(&share), "seed {seed}: {share}");
            }
            lossy += u32::from(link.loss.is_some());
            aggregated += u32::from(link.release.is_some());
        }
        assert!((420..580).contains(&lossy), "{lossy} of 1000");
        assert!((420..580).contains(&aggregated), "{aggregated} of 1000");
    }
}
