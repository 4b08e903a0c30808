//! Hops in a row and the way of a packet over them.

use super::hop::Finished;
use super::{Direction, FlowId, Hop, HopSettings, Owner, Packet, ToolId};
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// A hop: a link, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopId {
    /// The link's index, in forward order.
    pub link: usize,
    /// Which way.
    pub direction: Direction,
}

/// The links a flow crosses, both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The link next to the server.
    pub first: usize,
    /// The link next to the client.
    pub last: usize,
}

impl Route {
    /// The links in forward order.
    pub fn links(self) -> impl DoubleEndedIterator<Item = usize> {
        self.first..=self.last
    }

    /// Where packets of the given direction enter.
    pub fn entry(self, direction: Direction) -> HopId {
        let link = match direction {
            Direction::Forward => self.first,
            Direction::Reverse => self.last,
        };
        HopId { link, direction }
    }

    /// The hop behind `hop`, or `None` where the flow's packets leave the path.
    fn after(self, hop: HopId) -> Option<HopId> {
        let exit = match hop.direction {
            Direction::Forward => self.last,
            Direction::Reverse => self.first,
        };
        let link = match hop.direction {
            _ if hop.link == exit => return None,
            Direction::Forward => hop.link + 1,
            Direction::Reverse => hop.link - 1,
        };
        Some(HopId { link, ..hop })
    }
}

/// All hops of the path, and the routes of flows and tools.
#[derive(Debug)]
pub struct Network {
    forward: Vec<Hop>,
    reverse: Vec<Hop>,
    routes: Vec<Route>,
    tools: Vec<Route>,
}

/// Where a packet goes when it leaves a pipe.
#[derive(Debug)]
pub enum Onward {
    /// To the next hop.
    Hop(HopId, Packet),
    /// To an endpoint of the flow: the client when the direction is forward.
    Endpoint(FlowId, Direction, Packet),
    /// To a tool: to its receiver when the direction is forward.
    Tool(ToolId, Direction, Packet),
}

impl Network {
    /// Idle hops. `links` holds name, forward and reverse settings in forward order; `routes` are
    /// the flows', and `tools` the tools'.
    pub fn new(
        links: &[(&str, HopSettings, HopSettings)],
        routes: Vec<Route>,
        tools: Vec<Route>,
        seed: u64,
    ) -> Self {
        let forward = |(name, settings, _): &(&str, HopSettings, HopSettings)| {
            Hop::new(settings, seed, &format!("{name}.forward"))
        };
        let reverse = |(name, _, settings): &(&str, HopSettings, HopSettings)| {
            Hop::new(settings, seed, &format!("{name}.reverse"))
        };
        Self {
            forward: links.iter().map(forward).collect(),
            reverse: links.iter().map(reverse).collect(),
            routes,
            tools,
        }
    }

    /// A packet comes to a hop. Returns when its transmission finishes, if it begins at once.
    pub fn offer(&mut self, hop: HopId, now: Timestamp, packet: Packet) -> Option<Timestamp> {
        self.hop_mut(hop).offer(now, packet)
    }

    /// The transmission on `hop` that was due now is finished.
    pub fn finish(&mut self, hop: HopId, now: Timestamp) -> Finished {
        self.hop_mut(hop).finish(now)
    }

    /// Takes the packet that leaves the hop's pipe and says where it goes, and when the pipe's
    /// next one leaves.
    pub fn arrive(&mut self, hop: HopId, now: Timestamp) -> (Option<Onward>, Option<Timestamp>) {
        let (packet, next) = self.hop_mut(hop).arrive(now);
        (packet.and_then(|packet| self.onward(hop, packet)), next)
    }

    fn onward(&self, hop: HopId, packet: Packet) -> Option<Onward> {
        let route = match packet.owner {
            Owner::Flow(flow) => self.route(flow),
            Owner::Tool(tool) => self.route_of_tool(tool),
            Owner::Cross => return None,
        };
        Some(match (route.after(hop), packet.owner) {
            (Some(next), _) => Onward::Hop(next, packet),
            (None, Owner::Flow(flow)) => Onward::Endpoint(flow, hop.direction, packet),
            (None, Owner::Tool(tool)) => Onward::Tool(tool, hop.direction, packet),
            (None, Owner::Cross) => return None,
        })
    }

    /// The links a flow crosses.
    pub fn route(&self, flow: FlowId) -> Route {
        self.routes[flow.0]
    }

    /// The links a tool crosses.
    pub fn route_of_tool(&self, tool: ToolId) -> Route {
        self.tools[tool.0]
    }

    /// A hop.
    pub fn hop(&self, hop: HopId) -> &Hop {
        match hop.direction {
            Direction::Forward => &self.forward[hop.link],
            Direction::Reverse => &self.reverse[hop.link],
        }
    }

    fn hop_mut(&mut self, hop: HopId) -> &mut Hop {
        match hop.direction {
            Direction::Forward => &mut self.forward[hop.link],
            Direction::Reverse => &mut self.reverse[hop.link],
        }
    }

    /// How long ago, at least, a byte crossed `link` when its acknowledgement reaches the server:
    /// the propagation from the link's transmitter to the client and all the way back.
    pub fn delay_since_crossing(&self, flow: FlowId, link: usize) -> Duration {
        let route = self.route(flow);
        let ahead: Duration = (link..=route.last).map(|l| self.forward[l].delay()).sum();
        ahead + self.delay_back(flow)
    }

    /// Propagation from a flow's client to its server.
    pub fn delay_back(&self, flow: FlowId) -> Duration {
        let links = self.route(flow).links();
        links.map(|l| self.reverse[l].delay()).sum()
    }
}
