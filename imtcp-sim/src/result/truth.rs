//! What crossed the links.

use crate::network::{Direction, FlowId, Hop, HopId, Owner, ToolId};
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
    /// What could have crossed. Behind a token bucket it is the rate at which tokens come.
    pub capacity_bps: u64,
    /// Cross traffic that did.
    pub cross_bps: u64,
    /// The flows that take this link.
    pub flow_bps: BTreeMap<String, u64>,
    /// The tools that take this link; nothing where there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_bps: BTreeMap<String, u64>,
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
    let tool_bps = tools(scenario, link).map(|tool| {
        let rate = hop.meter().rate(Owner::Tool(tool), bin).as_bps();
        (scenario.tools[tool.0].name.clone(), rate)
    });
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
        tool_bps: tool_bps.collect(),
    }
}

/// The available bandwidth of a flow's path on its server's clock.
pub(super) fn available(simulation: &Simulation<'_>, flow: FlowId) -> Available {
    let network = simulation.network();
    let links = network.route(flow).links().map(|link| {
        let available = available_on(simulation, flow, link, bins(simulation.scenario()));
        (
            network.delay_since_crossing(flow, link),
            available.into_iter().map(Bandwidth::as_bps_f64).collect(),
        )
    });
    Available::along(&links.collect::<Vec<_>>())
}

/// What each of the first bins leaves for a flow on a link (`available_to`).
pub fn available_on(
    simulation: &Simulation<'_>,
    flow: FlowId,
    link: usize,
    bins: usize,
) -> Vec<Bandwidth> {
    available_to(simulation, Owner::Flow(flow), link, bins)
}

/// What each of the first bins leaves for a flow or a tool on a link: the capacity less the cross
/// traffic, the other flows and the other tools. Its own bytes do not count.
///
/// Behind a token bucket the capacity is the rate at which tokens come. Others may cross faster
/// than that for a while. The tokens that they take beyond the rate are missing afterwards, and the
/// bins after it leave less until the bucket is as full as it was.
pub(super) fn available_to(
    simulation: &Simulation<'_>,
    owner: Owner,
    link: usize,
    bins: usize,
) -> Vec<Bandwidth> {
    let hop = forward(simulation, link);
    let scenario = simulation.scenario();
    let others: Vec<Owner> = owners(scenario, link)
        .filter(|user| *user != owner)
        .collect();
    let used = (0..bins).map(|bin| {
        let rate = |user: &Owner| hop.meter().rate(*user, bin).as_bps();
        others.iter().map(rate).sum::<u64>()
    });
    let used = used.zip((0..bins).map(|bin| capacity(hop, bin)));
    let borrows = simulation.scenario().links[link].forward.bucket.is_some();
    left(used, borrows).map(Bandwidth::from_bps).collect()
}

/// What is left in each bin, from pairs of what is used and what the capacity is. Where bins can
/// borrow, what is used beyond the capacity is paid back by the bins behind.
fn left(bins: impl Iterator<Item = (u64, u64)>, borrows: bool) -> impl Iterator<Item = u64> {
    let mut debt = 0;
    bins.map(move |(used, capacity)| {
        let wanted = used + debt;
        if borrows {
            debt = wanted.saturating_sub(capacity);
        }
        capacity.saturating_sub(wanted)
    })
}

/// How many whole bins a run has.
pub(crate) fn bins(scenario: &Scenario) -> usize {
    usize::try_from(scenario.duration.as_nanos() / BIN.as_nanos()).unwrap_or(usize::MAX)
}

/// What could have crossed a hop in a bin, for ever, in bit/s.
pub(crate) fn capacity(hop: &Hop, bin: usize) -> u64 {
    let rate = hop.lasting_rate();
    rate.work_between(bin_start(bin), bin_start(bin + 1)) / bin_start(1).as_nanos()
}

/// A link's hop from the servers to the clients.
pub(crate) fn forward<'s>(simulation: &'s Simulation<'_>, link: usize) -> &'s Hop {
    simulation.network().hop(HopId {
        link,
        direction: Direction::Forward,
    })
}

/// The tools that take a link.
fn tools(scenario: &Scenario, link: usize) -> impl Iterator<Item = ToolId> {
    let tools = scenario.tools.iter().enumerate();
    let users = tools.filter(move |(_, tool)| (tool.route.first..=tool.route.last).contains(&link));
    users.map(|(index, _)| ToolId(index))
}

/// The flows that take a link.
fn users(scenario: &Scenario, link: usize) -> impl Iterator<Item = FlowId> {
    let flows = scenario.flows.iter().enumerate();
    let users = flows.filter(move |(_, flow)| (flow.route.first..=flow.route.last).contains(&link));
    users.map(|(index, _)| FlowId(index))
}

/// All whose packets cross a link forward: flows, tools and cross traffic.
pub(crate) fn owners(scenario: &Scenario, link: usize) -> impl Iterator<Item = Owner> {
    let flows = users(scenario, link).map(Owner::Flow);
    let tools = tools(scenario, link).map(Owner::Tool);
    flows.chain(tools).chain([Owner::Cross])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_borrow_of_a_bucket_is_missing_afterwards() {
        // 10 in each bin. 25 are used in the second: the 15 too many are paid back by the next two.
        let used = [4, 25, 0, 2, 2].into_iter().map(|used| (used, 10));
        let behind_a_bucket: Vec<u64> = left(used.clone(), true).collect();
        assert_eq!(behind_a_bucket, [6, 0, 0, 3, 8]);
        let plain: Vec<u64> = left(used, false).collect();
        assert_eq!(plain, [6, 0, 10, 8, 8]);
    }
}
