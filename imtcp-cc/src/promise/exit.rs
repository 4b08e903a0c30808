//! When a promise stops competing, because the path cannot carry it, and when it tries again.
//!
//! A promise competes with N of at most `promise_weight`. If two slots in a row are missed by far
//! with N at that bound or a rate that is out of reach, or lose much though the source limits
//! them, more of the same would only take from others. The promise then *rests*: its flow behaves
//! like any other, and the application is told that the promise is broken. After some slots there
//! is a trial of one slot. Each trial that fails doubles the rest (RFC 8084, section 3.1, asks for
//! such a breaker).
//!
//! Another requirement for as much or nearly so, and one that is withdrawn and comes again, begin
//! where the last one was. Much less has not been tried, so it competes at once, and two slots in
//! vain end that, too.

use super::slots::rounds;
use super::status::Outcome;
use crate::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// A slot that reached this share of what was due was nearly kept.
pub(super) const NEARLY: f64 = 0.9;

/// The share of lost packets from which losses are the larger harm. WebRTC's congestion control
/// no longer raises its rate from 2 % on, and lowers it from 10 % on (draft-ietf-rmcat-gcc-02,
/// section 6). This lies between, about as far from one as from the other by factors.
const UNBEARABLE: f64 = 0.05;

/// The number of slots in a row that are missed before a promise rests.
const FAILURES: u32 = 2;

/// The first rest and the longest rest, in slots.
const FIRST_REST: u32 = 8;
const LONGEST_REST: u32 = 128;

/// Whether competing harder than others was of no use in a slot that ended so. `achieved` is the
/// share of what was due. A slot that was nearly kept is close to success: losses may be those of
/// chance, which are answered well. One that the source limited says nothing of the path, unless
/// much of what was sent was lost. A peer's flow control limits like a source.
pub(super) fn is_in_vain(outcome: Outcome, achieved: f64, lost: f64) -> bool {
    match outcome {
        Outcome::Kept => false,
        Outcome::Missed => achieved < NEARLY,
        Outcome::SourceLimited => lost > UNBEARABLE,
    }
}

/// Whether a promise competes or rests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exit {
    /// The slots in a row that were missed with N at its bound.
    failures: u32,
    /// The number of slots for which the promise still rests.
    resting: u32,
    /// The next rest, in slots.
    next_rest: u32,
    /// The rate that is required, and the lowest one that was missed with N at its bound.
    required: Bandwidth,
    failed: Option<Bandwidth>,
    /// The number of slots since the rate that failed was asked for last.
    apart: u32,
    /// When the requirement was withdrawn, and its period.
    withdrawn: Option<(Timestamp, Duration)>,
}

impl Default for Exit {
    fn default() -> Self {
        Self {
            failures: 0,
            resting: 0,
            next_rest: FIRST_REST,
            required: Bandwidth::ZERO,
            failed: None,
            apart: 0,
            withdrawn: None,
        }
    }
}

impl Exit {
    pub(super) fn is_resting(&self) -> bool {
        self.resting > 0 && !self.is_apart()
    }

    /// Whether much less is required than what failed. That has not been tried.
    fn is_apart(&self) -> bool {
        self.failed
            .is_some_and(|failed| self.required < failed.scaled(NEARLY))
    }

    /// The largest slope in packets per round trip: N flows climb by N packets. It holds after a
    /// failure, when a steeper climb has just proved to be of no use.
    pub(super) fn steepest(&self, weight: f64) -> f64 {
        if self.failures > 0 && self.next_rest > FIRST_REST && !self.is_apart() {
            weight
        } else {
            f64::INFINITY
        }
    }

    /// This rate is required from now on. What failed before stays so, whatever was required
    /// meanwhile.
    pub(super) fn on_required(&mut self, rate: Bandwidth, now: Timestamp) {
        if let Some((since, per)) = self.withdrawn.take() {
            self.pass_apart(rounds(now.saturating_since(since), per));
        }
        self.required = rate;
    }

    /// Nothing is required from now on.
    pub(super) fn on_withdrawn(&mut self, now: Timestamp, per: Duration) {
        self.withdrawn.get_or_insert((now, per));
    }

