//! Step 4 of IM 3.2: finds the sub-range that holds the available bandwidth.

use super::MAX_SUB_RANGES;
use super::trend::Trend;

/// The place of the available bandwidth A in the search range (a of IM 3.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// a = 0: A is above the search range.
    Above,
    /// 1 <= a <= k: A is in the sub-range I_a.
    SubRange(u32),
    /// a = k + 1: A is below the search range.
    Below,
}

/// Whether the rest of the measurement need not be sent. This is so when two streams in a row do
/// not increase: the slower ones are expected not to increase either (IM 3.2.3).
///
/// `trends` are those of the streams judged so far, the fastest first.
pub fn early_stop(trends: &[Trend]) -> bool {
    trends
        .windows(2)
        .any(|two| two == [Trend::NotIncreasing; 2])
}

/// Chooses the a that maximises `sum_{j<=a} T_j - sum_{j>a} T_j` (IM 3.2.4). `None` if no stream
/// had delays to judge: then there is no measurement.
///
/// The sum is `2 P_a - P_k` with `P_a = T_1 + .. + T_a`, so the function seeks the a with the
/// largest P_a. The paper does not say which a to take if several share the largest value:
///
/// - a = k and a = k + 1 always share one value, because T_(k+1) does not exist. The trends cannot
///   separate "in the lowest sub-range" from "below it", but the rates within stream k can:
///   `reaches_line_one` tells whether any of its pairs arrived as fast as it was sent
///   ([`super::fit`]). If one did, A is at least that rate and a = k; if none did, a = k + 1.
/// - All other ties come from streams that could not be judged, or that contradict each other. Of
///   the tied values the middle one is taken, because its largest possible error is the least. Of
///   two middles the larger a is taken, which has the lower rates: an estimate that errs should
///   spare a shared network. So a single unjudged stream between rising and level ones is itself
///   the choice. The likely reason why it could not be judged is that A lies inside its range.
///
/// `trends` are T_1 to T_k, the fastest stream first; more than [`MAX_SUB_RANGES`] are ignored.
pub fn choose(trends: &[Trend], reaches_line_one: bool) -> Option<Choice> {
    if !trends.iter().any(has_delays) {
        return None;
    }
    let mut best = 0;
    let mut tied = Tied::at(0);
    let mut sum = 0;
    for (a, trend) in (1..=MAX_SUB_RANGES).zip(trends) {
        sum += i32::from(trend.as_number());
        if sum > best {
            best = sum;
            tied = Tied::at(a);
        } else if sum == best {
            tied.add(a);
        }
    }
    let lowest = u32::try_from(trends.len())
        .unwrap_or(MAX_SUB_RANGES)
        .min(MAX_SUB_RANGES);
    Some(match tied.upper_middle() {
        0 => Choice::Above,
        a if a == lowest && !reaches_line_one => Choice::Below,
        a => Choice::SubRange(a),
    })
}

fn has_delays(trend: &Trend) -> bool {
    match trend {
        Trend::Increasing | Trend::NotIncreasing => true,
        Trend::CannotTell(doubt) => doubt.has_delays(),
    }
}

/// The values of a that share the largest sum, in ascending order. There is at least one.
struct Tied {
    values: [u32; MAX_SUB_RANGES as usize + 1],
    count: usize,
}

impl Tied {
    fn at(a: u32) -> Self {
        let mut values = [0; MAX_SUB_RANGES as usize + 1];
        values[0] = a;
        Self { values, count: 1 }
    }

    fn add(&mut self, a: u32) {
        self.values[self.count] = a;
        self.count += 1;
    }

