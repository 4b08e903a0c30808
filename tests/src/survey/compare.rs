//! One path, run several times with the same draws.

use super::bars::{self, Miss};
use super::path::{Facts, Path};
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
/// What leaves in the first second counts for no age: the connection learns its path.
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
    /// Not measuring, and a millisecond later: what chance alone makes of the same path. Everything
    /// that reacts to losses amplifies the smallest difference.
    Placebo,
}

impl Variant {
    fn overrides(self) -> &'static [(&'static str, &'static str)] {
        const NOT_MEASURING: (&str, &str) = ("flow.main.imtcp.measurement", "false");
        match self {
            Self::Measuring => &[],
            Self::NotMeasuring => &[NOT_MEASURING],
            Self::Cubic => &[("flow.main.controller", "cubic")],
            Self::Placebo => &[NOT_MEASURING, ("flow.main.start", "1 ms")],
        }
    }
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
    /// The 95th percentile of the age of data when it leaves; nothing if none left.
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
    /// What measuring cost too much.
    pub misses: Vec<Miss>,
}

/// Runs a path with its seed in all variants.
///
/// # Errors
/// A flow cannot be set up.
pub fn compare(
    path: &Path,
    seed: u64,
    placebo: bool,
) -> Result<Paired, Box<dyn std::error::Error + Send + Sync>> {
    let run = |variant: Variant| -> Result<Outcome, Box<dyn std::error::Error + Send + Sync>> {
        let scenario = path.scenario(variant.overrides())?;
        Ok(run(&scenario, &path.steps, seed)?)
    };
    let placebo = match placebo {
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
        misses: Vec::new(),
    };
    paired.misses = bars::misses(&paired);
    Ok(paired)
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
    let stats = pair.server().map(quiche::Connection::stats);
    stats.map_or((0, 0), |stats| (stats.sent as u64, stats.lost as u64))
}

/// Ages with their bytes.
fn ages(departures: &[Departure]) -> Vec<(Duration, u64)> {
    let begun = departures.first().map_or(Timestamp::ZERO, |d| d.at) + BEGINNING;
    let counted = departures.iter().filter(|departure| departure.at >= begun);
    counted.map(|d| (d.age, d.bytes)).collect()
}

/// The least age that a share of the bytes does not exceed.
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
    /// Goodput as a share of the same controller's that does not measure; 1 where neither has any.
    pub fn of_not_measuring(&self) -> f64 {
        ratio(&self.measuring, &self.not_measuring)
    }

    /// Goodput as a share of CUBIC's.
    pub fn of_cubic(&self) -> f64 {
        ratio(&self.measuring, &self.cubic)
    }

    /// The placebo's goodput as a share of what it was without the millisecond.
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

    /// The longest time after a step until something was said; infinite for never, nothing where no
    /// step asks for it.
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
