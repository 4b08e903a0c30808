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
//! imtcp_cc::quiche::register()?;
//! config.set_cc_algorithm_name("imtcp")?;
//! # Ok(())
//! # }
//! ```

mod controller;
mod convert;
#[cfg(feature = "qlog")]
mod qlog;

pub use controller::Controller;

use crate::config::Config;
use crate::event::Subscriber;
use quiche::cc::{CongestionController, PathContext, RegisterError};
use std::sync::Arc;

/// The name under which [`register`] makes the controller known.
pub const NAME: &str = "imtcp";

/// The name of the same controller without probing.
pub const NAME_WITHOUT_MEASUREMENT: &str = "imtcp-off";

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

/// Makes the controller known to quiche as [`NAME`], and as [`NAME_WITHOUT_MEASUREMENT`] without
/// probing, both with the default configuration otherwise.
///
/// # Errors
/// When a name is taken, by a built-in algorithm or an earlier call.
pub fn register() -> Result<(), RegisterError> {
    quiche::cc::register(NAME, Arc::new(Factory::new(Config::default())))?;
    quiche::cc::register(
        NAME_WITHOUT_MEASUREMENT,
        Arc::new(Factory::new(Config::without_measurement())),
    )
}