    /// A slot ended. `is_hopeless` says that it was in vain although N was at its bound. A rest
    /// also ends if the flow, which takes no more than others, gets the rate. What a source did not
    /// ask for proves nothing, so a slot that it limited only lets time pass.
    pub(super) fn on_slot(&mut self, outcome: Outcome, is_hopeless: bool) {
        if self.is_resting() {
            match outcome {
                Outcome::Kept => self.forgive(),
                _ => self.pass(1),
            }
        } else if is_hopeless {
            self.fail();
        } else if self.is_apart() {
            self.pass_apart(1);
        } else if outcome == Outcome::Kept {
            self.forgive();
        } else if outcome == Outcome::Missed {
            self.failures = 0;
        }
    }

    fn fail(&mut self) {
        if self.is_apart() {
            // What is required now has its own two slots, and then a longer rest.
            self.resting = 0;
            self.failures = 0;
        }
        let failed = self.failed.unwrap_or(self.required);
        self.failed = Some(failed.min(self.required));
        self.apart = 0;
        self.failures += 1;
        if self.failures >= FAILURES {
            self.resting = self.next_rest;
            self.next_rest = (2 * self.next_rest).min(LONGEST_REST);
            self.failures = 0;
        }
    }

    fn pass(&mut self, slots: u32) {
        if self.resting > 0 {
            self.resting = self.resting.saturating_sub(slots);
            if self.resting == 0 {
                // A trial: one more failure is enough.
                self.failures = FAILURES - 1;
            }
        }
    }

    /// The same while the rate that failed is not asked for. After as long as its next rest the
    /// failure is forgotten.
    fn pass_apart(&mut self, slots: u32) {
        self.pass(slots);
        self.apart = self.apart.saturating_add(slots);
        if self.apart >= self.next_rest {
            self.forgive();
        }
    }

    fn forgive(&mut self) {
        *self = Self {
            required: self.required,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slots, of `count` hopeless ones, in which the promise competes.
    fn competing(exit: &mut Exit, count: u32) -> Vec<u32> {
        (0..count)
            .filter(|_| {
                let competes = !exit.is_resting();
                exit.on_slot(Outcome::Missed, competes);
                competes
            })
            .collect()
    }

    #[test]
    fn a_hopeless_promise_rests_after_two_slots_and_each_rest_is_twice_as_long() {
        let mut exit = Exit::default();
        // Two slots, a rest of 8, a trial, a rest of 16, a trial, a rest of 32.
        assert_eq!(competing(&mut exit, 60), [0, 1, 10, 27]);
        // The longest rest is 128 slots.
        let far: Vec<u32> = competing(&mut exit, 800);
        assert!(
            far.windows(2)
                .rev()
                .take(3)
                .all(|pair| pair[1] - pair[0] == 129),
            "{far:?}"
        );
    }

    #[test]
    fn a_slot_was_in_vain_if_it_was_missed_by_far_or_if_its_source_lost_much() {
        use Outcome::{Kept, Missed, SourceLimited};
        assert!(is_in_vain(Missed, 0.5, 0.0) && !is_in_vain(Missed, 0.95, 0.05));
        assert!(!is_in_vain(Missed, 0.95, 0.2) && is_in_vain(SourceLimited, 0.5, 0.2));
        assert!(!is_in_vain(SourceLimited, 0.5, 0.05) && !is_in_vain(Kept, 1.0, 0.2));
    }

    #[test]
    fn a_climb_is_no_steeper_than_that_of_n_flows_after_a_failure() {
        let mut exit = Exit::default();
        assert!(exit.steepest(4.0).is_infinite());
        // Two failures, a rest of eight slots, and a trial.
        assert_eq!(competing(&mut exit, 10).len(), 2);
        assert_eq!(exit.steepest(4.0).to_bits(), 4.0_f64.to_bits());
    }

    #[test]
    fn a_slot_that_is_kept_forgives_everything() {
        let mut exit = Exit::default();
        competing(&mut exit, 5);
        assert!(exit.is_resting());
        exit.on_slot(Outcome::Kept, false);
        assert_eq!(exit, Exit::default());
    }

    #[test]
    fn a_slot_that_the_source_limited_forgives_nothing() {
        let mut exit = Exit::default();
        assert_eq!(competing(&mut exit, 5), [0, 1]);
        // Three of eight slots of rest are over, and this one is the fourth.
        exit.on_slot(Outcome::SourceLimited, false);
        assert!(exit.is_resting());
        // After four more there is a trial, which fails, and a rest of 16.
        assert_eq!(competing(&mut exit, 40), [4, 21]);
        // Nor does it come between two failures.
        let mut exit = Exit::default();
        exit.on_slot(Outcome::Missed, true);
        exit.on_slot(Outcome::SourceLimited, false);
        exit.on_slot(Outcome::Missed, true);
        assert!(exit.is_resting());
    }

    #[test]
    fn one_failure_between_kept_slots_changes_nothing() {
        let mut exit = Exit::default();
        for _ in 0..10 {
            exit.on_slot(Outcome::Missed, true);
            assert!(!exit.is_resting());
            exit.on_slot(Outcome::Kept, false);
        }
        // A miss with N below its bound says nothing of the path.
        exit.on_slot(Outcome::Missed, true);
        exit.on_slot(Outcome::Missed, false);
        exit.on_slot(Outcome::Missed, true);
        assert!(!exit.is_resting());
    }

    const TWO_SECONDS: Duration = Duration::from_secs(2);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_secs(seconds))
    }