    fn upper_middle(&self) -> u32 {
        self.values[self.count / 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::trend::Doubt;
    use Choice::{Above, Below, SubRange};
    use proptest::prelude::*;

    fn trends(numbers: &[i8]) -> Vec<Trend> {
        numbers
            .iter()
            .map(|number| match number {
                1 => Trend::Increasing,
                -1 => Trend::NotIncreasing,
                _ => Trend::CannotTell(Doubt::Contradiction),
            })
            .collect()
    }

    fn chosen(numbers: &[i8]) -> Option<Choice> {
        choose(&trends(numbers), true)
    }

    #[test]
    fn the_choice_is_the_last_rising_stream() {
        // a = 2 scores 1 + 1 + 1 + 1 = 4, a = 1 and a = 3 score 2.
        assert_eq!(chosen(&[1, 1, -1, -1]), Some(SubRange(2)));
        assert_eq!(chosen(&[1, -1, -1, -1]), Some(SubRange(1)));
    }

    #[test]
    fn no_rising_stream_means_above() {
        assert_eq!(chosen(&[-1, -1, -1, -1]), Some(Above));
    }

    #[test]
    fn all_rising_is_settled_by_the_lowest_stream() {
        let all = trends(&[1, 1, 1, 1]);
        assert_eq!(choose(&all, true), Some(SubRange(4)));
        assert_eq!(choose(&all, false), Some(Below));
    }

    #[test]
    fn line_one_matters_to_the_lowest_stream_alone() {
        assert_eq!(choose(&trends(&[1, 1, -1, -1]), false), Some(SubRange(2)));
        assert_eq!(choose(&trends(&[-1, -1]), false), Some(Above));
    }

    #[test]
    fn one_unjudged_stream_between_is_the_choice() {
        // P = 0 1 2 2 1: a = 2 and 3 tie.
        assert_eq!(chosen(&[1, 1, 0, -1]), Some(SubRange(3)));
        // P = 0 0 -1 -2 -3: a = 0 and 1 tie.
        assert_eq!(chosen(&[0, -1, -1, -1]), Some(SubRange(1)));
        // P = 0 1 2 3 3: a = 3 and 4 tie.
        assert_eq!(chosen(&[1, 1, 1, 0]), Some(SubRange(4)));
    }

    #[test]
    fn several_unjudged_streams_give_their_middle() {
        // P = 0 1 1 1 0: a = 1, 2, 3 tie.
        assert_eq!(chosen(&[1, 0, 0, -1]), Some(SubRange(2)));
        // P = 0 0 0 -1 -2: a = 0, 1, 2 tie.
        assert_eq!(chosen(&[0, 0, -1, -1]), Some(SubRange(1)));
    }

    #[test]
    fn streams_that_contradict_each_other_give_the_lower_rate() {
        // P = 0 1 0 1 0: a = 1 and 3 tie.
        assert_eq!(chosen(&[1, -1, 1, -1]), Some(SubRange(3)));
        // P = 0 -1 0 -1 -2: a = 0 and 2 tie.
        assert_eq!(chosen(&[-1, 1, -1, -1]), Some(SubRange(2)));
    }

    #[test]
    fn undecided_delays_in_all_streams_give_the_middle_of_the_range() {
        // P = 0 0 0 0 0: a = 0 to 4 tie.
        assert_eq!(chosen(&[0, 0, 0, 0]), Some(SubRange(2)));
    }

    #[test]
    fn no_delays_are_no_measurement() {
        for doubt in [Doubt::Incomplete, Doubt::PacketLost, Doubt::TooFewEchoes] {
            assert_eq!(choose(&[Trend::CannotTell(doubt); 4], true), None);
        }
        assert_eq!(chosen(&[]), None);
    }

    #[test]
    fn two_level_streams_in_a_row_stop_the_measurement() {
        assert!(early_stop(&trends(&[1, -1, -1])));
        assert!(early_stop(&trends(&[-1, -1])));
        assert!(!early_stop(&trends(&[-1, 0, -1])));
        assert!(!early_stop(&trends(&[-1])));
        assert!(!early_stop(&[]));
    }

    proptest! {
        #[test]
        fn the_choice_has_the_largest_sum_of_the_paper(
            numbers in proptest::collection::vec(-1i8..=1, 1..=16),
            reaches: bool,
        ) {
            let k = numbers.len();
            let score = |a: usize| -> i32 {
                let sum = |part: &[i8]| part.iter().map(|t| i32::from(*t)).sum::<i32>();
                let a = a.min(k);
                sum(&numbers[..a]) - sum(&numbers[a..])
            };
            let best = (0..=k + 1).map(score).max();
            let a = match choose(&trends(&numbers), reaches) {
                None => return Err(TestCaseError::fail("no choice")),
                Some(Above) => 0,
                Some(SubRange(a)) => a as usize,
                Some(Below) => k + 1,
            };
            prop_assert_eq!(Some(score(a)), best, "chose {} of {:?}", a, numbers);
        }
    }
}
