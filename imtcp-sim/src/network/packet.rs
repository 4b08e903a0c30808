//! What travels over a link.

use imtcp_cc::units::{Bytes, Timestamp};

/// Which way along the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From servers to clients: the way of the data.
    Forward,
    /// From clients to servers: the way of the acknowledgements.
    Reverse,
}

/// A flow's index in the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(pub usize);

/// A tool's index in the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolId(pub usize);

/// Whose bytes a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Cross traffic; it leaves the path after one hop.
    Cross,
    /// A flow with real endpoints.
    Flow(FlowId),
    /// A tool that measures.
    Tool(ToolId),
}

/// The ECN field of an IP packet (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The sender takes no marks: a queue drops instead.
    #[default]
    NotCapable,
    /// ECT(0): a mark is a loss to the sender.
    Ect0,
    /// ECT(1): the sender takes many marks for little (RFC 9331).
    Ect1,
    /// A queue has marked the packet.
    Experienced,
}

impl Ecn {
    /// Marks the packet, if its sender takes marks.
    pub(super) fn mark(&mut self) -> bool {
        let can = *self != Self::NotCapable;
        if can {
            *self = Self::Experienced;
        }
        can
    }
}

/// An IP packet.
#[derive(Debug)]
pub struct Packet {
    /// Its size on the link: the IP packet with all headers.
    pub size: Bytes,
    /// Its owner.
    pub owner: Owner,
    /// What queues may do instead of dropping it, and have done.
    pub ecn: Ecn,
    /// What an endpoint gets to see; cross traffic carries nothing.
    pub datagram: Option<Datagram>,
    /// What a tool's packet is for.
    pub probe: Option<Probe>,
}

/// What a tool's packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Of which of the tool's measurements it is.
    pub measurement: u32,
    /// A probe, or a message between sender and receiver.
    pub kind: ProbeKind,
}

/// A packet of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// A probe with its number; on the way back, its echo.
    Probe(u64),
    /// The sender asks what has come; on the way back, the answer.
    Question(u64),
}

/// A UDP datagram of a flow, and what the simulator alone knows about it.
#[derive(Debug)]
pub struct Datagram {
    /// The UDP payload.
    pub payload: Vec<u8>,
    /// The ECN field with which it arrived.
    pub ecn: Ecn,
    /// For the simulator's own round-trip times.
    pub stamp: Stamp,
}

/// Carried along for round-trip samples that no endpoint had to estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Counts the server's datagrams from 0; meaningless in those of the client.
    pub number: u64,
    /// When this datagram left its sender.
    pub sent: Timestamp,
    /// In a client's datagram: when the server's datagram that came last had left the server, and
    /// when it came.
    pub answers: Option<(Timestamp, Timestamp)>,
    /// In a client's datagram: application bytes that it had read by then.
    pub read: u64,
}
