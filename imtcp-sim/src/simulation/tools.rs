//! What tools do in a run.

use super::{Event, Simulation};
use crate::network::{Direction, HopId, Owner, Packet, ToolId};
use imtcp_cc::units::Bandwidth;

impl Simulation<'_> {
    /// A packet of a tool came to one of its ends.
    pub(super) fn probe(&mut self, tool: ToolId, direction: Direction, packet: &Packet) {
        let now = self.agenda.now();
        self.tools[tool.0].receive(now, direction, packet, &mut self.wishes);
        self.measure(tool);
    }

    /// Follows what tools add to the queues.
    pub(super) fn watch(&mut self, hop: HopId, packet: &Packet) {
        if self.added.is_empty() || hop.direction == Direction::Reverse {
            return;
        }
        let is_of_tool = matches!(packet.owner, Owner::Tool(_));
        self.added[hop.link].offer(self.agenda.now(), packet.size, is_of_tool);
        for (index, tool) in self.tools.iter_mut().enumerate() {
            let links = self.network.route_of_tool(ToolId(index)).links();
            tool.notice(links.map(|link| self.added[link].seconds()).sum());
        }
    }

    /// Lets a tool act, then carries out what it wants done.
    pub(super) fn measure(&mut self, tool: ToolId) {
        let now = self.agenda.now();
        let route = self.network.route_of_tool(tool);
        let capacities = route.links().map(|link| {
            let hop = &self.scenario.links[link].forward;
            hop.lasting_rate_at(now)
        });
        let capacity = capacities.min().unwrap_or(Bandwidth::ZERO);
        let links = route.links();
        let added = links.map(|link| self.added[link].integral(now)).sum();
        self.tools[tool.0].wake(now, capacity, added, &mut self.wishes);
        let mut wishes = std::mem::take(&mut self.wishes);
        for (direction, packet) in wishes.packets.drain(..) {
            self.offer(route.entry(direction), packet);
        }
        for at in wishes.wakes.drain(..) {
            self.agenda.schedule(at, Event::Measure(tool));
        }
        self.wishes = wishes;
    }
}
