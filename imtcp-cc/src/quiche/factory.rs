//! Builds controllers, and somebody to tell what they do.

use super::controller::Controller;
use super::convert::path_info;
use super::gaps::GapObserver;
use super::memory::{Memory, RememberedPath};
#[cfg(feature = "qlog")]
use super::qlog::Detail;
use crate::config::Config;
use crate::event::Subscriber;
use crate::path::PathInfo;
use crate::promise::Bounds;
use quiche::cc::{CongestionController, PathContext};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

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
    /// What is remembered of paths. Clones of the factory share it.
    memory: Option<Arc<Memory>>,
    /// What the promises on a path share. Clones of the factory share it.
    bounds: Bounds,
    gaps: Option<Arc<dyn GapObserver>>,
    #[cfg(feature = "qlog")]
    detail: Detail,
}

impl Factory {
    /// Controllers with this configuration.
    pub fn new(config: Config) -> Self {
        let remembers = config.remember_paths() && config.measurement();
        Self {
            config,
            audience: Audience::Nobody,
            memory: remembers.then(Arc::default),
            bounds: Bounds::default(),
            gaps: None,
            #[cfg(feature = "qlog")]
            detail: Detail::default(),
        }
    }

    /// The same, with promises that share the bounds of each path with those of `other` and its
    /// clones ([`Bounds`]). Factories that were made apart know nothing of each other's promises.
    #[must_use]
    pub fn beside(mut self, other: &Self) -> Self {
        self.bounds = other.bounds.clone();
        self
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

    /// The same, with somebody who hears how well the planned distances of packets are kept, on all
    /// paths.
    #[must_use]
    pub fn with_gap_observer(mut self, observer: Arc<dyn GapObserver>) -> Self {
        self.gaps = Some(observer);
        self
    }

    /// The same, whose controllers log so much while their connections write a qlog.
    #[cfg(feature = "qlog")]
    #[must_use]
    pub fn with_qlog_detail(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }

    /// The paths that connections of this factory and of its clones have left to later ones, for
    /// whoever stores them or hands them to another process. Empty without
    /// [`Config::remember_paths`]. A path that a connection has begun with is missing until that
    /// connection ends.
    pub fn remembered_paths(&self, now: Instant) -> Vec<RememberedPath> {
        let memory = self.memory.as_ref();
        memory.map_or_else(Vec::new, |memory| memory.all(now))
    }

    /// Remembers a path that was handed in. It replaces what is known of that network. Without
    /// [`Config::remember_paths`] nothing happens.
    pub fn remember(&self, remembered: &RememberedPath, now: Instant) {
        if let Some(memory) = &self.memory {
            memory.save(remembered.network, remembered.path, remembered.age, now);
        }
    }

    /// An equal configuration, and the same subscriber.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_same_audience = match (&self.audience, &other.audience) {
            (Audience::Nobody, Audience::Nobody) => true,
            (Audience::Shared(ours), Audience::Shared(theirs)) => Arc::ptr_eq(ours, theirs),
            (Audience::PerPath(ours), Audience::PerPath(theirs)) => Arc::ptr_eq(ours, theirs),
            _ => false,
        };
        let is_same_observer = match (&self.gaps, &other.gaps) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            _ => false,
        };
        #[cfg(feature = "qlog")]
        if self.detail != other.detail {
            return false;
        }
        is_same_audience && is_same_observer && self.config == other.config
    }
}

impl quiche::cc::Factory for Factory {
    fn build(&self, path: &PathContext) -> Box<dyn CongestionController> {
        let subscriber = match &self.audience {
            Audience::Nobody => None,
            Audience::Shared(subscriber) => Some(Arc::clone(subscriber)),
            Audience::PerPath(make) => Some(make(&path_info(&path.identity))),
        };
        let controller = Controller::new(
            self.config.clone(),
            path,
            subscriber,
            self.memory.clone(),
            &self.bounds,
        );
        #[cfg(feature = "qlog")]
        let controller = controller.logging(self.detail);
        Box::new(match &self.gaps {
            Some(observer) => controller.observed_by(Arc::clone(observer)),
            None => controller,
        })
    }

    fn requests_acks(&self) -> bool {
        self.config.ack_frequency()
    }
}
