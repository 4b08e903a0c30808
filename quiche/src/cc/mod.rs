//! Congestion controllers of the application's own.
//!
//! A [`CongestionController`] decides how much may be in flight and when each packet may leave. It
//! is chosen with [`Config::set_congestion_controller()`](crate::Config::set_congestion_controller)
//! or, after [`register`], by name.
//!
//! ```text
//!             stream and datagram queues
//!                        | queued bytes
//!   next_release?        v
//!   Now | At | Hold   the gate ---> packet ---> on_packet_sent
//!                        ^
//!        window less bytes in flight
//!
//!   ACK frame ---> quiche's loss detection ---> on_loss, on_ack
//! ```
//!
//! The gate stands in front of application data only. These are stream and datagram frames, and
//! probes of the path MTU, which leave in their place. Everything else leaves without asking:
//! acknowledgements, probe packets after a timeout, the handshake, path validation, all other
//! control frames, and the close of the connection. What counts as in flight is bound by the
//! window, as upstream.
//!
//! Data that is held always has a timer: the release time, or quiche's timer of loss detection.
//!
//! A release time is part of [`Connection::timeout_instant()`](crate::Connection::timeout_instant),
//! so an event loop that sleeps until then, calls `on_timeout()` and then `send()` paces without
//! knowing it. No packet is built before its time: what is stored is data, never a datagram, and
//! the send time that goes into the round trip is the real one.
//!
//! Each path has a controller of its own. What those of one connection have in common has a place
//! in [`PathIdentity::common`].
//!
//! A controller may also say how often the peer acknowledges, or which packets it acknowledges at
//! once ([`CongestionController::ack_frequency`], [`CongestionController::immediate_ack`]), if the
//! peer understands draft-ietf-quic-ack-frequency-14.

#![warn(clippy::all, missing_docs)]

mod acks;
mod config;
mod controller;
#[doc(hidden)]
pub mod ecn;
mod event;
mod identity;
mod registry;

pub use acks::AckFrequency;
pub use acks::PeerAcks;
pub(crate) use config::FactoryHandle;
pub use controller::CongestionController;
pub use controller::Factory;
pub use controller::PathContext;
pub use event::AckReceived;
pub use event::AckedPacket;
pub use event::LostPacket;
pub use event::PacketSent;
pub use event::PacketSpace;
pub use event::PacketsLost;
pub use event::ReceiveTime;
pub use event::Release;
pub use event::Rtt;
pub use event::SendContext;
pub use identity::Common;
pub use identity::PathIdentity;
pub use registry::register;
pub use registry::register_all;
pub use registry::registered;
pub use registry::RegisterError;
