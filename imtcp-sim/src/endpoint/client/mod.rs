//! The client of a flow, as one of several QUIC stacks. It connects, takes what the server sends,
//! and acknowledges.

mod cadence;
mod quiche;

use super::family::{noq, quinn};
use super::{Moment, PairError};
use crate::network::{Ecn, FlowId};
use crate::random::Random;
use crate::scenario::{Flow, Stack};
use imtcp_cc::units::Timestamp;

/// A client's connection, whatever the stack.
pub(super) trait Client {
    /// A datagram arrives, with its number among the server's datagrams, from 0, and its ECN field.
    fn receive(&mut self, moment: Moment<'_>, payload: &mut [u8], arrived: (u64, Ecn));

    /// Writes the next datagram that should leave now. The buffer has its full length before the
    /// call, and the datagram's afterwards. False if there is no datagram.
    fn transmit(&mut self, moment: Moment<'_>, buffer: &mut Vec<u8>) -> bool;

    /// When [`Client::on_time`] should be called.
    fn due(&mut self, moment: Moment<'_>) -> Option<Timestamp>;

    /// The time it asked for has come.
    fn on_time(&mut self, moment: Moment<'_>);

    /// Reads all that has arrived for the application. Returns the number of bytes.
    fn read(&mut self) -> u64;
}

/// Connects a client that is configured. None if the stack refuses. It refuses for its
/// configuration alone, and that is checked before.
pub(super) type Dial = Box<dyn FnOnce(Moment<'_>) -> Option<Box<dyn Client>>>;

/// Configures a flow's client.
///
/// # Errors
/// The stack refuses a part of the configuration.
pub(super) fn prepare(id: FlowId, flow: &Flow, seed: u64) -> Result<Dial, PairError> {
    let random = || Random::for_component(seed, &format!("client.{}", flow.name));
    match flow.receiver.stack {
        Stack::Quiche => quiche::prepare(id, flow).map_err(|error| PairError::client(flow, error)),
        Stack::Quinn => {
            quinn::client::prepare(flow, random()).map_err(|error| PairError::client(flow, error))
        }
        Stack::Noq => {
            noq::client::prepare(flow, random()).map_err(|error| PairError::client(flow, error))
        }
    }
}
