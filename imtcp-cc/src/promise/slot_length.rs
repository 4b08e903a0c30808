//! s, the length of a control slot in round trips (PT II-A: 2 <= s <= e, the round trips of an
//! evaluation slot).
//!
//! A control slot is a plan: a certain amount will be delivered if the window climbs by k in each
//! round trip. A loss breaks the plan, because the window halves. So a plan should reach as far as
//! the path usually goes between two losses, and no further. It should not be much shorter either.
//! A shorter slot has to make up for its predecessor in fewer round trips. That needs a steeper
//! climb and causes the next loss.
//!
//! The paper halves s after a slot that missed its target and doubles it after one that did not.
//! It finds that the rule misses its aim where every second slot misses its target (25 flows, PT
//! IV-A.2), because s then never rests. That rule searches for the mean loss interval, and the
//! mean loss interval can be measured.

use super::loss_intervals::LossIntervals;
use super::requirement::FEWEST_ROUND_TRIPS;

/// How the length of control slots follows from the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SlotLengthRule {
    /// The length is as far as the path usually goes between two congestion events, cut so that
    /// whole slots fill the evaluation slot.
    #[default]
    LossIntervals,
    /// The paper's rule: half the length after a missed target, and twice the length after a
    /// target that was reached.
    Doubling,
}

/// Follows s, the length of control slots.
#[derive(Clone, Debug)]
pub(super) struct SlotLength {
    rule: SlotLengthRule,
    /// In round trips.
    intervals: LossIntervals,
    /// s by the paper's rule, in round trips.
    doubling: u32,
}

/// The first s of the paper, in round trips (PT IV-A).
const FIRST: u32 = 16;

impl SlotLength {
    pub(super) fn new(rule: SlotLengthRule) -> Self {
        Self {
            rule,
            intervals: LossIntervals::default(),
            doubling: FIRST,
        }
    }

    /// Tells that this many round trips went by.
    pub(super) fn on_rounds(&mut self, rounds: f64) {
        self.intervals.pass(rounds);
    }

    /// Tells that a congestion event came.
    pub(super) fn on_congestion(&mut self) {
        self.intervals.close();
    }

    /// Tells that a control slot ended, within an evaluation slot of `whole` round trips.
    pub(super) fn on_slot(&mut self, reached: bool, whole: u32) {
        self.doubling = if reached {
            self.doubling.saturating_mul(2)
        } else {
            self.doubling / 2
        }
        .clamp(FEWEST_ROUND_TRIPS, whole.max(FEWEST_ROUND_TRIPS));
    }

    /// s for a control slot that begins `left` round trips before the end of an evaluation slot of
    /// `whole` round trips.
    pub(super) fn next(&self, left: u32, whole: u32) -> u32 {
        match self.rule {
            SlotLengthRule::Doubling => self
                .doubling
                .clamp(FEWEST_ROUND_TRIPS, whole.max(FEWEST_ROUND_TRIPS)),
            SlotLengthRule::LossIntervals => self.cut(left, whole),
        }
    }

