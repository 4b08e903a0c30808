//! The adapter: the only room that names quiche types.
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
mod convert;
mod names;
#[cfg(feature = "qlog")]
mod qlog;

pub use controller::Controller;
pub use names::{NAME, NAME_WITHOUT_MEASUREMENT, register, register_as};

use crate::config::Config;
use crate::event::Subscriber;
use quiche::cc::{CongestionController, PathContext};
use std::sync::Arc;

/// How many receive times a server should ask for in each acknowledgement
/// (`quiche::Config::set_max_receive_timestamps_per_ack`): the controller asks peers to acknowledge
/// 16 packets together at most, and quiche reports each packet twice, lest a lost acknowledgement
/// lose it.
pub const RECEIVE_TIMESTAMPS_PER_ACK: u64 = 32;

/// Builds one controller per path.
#[derive(Clone, Debug)]
pub struct Factory {
    config: Config,
    subscriber: Option<Arc<dyn Subscriber>>,
}

impl Factory {
    /// Controllers with this configuration.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            subscriber: None,
        }
    }

    /// The same, with somebody who is told every event of every path.
    #[must_use]
    pub fn with_subscriber(mut self, subscriber: Arc<dyn Subscriber>) -> Self {
        self.subscriber = Some(subscriber);
        self
    }

    /// An equal configuration, and the same subscriber.
    fn is_same(&self, other: &Self) -> bool {
        let is_same_subscriber = match (&self.subscriber, &other.subscriber) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            _ => false,
        };
        is_same_subscriber && self.config == other.config
    }
}

impl quiche::cc::Factory for Factory {
    fn build(&self, path: &PathContext) -> Box<dyn CongestionController> {
        Box::new(Controller::new(
            self.config.clone(),
            path,
            self.subscriber.clone(),
        ))
    }
}
