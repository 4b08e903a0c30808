//! The promise of one connection: what its requests require together, brought to the controller.

use crate::climb::Climb;
use crate::required::{Claims, Climbing, Key, RequiredRate};
use imtcp_cc::promise::{Promise, Requirement, SlotReport};
use std::time::Instant;

/// What is required, and whether the controller took it.
#[derive(Debug, Default)]
pub struct Undertaking {
    claims: Claims,
    climb: Climb,
    /// Which climb is ahead of the players, as it was last looked at.
    rungs: Option<u64>,
    /// What is required in this try. It stays the same, so that slots come to their ends.
    tried: Option<Requirement>,
    /// Whether it is time to think about climbing: a request began, or a slot ended.
    is_due: bool,
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
        self.is_due = true;
    }

    /// A request ends.
    pub fn end(&mut self, key: Key, now: Instant) {
        self.claims.end(key, now);
    }

    /// A slot has ended. What ended before the controller heard of the requirement does not count.
    /// Returns whether it was part of a try to let the player climb.
    pub fn on_slot(&mut self, report: &SlotReport) -> bool {
        let is_tried = |tried: Requirement| tried.rate() == report.required;
        let is_try = self.climb.is_on() && self.tried.is_some_and(is_tried);
        if self
            .required()
            .is_some_and(|now| now.rate() == report.required)
        {
            self.climb.on_slot(report.outcome.is_kept());
            self.is_due = true;
        }
        is_try
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
        let wanted = self.wanted(promise);
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

    /// What the requests need, or what it takes to climb.
    fn wanted(&mut self, promise: &Promise) -> Option<Requirement> {
        let (needed, ahead) = (self.claims.total(), self.claims.ahead());
        let rungs = ahead.map(|ahead| ahead.rungs);
        if rungs != self.rungs {
            self.climb.on_switch(rungs > self.rungs);
            self.rungs = rungs;
        }
        if std::mem::take(&mut self.is_due) && self.climb.is_ready() {
            self.tried = ahead.and_then(|ahead| possible(promise, &ahead));
            if self.tried.is_some() {
                self.climb.begin();
            }
        }
        match self.climb.is_on() {
            true => self.tried.or(needed),
            false => needed,
        }
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
            // Nobody asked for it, so nobody is told.
            Err(_) if self.climb.is_on() => {
                self.climb.give_up();
                let needed = self.claims.total()?;
                match self.required() == Some(needed) {
                    true => None,
                    false => self.require(promise, needed),
                }
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

/// As much of it as a promise may reach on the path, if that is enough and the path is known.
fn possible(promise: &Promise, ahead: &Climbing) -> Option<Requirement> {
    let outlook = promise.outlook()?;
    let most = outlook.capacity.map(|_| outlook.reach())?;
    let rate = ahead.requirement.rate().min(most);
    let is_enough = rate >= ahead.least;
    let possible = Requirement::new(rate, ahead.requirement.per()).ok()?;
    is_enough.then(|| possible.demand(ahead.requirement.wanted()))
}