    /// The length: ln 2 of the mean loss interval. If losses come at random the intervals are
    /// exponential, and ln 2 of the mean is their median. A plan of this length is as likely
    /// carried out as broken. The length is at most half of the evaluation slot, so that one
    /// correction is always possible. `left` is cut into equal parts, so that no short rest
    /// remains that would need a steep climb.
    fn cut(&self, left: u32, whole: u32) -> u32 {
        let longest = (whole / 2).max(FEWEST_ROUND_TRIPS);
        #[expect(clippy::cast_possible_truncation, reason = "saturates at the top")]
        #[expect(clippy::cast_sign_loss, reason = "a round trip is not negative")]
        let reach = self
            .intervals
            .mean()
            .map_or(longest, |mean| (mean * std::f64::consts::LN_2) as u32)
            .clamp(FEWEST_ROUND_TRIPS, longest);
        // The number of parts is rounded to the nearest. If it were always rounded up, slots that
        // barely do not fit would be half as long as asked for.
        let parts = (left.saturating_add(reach / 2) / reach).max(1);
        (left / parts).max(FEWEST_ROUND_TRIPS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule(intervals: &[f64]) -> SlotLength {
        let mut length = SlotLength::new(SlotLengthRule::LossIntervals);
        for rounds in intervals {
            length.on_rounds(*rounds);
            length.on_congestion();
        }
        length
    }

    #[test]
    fn slots_reach_from_loss_to_loss_and_fill_the_evaluation_slot() {
        // No loss: half of the evaluation slot.
        assert_eq!(rule(&[]).next(64, 64), 32);
        // A loss every 12 round trips: 12 ln 2 = 8.3, 64 / 8 = 8 slots of 8.
        assert_eq!(rule(&[12.0; 8]).next(64, 64), 8);
        // Every 15: 10.4; 64 / 10 rounds to 6 parts of 10; of 30 left, 3 of 10.
        assert_eq!(rule(&[15.0; 8]).next(64, 64), 10);
        assert_eq!(rule(&[15.0; 8]).next(30, 64), 10);
        // 7 left: one slot of 7, no stub.
        assert_eq!(rule(&[15.0; 8]).next(7, 64), 7);
        // Losses in each round trip, and no round trip left.
        assert_eq!(rule(&[1.0; 8]).next(64, 64), 2);
        assert_eq!(rule(&[10.0; 8]).next(0, 64), 2);
    }

    #[test]
    fn the_open_interval_counts_when_it_raises_the_mean() {
        let mut length = rule(&[6.0; 8]);
        length.on_rounds(3.0);
        // 6 ln 2 = 4.2
        assert_eq!(length.next(64, 64), 4);
        // (40 + 6 * 5) / 6 = 11.7: 40 with weight 1, then 1 + 1 + 1 + .8 + .6 + .4 + .2 = 5 of
        // sixes; 11.7 ln 2 = 8.1.
        length.on_rounds(37.0);
        assert_eq!(length.next(64, 64), 8);
    }

    #[test]
    fn losses_that_have_become_frequent_count_soon() {
        // Every 40, then three times every 6: mean (6 * 3 + 40 + 40 * 2) / 6 = 23, 1.5 of the last
        // three 9; 9 ln 2 = 6.2, 64 / 6 rounds to 11 parts of 5.
        let mut length = rule(&[40.0; 8]);
        for _ in 0..3 {
            length.on_rounds(6.0);
            length.on_congestion();
        }
        assert_eq!(length.next(64, 64), 5);
    }

    #[test]
    fn the_papers_rule_halves_and_doubles() {
        let mut length = SlotLength::new(SlotLengthRule::Doubling);
        assert_eq!(length.next(32, 32), 16);
        length.on_slot(false, 32);
        assert_eq!(length.next(32, 32), 8);
        for _ in 0..5 {
            length.on_slot(false, 32);
        }
        assert_eq!(length.next(32, 32), 2);
        for _ in 0..9 {
            length.on_slot(true, 32);
        }
        assert_eq!(length.next(32, 32), 32);
    }

    /// Changes of direction of s over evaluation slots of 64 round trips on a path that loses a
    /// packet every `period` round trips, give or take `jitter`, and misses every second target.
    fn turns(rule: SlotLengthRule, period: f64, jitter: &[f64]) -> (usize, u32) {
        let mut length = SlotLength::new(rule);
        let mut seen = Vec::new();
        for (index, jitter) in jitter.iter().enumerate() {
            length.on_rounds(period * (1.0 + jitter));
            length.on_congestion();
            length.on_slot(index % 2 == 0, 64);
            if index >= 8 {
                seen.push(length.next(64, 64));
            }
        }
        let turns = seen
            .windows(3)
            .filter(|w| (w[1] > w[0] && w[1] > w[2]) || (w[1] < w[0] && w[1] < w[2]))
            .count();
        let spread = seen.iter().max().expect("some") - seen.iter().min().expect("some");
        (turns, spread)
    }

    #[test]
    fn on_a_steady_path_the_length_rests_and_the_papers_does_not() {
        let steady = [0.0; 40];
        assert_eq!(turns(SlotLengthRule::LossIntervals, 12.0, &steady), (0, 0));
        let (paper, _) = turns(SlotLengthRule::Doubling, 12.0, &steady);
        assert_eq!(paper, 30, "it turns with every slot");
    }

    proptest! {
        #[test]
        fn on_a_noisy_but_steady_path_the_length_stays_within_a_third(
            period in 4.0..20.0,
            jitter in proptest::collection::vec(-0.3..0.3, 40),
        ) {
            let (_, spread) = turns(SlotLengthRule::LossIntervals, period, &jitter);
            // The mean over eight intervals is off by 0.3 at the very most; cutting adds a step.
            prop_assert!(f64::from(spread) <= period * 0.6 + 4.0, "spread {spread} of {period}");
        }

        #[test]
        fn the_length_stays_within_two_and_the_whole(
            rounds in proptest::collection::vec(0.0..1e6, 0..20),
            left in prop_oneof![0u32..10_000, any::<u32>()],
            whole in prop_oneof![0u32..10_000, any::<u32>()],
        ) {
            let s = rule(&rounds).next(left.min(whole), whole);
            prop_assert!(s >= 2 && s <= whole.max(3));
        }
    }
}
