//! The adapter between the core and quiche. Only this module names quiche types.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // By hand, for one quiche configuration:
//! let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
//! let factory = imtcp_cc::quiche::Factory::new(imtcp_cc::Config::default());
//! config.set_congestion_controller(Arc::new(factory));
//!
//! // Or once for the process, for whoever chooses an algorithm by name (tokio-quiche does):
//! imtcp_cc::quiche::register(imtcp_cc::Config::default())?;
//! config.set_cc_algorithm_name("imtcp")?;
//! # Ok(())
//! # }
//! ```

mod controller;
pub(crate) mod convert;
mod factory;
mod gaps;
mod memory;
mod names;
mod peer;
#[cfg(feature = "qlog")]
mod qlog;

pub use controller::Controller;
pub use factory::Factory;
pub use gaps::GapObserver;
pub use memory::RememberedPath;
pub use names::{NAME, NAME_WITHOUT_MEASUREMENT, register, register_as};
#[cfg(feature = "qlog")]
pub use qlog::Detail;

/// The number of receive times that a server should ask for in each acknowledgement, with
/// `quiche::Config::set_max_receive_timestamps_per_ack` (draft-ietf-quic-receive-ts-02). The
/// controller asks peers to acknowledge at most 16 packets together. quiche as a receiver reports
/// each packet twice, so that the loss of an acknowledgement loses no receive time.
pub const RECEIVE_TIMESTAMPS_PER_ACK: u64 = 32;
