//! What a scenario's settings say before it runs: rates, and when they change.

use super::Scenario;
use crate::network::{Direction, FlowId, Route};
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// The path of one flow, from the settings alone.
#[derive(Clone, Copy, Debug)]
pub struct Nominal<'s> {
    scenario: &'s Scenario,
    flow: FlowId,
}

impl<'s> Nominal<'s> {
    /// The path of `flow`.
    pub fn new(scenario: &'s Scenario, flow: FlowId) -> Self {
        Self { scenario, flow }
    }

    fn route(&self) -> Route {
        self.scenario.flows[self.flow.0].route
    }

    /// Propagation there and back, without any serialisation.
    pub fn round_trip(&self) -> Duration {
        let delays = self.route().links().map(|index| {
            let link = &self.scenario.links[index];
            link.forward.pipe.delay + link.reverse.pipe.delay
        });
        delays.sum()
    }

    /// Capacity less inelastic cross traffic of the tightest link at `at`, with its index. The
    /// capacity of a link with a token bucket is its rate after the bucket, and that of a recorded
    /// link the mean. Flows are not counted, because what they take is up to them.
    pub fn available(&self, at: Timestamp) -> (usize, Bandwidth) {
        let links = self.route().links();
        let rates = links.map(|link| {
            let capacity = self.scenario.links[link].forward.lasting_rate_at(at);
            (link, capacity.saturating_sub(self.cross(link, at)))
        });
        rates
            .min_by_key(|(_, rate)| *rate)
            .unwrap_or((0, Bandwidth::ZERO))
    }

    pub(super) fn cross(&self, link: usize, at: Timestamp) -> Bandwidth {
        self.scenario
            .traffic
            .iter()
            .filter(|t| t.hop.link == link && t.hop.direction == Direction::Forward)
            .fold(Bandwidth::ZERO, |sum, t| {
                sum.saturating_add(t.source.rate.rate_at(at))
            })
    }

    /// The capacity of the narrowest link at `at`.
    pub fn capacity(&self, at: Timestamp) -> Bandwidth {
        let links = self.route().links();
        let rates = links.map(|link| self.scenario.links[link].forward.lasting_rate_at(at));
        rates.min().unwrap_or(Bandwidth::ZERO)
    }

    /// Capacity times round trip at the beginning, in bytes.
    pub fn bandwidth_delay_product(&self) -> u64 {
        self.capacity(self.life().0)
            .bytes_in(self.round_trip())
            .get()
    }

    /// The times inside the flow's life at which the truth changes by design. Then the available
    /// bandwidth of its tightest link changes, or another flow appears on its path or leaves it.
    pub fn steps(&self) -> Vec<Timestamp> {
        self.steps_begun(|flow| Some(self.scenario.flows[flow.0].start))
    }

    /// The same in a run, in which `begun` says when a flow began; none of one that never did. Who
    /// may begin together with the flow makes no step, whichever of them is the first.
    pub fn steps_begun(&self, begun: impl Fn(FlowId) -> Option<Timestamp>) -> Vec<Timestamp> {
        let (nominally, stop) = self.life();
        let start = begun(self.flow).unwrap_or(nominally);
        let mut steps: Vec<Timestamp> = self
            .rate_changes()
            .filter(|at| {
                let before = Timestamp::from_nanos(at.as_nanos().saturating_sub(1));
                self.available(before).1 != self.available(*at).1
            })
            .chain(self.arrivals_and_departures(begun))
            .filter(|at| *at > start && *at < stop)
            .collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// When the flow begins and ends.
    pub fn life(&self) -> (Timestamp, Timestamp) {
        let flow = &self.scenario.flows[self.flow.0];
        let end = self.scenario.end();
        (flow.start, flow.stop.map_or(end, |stop| stop.min(end)))
    }

    /// The other flows that share a link with it.
    pub fn rivals(&self) -> Vec<FlowId> {
        let (own, own_index) = (self.route(), self.flow.0);
        let others = self.scenario.flows.iter().enumerate();
        let shares = |index: usize, other: Route| {
            index != own_index && other.last >= own.first && other.first <= own.last
        };
        others
            .filter(|(index, other)| shares(*index, other.route))
            .map(|(index, _)| FlowId(index))
            .collect()
    }

    fn rate_changes(&self) -> impl Iterator<Item = Timestamp> {
        let links = self.scenario.links.iter().map(|link| &link.forward.rate);
        let traffic = self
            .scenario
            .traffic
            .iter()
            .map(|traffic| &traffic.source.rate);
        links
            .chain(traffic)
            .flat_map(|profile| profile.steps().iter().map(|step| step.at))
    }

    fn arrivals_and_departures(
        &self,
        begun: impl Fn(FlowId) -> Option<Timestamp>,
    ) -> impl Iterator<Item = Timestamp> {
        let (nominally, _) = self.life();
        let edges = move |rival: FlowId| {
            let settings = &self.scenario.flows[rival.0];
            let comes_later = settings.start > nominally;
            [begun(rival).filter(|_| comes_later), settings.stop]
        };
        self.rivals().into_iter().flat_map(edges).flatten()
    }
}
