//! What would be fair: max-min shares of a link among flows that ask for different rates.

use super::Scenario;
use super::application::Application;
use super::flow::Flow;
use super::nominal::Nominal;
use crate::network::{Discipline, FlowId};
use imtcp_cc::promise::Demand;
use imtcp_cc::units::Timestamp;

/// The max-min fair goodput of each of `flows` in bit/s, if they share the narrowest link of the
/// first one's path as it is at `at`. No flow has more than it asks for. A flow that has less than
/// it asks for has as much as any other. Inelastic traffic comes first, but where the queue is
/// fair: there it has a share like a flow.
pub fn fair_shares(scenario: &Scenario, flows: &[FlowId], at: Timestamp) -> Vec<f64> {
    let Some(first) = flows.first() else {
        return Vec::new();
    };
    let wanted_bps: Vec<f64> = flows.iter().map(|id| wanted(scenario, *id)).collect();
    Shared::at(scenario, *first, at).among(&wanted_bps)
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
    let link = Shared::at(scenario, main, at);
    let wanted_bps: Vec<f64> = others.iter().map(|id| wanted(scenario, *id)).collect();
    let own_bps = link.among(&[&[wanted(scenario, main)], &wanted_bps[..]].concat());
    let own_bps = own_bps
        .first()
        .map_or(required_bps, |own| own.max(required_bps));
    Beside {
        left_bps: link.less(required_bps).among(&wanted_bps),
        due_bps: link.less(own_bps).among(&wanted_bps),
    }
}

/// The narrowest link of a flow's path, as goodput.
#[derive(Clone, Copy)]
struct Shared {
    link_bps: f64,
    /// Inelastic traffic that has to share like everybody else, because the queue is fair.
    cross_bps: Option<f64>,
}

impl Shared {
    fn at(scenario: &Scenario, flow: FlowId, at: Timestamp) -> Self {
        let nominal = Nominal::new(scenario, flow);
        let share = goodput_share(&scenario.flows[flow.0]);
        let (tight, left) = nominal.available(at);
        let hop = &scenario.links[tight].forward;
        if matches!(hop.discipline, Discipline::FqCoDel(_)) {
            return Self {
                link_bps: hop.lasting_rate_at(at).as_bps_f64() * share,
                cross_bps: Some(nominal.cross(tight, at).as_bps_f64() * share),
            };
        }
        Self {
            link_bps: left.as_bps_f64() * share,
            cross_bps: None,
        }
    }

    fn less(self, bps: f64) -> Self {
        Self {
            link_bps: (self.link_bps - bps).max(0.0),
            ..self
        }
    }

    /// The max-min share of each flow.
    fn among(self, wanted_bps: &[f64]) -> Vec<f64> {
        let mut all = wanted_bps.to_vec();
        all.extend(self.cross_bps);
        let level_bps = water_level(self.link_bps, &all);
        wanted_bps.iter().map(|bps| bps.min(level_bps)).collect()
    }
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
        // So much on an empty path, where pages take no time.
        Application::Pages(pages) => {
            let page = pages.object.as_bits_f64() * f64::from(pages.objects);
            page / pages.think.as_secs_f64()
        }
        Application::Periodic { rate, .. } | Application::Datagrams { rate, .. } => {
            rate.as_bps_f64()
        }
    };
    exact.map_or(source, |exact| source.min(exact.rate().as_bps_f64()))
}

/// Whether a flow always has more to send.
pub(crate) fn wants_all(scenario: &Scenario, id: FlowId) -> bool {
    wanted(scenario, id).is_infinite()
}

/// The share of each flow that wants more than that share.
pub(crate) fn water_level(link_bps: f64, wanted_bps: &[f64]) -> f64 {
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
    fn a_fair_queue_lets_inelastic_traffic_have_a_share_like_others() {
        // 90 of 100 are inelastic. First come, first served leaves 10 to two flows; a fair queue
        // gives each of the three a third.
        let shares = |cross_bps, link_bps| {
            let link = Shared {
                link_bps,
                cross_bps,
            };
            link.among(&[f64::INFINITY; 2])
        };
        assert_eq!(shares(None, 10.0), [5.0, 5.0]);
        assert_eq!(shares(Some(90.0), 100.0), [100.0 / 3.0; 2]);
        assert_eq!(shares(Some(20.0), 100.0), [40.0; 2]);
    }

    #[test]
    fn what_is_left_is_less_than_what_is_due_only_where_more_is_welcome() {
        let text = |promise: &str| {
            format!(
                "name = \"fair\"\ntitle = \"fair\"\nduration = \"5 s\"\n\
                 [[link]]\nname = \"link\"\nrate = \"40 Mbit/s\"\ndelay = \"15 ms\"\n\
                 queue = \"150 KB\"\n\
                 [[flow]]\nname = \"main\"\ncontroller = \"imtcp\"\n\
                 application = {{ kind = \"bulk\" }}\nimtcp = {{ promise = {promise} }}\n\
                 [[flow]]\nname = \"rival\"\ncontroller = \"cubic\"\n\
                 application = {{ kind = \"bulk\" }}\n"
            )
        };
        let goodput = 40e6 * 1302.0 / 1378.0;
        let share = |demand: &str, required: f64| {
            let promise = format!("{{ rate = \"{required} bit/s\", per = \"2 s\"{demand} }}");
            let scenario = Scenario::parse("fair", &text(&promise), &[]).expect("it is valid");
            let found = beside(
                &scenario,
                FlowId(0),
                required,
                &[FlowId(1)],
                Timestamp::ZERO,
            );
            (found.left_bps[0], found.due_bps[0])
        };
        let exactly = ", demand = \"exactly\"";
        let near = |(left, due): (f64, f64), expected: (f64, f64)| {
            assert!((left - expected.0).abs() < 1.0, "{left} {expected:?}");
            assert!((due - expected.1).abs() < 1.0, "{due} {expected:?}");
        };
        // 8 of 37.8: the rest is left, but a flow that can use more is due a half.
        near(share("", 8e6), (goodput - 8e6, goodput / 2.0));
        near(share(exactly, 8e6), (goodput - 8e6, goodput - 8e6));
        near(share("", 20e6), (goodput - 20e6, goodput - 20e6));
    }

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
