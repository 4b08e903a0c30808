//! How a slot that has begun will end. The probability joins the forecast for the rest of the slot
//! with its course so far.
//!
//! ```text
//! odds(missed) = odds(forecast)^a e^b (needed / required)^c (needed / pace)^d
//!                e^(f lost) (10 / n)^g
//! ```
//!
//! The forecast knows path and experience, and nothing of this slot. If a slot is behind,
//! something slowed it, and this mostly lasts. If the window carries less now than is needed, it
//! has to grow first. Where many packets are lost, and where a slot has few round trips (n), chance
//! has a larger part in what becomes of it. All of them enter as factors of the odds, like any
//! further evidence.

use crate::units::Bandwidth;

/// The weights of the odds: a, b, c, d, f and g. They come from a logistic regression over 8330
/// slots of drawn paths, as they stood when half of the slot was left
/// (`imtcp-sim survey elastic steps managed --promise --seeds 1..200`). Its logarithmic loss is
/// 0.053 on seeds that the fit had not seen: the even ones for the odd ones, and the reverse.
const FORECAST: f64 = 0.6;
const BIAS: f64 = -0.2;
const BEHIND: f64 = 4.1;
const PACE: f64 = 0.8;
const LOST: f64 = 3.4;
const ROUNDS: f64 = 0.45;

/// The number of round trips at which a slot is neither long nor short.
const USUAL_ROUNDS: f64 = 10.0;

/// The largest ratio that counts, in either direction. A twentieth of what is needed already says
/// everything.
const MOST_RATIO: f64 = 20.0;

/// The probability of a miss from which on a warning is given. From the middle of the slot on one
/// in three is enough: a warning in vain costs an application less than a miss. On the fit's paths
/// of the class `elastic`, 0.25 and 0.4 gave a precision of 0.63 and 0.80, and a recall of 0.61 and
/// 0.48. Earlier there is time to wait, and a warning that is taken back is a nuisance.
/// So at the beginning the odds must be four to one.
const RISK_AT_MIDDLE: f64 = 1.0 / 3.0;
const RISK_AT_START: f64 = 0.8;

/// How far the probability must fall below that bound before a warning is taken back. A forecast
/// that wavers then does not make a status that wavers.
const BACK: f64 = 0.1;

/// The course of a slot so far. Rates are goodput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Course {
    /// The rate that the rest of the slot has to bring.
    pub(super) needed: Bandwidth,
    /// The rate that the whole slot has to bring.
    pub(super) required: Bandwidth,
    /// The rate that the window carries now.
    pub(super) pace: Bandwidth,
    /// The share of packets that were lost lately.
    pub(super) lost: f64,
    /// The number of round trips that the whole slot has.
    pub(super) rounds: f64,
}

impl Course {
    /// The probability that the slot is kept, if the outlook's forecast is `forecast`.
    pub(super) fn probability(&self, forecast: f64) -> f64 {
        let odds = libm::pow((1.0 - forecast) / forecast.max(f64::MIN_POSITIVE), FORECAST)
            * libm::exp(BIAS + LOST * self.lost)
            * libm::pow(ratio(self.needed, self.required), BEHIND)
            * libm::pow(ratio(self.needed, self.pace), PACE)
            * libm::pow(
                within(USUAL_ROUNDS / self.rounds.max(f64::MIN_POSITIVE)),
                ROUNDS,
            );
        1.0 / (1.0 + odds)
    }
}

/// The ratio of one rate to the other, within bounds.
fn ratio(one: Bandwidth, other: Bandwidth) -> f64 {
    within(one.as_bps_f64() / other.as_bps_f64().max(1.0))
}

fn within(ratio: f64) -> f64 {
    ratio.clamp(1.0 / MOST_RATIO, MOST_RATIO)
}

/// Whether a slot is to be called at risk. `left` is the share of the slot that is still to come,
/// `probability` the probability that it is kept. `warned` is true if it is called at risk
/// already.
pub(super) fn is_at_risk(probability: f64, left: f64, warned: bool) -> bool {
    let early = (2.0 * left - 1.0).clamp(0.0, 1.0);
    let bound = RISK_AT_MIDDLE + (RISK_AT_START - RISK_AT_MIDDLE) * early;
    let bound = if warned { bound - BACK } else { bound };
    1.0 - probability > bound
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn course(needed: u64, required: u64, pace: u64) -> Course {
        Course {
            needed: Bandwidth::from_kbps(needed),
            required: Bandwidth::from_kbps(required),
            pace: Bandwidth::from_kbps(pace),
            lost: 0.0,
            rounds: 10.0,
        }
    }

    #[test]
    fn evidence_moves_the_odds() {
        let odds_of = |course: Course, forecast| {
            let kept = course.probability(forecast);
            (1.0 - kept) / kept
        };
        let close = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
        };
        // Even odds, nothing else known: e^-0.2.
        close(odds_of(course(1000, 1000, 1000), 0.5), 0.818_730_753);
        // Odds of a quarter: 4^-0.6 = 0.435275. A tenth behind: 1.1^4.1 = 1.478121.
        let quarter = 0.818_730_753 * 0.435_275_282;
        let behind = course(1100, 1000, 1100);
        close(odds_of(behind, 0.8), quarter * 1.478_121_1);
        // A window that carries half: 2^0.8 = 1.741101.
        close(odds_of(course(1000, 1000, 500), 0.8), quarter * 1.741_101_1);
        // A tenth of the packets lost: e^0.34. Five round trips: 2^0.45.
        let lossy = Course {
            lost: 0.1,
            rounds: 5.0,
            ..course(1000, 1000, 1000)
        };
        close(odds_of(lossy, 0.8), quarter * 1.404_947_6 * 1.366_040_3);
        assert_eq!(course(1000, 1000, 1000).probability(1.0), 1.0);
        assert!(course(1000, 1000, 1000).probability(0.0) < 1e-9);
    }

    #[test]
    fn an_early_warning_takes_more() {
        assert!(is_at_risk(0.19, 1.0, false) && !is_at_risk(0.21, 1.0, false));
        assert!(is_at_risk(0.43, 0.75, false) && !is_at_risk(0.44, 0.75, false));
        for left in [0.5, 0.2, 0.0] {
            assert!(is_at_risk(0.66, left, false) && !is_at_risk(0.67, left, false));
            assert!(is_at_risk(0.76, left, true) && !is_at_risk(0.77, left, true));
        }
    }

    proptest! {
        #[test]
        fn the_further_behind_the_less_likely(
            needed in 1u64..1_000_000, more in 0u64..1_000_000, required in 1u64..1_000_000,
            pace in 0u64..1_000_000, lost in 0.0..=1.0, rounds in 0.0..1000.0,
            forecast in 0.0..=1.0,
        ) {
            let p = |needed| {
                let course = Course { lost, rounds, ..course(needed, required, pace) };
                course.probability(forecast)
            };
            prop_assert!((0.0..=1.0).contains(&p(needed)));
            prop_assert!(p(needed + more) <= p(needed) + 1e-12);
        }
    }
}
