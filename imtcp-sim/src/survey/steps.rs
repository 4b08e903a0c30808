//! The class `steps`: one FIFO link whose capacity or cross traffic changes one to five times.

use super::draw::Draw;
use super::ground::beside;
use super::path::{DROP_TAIL, Facts, Path};
use super::source::{source, whole};
use crate::scenario::{Scenario, ScenarioError};
use imtcp_cc::units::Timestamp;
use std::fmt::Write;
use std::time::Duration;

/// At least this time lies between two steps, and between a step and the beginning or the end.
/// Within a second something has to be said of the step; the rest is time to be right.
const LEAST_GAP_S: f64 = 1.5;
/// A run lasts until it has carried this much, within the two limits below. That bounds the cost of
/// a simulation: a path that carries much is run for a shorter time.
const CARRIED_MEGABITS: f64 = 1000.0;
const SHORTEST_S: f64 = 12.0;
const LONGEST_S: f64 = 40.0;
/// The shortest queue: four packets of 1500 bytes.
const LEAST_QUEUE_BYTES: f64 = 6000.0;
/// Cross traffic leaves at least this share of the capacity.
const LEAST_LEFT_SHARE: f64 = 0.1;

/// The path between two steps.
#[derive(Clone, Copy)]
struct Phase {
    capacity_mbps: f64,
    cross_mbps: f64,
}

impl Phase {
    fn left(self) -> f64 {
        self.capacity_mbps - self.cross_mbps
    }
}

pub(super) fn draw(seed: u64) -> Result<Path, ScenarioError> {
    let mut draw = Draw::new(seed, "steps");
    let capacity_mbps = draw.rather_low(1.0, 1000.0);
    let rtt_ms = draw.between(2.0, 300.0);
    let queue_bdp = draw.between(0.1, 4.0);
    let queue_bytes = (queue_bdp * capacity_mbps * rtt_ms * 125.0).max(LEAST_QUEUE_BYTES);
    let cross = draw.one_of(&["none", "cbr", "poisson", "onoff"]);
    let phases = phases(&mut draw, capacity_mbps, cross != "none");
    let rivals = rivals(&mut draw);
    let least = phases.iter().map(|phase| phase.left());
    let share = least.fold(f64::INFINITY, f64::min) / (rivals.len() + 1) as f64;
    let source = source(&mut draw, share);
    let mean = phases.iter().map(|phase| phase.left()).sum::<f64>() / phases.len() as f64;
    let carried = match source.mbps {
        Some(mbps) if rivals.is_empty() => mbps,
        _ => mean,
    };
    let duration_s = (CARRIED_MEGABITS / carried).clamp(SHORTEST_S, LONGEST_S);
    let steps = instants(&mut draw, phases.len() - 1, duration_s);
    let facts = Facts {
        capacity_mbps: phases.iter().map(|phase| phase.capacity_mbps).collect(),
        left_mbps: phases.iter().map(|phase| phase.left()).collect(),
        rtt_ms,
        queue_bytes,
        queue_bdp,
        queue_kind: DROP_TAIL,
        tokens: None,
        follows: None,
        sends: source.words,
        application: source.text,
        bulk: source.mbps.is_none(),
        cross,
        rivals,
        ack_frequency: draw.chance(0.5),
        receive_timestamps: draw.chance(0.5),
        acknowledge: draw.count(1, 2),
        duration_s,
    };
    let text = text(seed, &facts, &phases, &steps, &mut draw);
    Scenario::parse(&format!("steps-{seed}.toml"), &text, &[])?;
    let at = |seconds: &f64| Timestamp::from_origin(Duration::from_secs_f64(*seconds));
    Ok(Path {
        text,
        steps: steps.iter().map(at).collect(),
        facts,
    })
}

/// The beginning, and what each step makes of it.
fn phases(draw: &mut Draw, capacity_mbps: f64, crossed: bool) -> Vec<Phase> {
    let share = if crossed { draw.evenly(0.05, 0.8) } else { 0.0 };
    let mut phase = Phase {
        capacity_mbps,
        cross_mbps: share * capacity_mbps,
    };
    let mut phases = vec![phase];
    for _ in 0..draw.count(1, 5) {
        let factor = draw.between(1.3, 10.0);
        let up = draw.chance(0.5);
        phase = if crossed && draw.chance(0.5) {
            cross_step(phase, factor, up)
        } else {
            capacity_step(phase, factor, up)
        };
        phases.push(phase);
    }
    phases
}

/// Capacity changes by a factor, between half a megabit and a gigabit per second; cross traffic
/// stays, unless too little would be left beside it.
fn capacity_step(phase: Phase, factor: f64, up: bool) -> Phase {
    let up = match phase.capacity_mbps {
        now if now * factor > 1000.0 => false,
        now if now / factor < 0.5 => true,
        _ => up,
    };
    let factor = if up { factor } else { 1.0 / factor };
    let capacity_mbps = phase.capacity_mbps * factor;
    Phase {
        capacity_mbps,
        cross_mbps: phase
            .cross_mbps
            .min((1.0 - LEAST_LEFT_SHARE) * capacity_mbps),
    }
}

