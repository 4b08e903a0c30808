//! FQ-CoDel (RFC 8290): a queue with a CoDel of its own for each flow, served in turn. Flows are
//! told apart without collisions; all cross traffic of a link is one of them.

use super::codel::CoDel;
use super::{CoDelSettings, Fifo, Waiting};
use crate::network::{FlowId, Owner, ToolId};
use imtcp_cc::units::{Bytes, Timestamp};
use std::collections::VecDeque;

/// What a flow may send in its turn: a packet of 1500 bytes with its Ethernet header.
const QUANTUM: i64 = 1514;

#[derive(Debug)]
pub(super) struct FairQueue {
    settings: CoDelSettings,
    /// Cross traffic first, then flows and tools in turns.
    lanes: Vec<Lane>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    bytes: Bytes,
    packets: usize,
}

#[derive(Debug)]
struct Lane {
    fifo: Fifo,
    codel: CoDel,
    deficit: i64,
    /// Whether it is in one of the lists.
    is_listed: bool,
}

impl FairQueue {
    pub(super) fn new(settings: CoDelSettings) -> Self {
        Self {
            settings,
            lanes: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            bytes: Bytes::ZERO,
            packets: 0,
        }
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(super) fn packets(&self) -> usize {
        self.packets
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        let index = match waiting.packet.owner {
            Owner::Cross => 0,
            Owner::Flow(FlowId(flow)) => 2 * flow + 1,
            Owner::Tool(ToolId(tool)) => 2 * tool + 2,
        };
        let settings = self.settings;
        if self.lanes.len() <= index {
            self.lanes.resize_with(index + 1, || Lane {
                fifo: Fifo::default(),
                codel: CoDel::new(settings),
                deficit: 0,
                is_listed: false,
            });
        }
        self.bytes += waiting.packet.size;
        self.packets += 1;
        let lane = &mut self.lanes[index];
        lane.fifo.push(waiting);
        if !lane.is_listed {
            lane.is_listed = true;
            lane.deficit = QUANTUM;
            self.new.push_back(index);
        }
    }

    /// Drops the head of the flow that has most bytes here.
    pub(super) fn drop_from_fattest(&mut self) -> Option<Waiting> {
        let fattest = self.lanes.iter_mut().max_by_key(|lane| lane.fifo.bytes)?;
        let dropped = fattest.fifo.pop()?;
        self.forget(&dropped);
        Some(dropped)
    }

    pub(super) fn pop(&mut self, now: Timestamp, drop: &mut dyn FnMut(Waiting)) -> Option<Waiting> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = list.pop_front()?;
            let lane = &mut self.lanes[index];
            if lane.deficit <= 0 {
                lane.deficit += QUANTUM;
                self.old.push_back(index);
                continue;
            }
            let (mut gone, mut size) = (0, Bytes::ZERO);
            let popped = lane.codel.pop(&mut lane.fifo, now, &mut |dropped| {
                gone += 1;
                size += dropped.packet.size;
                drop(dropped);
            });
            self.packets -= gone;
            self.bytes = self.bytes.saturating_sub(size);
            let Some(popped) = popped else {
                // A new flow that is empty goes to the old ones, so that it cannot stay new.
                lane.is_listed = is_new;
                if is_new {
                    self.old.push_back(index);
                }
                continue;
            };
            lane.deficit -= i64::try_from(popped.packet.size.get()).unwrap_or(i64::MAX);
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.push_front(index);
            self.forget(&popped);
            return Some(popped);
        }
    }

    fn forget(&mut self, gone: &Waiting) {
        self.packets -= 1;
        self.bytes = self.bytes.saturating_sub(gone.packet.size);
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{ms, waiting};
    use super::*;

    fn owner(waiting: &Waiting) -> usize {
        match waiting.packet.owner {
            Owner::Flow(FlowId(flow)) => flow,
            Owner::Cross | Owner::Tool(_) => usize::MAX,
        }
    }

    #[test]
    fn a_newcomer_is_served_before_those_who_have_had_their_turn() {
        let mut fair = FairQueue::new(CoDelSettings::default());
        (0..6).for_each(|_| fair.push(waiting(0, 0.0)));
        let pop = |fair: &mut FairQueue| {
            let popped = fair.pop(ms(1.0), &mut |_| panic!("dropped"));
            popped.as_ref().map(owner)
        };
        // 1514 - 1500 leaves 14, so flow 0 has a second packet, and then owes 1486.
        assert_eq!([0; 2].map(|_| pop(&mut fair)), [Some(0), Some(0)]);
        (0..2).for_each(|_| fair.push(waiting(7, 0.0)));
        // Flow 7 is new and has two; then both take turns with what is left.
        let order = [0; 6].map(|_| pop(&mut fair));
        assert_eq!(order, [7, 7, 0, 0, 0, 0].map(Some));
        assert_eq!(pop(&mut fair), None);
        assert_eq!((fair.packets(), fair.bytes()), (0, Bytes::ZERO));
    }

    #[test]
    fn backlogged_flows_have_equal_shares_and_the_fattest_is_dropped_from() {
        let mut fair = FairQueue::new(CoDelSettings::default());
        (0..300).for_each(|_| fair.push(waiting(0, 0.0)));
        (0..100).for_each(|_| fair.push(waiting(1, 0.0)));
        let dropped = fair.drop_from_fattest().expect("there are 400");
        assert_eq!(owner(&dropped), 0);
        let mut served = [0; 2];
        for _ in 0..100 {
            let popped = fair.pop(ms(1.0), &mut |_| panic!("dropped"));
            served[owner(&popped.expect("there are 399"))] += 1;
        }
        assert!(served[0] >= 49 && served[1] >= 49, "{served:?}");
        assert_eq!(fair.packets(), 299);
    }
}
