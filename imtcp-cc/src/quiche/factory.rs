//! Builds controllers, and somebody to tell what they do.

use super::controller::Controller;
use super::convert::path_info;
use crate::config::Config;
use crate::event::Subscriber;
use crate::path::PathInfo;
use quiche::cc::{CongestionController, PathContext};
use std::fmt;
use std::sync::Arc;

type MakeSubscriber = dyn Fn(&PathInfo) -> Arc<dyn Subscriber> + Send + Sync;

/// Who is told the events.
#[derive(Clone)]
enum Audience {
    Nobody,
    /// One for all paths.
    Shared(Arc<dyn Subscriber>),
    /// One for each path.
    PerPath(Arc<MakeSubscriber>),
}

impl fmt::Debug for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str("Nobody"),
            Self::Shared(subscriber) => f.debug_tuple("Shared").field(subscriber).finish(),
            Self::PerPath(_) => f.write_str("PerPath"),
        }
    }
}

/// Builds one controller per path.
#[derive(Clone, Debug)]
pub struct Factory {
    config: Config,
    audience: Audience,
}

impl Factory {
    /// Controllers with this configuration.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            audience: Audience::Nobody,
        }
    }

    /// The same, with somebody who is told every event of every path.
    #[must_use]
    pub fn with_subscriber(mut self, subscriber: Arc<dyn Subscriber>) -> Self {
        self.audience = Audience::Shared(subscriber);
        self
    }

    /// The same, with somebody for each path, made as its controller is, who knows what he is told
    /// of: the connection, the addresses and the role.
    #[must_use]
    pub fn with_subscribers(
        mut self,
        make: impl Fn(&PathInfo) -> Arc<dyn Subscriber> + Send + Sync + 'static,
    ) -> Self {
        self.audience = Audience::PerPath(Arc::new(make));
        self
    }

    /// An equal configuration, and the same subscriber.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_same_audience = match (&self.audience, &other.audience) {
            (Audience::Nobody, Audience::Nobody) => true,
            (Audience::Shared(ours), Audience::Shared(theirs)) => Arc::ptr_eq(ours, theirs),
            (Audience::PerPath(ours), Audience::PerPath(theirs)) => Arc::ptr_eq(ours, theirs),
            _ => false,
        };
        is_same_audience && self.config == other.config
    }
}

impl quiche::cc::Factory for Factory {
    fn build(&self, path: &PathContext) -> Box<dyn CongestionController> {
        let subscriber = match &self.audience {
            Audience::Nobody => None,
            Audience::Shared(subscriber) => Some(Arc::clone(subscriber)),
            Audience::PerPath(make) => Some(make(&path_info(&path.identity))),
        };
        Box::new(Controller::new(self.config.clone(), path, subscriber))
    }
}
