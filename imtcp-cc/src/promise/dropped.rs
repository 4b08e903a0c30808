//! What requirements had that were replaced while their slots were running.
//!
//! Such a slot has no outcome, and is not reported. But whoever replaces a requirement again and
//! again would never be told that the path cannot carry what is asked for, and would compete in
//! vain for good. So the parts of such slots together count as slots for the exit.

use super::exit::NEARLY;
use super::requirement::Requirement;
use super::slots::EvaluationSlot;
use super::status::Outcome;
use crate::units::{Bytes, Timestamp};

/// The parts of slots since the last slot that ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dropped {
    /// How many slots they are long.
    slots: f64,
    due: Bytes,
    /// What was due while data waited.
    claimed: Bytes,
    achieved: Bytes,
    /// How many slots those are long for which nothing more could have been done.
    at_bound: f64,
}

impl Dropped {
    /// A slot that ran until `now` was dropped. Returns the outcome of a whole slot, and whether it
    /// is in vain, once the parts make one.
    pub(super) fn add(
        &mut self,
        slot: &EvaluationSlot,
        requirement: &Requirement,
        now: Timestamp,
        is_at_bound: bool,
    ) -> Option<(Outcome, bool)> {
        let lasted = now.saturating_since(slot.start);
        let of_rate = |span| requirement.rate().bytes_in(span);
        let slots = lasted.as_secs_f64() / requirement.per().as_secs_f64();
        self.slots += slots;
        self.at_bound += if is_at_bound { slots } else { 0.0 };
        self.due += of_rate(lasted);
        self.claimed += of_rate(slot.wanting.min(lasted));
        // What one requirement has beyond its rate, another one still lacks.
        self.achieved += slot.achieved.min(of_rate(lasted));
        if self.slots < 1.0 {
            return None;
        }
        let whole = std::mem::take(self);
        let is_missed = whole.achieved.as_f64() < NEARLY * whole.claimed.as_f64();
        let outcome = match whole.achieved >= whole.due {
            true => Outcome::Kept,
            false if is_missed => Outcome::Missed,
            false => Outcome::SourceLimited,
        };
        let was_at_bound = whole.at_bound >= NEARLY * whole.slots;
        Some((outcome, is_missed && was_at_bound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bandwidth;
    use std::time::Duration;

    const PERIOD: Duration = Duration::from_secs(1);

    /// Slots of 8 Mbit/s that are dropped after 400 ms, with this share of what was due until
    /// then, of a source that had data for as long as this.
    fn add(dropped: &mut Dropped, share: f64, wanting_ms: u64) -> Option<(Outcome, bool)> {
        let requirement = Requirement::new(Bandwidth::from_mbps(8), PERIOD).expect("possible");
        let mut slot = EvaluationSlot::new(Timestamp::ZERO, &requirement);
        slot.achieved = Bytes::from_f64(share * 400_000.0);
        slot.wanting = Duration::from_millis(wanting_ms);
        let now = Timestamp::from_origin(Duration::from_millis(400));
        dropped.add(&slot, &requirement, now, true)
    }

    #[test]
    fn parts_of_slots_together_are_a_slot() {
        let mut dropped = Dropped::default();
        let mut outcome = |share, wanting| {
            assert_eq!(add(&mut dropped, share, wanting), None);
            assert_eq!(add(&mut dropped, share, wanting), None);
            add(&mut dropped, share, wanting).expect("1.2 slots")
        };
        assert_eq!(outcome(0.5, 400), (Outcome::Missed, true));
        assert_eq!(outcome(0.95, 400), (Outcome::SourceLimited, false));
        assert_eq!(outcome(1.0, 400), (Outcome::Kept, false));
        // Half of the data was not offered.
        assert_eq!(outcome(0.5, 200), (Outcome::SourceLimited, false));
        assert_eq!(outcome(0.0, 0), (Outcome::SourceLimited, false));
    }

    #[test]
    fn what_a_low_rate_has_beyond_itself_keeps_no_high_one() {
        let mut dropped = Dropped::default();
        let outcomes = [4.0, 0.5, 4.0].map(|share| add(&mut dropped, share, 400));
        assert_eq!(outcomes, [None, None, Some((Outcome::Missed, true))]);
    }

    #[test]
    fn what_could_still_compete_is_not_in_vain() {
        let mut dropped = Dropped::default();
        let requirement = Requirement::new(Bandwidth::from_mbps(8), PERIOD).expect("possible");
        let mut slot = EvaluationSlot::new(Timestamp::ZERO, &requirement);
        slot.wanting = PERIOD / 2;
        let half = Timestamp::from_origin(PERIOD / 2);
        assert_eq!(dropped.add(&slot, &requirement, half, false), None);
        let outcome = dropped.add(&slot, &requirement, half, true);
        assert_eq!(outcome, Some((Outcome::Missed, false)));
    }
}
