//! Inline available-bandwidth measurement and congestion control for QUIC.
//!
//! The core is sans-I/O: it reads no clock, opens no socket, spawns nothing and draws no entropy.
//! The caller passes the time in as [`units::Timestamp`]. The core reports what happened as
//! [`event::Event`]s. Only the module behind the feature `quiche` names quiche types.
//!
//! In a comment "IM 3.2.3" means section 3.2.3 of the paper that docs/ALGORITHM.md lists as IM.
//! The same page says where each equation is computed.

pub mod ack;
pub mod capacity;
pub mod config;
pub mod estimate;
pub mod event;
mod imtcp;
pub mod measurement;
pub mod path;
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
pub use path::{PathInfo, Role};

/// The code in the README compiles.
#[cfg(all(doctest, feature = "quiche"))]
#[doc = include_str!("../../README.md")]
mod readme {}
