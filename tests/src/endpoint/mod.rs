//! Real quiche endpoints, driven in virtual time: a server that sends and a client that
//! acknowledges, for every flow.
//!
//! A datagram that arrives is given to its connection at once; then the connection is asked for
//! datagrams until it has none, and its timer is armed. Nothing waits in a socket buffer and no
//! scheduler delays anything, so what the connections see of time is the path's doing alone.

mod cadence;
mod clock;
mod config;
mod delivery;
mod pair;
mod peer;
mod pool;
mod tap;

pub use clock::VirtualClock;
pub use delivery::Delivery;
pub use pair::{Outbox, Pair, PairError, Side, Surroundings};
pub use pool::Pool;
pub use tap::{Said, Tap};
