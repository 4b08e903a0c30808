//! What waits for the transmitter, and what is dropped instead: at the tail when the queue is full,
//! or before that by a discipline that manages it.
//!
//! No flow here sets ECN marks, so the disciplines drop where they could mark.

mod codel;
mod fair;
mod pie;
mod red;

pub use codel::CoDelSettings;
pub use pie::PieSettings;
pub use red::RedSettings;

use super::{Counters, Packet};
use crate::random::Random;
use codel::CoDel;
use fair::FairQueue;
use imtcp_cc::units::{Bytes, Timestamp};
use pie::Pie;
use red::Red;
use std::collections::VecDeque;

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
        };
        Self { limit, kind }
    }

    /// Takes a packet, or drops it or another one, which `counters` are told.
    pub fn push(&mut self, now: Timestamp, packet: Packet, counters: &mut Counters) {
        let limit = self.limit;
        let is_full = |fifo: &Fifo| !limit.holds(fifo.bytes + packet.size, fifo.waiting.len() + 1);
        let (fifo, early) = match &mut self.kind {
            Kind::DropTail(fifo) | Kind::CoDel(fifo, _) => (fifo, false),
            Kind::Pie(fifo, pie) => {
                let early = pie.drops(now, fifo);
                (fifo, early)
            }
            Kind::Red(fifo, red) => {
                let early = red.drops(now, fifo);
                (fifo, early)
            }
            Kind::Fair(fair) => {
                fair.push(Waiting { packet, came: now });
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
            counters.overflowed.add(&packet);
        } else if early {
            counters.managed.add(&packet);
        } else {
            fifo.push(Waiting { packet, came: now });
        }
    }

    /// Takes the packet that is to be transmitted next. What is dropped instead, `counters` are
    /// told.
    pub fn pop(&mut self, now: Timestamp, counters: &mut Counters) -> Option<Waiting> {
        let drop = &mut |dropped: Waiting| counters.managed.add(&dropped.packet);
        match &mut self.kind {
            Kind::DropTail(fifo) => fifo.pop(),
            Kind::CoDel(fifo, codel) => codel.pop(fifo, now, drop),
            Kind::Fair(fair) => fair.pop(now, drop),
            Kind::Pie(fifo, pie) => pie.pop(fifo, now),
            Kind::Red(fifo, red) => red.pop(fifo, now),
        }
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> Bytes {
        match &self.kind {
            Kind::DropTail(fifo)
            | Kind::CoDel(fifo, _)
            | Kind::Pie(fifo, _)
            | Kind::Red(fifo, _) => fifo.bytes,
            Kind::Fair(fair) => fair.bytes(),
        }
    }
}

/// What tests put into queues.
#[cfg(test)]
mod samples {
    use super::super::{FlowId, Owner};
    use super::*;
    use std::time::Duration;

    pub(super) fn ms(ms: f64) -> Timestamp {
        Timestamp::from_origin(Duration::from_secs_f64(ms / 1e3))
    }

    pub(super) fn waiting(flow: usize, came_ms: f64) -> Waiting {
        let packet = Packet {
            size: Bytes::new(1500),
            owner: Owner::Flow(FlowId(flow)),
            datagram: None,
        };
        Waiting {
            packet,
            came: ms(came_ms),
        }
    }
}
