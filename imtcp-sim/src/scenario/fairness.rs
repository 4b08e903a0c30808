//! What would be fair: max-min shares of a link among flows that ask for different rates.

use super::Scenario;
use super::application::Application;
use super::flow::Flow;
use super::nominal::Nominal;
use crate::network::FlowId;
use imtcp_cc::promise::Demand;
use imtcp_cc::units::Timestamp;

/// The max-min fair goodput of each of `flows` in bit/s, if they share the narrowest link of the
/// first one's path as it is at `at`. No flow has more than it asks for. A flow that has less than
/// it asks for has as much as any other.
pub fn fair_shares(scenario: &Scenario, flows: &[FlowId], at: Timestamp) -> Vec<f64> {
    let Some(first) = flows.first() else {
        return Vec::new();
    };
    let wanted_bps: Vec<f64> = flows.iter().map(|id| wanted(scenario, *id)).collect();
    fair_shares_of(link_goodput(scenario, *first, at), &wanted_bps)
}

/// What others may expect beside a flow that requires a rate, each as goodput in bit/s.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// The max-min fair share of each of what is left when the requirement is taken out of the
    /// link.
    pub left_bps: Vec<f64>,
    /// The same where the flow has its own fair share if that is more, and more is welcome to it.
    pub due_bps: Vec<f64>,
}

/// What `others` may expect beside `main`, which requires `required_bps`, at `at`.
pub fn beside(
    scenario: &Scenario,
    main: FlowId,
    required_bps: f64,
    others: &[FlowId],
    at: Timestamp,
) -> Beside {
    let link_bps = link_goodput(scenario, main, at);
    let wanted_bps: Vec<f64> = others.iter().map(|id| wanted(scenario, *id)).collect();
    let share_of = |link_bps: f64| fair_shares_of(link_bps, &wanted_bps);
    let own_bps = fair_shares_of(
        link_bps,
        &[&[wanted(scenario, main)], &wanted_bps[..]].concat(),
    );
    let own_bps = own_bps
        .first()
        .map_or(required_bps, |own| own.max(required_bps));
    Beside {
        left_bps: share_of((link_bps - required_bps).max(0.0)),
        due_bps: share_of((link_bps - own_bps).max(0.0)),
    }
}

/// What flows can carry of the narrowest link of this one's path, as goodput.
fn link_goodput(scenario: &Scenario, flow: FlowId, at: Timestamp) -> f64 {
    let (_, left) = Nominal::new(scenario, flow).available(at);
    left.as_bps_f64() * goodput_share(&scenario.flows[flow.0])
}

fn fair_shares_of(link_bps: f64, wanted_bps: &[f64]) -> Vec<f64> {
    let level_bps = water_level(link_bps, wanted_bps);
    wanted_bps.iter().map(|bps| bps.min(level_bps)).collect()
}

/// Application data in a full packet, as a share of what it takes on the link.
fn goodput_share(flow: &Flow) -> f64 {
    let (packet, config) = (flow.packet, &flow.imtcp);
    let data = packet.saturating_sub(config.packet_overhead());
    data.as_f64() / (packet + config.header_overhead()).as_f64()
}

/// What a flow would take of an empty path, as goodput.
fn wanted(scenario: &Scenario, id: FlowId) -> f64 {
    let flow = &scenario.flows[id.0];
    let requirement = flow.imtcp.promise();
    let exact = requirement.filter(|requirement| requirement.wanted() == Demand::Exactly);
    let source = match flow.application {
        Application::Bulk { send_buffer, .. } => send_buffer.map_or(f64::INFINITY, |buffer| {
            let round_trip = Nominal::new(scenario, id).round_trip();
            buffer.as_bits_f64() / round_trip.as_secs_f64().max(1e-9)
        }),
        // The player takes all that it gets until its buffer is full.
        Application::Player { .. } => f64::INFINITY,
        Application::Periodic { rate, .. } | Application::Datagrams { rate, .. } => {
            rate.as_bps_f64()
        }
    };
    exact.map_or(source, |exact| source.min(exact.rate().as_bps_f64()))
}

/// The share of each flow that wants more than that share.
fn water_level(link_bps: f64, wanted_bps: &[f64]) -> f64 {
    let mut ascending = wanted_bps.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    let (mut left, mut count) = (link_bps, ascending.len());
    for want in ascending {
        let level = left / count as f64;
        if want >= level {
            return level;
        }
        left -= want;
        count -= 1;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn water_finds_its_level() {
        // 1 has all it asks for; the other three share 11.5 left, and 4 is more than a third of
        // that.
        assert_eq!(
            water_level(12.5, &[f64::INFINITY, 1.0, 4.0, 9.0]),
            11.5 / 3.0
        );
        assert_eq!(water_level(12.0, &[f64::INFINITY; 4]), 3.0);
        assert_eq!(water_level(12.0, &[1.0, 2.0]), f64::INFINITY);
    }
}