    /// An exit that rests for eight slots, because 12 Mbit/s failed.
    fn resting() -> Exit {
        let mut exit = Exit::default();
        exit.on_required(Bandwidth::from_mbps(12), at(0));
        competing(&mut exit, 2);
        exit
    }

    fn require(exit: &mut Exit, kbps: u64) {
        exit.on_required(Bandwidth::from_kbps(kbps), at(0));
    }

    #[test]
    fn who_asks_for_as_much_again_still_rests() {
        let mut exit = resting();
        for kbps in [12_000, 12_100, 20_000, 10_800] {
            require(&mut exit, kbps);
            assert!(exit.is_resting(), "{kbps}");
        }
        assert_eq!(
            competing(&mut exit, 9),
            [8],
            "a trial, and then a rest of 16"
        );
        assert_eq!(competing(&mut exit, 17), [16]);
    }

    #[test]
    fn who_asks_for_much_less_competes_until_that_fails_too() {
        let mut exit = resting();
        require(&mut exit, 10_700);
        assert_eq!(competing(&mut exit, 4), [0, 1], "and then a rest of 16");
        require(&mut exit, 12_000);
        assert!(exit.is_resting(), "what failed at less fails at more");
        // One failure of more is none of less.
        let mut exit = Exit::default();
        require(&mut exit, 12_000);
        exit.on_slot(Outcome::Missed, true);
        require(&mut exit, 5_000);
        assert_eq!(competing(&mut exit, 3), [0, 1]);
        // What less has proves nothing of more, and lets time pass.
        let mut exit = resting();
        require(&mut exit, 1_000);
        exit.on_slot(Outcome::Kept, false);
        require(&mut exit, 12_000);
        assert_eq!(
            competing(&mut exit, 10),
            [7],
            "after the seven slots that are left"
        );
        // To change between both is of no use.
        let mut exit = Exit::default();
        let competing = (0..400).filter(|slot| {
            require(&mut exit, if slot % 2 == 0 { 12_000 } else { 10_000 });
            let competes = !exit.is_resting();
            exit.on_slot(Outcome::Missed, competes);
            competes
        });
        assert!(competing.count() <= 10);
    }

    #[test]
    fn a_rest_goes_on_while_nothing_is_required_and_long_ago_is_forgotten() {
        let mut exit = resting();
        exit.on_withdrawn(at(10), TWO_SECONDS);
        exit.on_required(Bandwidth::from_mbps(12), at(20));
        assert_eq!(
            competing(&mut exit, 4),
            [3],
            "five slots of the rest are over"
        );
        exit.on_withdrawn(at(30), TWO_SECONDS);
        // The next rest would be of 32 slots.
        exit.on_required(Bandwidth::from_mbps(12), at(30 + 63));
        assert_eq!(competing(&mut exit, 2), [0], "a trial");
        exit.on_withdrawn(at(100), TWO_SECONDS);
        exit.on_required(Bandwidth::from_mbps(12), at(100 + 2 * 64));
        assert_eq!(competing(&mut exit, 4), [0, 1]);
    }
}
