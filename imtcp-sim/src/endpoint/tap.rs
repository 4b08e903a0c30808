//! Keeps a controller's events, on the simulation's clock.

use imtcp_cc::event::{Event, Subscriber};
use imtcp_cc::units::Timestamp;
use imtcp_cc::{Estimate, EstimatorKind};
use std::sync::{Mutex, PoisonError};

/// What the measuring controller of a flow said.
#[derive(Debug, Default)]
pub struct Tap {
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    /// Virtual time.
    now: Timestamp,
    events: Vec<Said>,
}

/// An event and when it was said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said {
    /// When it was said in virtual time.
    pub now: Timestamp,
    /// When it was said by the controller's own clock, whose origin is the controller's creation.
    pub at: Timestamp,
    /// What was said.
    pub event: Event,
}

impl Said {
    /// The virtual time of an instant on the controller's clock.
    pub fn virtual_time(&self, own: Timestamp) -> Timestamp {
        self.now - self.at.saturating_since(own)
    }
}

impl Tap {
    /// Tells the tap what time it is.
    pub fn set_now(&self, now: Timestamp) {
        self.lock().now = now;
    }

    /// Takes the events so far, in order.
    pub fn take(&self) -> Vec<Said> {
        std::mem::take(&mut self.lock().events)
    }

    /// The last estimate of one of the estimators.
    pub fn last_estimate(&self, wanted: EstimatorKind) -> Option<Estimate> {
        let heard = self.lock();
        heard.events.iter().rev().find_map(|said| match said.event {
            Event::EstimateUpdated {
                estimator,
                estimate,
            } if estimator == wanted => Some(estimate),
            _ => None,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber for Tap {
    fn on_event(&self, at: Timestamp, event: &Event) {
        let mut heard = self.lock();
        let now = heard.now;
        heard.events.push(Said {
            now,
            at,
            event: *event,
        });
    }
}
