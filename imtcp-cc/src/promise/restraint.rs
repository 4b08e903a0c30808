//! Whether a source that wants no more than its rate holds itself back.
//!
//! Such a source is paced at its rate, and its window is little more than it needs. Beside others
//! that keep a deep queue full this may be too little, whatever the margin: what comes evenly and
//! never pushes gets what the others leave. If slots are missed by habit, the source competes in
//! each slot like one that uses all it can get, until the slot has its amount. What is in flight
//! then, and what leaves at the least pace afterwards, comes on top.

use super::margin::MAY_MISS;
use super::status::Outcome;

/// So many slots that were just missed lift the restraint. One that lacked a tenth or more lifts it
/// at once: the exit gives up after two of these, and the source has to have tried before.
const HABIT: f64 = 2.0;

/// The most missed slots that count: the restraint comes back after 50 slots in a row at the
/// latest.
const MOST: f64 = HABIT + 1.0;

/// The slots that were missed, less what kept ones have made up for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Restraint {
    missed: f64,
}

impl Restraint {
    /// A slot ended. `is_far` says that it lacked a tenth or more. One that is kept makes up for as
    /// much of a missed one as may be missed.
    pub(super) fn on_slot(&mut self, outcome: Outcome, is_far: bool) {
        let step = match outcome {
            Outcome::Missed if is_far => HABIT,
            Outcome::Missed => 1.0,
            Outcome::Kept => -MAY_MISS,
            Outcome::SourceLimited => 0.0,
        };
        self.missed = (self.missed + step).clamp(0.0, MOST);
    }

    /// Whether the source has to push.
    pub(super) fn is_lifted(&self) -> bool {
        self.missed >= HABIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_are_missed_lift_it_and_fifty_that_are_kept_bring_it_back() {
        let mut restraint = Restraint::default();
        restraint.on_slot(Outcome::Missed, false);
        assert!(!restraint.is_lifted(), "one is no habit");
        restraint.on_slot(Outcome::Missed, false);
        assert!(restraint.is_lifted());
        restraint.on_slot(Outcome::Kept, false);
        assert!(!restraint.is_lifted(), "it had just been lifted");
        // However many are missed, three count: 1 / 0.02 = 50 kept ones make up for the third.
        (0..9).for_each(|_| restraint.on_slot(Outcome::Missed, false));
        (0..49).for_each(|_| restraint.on_slot(Outcome::Kept, false));
        assert!(restraint.is_lifted());
        restraint.on_slot(Outcome::SourceLimited, true);
        assert!(restraint.is_lifted(), "the source's own pause says nothing");
        (0..2).for_each(|_| restraint.on_slot(Outcome::Kept, false));
        assert!(!restraint.is_lifted());
    }

    #[test]
    fn a_slot_that_is_missed_by_far_lifts_it_at_once() {
        let mut restraint = Restraint::default();
        restraint.on_slot(Outcome::Missed, true);
        assert!(restraint.is_lifted());
    }
}
