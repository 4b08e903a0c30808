//! The server of a flow, as one of several QUIC stacks. It sends what its application has.

pub(super) mod quiche;

use super::family::{noq, quinn};
use super::{Departures, Moment, PairError, Tap};
use crate::application::Outlet;
use crate::network::{Ecn, FlowId};
use crate::random::Random;
use crate::scenario::{Controller, Flow};
use imtcp_cc::quiche::{Detail, Factory};
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// A server's connection, whatever the stack.
pub(super) trait Server {
    /// A datagram arrives.
    fn receive(&mut self, moment: Moment<'_>, payload: &mut [u8], ecn: Ecn);

    /// Writes the next datagram that may leave now. The buffer has its full length before the call,
    /// and the datagram's afterwards. False if there is no datagram.
    fn transmit(&mut self, moment: Moment<'_>, buffer: &mut Vec<u8>) -> bool;

    /// When [`Server::on_time`] should be called.
    fn due(&mut self, moment: Moment<'_>) -> Option<Timestamp>;

    /// The time it asked for has come.
    fn on_time(&mut self, moment: Moment<'_>);

    /// Ends the connection.
    fn close(&mut self, moment: Moment<'_>);

    /// Where the application puts its data, while it may.
    fn outlet(&mut self) -> Option<&mut dyn Outlet>;

    /// The ECN field of the datagram that was sent last.
    fn mark(&self) -> Ecn;

    /// What it counts, and what it tells of its path.
    fn account(&self) -> Account;

    /// Why the connection ended, if it has.
    fn ended(&self) -> Option<String>;

    /// The connection, if the stack is quiche.
    fn quiche(&self) -> Option<&::quiche::Connection> {
        None
    }
}

/// Waits for a client.
pub(super) trait Listener {
    /// The client's first datagram is there. None if the stack refuses.
    fn accept(&mut self) -> Option<Box<dyn Server>>;

    /// The connection writes its qlog to `writer`, and its controller logs so much. Stacks other
    /// than quiche write none.
    fn set_qlog(&mut self, _: &Flow, _: Box<dyn Write + Send + Sync>, _: Detail) {}

    /// Records when data leaves, in the place of a qlog.
    fn watch_departures(&mut self, _: Departures) {}
}

/// What a server counts, and what it tells of its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Congestion window in bytes of UDP payload.
    pub window: u64,
    /// The smoothed round trip.
    pub smoothed_rtt: Duration,
    /// QUIC packets sent.
    pub sent_packets: u64,
    /// UDP payload sent.
    pub sent_bytes: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Stream data sent again. Of stacks that do not count it, what was lost.
    pub retransmitted_bytes: u64,
    /// What the stack tells of the path's bandwidth in bit/s, if anything.
    pub told_bps: Option<u64>,
}

impl Account {
    /// The rate that window and round trip make, in bit/s.
    pub(super) fn window_per_round_trip(&self) -> Option<u64> {
        let seconds = self.smoothed_rtt.as_secs_f64();
        let rate = Bandwidth::from_bps_f64(self.window as f64 * 8.0 / seconds);
        (seconds > 0.0).then_some(rate.as_bps())
    }
}

/// Configures a flow's server, which belongs to the process that has the factory `process`, or is a
/// process of its own.
///
/// # Errors
/// The stack refuses a part of the configuration.
pub(super) fn prepare(
    id: FlowId,
    flow: &Flow,
    seed: u64,
    (tap, process): (&Arc<Tap>, Option<&Factory>),
) -> Result<Box<dyn Listener>, PairError> {
    let Controller::Foreign(kind) = flow.controller else {
        return quiche::prepare(id, flow, (tap, process))
            .map_err(|error| PairError::server(flow, error));
    };
    let random = Random::for_component(seed, &format!("server.{}", flow.name));
    let prepare = match kind.is_of_quinn() {
        true => quinn::server::prepare,
        false => noq::server::prepare,
    };
    prepare(kind, flow, random).map_err(|error| PairError::server(flow, error))
}
