//! What tools measured, and what it took.

use super::flow::written;
use super::{bins, rounded, truth};
use crate::network::{Direction, Owner, ToolId};
use crate::scenario::{Scenario, Tool};
use crate::score::{Reference, Sample, score};
use crate::simulation::Simulation;
use crate::statistics::median;
use crate::tool::Measured;
use crate::truth::Available;
use imtcp_cc::units::{Bandwidth, Timestamp};
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::Duration;

/// A tool's outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolResult {
    /// The tool's name in the scenario.
    pub name: String,
    /// Which tool.
    pub kind: &'static str,
    /// When the truth changed by design, in seconds; `settle_s` has one entry for each.
    pub steps_s: Vec<f64>,
    /// Seconds from each step until its answers are near the new truth and stay there; `None` where
    /// that never happens.
    pub settle_s: Vec<Option<f64>>,
    /// Its measurements, in order of time. The last one may not have come to its end.
    pub measurements: Vec<Measurement>,
}

/// A measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// When it began, in seconds of virtual time.
    pub start_s: f64,
    /// When it ended. None if the run ended first.
    pub end_s: Option<f64>,
    /// How long it took, in seconds. None if the run ended first.
    pub took_s: Option<f64>,
    /// What it says is available. None if it says nothing.
    pub value_bps: Option<u64>,
    /// The lower end of its range; the value, where the tool tells no range.
    pub low_bps: Option<u64>,
    /// The upper end of its range; the value, where the tool tells no range.
    pub high_bps: Option<u64>,
    /// What was available from its beginning to its end. The tool's own packets do not count.
    pub truth_bps: Option<u64>,
    /// (value - truth) / truth.
    pub error: Option<f64>,
    /// Probes that left.
    pub packets: u64,
    /// IP bytes of the probes.
    pub bytes: u64,
    /// IP bytes of questions, answers and echoes.
    pub other_bytes: u64,
    /// Probes that had not come when it ended.
    pub lost_packets: u64,
    /// The mean delay that tools added to the path's queues in the meantime, in ms. None without
    /// an end.
    pub added_mean_ms: Option<f64>,
    /// The greatest such delay, in ms.
    pub added_max_ms: f64,
}

impl Measurement {
    /// Whether the truth is within its range. None where the tool tells no range.
    pub fn holds_truth(&self) -> Option<bool> {
        let (low, high) = (self.low_bps?, self.high_bps?);
        let holds = (low..=high).contains(&self.truth_bps?);
        (low < high).then_some(holds)
    }
}

impl ToolResult {
    pub(super) fn of(simulation: &Simulation<'_>, tool: ToolId) -> Self {
        let settings = &simulation.scenario().tools[tool.0];
        let truth = available(simulation, tool);
        let measured = simulation.tools()[tool.0].measured();
        let measured: Vec<Measured> = measured.collect();
        let samples: Vec<Sample> = measured.iter().filter_map(sample).collect();
        let steps = steps(simulation.scenario(), settings);
        let scored = score(&samples, &reference(simulation, settings, &truth, &steps));
        Self {
            name: settings.name.clone(),
            kind: settings.kind.name(),
            steps_s: steps.iter().map(|at| rounded(at.as_secs_f64())).collect(),
            settle_s: written(scored).settle_s,
            measurements: measured
                .iter()
                .map(|one| measurement(one, &truth))
                .collect(),
        }
    }

    /// The median of a value over the measurements that have it.
    pub fn median(&self, value: impl Fn(&Measurement) -> Option<f64>) -> Option<f64> {
        median(self.measurements.iter().filter_map(value).collect())
    }
}

/// An answer as the scores see it.
fn sample(measured: &Measured) -> Option<Sample> {
    let (at, answer) = (measured.ended?, measured.answer?);
    Some(Sample {
        at,
        available_bps: answer.value.as_bps_f64(),
        low_bps: answer.low.as_bps_f64(),
        high_bps: answer.high.as_bps_f64(),
        window: at.saturating_since(measured.begun),
    })
}

/// The instants at which links of the tool's path, or cross traffic on them, change by design.
fn steps(scenario: &Scenario, tool: &Tool) -> Vec<Timestamp> {
    let links = tool
        .route
        .links()
        .map(|link| &scenario.links[link].forward.rate);
    let traffic = scenario.traffic.iter().filter(|traffic| {
        let hop = traffic.hop;
        hop.direction == Direction::Forward && tool.route.links().any(|link| link == hop.link)
    });
    let rates = links.chain(traffic.map(|traffic| &traffic.source.rate));
    let changes = rates.flat_map(|rate| rate.steps().iter().map(|step| step.at));
    let in_life = |at: &Timestamp| *at > tool.start && *at < scenario.end();
    let changes: BTreeSet<Timestamp> = changes.filter(in_life).collect();
    changes.into_iter().collect()
}

fn reference(
    simulation: &Simulation<'_>,
    tool: &Tool,
    truth: &Available,
    steps: &[Timestamp],
) -> Reference {
    Reference {
        truth: truth.clone(),
        life: (tool.start, simulation.scenario().end()),
        steps: steps.to_vec(),
        seen_after: Duration::ZERO,
        least_truth_bps: 0.0,
    }
}

/// What the path leaves for a tool over time. Measurements take many times as long as the way over
/// the path, which is therefore left out.
fn available(simulation: &Simulation<'_>, tool: ToolId) -> Available {
    let route = simulation.network().route_of_tool(tool);
    let links = route.links().map(|link| {
        let bins = bins(simulation.scenario());
        let left = truth::available_to(simulation, Owner::Tool(tool), link, bins);
        let left = left.into_iter().map(Bandwidth::as_bps_f64).collect();
        (Duration::ZERO, left)
    });
    Available::along(&links.collect::<Vec<_>>())
}

fn measurement(measured: &Measured, truth: &Available) -> Measurement {
    let seconds = |at: Timestamp| rounded(at.as_secs_f64());
    let truth = measured
        .ended
        .and_then(|end| truth.mean(measured.begun, end));
    let value = measured.answer.map(|answer| answer.value.as_bps_f64());
    let error = |value: f64, truth: f64| (truth > 0.0).then(|| rounded((value - truth) / truth));
    let bps = |rate: Bandwidth| rate.as_bps();
    let cost = measured.cost;
    Measurement {
        start_s: seconds(measured.begun),
        end_s: measured.ended.map(seconds),
        took_s: measured
            .ended
            .map(|end| rounded(end.saturating_since(measured.begun).as_secs_f64())),
        value_bps: measured.answer.map(|answer| bps(answer.value)),
        low_bps: measured.answer.map(|answer| bps(answer.low)),
        high_bps: measured.answer.map(|answer| bps(answer.high)),
        truth_bps: truth.map(|truth| bps(Bandwidth::from_bps_f64(truth))),
        error: value
            .zip(truth)
            .and_then(|(value, truth)| error(value, truth)),
        packets: cost.packets,
        bytes: cost.bytes,
        other_bytes: cost.other_bytes,
        lost_packets: cost.packets - cost.arrived,
        added_mean_ms: measured.ended.map(|_| rounded(cost.added_mean * 1e3)),
        added_max_ms: rounded(cost.added_most * 1e3),
    }
}
