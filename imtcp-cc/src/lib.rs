//! A congestion controller for QUIC that knows how much bandwidth its path has left, and that gives
//! an application the rate it asks for, or says in time that it will not.
//!
//! It measures inline: it spaces packets of the application so that their acknowledgements tell the
//! available bandwidth, and it adds no packet. The algorithms come from ImTCP (Man, Hasegawa and
//! Murata, 2005) and its family. `docs/ALGORITHM.md` says where each equation is computed, and
//! lists the papers with short names. A comment that says "IM 3.2.3" means section 3.2.3 of the
//! paper IM.
//!
//! # The three types to know
//!
//! - [`Config`]: the settings of a controller. They are checked once, when it is built.
//! - [`ImTcp`]: the controller of one path. A transport asks it when the next packet may leave, and
//!   tells it what happened. With the feature `quiche` a `quiche::Factory` builds one per path, and
//!   `quiche::register` makes it known by name.
//! - [`promise::Promise`]: the handle of a connection, for any thread of the application. It asks
//!   for a rate, and answers with estimates, warnings and reports.
//!
//! ```
//! use imtcp_cc::promise::Requirement;
//! use imtcp_cc::units::{Bandwidth, Bytes};
//! use imtcp_cc::{Config, ImTcp};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let controller = ImTcp::new(Config::default(), Bytes::new(1350), None);
//! let promise = controller.promise();
//! promise.require(Requirement::from_f64(8e6, 2.0)?)?; // 8 Mbit/s over every 2 s
//! let required = promise.required().map(|requirement| requirement.rate());
//! assert_eq!(required, Some(Bandwidth::from_mbps(8)));
//! assert!(promise.estimate().is_none()); // no packet has left yet
//! # Ok(())
//! # }
//! ```
//!
//! # Without I/O
//!
//! The core reads no clock, opens no socket, spawns nothing and draws no entropy. The caller passes
//! the time in as [`units::Timestamp`]. The core reports what happened as [`event::Event`]s. Only
//! the module behind the feature `quiche` names quiche types.

pub mod bulk_share;
mod chance;
pub mod config;
mod control;
mod deviation;
pub mod estimate;
pub mod event;
mod imtcp;
mod input;
mod log;
mod loss_run;
mod loss_share;
mod measurement;
mod mode;
mod path;
pub mod promise;
#[cfg(feature = "json")]
pub mod qlog;
#[cfg(feature = "quiche")]
pub mod quiche;
mod saved;
mod scheduler;
pub mod standalone;
mod stream_report;
pub mod transport;
pub mod units;
mod window;

pub use bulk_share::BulkShare;
pub use config::{Config, ConfigError};
pub use control::Phase;
pub use control::Window;
pub use estimate::{Estimate, EstimatorKind, Flags};
pub use imtcp::ImTcp;
pub use input::Input;
pub use log::Logged;
pub use mode::{Mode, RejectedMode};
pub use path::{PathInfo, Role};
pub use saved::SavedPath;
pub use stream_report::{ProbePacket, StreamReport};

/// Parts of the library, for research and for fuzzing. No version keeps them as they are.
#[cfg(feature = "unstable")]
pub mod unstable {
    pub use crate::measurement::cprobe::rate as cprobe_rate;
    pub use crate::measurement::record::{Arrival, PacketRecord};
    pub use crate::path::ack::{Echo, EchoGap, EchoQuality, EchoTracker, Reading, ReceiveClock};
    pub use crate::path::capacity::ResidualCapacity;
    #[cfg(feature = "quiche")]
    pub use crate::quiche::convert::{Origin, round_trip};
    pub use crate::window::usage::WindowUsage;
}

/// The code in the README compiles.
#[cfg(all(doctest, feature = "quiche"))]
#[doc = include_str!("../../README.md")]
mod readme {}
