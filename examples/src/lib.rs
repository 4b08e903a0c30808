//! A file server and a client over real UDP sockets, with the available bandwidth measured inline.
//!
//! Plain quiche on tokio, not tokio-quiche: that one merges releases less than 50 µs apart and
//! hands several datagrams to the kernel at once (GSO). A probe stream needs every packet to be a
//! send of its own, at its own time.
//!
//! What makes the times good enough to measure with:
//!
//! * [`alarm`] wakes within a microsecond of a release time, where tokio's timers have a
//!   millisecond;
//! * [`socket`] takes the time of each datagram from the kernel, and the connection sees that time
//!   and not the moment when the process came round to it;
//! * [`fetch`] acknowledges a datagram before it reads the next, if the server asks for that, and
//!   tells when each one arrived;
//! * [`timing`] keeps account of how far the packets left from when they were to leave.

#![allow(clippy::disallowed_methods, reason = "real sockets run by the real clock")]
#![allow(clippy::disallowed_types, reason = "nothing here has to repeat itself")]

pub mod acknowledgements;
pub mod alarm;
mod amount;
pub mod bulk;
pub mod controller;
pub mod crosstraffic;
pub mod estimates;
pub mod families;
pub mod fetch;
pub mod output;
#[cfg(test)]
mod pair;
pub mod requirement;
pub mod serve;
mod session;
pub mod shutdown;
pub mod slots;
pub mod socket;
pub mod timing;
mod tls;
mod transport;
