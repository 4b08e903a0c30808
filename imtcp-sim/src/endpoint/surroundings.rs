//! What a pair needs of the simulation around it, and what it hands back.

use super::{Moment, Pool, VirtualClock};
use crate::network::{Direction, Packet};
use crate::scenario::{Flow, Stack};
use imtcp_cc::units::Timestamp;

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Sends the data.
    Server,
    /// Acknowledges it.
    Client,
}

impl Side {
    /// The way that this side's datagrams take.
    pub fn sends(self) -> Direction {
        match self {
            Self::Server => Direction::Forward,
            Self::Client => Direction::Reverse,
        }
    }
}

/// What a pair asks for: datagrams to put on the path, and times at which to wake its sides.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Packets, with the direction in which they leave, and when.
    pub packets: Vec<(Direction, Timestamp, Packet)>,
    /// Wake-ups.
    pub wakes: Vec<(Side, Timestamp)>,
}

/// What a pair needs of its surroundings.
pub struct Surroundings<'a> {
    /// Virtual time.
    pub now: Timestamp,
    /// What the connections read as time.
    pub clock: &'a VirtualClock,
    /// Buffers.
    pub pool: &'a mut Pool,
    /// Where the results go.
    pub outbox: &'a mut Outbox,
}

impl<'a> Surroundings<'a> {
    pub(super) fn moment(&self) -> Moment<'a> {
        Moment {
            now: self.now,
            clock: self.clock,
        }
    }
}

/// A flow that cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("flow {flow}: {stack} refuses its configuration: {error}")]
pub struct PairError {
    flow: String,
    stack: &'static str,
    error: Box<dyn std::error::Error + Send + Sync>,
}

impl PairError {
    /// The client's stack refused.
    pub(super) fn client<E: std::error::Error + Send + Sync + 'static>(
        flow: &Flow,
        error: E,
    ) -> Self {
        Self::of(flow, flow.receiver.stack, error)
    }

    /// The server's stack refused.
    pub(super) fn server<E: std::error::Error + Send + Sync + 'static>(
        flow: &Flow,
        error: E,
    ) -> Self {
        Self::of(flow, flow.controller.stack(), error)
    }

    fn of<E: std::error::Error + Send + Sync + 'static>(
        flow: &Flow,
        stack: Stack,
        error: E,
    ) -> Self {
        Self {
            flow: flow.name.clone(),
            stack: stack.name(),
            error: Box::new(error),
        }
    }
}
