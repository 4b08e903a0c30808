//! Passes events to the subscriber, and keeps them in a log that can be fetched later.

use crate::event::{Event, Subscriber};
use crate::units::Timestamp;
use std::collections::VecDeque;
use std::sync::Arc;

/// The largest number of events that the log keeps. Older events are dropped.
const CAPACITY: usize = 256;

#[derive(Debug)]
pub(crate) struct Log {
    subscriber: Option<Arc<dyn Subscriber>>,
    kept: Option<VecDeque<(Timestamp, Event)>>,
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Some(subscriber) = &self.subscriber {
            subscriber.on_path_gone();
        }
    }
}

impl Log {
    pub(crate) fn new(subscriber: Option<Arc<dyn Subscriber>>) -> Self {
        Self {
            subscriber,
            kept: None,
        }
    }

    /// Keeps events for [`Log::take`] from now on.
    pub(crate) fn keep(&mut self) {
        self.kept
            .get_or_insert_with(|| VecDeque::with_capacity(CAPACITY));
    }

    /// The oldest kept event.
    pub(crate) fn take(&mut self) -> Option<(Timestamp, Event)> {
        self.kept.as_mut()?.pop_front()
    }

    pub(crate) fn emit(&mut self, now: Timestamp, event: Event) {
        if let Some(subscriber) = &self.subscriber {
            subscriber.on_event(now, &event);
        }
        if let Some(kept) = &mut self.kept {
            if kept.len() == CAPACITY {
                kept.pop_front();
            }
            kept.push_back((now, event));
        }
    }
}
