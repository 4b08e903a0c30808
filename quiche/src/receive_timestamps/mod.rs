//! Receive timestamps: acknowledgements that tell when each packet arrived
//! (<https://datatracker.ietf.org/doc/draft-ietf-quic-receive-ts/02/>).
//!
//! A plain ACK frame says *that* packets arrived, and for one of them how long its acknowledgement
//! was held. With this extension it says for each packet when it arrived, by the receiver's clock.
//! No queue on the way back can disturb that time.
//!
//! Each direction is agreed upon by itself. Both are off until they are switched on:
//!
//! | To | call | which |
//! |---|---|---|
//! | be told by the peer | [`Config::set_max_receive_timestamps_per_ack()`] | asks the peer |
//! | tell the peer | [`Config::enable_receive_timestamps()`] | answers a peer that asks |
//!
//! What the peer tells reaches the congestion controller as
//! [`AckReceived::receive_times`](crate::cc::AckReceived::receive_times).
//!
//! The time that is told is the one at which [`Connection::recv()`](crate::Connection::recv) was
//! called, or the one that [`clock::with`](crate::clock::with) gave it, which can be the kernel's.
//! Each packet is reported in two ACK frames, so that the loss of one frame loses no time. Times
//! count from an origin that the receiver chooses and keeps to itself; here it is the start of the
//! connection, so nothing is learned about the host's clock. PATH_ACK_RECEIVE_TIMESTAMPS (section 5
//! of the draft) is for multipath, which quiche does not have.
//!
//! [`Config::set_max_receive_timestamps_per_ack()`]:
//! crate::Config::set_max_receive_timestamps_per_ack
//! [`Config::enable_receive_timestamps()`]: crate::Config::enable_receive_timestamps

#![warn(clippy::all, missing_docs)]

mod codec;
mod config;
mod connection;
mod parameters;
mod reader;
mod recorder;
#[doc(hidden)]
pub mod wire;

pub(crate) use config::Settings;
pub(crate) use connection::AckPacket;
pub(crate) use connection::ReceiveTimestamps;
pub use parameters::Parameters;
pub use parameters::MAX_EXPONENT;
