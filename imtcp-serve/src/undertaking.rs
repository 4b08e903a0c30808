//! The promise of one connection: what its requests require together, brought to the controller.

use crate::required::{Claims, Key, RequiredRate};
use imtcp_cc::promise::{Promise, Requirement};
use std::time::Instant;

/// What is required, and whether the controller took it.
#[derive(Debug, Default)]
pub struct Undertaking {
    claims: Claims,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Nothing,
    /// Accepted. Whether a probability was known then, or has been told since.
    Required { what: Requirement, foreseen: bool },
    /// Not possible on this path as it is; to be tried again.
    Refused(Requirement),
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
        match self.state {
            State::Required { what, .. } => Some(what),
            _ => None,
        }
    }

    /// What the path does not allow now.
    pub fn refused(&self) -> Option<Requirement> {
        match self.state {
            State::Refused(what) => Some(what),
            _ => None,
        }
    }

    /// Brings the controller what has changed, and tries again what it refused. Returns when there
    /// may be something to do next, besides.
    ///
    /// A requirement that stays the same is not made again: each begins a new slot.
    pub fn follow(&mut self, promise: &Promise, now: Instant) -> (Option<Change>, Option<Instant>) {
        let next = self.claims.expire(now);
        let wanted = self.claims.total();
        let probability = |what: Requirement| promise.can_promise(what.rate(), what.per());
        let change = match (wanted, self.state) {
            (None, State::Nothing) => None,
            (None, _) => {
                promise.withdraw();
                self.state = State::Nothing;
                Some(Change::Withdrawn)
            }
            (Some(wanted), State::Required { what, foreseen }) if what == wanted => {
                let known = probability(wanted).filter(|_| !foreseen);
                known.map(|known| {
                    self.state = State::Required {
                        what,
                        foreseen: true,
                    };
                    Change::Foreseen(wanted, known)
                })
            }
            (Some(wanted), before) => {
                let known = probability(wanted);
                match promise.require(wanted) {
                    Ok(()) => {
                        self.state = State::Required {
                            what: wanted,
                            foreseen: known.is_some(),
                        };
                        Some(Change::Required(wanted, known))
                    }
                    // Told once.
                    Err(_) if before == State::Refused(wanted) => None,
                    Err(why) => {
                        self.state = State::Refused(wanted);
                        Some(Change::Refused(wanted, why.to_string()))
                    }
                }
            }
        };
        (change, next)
    }

    /// Whether the path may allow tomorrow what it refused, or tell what it did not know.
    pub fn is_waiting(&self) -> bool {
        match self.state {
            State::Nothing => false,
            State::Required { foreseen, .. } => !foreseen,
            State::Refused(_) => true,
        }
    }
}
