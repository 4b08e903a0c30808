//! What a run yields. Serialised, it is the simulator's JSON: the field names are its schema, and
//! nothing in it depends on the machine.

mod comparison;
mod flow;
mod group;
mod learnt;
mod measuring;
mod observed;
mod promise;
mod rivals;
mod sweep;
mod tool;
mod truth;
mod usage;

pub use comparison::{Compared, ComparedCell, ComparedRun};
pub use flow::{EstimatePoint, FlowResult, RoundTrips};
pub use group::{Group, Times};
pub use learnt::{Flagged, Pauses, Read};
pub use measuring::{Measuring, Waits};
pub use observed::{Observed, ReadingPoint};
pub use promise::{BesideRivals, PromiseResult, Reported, SlotPoint, Slots};
pub use rivals::RivalShare;
pub use sweep::{SweepRow, SweepRun};
pub use tool::{Measurement, ToolResult};
pub use truth::{TruthRow, available_on};
pub(crate) use truth::{bins, capacity, forward, owners};
pub use usage::LinkUse;

use crate::network::{Counters, Direction, FlowId, HopId, ToolId};
use crate::simulation::Simulation;
use crate::statistics::jain;
use serde::Serialize;

/// One run: a scenario with a seed.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Simulated seconds.
    pub sim_seconds: f64,
    /// What crossed each link's forward hop, in bins of 100 ms: link by link, in order of time.
    pub truth: Vec<TruthRow>,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowResult>,
    /// The tools, in the scenario's order; nothing where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolResult>,
    /// Jain's index of the goodput of all flows, 0 to 1.
    pub jain: Option<f64>,
    /// Flows that are alike, together; one that is like no other is a group by itself.
    pub groups: Vec<Group>,
    /// How full the links were.
    pub usage: Vec<LinkUse>,
    /// How long forward cross traffic took across the links that carry some.
    pub cross_delays: Vec<CrossDelay>,
    /// What became of the packets on each link.
    #[serde(skip)]
    pub links: Vec<LinkResult>,
}

/// One-way delays of cross traffic across a link: waiting, transmission, propagation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossDelay {
    /// The link's name.
    pub link: String,
    /// The mean, in ms.
    pub mean_ms: f64,
    /// The median, in ms.
    pub p50_ms: f64,
    /// The 95th percentile, in ms.
    pub p95_ms: f64,
}

/// What became of the packets on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkResult {
    /// The link's name.
    pub name: String,
    /// From the servers to the clients.
    pub forward: Counters,
    /// From the clients to the servers.
    pub reverse: Counters,
}

impl RunResult {
    /// Collects what a finished simulation has to say.
    pub fn of(simulation: &Simulation<'_>) -> Self {
        let scenario = simulation.scenario();
        let flows = 0..scenario.flows.len();
        let flows: Vec<FlowResult> = flows
            .map(|flow| FlowResult::of(simulation, FlowId(flow)))
            .collect();
        Self {
            scenario: scenario.name.clone(),
            seed: simulation.seed(),
            sim_seconds: scenario.duration.as_secs_f64(),
            truth: truth::rows(simulation),
            tools: (0..scenario.tools.len())
                .map(|tool| ToolResult::of(simulation, ToolId(tool)))
                .collect(),
            jain: jain(flows.iter().map(|flow| flow.goodput_bps as f64)).map(rounded),
            groups: Group::of(simulation, &flows),
            usage: LinkUse::of(simulation),
            flows,
            cross_delays: cross_delays(simulation),
            links: links(simulation),
        }
    }

    /// The flow of that name.
    pub fn flow(&self, name: &str) -> Option<&FlowResult> {
        self.flows.iter().find(|flow| flow.name == name)
    }

    /// The tool of that name.
    pub fn tool(&self, name: &str) -> Option<&ToolResult> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// The link of that name.
    pub fn link(&self, name: &str) -> Option<&LinkResult> {
        self.links.iter().find(|link| link.name == name)
    }
}

fn cross_delays(simulation: &Simulation<'_>) -> Vec<CrossDelay> {
    let milliseconds = |span: std::time::Duration| rounded(span.as_secs_f64() * 1e3);
    let links = simulation.scenario().links.iter().enumerate();
    let delays = links.filter_map(|(index, link)| {
        let hop = HopId {
            link: index,
            direction: Direction::Forward,
        };
        let one_way = simulation.network().hop(hop).transits().one_way()?;
        Some(CrossDelay {
            link: link.name.clone(),
            mean_ms: milliseconds(one_way.mean),
            p50_ms: milliseconds(one_way.p50),
            p95_ms: milliseconds(one_way.p95),
        })
    });
    delays.collect()
}

fn links(simulation: &Simulation<'_>) -> Vec<LinkResult> {
    let counters = |link, direction| {
        let hop = HopId { link, direction };
        *simulation.network().hop(hop).counters()
    };
    let links = simulation.scenario().links.iter().enumerate();
    links
        .map(|(index, link)| LinkResult {
            name: link.name.clone(),
            forward: counters(index, Direction::Forward),
            reverse: counters(index, Direction::Reverse),
        })
        .collect()
}

/// Rounded to a millionth, so that files stay readable; times in ms keep their nanoseconds.
fn rounded(value: f64) -> f64 {
    libm::round(value * 1e6) / 1e6
}
