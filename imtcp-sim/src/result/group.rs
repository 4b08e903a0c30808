//! Flows that are alike, together.

use super::{FlowResult, rounded};
use crate::simulation::Simulation;
use crate::statistics::{jain, median, quantile_of_sorted};
use serde::Serialize;

/// What flows that the scenario writes once have together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The name under which the scenario has them.
    pub name: String,
    /// How many.
    pub flows: usize,
    /// The sum of their goodput.
    pub goodput_bps: u64,
    /// The mean goodput of one, as a multiple of that of a flow of any other group; none where all
    /// flows are in this group.
    pub times_others: Option<f64>,
    /// Jain's index of their goodput, 0 to 1.
    pub jain: Option<f64>,
    /// Lost packets as a share of those that were sent.
    pub lost: f64,
    /// The median over the flows of the estimates' mean signed error.
    pub bias: Option<f64>,
    /// Seconds from start to end of transfers of known size, of those that came to their end.
    pub completion_s: Option<Times>,
    /// Seconds from making a frame, a chunk or a page until the client had read all of it.
    pub burst_s: Option<Times>,
}

/// How long something took that happened several times, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// How often.
    pub count: usize,
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
}

impl Group {
    /// All groups, in the scenario's order.
    pub(super) fn of(simulation: &Simulation<'_>, flows: &[FlowResult]) -> Vec<Self> {
        let name = |flow: &FlowResult| flow.group.clone().unwrap_or_else(|| flow.name.clone());
        let mut names: Vec<String> = flows.iter().map(name).collect();
        names.dedup();
        let group = |name_of_group: String| {
            let ours = |flow: &FlowResult| name(flow) == name_of_group;
            let members: Vec<&FlowResult> = flows.iter().filter(|flow| ours(flow)).collect();
            let others: Vec<&FlowResult> = flows.iter().filter(|flow| !ours(flow)).collect();
            let pairs = flows.iter().zip(simulation.pairs());
            let pairs = pairs.filter(|(flow, _)| ours(flow));
            let bursts = pairs.flat_map(|(_, pair)| pair.burst_delays()).collect();
            Self::one(name_of_group, &members, &others, bursts)
        };
        names.into_iter().map(group).collect()
    }

    fn one(
        name: String,
        members: &[&FlowResult],
        others: &[&FlowResult],
        bursts: Vec<f64>,
    ) -> Self {
        let sum = |flows: &[&FlowResult]| flows.iter().map(|flow| flow.goodput_bps).sum::<u64>();
        let mean = |flows: &[&FlowResult]| sum(flows) as f64 / flows.len() as f64;
        let count = |of: fn(&FlowResult) -> u64| members.iter().map(|flow| of(flow)).sum::<u64>();
        let (sent, lost) = (
            count(|flow| flow.sent_packets),
            count(|flow| flow.lost_packets),
        );
        let times = mean(members) / mean(others);
        let bias = members.iter().filter_map(|flow| flow.score.bias).collect();
        let took = members.iter().filter_map(|flow| {
            let start = flow.reference.life.0.as_secs_f64();
            Some(flow.completed_s? - start)
        });
        Self {
            name,
            flows: members.len(),
            goodput_bps: sum(members),
            times_others: Some(rounded(times)).filter(|times| times.is_finite()),
            jain: jain(members.iter().map(|flow| flow.goodput_bps as f64)).map(rounded),
            lost: rounded(lost as f64 / sent.max(1) as f64),
            bias: median(bias).map(rounded),
            completion_s: Times::of(took.collect()),
            burst_s: Times::of(bursts),
        }
    }
}

impl Times {
    fn of(mut times: Vec<f64>) -> Option<Self> {
        times.sort_unstable_by(f64::total_cmp);
        let at = |at| quantile_of_sorted(&times, at).map(rounded);
        Some(Self {
            count: times.len(),
            mean: rounded(times.iter().sum::<f64>() / times.len() as f64),
            p50: at(0.5)?,
            p95: at(0.95)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_as_their_mean_and_two_quantiles() {
        let times = Times::of((1..=21).rev().map(f64::from).collect());
        let expected = Times {
            count: 21,
            mean: 11.0,
            p50: 11.0,
            p95: 20.0,
        };
        assert_eq!(times, Some(expected));
        assert_eq!(Times::of(Vec::new()), None);
    }
}
