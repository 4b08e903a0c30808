//! What flows beside a promise have of what it leaves them.

use super::rounded;
use crate::network::FlowId;
use crate::scenario::{Nominal, SETTLING, beside};
use crate::simulation::{SAMPLING, Simulation};
use imtcp_cc::promise::Requirement;
use imtcp_cc::units::{Bandwidth, Timestamp};
use serde::Serialize;

/// A flow beside a promise. Rates are goodput, as means over the time in which both are there and
/// the slots are counted. The first seconds of a flow are left out: it has yet to find its share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RivalShare {
    /// The flow's name.
    pub name: String,
    /// Its congestion controller.
    pub controller: &'static str,
    /// The time that counts.
    pub seconds: f64,
    /// What its client has read.
    pub had_bps: u64,
    /// Its max-min fair share of what is left when the requirement is taken out of the link.
    pub left_bps: u64,
    /// Its fair share beside a flow that has what it requires, or its own fair share if that is
    /// more and more is welcome to it.
    pub due_bps: u64,
}

impl RivalShare {
    /// What it had, as a share of what was left for it. None where nothing was left.
    pub fn of_left(&self) -> Option<f64> {
        share(self.had_bps, self.left_bps)
    }

    /// What it had, as a share of what was due to it.
    pub fn of_due(&self) -> Option<f64> {
        share(self.had_bps, self.due_bps)
    }
}

fn share(had_bps: u64, of_bps: u64) -> Option<f64> {
    (of_bps > 0).then(|| had_bps as f64 / of_bps as f64)
}

#[derive(Clone, Copy, Default)]
struct Sums {
    seconds: f64,
    had: f64,
    left: f64,
    due: f64,
}

/// The flows that were there with `main` between two instants, in the scenario's order.
pub(super) fn shares(
    simulation: &Simulation<'_>,
    main: FlowId,
    requirement: &Requirement,
    (from, to): (Timestamp, Timestamp),
) -> Vec<RivalShare> {
    let scenario = simulation.scenario();
    let rivals = Nominal::new(scenario, main).rivals();
    let mut sums = vec![Sums::default(); scenario.flows.len()];
    let required_bps = requirement.rate().as_bps_f64();
    let mut at = from;
    while at + SAMPLING <= to {
        let next = at + SAMPLING;
        let present = present(simulation, &rivals, next);
        let beside = beside(scenario, main, required_bps, &present, at);
        let expected = beside.left_bps.iter().zip(&beside.due_bps);
        for (rival, (left, due)) in present.iter().zip(expected) {
            if life(simulation, *rival).is_none_or(|(begun, _)| begun + SETTLING > at) {
                continue;
            }
            let read = |when| simulation.record().delivered_at(rival.0, when);
            let seconds = SAMPLING.as_secs_f64();
            let sum = &mut sums[rival.0];
            sum.seconds += seconds;
            sum.had += (read(next) - read(at)) * 8.0;
            sum.left += left * seconds;
            sum.due += due * seconds;
        }
        at = next;
    }
    let counted = rivals.into_iter().filter(|id| sums[id.0].seconds > 0.0);
    counted
        .map(|id| {
            let (flow, sum) = (&scenario.flows[id.0], sums[id.0]);
            let mean = |bits: f64| Bandwidth::from_bps_f64(bits / sum.seconds).as_bps();
            RivalShare {
                name: flow.name.clone(),
                controller: flow.controller.name(),
                seconds: rounded(sum.seconds),
                had_bps: mean(sum.had),
                left_bps: mean(sum.left),
                due_bps: mean(sum.due),
            }
        })
        .collect()
}

/// Those of `rivals` that are there just before `at`: they have begun, and have more to send.
pub(super) fn present(
    simulation: &Simulation<'_>,
    rivals: &[FlowId],
    at: Timestamp,
) -> Vec<FlowId> {
    let is_there = |rival: &FlowId| {
        let life = life(simulation, *rival);
        life.is_some_and(|(begun, end)| begun < at && end >= at)
    };
    rivals.iter().copied().filter(is_there).collect()
}

/// When a flow began, and when it had no more to send. None of one that never began.
fn life(simulation: &Simulation<'_>, flow: FlowId) -> Option<(Timestamp, Timestamp)> {
    let pair = &simulation.pairs()[flow.0];
    let (_, stop) = Nominal::new(simulation.scenario(), flow).life();
    let completed = pair.delivery().completed;
    Some((pair.started()?, completed.map_or(stop, |at| at.min(stop))))
}
