//! One path, run several times with the same draws.

use super::bars::{self, Miss};
use super::path::{Facts, Path};
use super::repeats::Repeats;
use super::statements::{self, Wait};
use crate::endpoint::{Departure, Pair};
use crate::network::FlowId;
use crate::scenario::Scenario;
use crate::simulation::Simulation;
use imtcp_cc::units::Timestamp;
use serde::Serialize;
use std::time::Duration;

/// The flow that is looked at: the path's first.
const MAIN: FlowId = FlowId(0);
/// The age of data that leaves in the first second does not count, because the connection has yet
/// to learn its path.
const BEGINNING: Duration = Duration::from_secs(1);

/// How a path is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// With the controller that measures.
    Measuring,
    /// With the same controller, not measuring.
    NotMeasuring,
    /// With quiche's CUBIC.
    Cubic,
    /// With the same controller, not measuring, and begun a millisecond later. This shows what
    /// chance alone does on the same path. Everything that reacts to losses amplifies the smallest
    /// difference.
    Placebo,
}

impl Variant {
    fn overrides(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Measuring => &[],
            Self::NotMeasuring | Self::Placebo => &[("flow.main.imtcp.measurement", "false")],
            Self::Cubic => &[("flow.main.controller", "cubic")],
        }
    }

    /// When its flow begins, unless it is repeated.
    fn start_ms(self) -> u32 {
        u32::from(self == Self::Placebo)
    }
}

/// How much is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Each path with [`Variant::Placebo`], too.
    pub placebo: bool,
    /// A path that misses goodput or age is run this many times more, with measuring and without. A
    /// path that carries much is run fewer times.
    pub repeats: u32,
}

/// What came of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Application data that the client has read over the flow's life.
    pub goodput_bps: f64,
    /// Packets that the server sent.
    pub sent_packets: u64,
    /// Packets that the server declared lost.
    pub lost_packets: u64,
    /// The 95th percentile of the age of data when it leaves. None if no data left.
    pub age_p95_ms: Option<f64>,
    /// The greatest age.
    pub age_max_ms: Option<f64>,
    /// For each step how long it took until something was said of the path.
    pub waits: Vec<Wait>,
}

/// What came of one path.
#[derive(Clone, Debug, Serialize)]
pub struct Paired {
    /// The seed that drew it, and with which it was run.
    pub seed: u64,
    /// What was drawn.
    pub facts: Facts,
    /// With the controller that measures.
    pub measuring: Outcome,
    /// With the same controller, not measuring.
    pub not_measuring: Outcome,
    /// With quiche's CUBIC.
    pub cubic: Outcome,
    /// Not measuring, begun a little later; where it was asked for.
    pub placebo: Option<Outcome>,
    /// What many pairs of runs come to, where the first missed something and more were asked for.
    pub repeats: Option<Repeats>,
    /// What measuring cost too much.
    pub misses: Vec<Miss>,
}

/// A path that cannot be run.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs a path with its seed in all variants.
///
/// # Errors
/// A flow cannot be set up.
pub fn compare(path: &Path, seed: u64, extent: Extent) -> Result<Paired, Failure> {
    let run = |variant: Variant| run_one(path, seed, variant, variant.start_ms());
    let placebo = match extent.placebo {
        true => Some(run(Variant::Placebo)?),
        false => None,
    };
    let mut paired = Paired {
        seed,
        facts: path.facts.clone(),
        measuring: run(Variant::Measuring)?,
        not_measuring: run(Variant::NotMeasuring)?,
        cubic: run(Variant::Cubic)?,
        placebo,
        repeats: None,
        misses: Vec::new(),
    };
    paired.misses = bars::misses(&paired);
    let may_be_chance = paired.misses.iter().any(Miss::may_be_chance);
    if may_be_chance && extent.repeats > 0 {
        paired.repeats = Some(repeat(path, &paired, extent.repeats)?);
        paired.misses = bars::misses(&paired);
    }
    Ok(paired)
}

/// Runs the pair again, begun a millisecond later each time.
fn repeat(path: &Path, paired: &Paired, most: u32) -> Result<Repeats, Failure> {
    /// Paths that carry more than this are repeated less often, down to the least.
    const MEGABITS: f64 = 1500.0;
    const LEAST: f64 = 6.0;
    let carried = path.facts.carried_megabits().max(MEGABITS);
    let times = (f64::from(most) * MEGABITS / carried).max(LEAST);
    let mut pairs = vec![(paired.measuring.clone(), paired.not_measuring.clone())];
    for start_ms in (1..=most).take_while(|count| f64::from(*count) <= times) {
        let run = |variant: Variant| run_one(path, paired.seed, variant, start_ms);
        pairs.push((run(Variant::Measuring)?, run(Variant::NotMeasuring)?));
    }
    Ok(Repeats::of(&pairs))
}

