//! How a slot that has begun will end. The probability joins the forecast for the rest of the slot
//! with its course so far.
//!
//! ```text
//! odds(missed) = odds(forecast) e^b (needed / required)^c (needed / pace)^d
//! ```
//!
//! The forecast knows path and experience, and nothing of this slot. If a slot is behind,
//! something slowed it, and this mostly lasts. If the window carries less now than is needed, it
//! has to grow first. Both enter as factors of the odds, like any further evidence.

use crate::units::Bandwidth;

/// b, c and d, the weights of the odds. They come from a logistic regression over the slots of 100
/// drawn paths (`imtcp-sim calibrate --seeds 1..100`, with seven tenths of the slot left). The
/// forecast's own weight is 0.95 there, which is taken as one.
const BIAS: f64 = 0.2;
const BEHIND: f64 = 9.0;
const PACE: f64 = 2.0;

/// The largest ratio that counts, in either direction. A tenth of what is needed already says
/// everything.
const MOST_RATIO: f64 = 10.0;

/// The probability of a miss from which on a warning is given. From the middle of the slot on, a
/// slot is called at risk if it is more likely missed than kept. Earlier there is time to wait,
/// and a warning that is taken back is a nuisance. So at the beginning the odds must be four to
/// one.
const RISK_AT_MIDDLE: f64 = 0.5;
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
}

impl Course {
    /// The probability that the slot is kept, if the outlook's forecast is `forecast`.
    pub(super) fn probability(&self, forecast: f64) -> f64 {
        let odds = (1.0 - forecast) / forecast.max(f64::MIN_POSITIVE)
            * libm::exp(BIAS)
            * libm::pow(ratio(self.needed, self.required), BEHIND)
            * libm::pow(ratio(self.needed, self.pace), PACE);
        1.0 / (1.0 + odds)
    }
}

/// The ratio of one rate to the other, within bounds.
fn ratio(one: Bandwidth, other: Bandwidth) -> f64 {
    let ratio = one.as_bps_f64() / other.as_bps_f64().max(1.0);
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
        }
    }

    #[test]
    fn evidence_moves_the_odds() {
        // Even odds, nothing else known: 1 / (1 + e^0.2).
        let even = course(1000, 1000, 1000).probability(0.5);
        assert!((even - 0.450_166).abs() < 1e-6, "{even}");
        // A tenth behind: 1.1^9 = 2.358; a window that carries half: 2^2 = 4.
        let behind = course(1100, 1000, 1100).probability(0.8);
        assert!(
            (behind - 1.0 / (1.0 + 0.25 * 1.221_403 * 2.357_948)).abs() < 1e-6,
            "{behind}"
        );
        let small = course(1000, 1000, 500).probability(0.8);
        assert!(
            (small - 1.0 / (1.0 + 0.25 * 1.221_403 * 4.0)).abs() < 1e-6,
            "{small}"
        );
        assert_eq!(course(1000, 1000, 1000).probability(1.0), 1.0);
        assert!(course(1000, 1000, 1000).probability(0.0) < 1e-9);
    }

    #[test]
    fn an_early_warning_takes_more() {
        assert!(is_at_risk(0.19, 1.0, false) && !is_at_risk(0.21, 1.0, false));
        assert!(is_at_risk(0.34, 0.75, false) && !is_at_risk(0.36, 0.75, false));
        for left in [0.5, 0.2, 0.0] {
            assert!(is_at_risk(0.49, left, false) && !is_at_risk(0.51, left, false));
            assert!(is_at_risk(0.59, left, true) && !is_at_risk(0.61, left, true));
        }
    }

    proptest! {
        #[test]
        fn the_further_behind_the_less_likely(
            needed in 1u64..1_000_000, more in 0u64..1_000_000, required in 1u64..1_000_000,
            pace in 0u64..1_000_000, forecast in 0.0..=1.0,
        ) {
            let p = |needed| course(needed, required, pace).probability(forecast);
            prop_assert!((0.0..=1.0).contains(&p(needed)));
            prop_assert!(p(needed + more) <= p(needed) + 1e-12);
        }
    }
}
