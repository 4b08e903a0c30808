//! Real endpoints, driven in virtual time: for every flow a server, which sends, and a client,
//! which acknowledges. Either is quiche or another stack.
//!
//! A datagram that arrives is given to its connection at once. Then the connection is asked for
//! datagrams until it has none, and its timer is armed. On an ideal host nothing waits in a socket
//! buffer and no scheduler delays anything, so the path alone makes the times that connections see.
//! A scenario can choose other hosts.

mod alarm;
mod client;
mod clock;
mod config;
mod delivery;
mod departures;
mod ecn;
mod family;
mod host;
mod pair;
mod pool;
mod server;
mod surroundings;
mod tap;

pub use clock::VirtualClock;
pub use delivery::Delivery;
pub use departures::{Departure, Departures};
pub use pair::Pair;
pub use pool::Pool;
pub use server::Account;
pub use surroundings::{Outbox, PairError, Side, Surroundings};
pub use tap::{Said, Tap};

use crate::network::FlowId;
use clock::Moment;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Addresses for documentation (RFC 5737); every flow has its own pair of connections, so that all
/// may share them.
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);
const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)), 50_000);
/// Why a connection ended that heard nothing for so long.
pub const TIMED_OUT: &str = "idle timeout";
/// No scenario is silent for so long unless its path is dead.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Eight bytes that name the flow and the side.
fn connection_id(flow: FlowId, side: Side) -> quiche::ConnectionId<'static> {
    let flow = (flow.0 as u64) << 1 | u64::from(side == Side::Server);
    quiche::ConnectionId::from_vec(flow.to_be_bytes().to_vec())
}
