//! What crossed the links.

use crate::network::{Direction, FlowId, Hop, HopId, Owner};
use crate::scenario::Scenario;
use crate::simulation::Simulation;
use crate::truth::{Available, BIN, bin_start};
use imtcp_cc::units::Bandwidth;
use serde::Serialize;
use std::collections::BTreeMap;

/// What crossed a link's forward hop in a tenth of a second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TruthRow {
    /// The link's name.
    pub link: String,
    /// Where the bin begins, in seconds.
    #[serde(rename = "t")]
    pub t_s: f64,
    /// What could have crossed.
    pub capacity_bps: u64,
    /// Cross traffic that did.
    pub cross_bps: u64,
    /// The flows that take this link.
    pub flow_bps: BTreeMap<String, u64>,
}

/// All rows of all links. A last bin that the run does not fill is left out.
pub(super) fn rows(simulation: &Simulation<'_>) -> Vec<TruthRow> {
    let scenario = simulation.scenario();
    let links = 0..scenario.links.len();
    links
        .flat_map(|link| (0..bins(scenario)).map(move |bin| row(simulation, link, bin)))
        .collect()
}

fn row(simulation: &Simulation<'_>, link: usize, bin: usize) -> TruthRow {
    let scenario = simulation.scenario();
    let hop = forward(simulation, link);
    let flow_bps = users(scenario, link).map(|flow| {
        let rate = hop.meter().rate(Owner::Flow(flow), bin).as_bps();
        (scenario.flows[flow.0].name.clone(), rate)
    });
    TruthRow {
        link: scenario.links[link].name.clone(),
        t_s: super::rounded(bin_start(bin).as_secs_f64()),
        capacity_bps: capacity(hop, bin),
        cross_bps: hop.meter().rate(Owner::Cross, bin).as_bps(),
        flow_bps: flow_bps.collect(),
    }
}

/// The available bandwidth of a flow's path on its server's clock.
pub(super) fn available(simulation: &Simulation<'_>, flow: FlowId) -> Available {
    let network = simulation.network();
    let links = network.route(flow).links().map(|link| {
        let bins = 0..bins(simulation.scenario());
        let available = bins.map(|bin| available_on(simulation, flow, link, bin).as_bps_f64());
        (
            network.delay_since_crossing(flow, link),
            available.collect(),
        )
    });
    Available::along(&links.collect::<Vec<_>>())
}

/// What a bin leaves for a flow on a link: the capacity less the cross traffic and the other flows.
/// The flow's own bytes do not count.
pub fn available_on(
    simulation: &Simulation<'_>,
    flow: FlowId,
    link: usize,
    bin: usize,
) -> Bandwidth {
    let hop = forward(simulation, link);
    let others = users(simulation.scenario(), link).filter(|user| *user != flow);
    let rate = |user| hop.meter().rate(Owner::Flow(user), bin).as_bps();
    let used = others.map(rate).sum::<u64>() + hop.meter().rate(Owner::Cross, bin).as_bps();
    Bandwidth::from_bps(capacity(hop, bin).saturating_sub(used))
}

fn bins(scenario: &Scenario) -> usize {
    usize::try_from(scenario.duration.as_nanos() / BIN.as_nanos()).unwrap_or(usize::MAX)
}

fn capacity(hop: &Hop, bin: usize) -> u64 {
    let work = hop.rate().work_between(bin_start(bin), bin_start(bin + 1));
    let nanos = bin_start(1).as_nanos();
    work / nanos
}

fn forward<'s>(simulation: &'s Simulation<'_>, link: usize) -> &'s Hop {
    simulation.network().hop(HopId {
        link,
        direction: Direction::Forward,
    })
}

/// The flows that take a link.
fn users(scenario: &Scenario, link: usize) -> impl Iterator<Item = FlowId> {
    let flows = scenario.flows.iter().enumerate();
    let users = flows.filter(move |(_, flow)| (flow.route.first..=flow.route.last).contains(&link));
    users.map(|(index, _)| FlowId(index))
}
