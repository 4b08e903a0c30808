//! The fair share that a promise is drawn against.

use crate::network::FlowId;
use crate::scenario::{Nominal, Scenario, Traffic, fair_shares};
use crate::traffic::Pattern;
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// How often the path is looked at.
const STEP: Duration = Duration::from_millis(100);
/// So many standard deviations of a period's mean are left to inelastic traffic above its mean. So
/// the share is there in about 19 of 20 periods, whatever a controller does.
const DEVIATIONS: f64 = 2.0;
/// The size that the variance of packets is counted with.
const PACKET_BITS: f64 = 12_000.0;
/// Bits in a page of web traffic, and how many times as variable its Pareto sizes are.
const PAGE_BITS: f64 = 8.0 * 12_000.0 * 8.0;
const PAGE_VARIANCE: f64 = 3.0;

/// Shares of the flow that is looked at, as goodput in bit/s: the least of the time that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shares {
    /// The max-min fair share.
    pub(super) fair_bps: f64,
    /// What inelastic traffic leaves to all flows.
    pub(super) left_bps: f64,
    /// The capacity, as IP packets.
    pub(super) capacity_bps: f64,
    /// The most flows beside it at a time.
    pub(super) rivals: usize,
}

/// The shares between two instants, for a promise over `per`.
pub(super) fn shares(scenario: &Scenario, span: (Timestamp, Timestamp), per: Duration) -> Shares {
    let main = FlowId(0);
    let mut scenario = scenario.clone();
    for traffic in &mut scenario.traffic {
        let steps = traffic.source.rate.steps().iter();
        let most = steps.map(|step| step.rate).max().unwrap_or(Bandwidth::ZERO);
        let ratio = above_mean(traffic, most, per);
        traffic.source.rate = traffic.source.rate.scaled(ratio);
    }
    let nominal = Nominal::new(&scenario, main);
    let mut least = Shares {
        fair_bps: f64::INFINITY,
        left_bps: f64::INFINITY,
        capacity_bps: f64::INFINITY,
        rivals: 0,
    };
    let mut at = span.0;
    while at < span.1 {
        let is_there = |rival: &FlowId| {
            let (start, stop) = Nominal::new(&scenario, *rival).life();
            start <= at && stop > at
        };
        let mut flows = vec![main];
        flows.extend(nominal.rivals().into_iter().filter(is_there));
        let first = |shares: Vec<f64>| shares.first().copied().unwrap_or(0.0);
        let fair = first(fair_shares(&scenario, &flows, at));
        let left = first(fair_shares(&scenario, &flows[..1], at));
        least = Shares {
            fair_bps: least.fair_bps.min(fair),
            left_bps: least.left_bps.min(left),
            capacity_bps: least.capacity_bps.min(nominal.capacity(at).as_bps_f64()),
            rivals: least.rivals.max(flows.len() - 1),
        };
        at = at + STEP;
    }
    least
}

/// What traffic may take as a mean over a period, as a multiple of its long-term mean.
fn above_mean(traffic: &Traffic, mean: Bandwidth, per: Duration) -> f64 {
    let (mean_bps, per_s) = (mean.as_bps_f64().max(1.0), per.as_secs_f64());
    // The deviation of a sum of independent amounts, relative to their mean.
    let of_amounts = |bits: f64| DEVIATIONS * libm::sqrt(bits / (mean_bps * per_s));
    match &traffic.source.pattern {
        Pattern::Constant => 1.0,
        Pattern::Poisson => 1.0 + of_amounts(PACKET_BITS),
        Pattern::Web(_) => 1.0 + of_amounts(PAGE_BITS * PAGE_VARIANCE),
        Pattern::OnOff(periods) => {
            let (on, off) = (periods.on.as_secs_f64(), periods.off.as_secs_f64());
            let (cycle, peak) = (on + off, (on + off) / on);
            // Over many cycles the variance of the share of time that is on is that of an
            // alternating process: 2 (on off)^2 / cycle^3 / per, relative to (on / cycle)^2.
            let deviation = libm::sqrt(2.0 * off * off / (cycle * per_s));
            (1.0 + DEVIATIONS * deviation).min(peak)
        }
    }
}
