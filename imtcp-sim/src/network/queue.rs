//! What waits for the transmitter, and what is dropped instead: at the tail when the queue is full,
//! or before that by a discipline that manages it. A discipline marks in place of dropping where
//! the packet's sender takes marks.

mod codel;
mod dual;
mod fair;
mod pie;
mod red;

pub use codel::CoDelSettings;
pub use dual::DualPi2Settings;
pub use pie::PieSettings;
pub use red::RedSettings;

use super::{Counters, Packet};
use crate::random::Random;
use codel::CoDel;
use dual::DualPi2;
use fair::FairQueue;
use imtcp_cc::units::{Bytes, Timestamp};
use pie::Pie;
use red::Red;
use std::collections::VecDeque;
use std::time::Duration;

/// How much may wait. The packet being transmitted does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most so many bytes of IP packets.
    Bytes(Bytes),
    /// At most so many packets of any size.
    Packets(u64),
}

impl QueueLimit {
    fn holds(self, bytes: Bytes, packets: usize) -> bool {
        match self {
            Self::Bytes(limit) => bytes <= limit,
            Self::Packets(limit) => packets as u64 <= limit,
        }
    }
}

/// How a queue is managed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Discipline {
    /// Packets are dropped when the queue is full.
    #[default]
    DropTail,
    /// CoDel (RFC 8289).
    CoDel(CoDelSettings),
    /// FQ-CoDel (RFC 8290), with a queue for each flow and one for all cross traffic.
    FqCoDel(CoDelSettings),
    /// PIE (RFC 8033).
    Pie(PieSettings),
    /// RED (Floyd and Jacobson 1993), gentle.
    Red(RedSettings),
    /// DualPI2 (RFC 9332): a queue for ECT(1), and one for all others.
    DualPi2(DualPi2Settings),
}

impl Discipline {
    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DropTail => "drop-tail",
            Self::CoDel(_) => "codel",
            Self::FqCoDel(_) => "fq-codel",
            Self::Pie(_) => "pie",
            Self::Red(_) => "red",
            Self::DualPi2(_) => "dualpi2",
        }
    }
}

/// A packet in a queue.
#[derive(Debug)]
pub struct Waiting {
    /// The packet.
    pub packet: Packet,
    /// When it came.
    pub came: Timestamp,
    /// Whether this queue has marked it.
    pub marked: bool,
}

impl Waiting {
    fn new(packet: Packet, came: Timestamp) -> Self {
        Self {
            packet,
            came,
            marked: false,
        }
    }

    /// Marks the packet, if its sender takes marks.
    fn mark(&mut self) -> bool {
        let before = self.packet.ecn;
        let can = self.packet.ecn.mark();
        // It may have come with a mark of another queue.
        self.marked |= before != self.packet.ecn;
        can
    }
}

/// Packets, first in first out.
#[derive(Debug, Default)]
struct Fifo {
    waiting: VecDeque<Waiting>,
    bytes: Bytes,
}

impl Fifo {
    fn push(&mut self, waiting: Waiting) {
        self.bytes += waiting.packet.size;
        self.waiting.push_back(waiting);
    }

    /// How long the packet at the head has waited.
    fn delay(&self, now: Timestamp) -> Duration {
        let head = self.waiting.front();
        head.map_or(Duration::ZERO, |head| now.saturating_since(head.came))
    }

    fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(waiting.packet.size);
        Some(waiting)
    }
}

/// Packets waiting for the transmitter.
#[derive(Debug)]
pub struct Queue {
    limit: QueueLimit,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    DropTail(Fifo),
    CoDel(Fifo, CoDel),
    Fair(FairQueue),
    Pie(Fifo, Pie),
    Red(Fifo, Red),
    Dual(DualPi2),
}

impl Queue {
    /// An empty queue. `random` is for disciplines that drop by chance.
    pub fn new(limit: QueueLimit, discipline: &Discipline, random: Random) -> Self {
        let fifo = Fifo::default();
        let kind = match discipline {
            Discipline::DropTail => Kind::DropTail(fifo),
            Discipline::CoDel(settings) => Kind::CoDel(fifo, CoDel::new(*settings)),
            Discipline::FqCoDel(settings) => Kind::Fair(FairQueue::new(*settings)),
            Discipline::Pie(settings) => Kind::Pie(fifo, Pie::new(*settings, random)),
            Discipline::Red(settings) => Kind::Red(fifo, Red::new(*settings, random)),
            Discipline::DualPi2(settings) => Kind::Dual(DualPi2::new(*settings)),
        };
        Self { limit, kind }
    }