/// Cross traffic changes by a factor. It falls where it could not rise by 1.3.
fn cross_step(phase: Phase, factor: f64, up: bool) -> Phase {
    let most = (1.0 - LEAST_LEFT_SHARE) * phase.capacity_mbps;
    let up = up && phase.cross_mbps * 1.3 <= most;
    let cross = if up {
        phase.cross_mbps * factor
    } else {
        phase.cross_mbps / factor
    };
    Phase {
        cross_mbps: cross.min(most),
        ..phase
    }
}

/// About every third path has other flows on it, which take what they can get.
fn rivals(draw: &mut Draw) -> Vec<&'static str> {
    if !draw.chance(0.35) {
        return Vec::new();
    }
    let count = draw.count(1, 3);
    (0..count)
        .map(|_| draw.one_of(&["reno", "cubic"]))
        .collect()
}

/// When the steps are, in seconds.
fn instants(draw: &mut Draw, steps: usize, duration_s: f64) -> Vec<f64> {
    let weights: Vec<f64> = (0..=steps).map(|_| draw.evenly(0.1, 1.0)).collect();
    let sum: f64 = weights.iter().sum();
    let gaps = weights.len() as f64;
    // The connection is given a gap of its own to begin with.
    let spare_s = duration_s - (gaps + 1.0) * LEAST_GAP_S;
    let mut at_s = LEAST_GAP_S;
    let mut instants = Vec::new();
    for weight in &weights[..steps] {
        at_s += LEAST_GAP_S + spare_s * weight / sum;
        instants.push(libm::round(at_s * 1000.0) / 1000.0);
    }
    instants
}

fn text(seed: u64, facts: &Facts, phases: &[Phase], steps: &[f64], draw: &mut Draw) -> String {
    let mut text = format!(
        "name = \"steps-{seed}\"\ntitle = \"drawn\"\nduration = \"{:.3} s\"\n\n\
         [[link]]\nname = \"link\"\nrate = \"{} bit/s\"\ndelay = \"{} ns\"\nqueue = \"{} B\"\n\
         steps = [{}]\n",
        facts.duration_s,
        whole(phases[0].capacity_mbps * 1e6),
        whole(facts.rtt_ms * 0.5e6),
        whole(facts.queue_bytes),
        changes(phases, steps, |phase| phase.capacity_mbps),
    );
    if facts.cross != "none" {
        let periods = draw.between(20.0, 500.0);
        let kind = match facts.cross {
            "onoff" => format!(
                "\"onoff\"\non = \"{periods:.3} ms\"\noff = \"{periods:.3} ms\"\nperiods \
                 = \"exponential\""
            ),
            kind => format!("\"{kind}\""),
        };
        let _ = write!(
            text,
            "\n[[traffic]]\nname = \"cross\"\nlink = \"link\"\nkind = {kind}\nsizes = \"mix\"\n\
             rate = \"{} bit/s\"\nsteps = [{}]\n",
            whole(phases[0].cross_mbps * 1e6),
            changes(phases, steps, |phase| phase.cross_mbps),
        );
    }
    let _ = write!(
        text,
        "\n[[flow]]\nname = \"main\"\ncontroller = \"imtcp\"\napplication = {}\n\
         receiver = {{ acknowledge = {}, ack_frequency = {}, receive_timestamps = {} }}\n",
        facts.application, facts.acknowledge, facts.ack_frequency, facts.receive_timestamps
    );
    text + &beside(&facts.rivals)
}

/// The steps of one of the rates, where it changes.
fn changes(phases: &[Phase], steps: &[f64], rate: impl Fn(&Phase) -> f64) -> String {
    let changed = phases.windows(2).zip(steps);
    let changed = changed.filter(|(pair, _)| rate(&pair[0]) != rate(&pair[1]));
    let steps = changed.map(|(pair, at)| {
        let bps = whole(rate(&pair[1]) * 1e6);
        format!("{{ at = \"{at:.3} s\", rate = \"{bps} bit/s\" }}")
    });
    steps.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_draws_keep_to_what_the_class_is() {
        let mut bulk = 0;
        for seed in 1..=1000 {
            let path = draw(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let Facts {
                ref capacity_mbps,
                ref left_mbps,
                ..
            } = path.facts;
            assert!((2..=6).contains(&capacity_mbps.len()), "seed {seed}");
            assert_eq!(path.steps.len() + 1, capacity_mbps.len(), "seed {seed}");
            for pair in left_mbps.windows(2) {
                assert!(pair[0] != pair[1], "seed {seed}: a step of nothing");
            }
            for (capacity, left) in capacity_mbps.iter().zip(left_mbps) {
                assert!((0.5..=1000.0).contains(capacity), "seed {seed}");
                assert!(*left >= 0.0999 * capacity, "seed {seed}");
            }
            let end = Timestamp::from_origin(Duration::from_secs_f64(path.facts.duration_s));
            let mut edges = vec![Timestamp::ZERO];
            edges.extend(&path.steps);
            edges.push(end);
            for pair in edges.windows(2) {
                let gap = pair[1].saturating_since(pair[0]).as_secs_f64();
                assert!(gap >= LEAST_GAP_S - 0.001, "seed {seed}: {gap} s");
            }
            bulk += u32::from(path.facts.bulk);
        }
        assert!((280..390).contains(&bulk), "{bulk} of 1000 are bulk");
    }

    #[test]
    fn a_seed_draws_the_same_path_again_and_another_seed_another_one() {
        let text = |seed| draw(seed).expect("it is valid").text;
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }
}
