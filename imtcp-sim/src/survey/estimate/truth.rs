//! What a flow's path left for it, and the capacity that it was left of, on the server's clock.

use crate::network::{Discipline, FlowId, Owner};
use crate::result::{available_on, bins, capacity, forward, users};
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
    let others = users(scenario, link).filter(|other| *other != flow);
    let mut wanted: Vec<f64> = others
        .map(|other| {
            let rate = meter.rate(Owner::Flow(other), bin).as_bps_f64();
            match rate > 0.0 && wants_all(scenario, other) {
                true => f64::INFINITY,
                false => rate,
            }
        })
        .collect();
    wanted.push(meter.rate(Owner::Cross, bin).as_bps_f64());
    wanted.retain(|rate| *rate > 0.0);
    wanted
}