    /// Takes a packet, or drops it or another one, which `counters` are told.
    pub fn push(&mut self, now: Timestamp, packet: Packet, counters: &mut Counters) {
        let limit = self.limit;
        let mut waiting = Waiting::new(packet, now);
        let size = waiting.packet.size;
        let is_full = |fifo: &Fifo| !limit.holds(fifo.bytes + size, fifo.waiting.len() + 1);
        // Whether the packet is dropped early, and whether a mark would do.
        let (fifo, early, may_mark) = match &mut self.kind {
            Kind::DropTail(fifo) | Kind::CoDel(fifo, _) => (fifo, false, false),
            Kind::Pie(fifo, pie) => {
                let early = pie.drops(now, fifo);
                (fifo, early, pie.may_mark())
            }
            Kind::Red(fifo, red) => {
                let early = red.drops(now, fifo);
                (fifo, early, red.may_mark())
            }
            Kind::Dual(dual) => {
                if limit.holds(dual.bytes() + size, dual.packets() + 1) {
                    dual.push(waiting);
                } else {
                    counters.overflowed.add(&waiting.packet);
                }
                return;
            }
            Kind::Fair(fair) => {
                fair.push(waiting);
                while !limit.holds(fair.bytes(), fair.packets()) {
                    match fair.drop_from_fattest() {
                        Some(dropped) => counters.overflowed.add(&dropped.packet),
                        None => break,
                    }
                }
                return;
            }
        };
        if is_full(fifo) {
            counters.overflowed.add(&waiting.packet);
        } else if early && !(may_mark && waiting.mark()) {
            counters.managed.add(&waiting.packet);
        } else {
            fifo.push(waiting);
        }
    }

    /// Takes the packet that is to be transmitted next. What is dropped instead, `counters` are
    /// told.
    pub fn pop(&mut self, now: Timestamp, counters: &mut Counters) -> Option<Waiting> {
        let drop = &mut |dropped: Waiting| counters.managed.add(&dropped.packet);
        let next = match &mut self.kind {
            Kind::DropTail(fifo) => fifo.pop(),
            Kind::CoDel(fifo, codel) => codel.pop(fifo, now, drop),
            Kind::Fair(fair) => fair.pop(now, drop),
            Kind::Pie(fifo, pie) => pie.pop(fifo, now),
            Kind::Red(fifo, red) => red.pop(fifo, now),
            Kind::Dual(dual) => dual.pop(now, drop),
        };
        if let Some(marked) = next.as_ref().filter(|next| next.marked) {
            counters.marked.add(&marked.packet);
        }
        next
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> Bytes {
        match &self.kind {
            Kind::DropTail(fifo)
            | Kind::CoDel(fifo, _)
            | Kind::Pie(fifo, _)
            | Kind::Red(fifo, _) => fifo.bytes,
            Kind::Fair(fair) => fair.bytes(),
            Kind::Dual(dual) => dual.bytes(),
        }
    }
}

/// What tests put into queues.
#[cfg(test)]
mod samples {
    use super::super::{Ecn, FlowId, Owner};
    use super::*;

    pub(super) fn ms(ms: f64) -> Timestamp {
        Timestamp::from_origin(Duration::from_secs_f64(ms / 1e3))
    }

    pub(super) fn waiting(flow: usize, came_ms: f64) -> Waiting {
        let packet = Packet {
            size: Bytes::new(1500),
            owner: Owner::Flow(FlowId(flow)),
            ecn: Ecn::NotCapable,
            datagram: None,
            probe: None,
        };
        Waiting::new(packet, ms(came_ms))
    }

    /// The same from a sender that takes marks.
    pub(super) fn capable(flow: usize, came_ms: f64, ecn: Ecn) -> Waiting {
        let mut waiting = waiting(flow, came_ms);
        waiting.packet.ecn = ecn;
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ecn;
    use super::samples::{capable, ms};
    use super::*;

    /// Drops and marks of a queue that is filled with a thousand packets and emptied.
    fn early(ecn: Ecn, upper: Bytes) -> [u64; 2] {
        let red = RedSettings {
            lower: Bytes::new(1),
            upper,
            most: 1.0,
            transmission: Duration::from_millis(1),
        };
        let limit = QueueLimit::Packets(10_000);
        let random = Random::for_component(1, "queue");
        let mut queue = Queue::new(limit, &Discipline::Red(red), random);
        let mut counters = Counters::default();
        for _ in 0..1000 {
            let packet = capable(0, 0.0, ecn).packet;
            queue.push(ms(0.0), packet, &mut counters);
        }
        while queue.pop(ms(0.0), &mut counters).is_some() {}
        [counters.managed.packets, counters.marked.packets]
    }

    #[test]
    fn a_mark_takes_the_place_of_an_early_drop_where_the_sender_takes_marks() {
        // The mean stays below this threshold.
        let upper = Bytes::new(3_000_000);
        let [dropped, marked] = early(Ecn::NotCapable, upper);
        assert!(dropped > 50 && marked == 0, "{dropped} {marked}");
        for ecn in [Ecn::Ect0, Ecn::Ect1] {
            let [dropped, marked] = early(ecn, upper);
            assert!(dropped == 0 && marked > 50, "{dropped} {marked}");
        }
        // What comes marked is no mark of this queue.
        assert_eq!(early(Ecn::Experienced, upper), [0, 0]);
    }

    #[test]
    fn above_the_upper_threshold_everybody_is_dropped() {
        let [dropped, marked] = early(Ecn::Ect0, Bytes::new(30_000));
        assert!(dropped > 500, "{dropped}");
        assert!((1..400).contains(&marked), "{marked}");
    }
}
