//! What a flow's path left for it, and the capacity that it was left of, on the server's clock.

use crate::network::{Discipline, FlowId, Owner};
use crate::result::{available_on, bins, capacity, forward, owners};
use crate::scenario::{wants_all, water_level};
use crate::simulation::Simulation;
use crate::truth::{Available, BIN};
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// The truth of a run.
#[derive(Clone, Debug)]
pub(super) struct Truth {
    available: Available,
    links: Vec<Link>,
}

/// Bins of a link, and how much later the server can see them.
#[derive(Clone, Debug)]
struct Link {
    delay: Duration,
    available_bps: Vec<f64>,
    capacity_bps: Vec<f64>,
}

impl Truth {
    pub(super) fn of(simulation: &Simulation<'_>, flow: FlowId) -> Self {
        let network = simulation.network();
        let bins = bins(simulation.scenario());
        let link = |link| Link {
            delay: network.delay_since_crossing(flow, link),
            available_bps: left(simulation, flow, link, bins),
            capacity_bps: capacities(simulation, link, bins),
        };
        let links: Vec<Link> = network.route(flow).links().map(link).collect();
        let along: Vec<_> = links
            .iter()
            .map(|link| (link.delay, link.available_bps.clone()))
            .collect();
        Self {
            available: Available::along(&along),
            links,
        }
    }

    /// The mean of what was available between two instants.
    pub(super) fn mean(&self, from: Timestamp, to: Timestamp) -> Option<f64> {
        self.available.mean(from, to)
    }

    /// The capacity of the link that is the tight one at an instant.
    pub(super) fn capacity(&self, at: Timestamp) -> Option<f64> {
        let at_link = |link: &Link| {
            let on_link = at.saturating_since(Timestamp::from_origin(link.delay));
            let bin = usize::try_from(on_link.as_nanos() / BIN.as_nanos()).ok()?;
            let bin = bin.min(link.available_bps.len().checked_sub(1)?);
            Some((link.available_bps[bin], link.capacity_bps[bin]))
        };
        let links = self.links.iter().filter_map(at_link);
        let tight = links.min_by(|one, other| one.0.total_cmp(&other.0));
        tight.map(|(_, capacity)| capacity)
    }

    /// How much later the server can see a change on the nearest of the links.
    pub(super) fn seen_after(&self) -> Duration {
        let delays = self.links.iter().map(|link| link.delay);
        delays.min().unwrap_or_default()
    }
}

/// The capacity of a link in each bin. That of a recorded link is the mean of the second around, as
/// the truth is: in a single bin it may have no opportunity at all.
fn capacities(simulation: &Simulation<'_>, link: usize, bins: usize) -> Vec<f64> {
    const AROUND: usize = 5;
    let hop = forward(simulation, link);
    let all: Vec<f64> = (0..bins).map(|bin| capacity(hop, bin) as f64).collect();
    if simulation.scenario().links[link].forward.trace.is_none() {
        return all;
    }
    let mean = |bin: usize| {
        let around = &all[bin.saturating_sub(AROUND)..bins.min(bin + AROUND + 1)];
        around.iter().sum::<f64>() / around.len() as f64
    };
    (0..bins).map(mean).collect()
}

/// What the bins leave for a flow on a link. A queue that is fair leaves a share.
fn left(simulation: &Simulation<'_>, flow: FlowId, link: usize, bins: usize) -> Vec<f64> {
    let idle = available_on(simulation, flow, link, bins);
    let idle = idle.into_iter().map(Bandwidth::as_bps_f64);
    match simulation.scenario().links[link].forward.discipline {
        Discipline::FqCoDel(_) => {
            let share = |(bin, idle): (usize, f64)| {
                let mut wanted = wanted(simulation, flow, link, bin);
                wanted.push(f64::INFINITY);
                let capacity = capacity(forward(simulation, link), bin) as f64;
                idle.max(water_level(capacity, &wanted))
            };
            idle.enumerate().map(share).collect()
        }
        _ => idle.collect(),
    }
}

/// What each queue beside the flow's own wants in a bin. Flows that want all they can get, and sent
/// something, want any rate.
fn wanted(simulation: &Simulation<'_>, flow: FlowId, link: usize, bin: usize) -> Vec<f64> {
    let scenario = simulation.scenario();
    let meter = forward(simulation, link).meter();
    let others = owners(scenario, link).filter(|other| *other != Owner::Flow(flow));
    let mut wanted: Vec<f64> = others
        .map(|other| {
            let rate = meter.rate(other, bin).as_bps_f64();
            match other {
                Owner::Flow(id) if rate > 0.0 && wants_all(scenario, id) => f64::INFINITY,
                _ => rate,
            }
        })
        .collect();
    wanted.retain(|rate| *rate > 0.0);
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::ToolId;
    use crate::scenario::Scenario;
    use crate::truth::bin_start;

    /// A source, a bulk transfer and a tool with packets of its own behind a fair queue.
    const FAIR: &str = "name = \"t\"\ntitle = \"t\"\nduration = \"6 s\"\n[[link]]\nname = \"l\"\n\
        rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
        queue = { kind = \"fq-codel\", limit = \"200 KB\" }\n[[flow]]\nname = \"main\"\n\
        controller = \"reno\"\napplication = { kind = \"datagrams\", rate = \"0.5 Mbit/s\" }\n\
        [[flow]]\nname = \"rival\"\ncontroller = \"reno\"\n\
        application = { kind = \"bulk\" }\n[[tool]]\nname = \"igi\"\nkind = \"igi\"\n\
        times = \"unbounded\"\npause = \"0 s\"\n";

    /// The tool had a queue like the others, and was taken for nobody.
    #[test]
    fn a_tool_has_a_share_of_a_fair_queue_like_a_flow() {
        let scenario = Scenario::parse("t.toml", FAIR, &[]).expect("it is valid");
        let mut simulation = Simulation::new(&scenario, 1).expect("it can be set up");
        simulation.advance(scenario.end());
        let truth = Truth::of(&simulation, FlowId(0));
        let hop = forward(&simulation, 0);
        let mut tool_bps = 0.0;
        for bin in 20..50 {
            let tool = hop.meter().rate(Owner::Tool(ToolId(0)), bin).as_bps_f64();
            tool_bps += tool / 30.0;
            // Two who want all they can get share what the tool leaves, unless it wants a third.
            let expected = ((10e6 - tool) / 2.0).max(10e6 / 3.0);
            // What is on the link is seen 20 ms later.
            let at = bin_start(bin) + Duration::from_millis(20);
            let found = truth.mean(at, at + BIN).expect("a truth");
            assert!((found - expected).abs() < 10.0, "{bin}: {found} {expected}");
        }
        assert!(tool_bps > 0.5e6, "{tool_bps}");
    }
}
