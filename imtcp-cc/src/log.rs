//! Passes events to the subscriber, and keeps them in a log that can be fetched later.

use crate::event::{Event, Subscriber};
use crate::stream_report::StreamReport;
use crate::units::Timestamp;
use std::collections::VecDeque;
use std::sync::Arc;

/// The largest number of entries that the log keeps. Older ones are dropped.
const CAPACITY: usize = 256;

/// What a log is made of.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Logged {
    /// Something that subscribers hear, too.
    Event(Event),
    /// What became of a probe stream; it follows [`Event::StreamJudged`].
    Stream(Box<StreamReport>),
}

#[derive(Debug)]
pub(crate) struct Log {
    subscriber: Option<Arc<dyn Subscriber>>,
    kept: Option<VecDeque<(Timestamp, Logged)>>,
    keeps_streams: bool,
    has_judged: bool,
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
            keeps_streams: false,
            has_judged: false,
        }
    }

    /// Keeps entries for [`Log::take`] from now on.
    pub(crate) fn keep(&mut self) {
        self.kept
            .get_or_insert_with(|| VecDeque::with_capacity(CAPACITY));
    }

    /// Keeps reports on streams, too.
    pub(crate) fn keep_streams(&mut self) {
        self.keep();
        self.keeps_streams = true;
    }

    pub(crate) fn keeps_streams(&self) -> bool {
        self.keeps_streams
    }

    /// The oldest kept entry.
    pub(crate) fn take(&mut self) -> Option<(Timestamp, Logged)> {
        self.kept.as_mut()?.pop_front()
    }

    pub(crate) fn emit(&mut self, now: Timestamp, event: Event) {
        if let Some(subscriber) = &self.subscriber {
            subscriber.on_event(now, &event);
        }
        self.has_judged |= matches!(event, Event::StreamJudged { .. });
        self.push(now, Logged::Event(event));
    }

    /// Keeps an entry, if anything is kept.
    pub(crate) fn push(&mut self, now: Timestamp, entry: Logged) {
        if let Some(kept) = &mut self.kept {
            if kept.len() == CAPACITY {
                kept.pop_front();
            }
            kept.push_back((now, entry));
        }
    }

    /// Whether a stream was judged since the last call.
    pub(crate) fn take_judged(&mut self) -> bool {
        std::mem::take(&mut self.has_judged)
    }
}
