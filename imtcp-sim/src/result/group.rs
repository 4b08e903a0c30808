//! Flows that are alike, together.

use super::{FlowResult, rounded};
use crate::endpoint::Pair;
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
    /// The longest time in seconds between two results of any of them that measures
    /// ([`super::FlowResult::results`]); none where none measures.
    pub longest_pause_s: Option<f64>,
    /// Seconds from start to end of transfers of known size.
    pub completion_s: Option<Times>,
    /// Seconds from making a frame, a chunk or a page until the client had read all of it.
    pub burst_s: Option<Times>,
}

/// How long something took that happened several times, in seconds. What did not come to its end
/// has lasted until the flow's end: without it, a time would be the shorter the more starved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// How often it came to its end.
    pub count: usize,
    /// How often it did not.
    pub unfinished: usize,
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
            let pairs: Vec<(&FlowResult, &Pair)> = pairs.filter(|(flow, _)| ours(flow)).collect();
            Self::one(name_of_group, &members, &others, Lasted::of(&pairs))
        };
        names.into_iter().map(group).collect()
    }

    fn one(name: String, members: &[&FlowResult], others: &[&FlowResult], lasted: Lasted) -> Self {
        let sum = |flows: &[&FlowResult]| flows.iter().map(|flow| flow.goodput_bps).sum::<u64>();
        let mean = |flows: &[&FlowResult]| sum(flows) as f64 / flows.len() as f64;
        let count = |of: fn(&FlowResult) -> u64| members.iter().map(|flow| of(flow)).sum::<u64>();
        let (sent, lost) = (
            count(|flow| flow.sent_packets),
            count(|flow| flow.lost_packets),
        );
        let times = mean(members) / mean(others);
        let bias = members.iter().filter_map(|flow| flow.score.bias).collect();
        let pauses = members.iter().filter_map(|flow| flow.results);
        let longest = pauses.map(|pauses| pauses.longest_s);
        Self {
            name,
            flows: members.len(),
            goodput_bps: sum(members),
            times_others: Some(rounded(times)).filter(|times| times.is_finite()),
            jain: jain(members.iter().map(|flow| flow.goodput_bps as f64)).map(rounded),
            lost: rounded(lost as f64 / sent.max(1) as f64),
            bias: median(bias).map(rounded),
            longest_pause_s: longest.max_by(f64::total_cmp),
            completion_s: Times::of(lasted.transfers, lasted.unended),
            burst_s: Times::of(lasted.bursts, lasted.unread),
        }
    }
}

/// How long things took that came to their end, and how long the others had lasted when the flow
/// ended, in seconds.
#[derive(Default)]
struct Lasted {
    transfers: Vec<f64>,
    unended: Vec<f64>,
    bursts: Vec<f64>,
    unread: Vec<f64>,
}

impl Lasted {
    fn of(pairs: &[(&FlowResult, &Pair)]) -> Self {
        let mut lasted = Self::default();
        for (flow, pair) in pairs {
            let (start, end) = flow.reference.life;
            lasted.bursts.extend(pair.burst_delays());
            lasted.unread.extend(pair.unread_bursts(end));
            let start = start.as_secs_f64();
            match flow.completed_s {
                Some(at) => lasted.transfers.push(at - start),
                None if pair.has_size() => lasted.unended.push(end.as_secs_f64() - start),
                None => {}
            }
        }
        lasted
    }
}

impl Times {
    fn of(ended: Vec<f64>, unended: Vec<f64>) -> Option<Self> {
        let (count, unfinished) = (ended.len(), unended.len());
        let mut times = ended;
        times.extend(unended);
        times.sort_unstable_by(f64::total_cmp);
        let at = |at| quantile_of_sorted(&times, at).map(rounded);
        Some(Self {
            count,
            unfinished,
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
        let times = Times::of((1..=21).rev().map(f64::from).collect(), Vec::new());
        let expected = Times {
            count: 21,
            unfinished: 0,
            mean: 11.0,
            p50: 11.0,
            p95: 20.0,
        };
        assert_eq!(times, Some(expected));
        assert_eq!(Times::of(Vec::new(), Vec::new()), None);
    }

    #[test]
    fn what_never_ended_makes_times_longer_and_not_shorter() {
        let ended = Times::of(vec![1.0; 9], Vec::new()).expect("times");
        let starved = Times::of(vec![1.0; 9], vec![60.0]).expect("times");
        assert_eq!((starved.count, starved.unfinished), (9, 1));
        assert!(starved.p95 > ended.p95 && starved.mean > ended.mean);
        let none = Times::of(Vec::new(), vec![60.0]).expect("times");
        assert_eq!((none.count, none.unfinished, none.p50), (0, 1, 60.0));
    }
}
