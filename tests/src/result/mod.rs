//! What a run yields. Serialised, it is the simulator's JSON: the field names are its schema, and
//! nothing in it depends on the machine.

mod flow;
mod measuring;
mod promise;
mod sweep;
mod truth;

pub use flow::{EstimatePoint, FlowResult, RoundTrips, Scores};
pub use measuring::{Measuring, Waits};
pub use promise::{BesideRivals, PromiseResult, Reported, SlotPoint, Slots};
pub use sweep::{SweepRow, SweepRun};
pub use truth::{TruthRow, available_on};

use crate::network::{Counters, Direction, FlowId, HopId};
use crate::simulation::Simulation;
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
    /// What became of the packets on each link.
    #[serde(skip)]
    pub links: Vec<LinkResult>,
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
        Self {
            scenario: scenario.name.clone(),
            seed: simulation.seed(),
            sim_seconds: scenario.duration.as_secs_f64(),
            truth: truth::rows(simulation),
            flows: flows
                .map(|flow| FlowResult::of(simulation, FlowId(flow)))
                .collect(),
            links: links(simulation),
        }
    }

    /// The flow of that name.
    pub fn flow(&self, name: &str) -> Option<&FlowResult> {
        self.flows.iter().find(|flow| flow.name == name)
    }

    /// The link of that name.
    pub fn link(&self, name: &str) -> Option<&LinkResult> {
        self.links.iter().find(|link| link.name == name)
    }
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
