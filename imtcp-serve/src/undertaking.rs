//! The promise of one connection: what its requests require together, brought to the controller.

use crate::required::{Claims, Key, RequiredRate};
use imtcp_cc::promise::{Promise, Requirement};
use std::time::Instant;

/// What is required, and whether the controller took it.
#[derive(Debug, Default)]
pub struct Undertaking {
    claims: Claims,
    /// What the controller took last.
    required: Option<Required>,
    /// What it did not take: not possible on this path as it is, and to be tried again.
    refused: Option<Requirement>,
}

#[derive(Clone, Copy, Debug)]
struct Required {
    what: Requirement,
    /// Whether it was told how likely it is.
    foreseen: bool,
}

/// Something to tell.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Something else is required now; with the probability that it is kept, if it is known.
    Required(Requirement, Option<f64>),
    /// The probability became known later.
    Foreseen(Requirement, f64),
    /// Nothing is required any more.
    Withdrawn,
    /// The path does not allow it, and why. What was required before stays.
    Refused(Requirement, String),
}

impl Undertaking {
    /// A request begins.
    pub fn begin(&mut self, rate: RequiredRate, now: Instant) {
        self.claims.begin(rate, now);
    }

    /// A request ends.
    pub fn end(&mut self, key: Key, now: Instant) {
        self.claims.end(key, now);
    }

    /// What is in force, as far as the application knows.
    pub fn required(&self) -> Option<Requirement> {
        self.required.map(|required| required.what)
    }

    /// What the path does not allow now. What is in force stays then.
    pub fn refused(&self) -> Option<Requirement> {
        self.refused
    }

    /// Brings the controller what has changed, and tries again what it refused. Returns when there
    /// may be something to do next, besides.
    ///
    /// A requirement that stays the same is not made again: each begins a new slot.
    pub fn follow(&mut self, promise: &Promise, now: Instant) -> (Option<Change>, Option<Instant>) {
        let next = self.claims.expire(now);
        let wanted = self.claims.total();
        let change = if wanted == self.required() {
            self.refused = None;
            self.foresee(promise)
        } else if let Some(wanted) = wanted {
            self.require(promise, wanted)
        } else {
            promise.withdraw();
            (self.required, self.refused) = (None, None);
            Some(Change::Withdrawn)
        };
        (change, next)
    }

    fn require(&mut self, promise: &Promise, wanted: Requirement) -> Option<Change> {
        let known = promise.can_promise(wanted.rate(), wanted.per());
        match promise.require(wanted) {
            Ok(()) => {
                self.refused = None;
                self.required = Some(Required {
                    what: wanted,
                    foreseen: known.is_some(),
                });
                Some(Change::Required(wanted, known))
            }
            // Told once.
            Err(_) if self.refused == Some(wanted) => None,
            Err(why) => {
                self.refused = Some(wanted);
                Some(Change::Refused(wanted, why.to_string()))
            }
        }
    }

    fn foresee(&mut self, promise: &Promise) -> Option<Change> {
        let required = self
            .required
            .as_mut()
            .filter(|required| !required.foreseen)?;
        let known = promise.can_promise(required.what.rate(), required.what.per())?;
        required.foreseen = true;
        Some(Change::Foreseen(required.what, known))
    }

    /// Whether the path may allow tomorrow what it refused, or tell what it did not know.
    pub fn is_waiting(&self) -> bool {
        self.refused.is_some() || self.required.is_some_and(|required| !required.foreseen)
    }
}
