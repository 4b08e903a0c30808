//! Inline available-bandwidth measurement and congestion control for QUIC.
//!
//! The core is sans-I/O: it reads no clock, opens no socket, spawns nothing and draws no entropy.
//! Time comes in as [`units::Timestamp`]; what happened goes out as [`event::Event`]s. Only the
//! room behind feature `quiche` names quiche types.
//!
//! "IM 3.2.3" in a comment is section 3.2.3 of the paper that docs/ALGORITHM.md lists as IM; the
//! same page says where each equation is computed.

pub mod ack;
pub mod capacity;
pub mod config;
pub mod estimate;
pub mod event;
mod imtcp;
pub mod measurement;
mod probing;
pub mod promise;
#[cfg(feature = "quiche")]
pub mod quiche;
pub mod scheduler;
pub mod transport;
pub mod units;
pub mod window;

pub use config::{Config, ConfigError};
pub use estimate::{Estimate, EstimatorKind, Flags};
pub use imtcp::ImTcp;

/// The code in the README compiles.
#[cfg(all(doctest, feature = "quiche"))]
#[doc = include_str!("../../README.md")]
mod readme {}