fn run_one(path: &Path, seed: u64, variant: Variant, start_ms: u32) -> Result<Outcome, Failure> {
    let start = format!("{start_ms} ms");
    let mut overrides = variant.overrides().to_vec();
    if start_ms > 0 {
        overrides.push(("flow.main.start", &start));
    }
    let scenario = path.scenario(&overrides)?;
    Ok(run(&scenario, &path.steps, seed)?)
}

fn run(
    scenario: &Scenario,
    steps: &[Timestamp],
    seed: u64,
) -> Result<Outcome, crate::endpoint::PairError> {
    let mut simulation = Simulation::new(scenario, seed)?;
    simulation.watch_departures(MAIN);
    simulation.advance(scenario.end());
    let pair = &simulation.pairs()[MAIN.0];
    let departures = pair.departures().map(|departures| departures.list());
    let departures = departures.unwrap_or_default();
    let mut ages = ages(&departures);
    ages.sort_unstable();
    let milliseconds = |age: Duration| age.as_secs_f64() * 1e3;
    let (sent, lost) = packets(pair);
    let said = pair.tap().take();
    Ok(Outcome {
        goodput_bps: pair.delivery().bytes as f64 * 8.0 / scenario.duration.as_secs_f64(),
        sent_packets: sent,
        lost_packets: lost,
        age_p95_ms: weighted_quantile(&ages, 0.95).map(milliseconds),
        age_max_ms: ages.last().map(|(age, _)| milliseconds(*age)),
        waits: statements::waits(&said, &departures, steps, scenario.end()),
    })
}

fn packets(pair: &Pair) -> (u64, u64) {
    let account = pair.account().unwrap_or_default();
    (account.sent_packets, account.lost_packets)
}

/// Ages with their bytes.
fn ages(departures: &[Departure]) -> Vec<(Duration, u64)> {
    let begun = departures.first().map_or(Timestamp::ZERO, |d| d.at) + BEGINNING;
    let counted = departures.iter().filter(|departure| departure.at >= begun);
    counted.map(|d| (d.age, d.bytes)).collect()
}

/// The age that is not exceeded by a share of the bytes.
fn weighted_quantile(sorted: &[(Duration, u64)], at: f64) -> Option<Duration> {
    let all: u64 = sorted.iter().map(|(_, bytes)| bytes).sum();
    let mut below = 0;
    let found = sorted.iter().find(|(_, bytes)| {
        below += bytes;
        below as f64 >= at * all as f64
    });
    found.map(|(age, _)| *age)
}

impl Paired {
    /// Goodput as a share of that without measuring. It is 1 where neither has any.
    pub fn of_not_measuring(&self) -> f64 {
        ratio(&self.measuring, &self.not_measuring)
    }

    /// Goodput as a share of CUBIC's.
    pub fn of_cubic(&self) -> f64 {
        ratio(&self.measuring, &self.cubic)
    }

    /// The placebo's goodput as a share of that of the run that began a millisecond earlier.
    pub fn of_placebo(&self) -> Option<f64> {
        let placebo = self.placebo.as_ref()?;
        Some(ratio(placebo, &self.not_measuring))
    }

    /// By how much the 95th percentile of ages is above that without measuring.
    pub fn age_above_ms(&self) -> Option<f64> {
        Some(self.measuring.age_p95_ms? - self.not_measuring.age_p95_ms?)
    }

    /// The same of the placebo.
    pub fn placebo_age_above_ms(&self) -> Option<f64> {
        Some(self.placebo.as_ref()?.age_p95_ms? - self.not_measuring.age_p95_ms?)
    }

    /// The longest time after a step until something was said. It is infinite for never, and `None`
    /// where no step counts.
    pub fn longest_wait_s(&self) -> Option<f64> {
        let waits = self.measuring.waits.iter();
        let seconds = waits.map(|wait| wait.seconds.unwrap_or(f64::INFINITY));
        seconds.max_by(f64::total_cmp)
    }
}

fn ratio(one: &Outcome, other: &Outcome) -> f64 {
    if other.goodput_bps > 0.0 {
        one.goodput_bps / other.goodput_bps
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_bytes_and_not_of_packets() {
        let ms = Duration::from_millis;
        let ages = [(ms(1), 900), (ms(5), 90), (ms(50), 10)];
        assert_eq!(weighted_quantile(&ages, 0.9), Some(ms(1)));
        assert_eq!(weighted_quantile(&ages, 0.95), Some(ms(5)));
        assert_eq!(weighted_quantile(&ages, 1.0), Some(ms(50)));
        assert_eq!(weighted_quantile(&[], 0.95), None);
    }
}
