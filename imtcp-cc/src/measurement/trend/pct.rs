//! The pairwise comparison test.

use crate::units::TimeDelta;

/// The average PCT of independent delays without a trend: each delay is as likely above the one
/// before as below it.
pub const WITHOUT_TREND: f64 = 0.5;

/// S_PCT = sum of I(D_j > D_(j-1)) / (number of pairs), Pathload: the share of pairs of which the
/// delay D rises, from 0 to 1. It is about [`WITHOUT_TREND`] in noise, and 0 on a path that does
/// not queue. `None` without a pair.
pub fn statistic(rises: &[TimeDelta]) -> Option<f64> {
    if rises.is_empty() {
        return None;
    }
    let rising = rises.iter().filter(|rise| **rise > TimeDelta::ZERO).count();
    Some(rising as f64 / rises.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_four_pairs_rise() {
        let rises = [5, 7, -1, 2].map(TimeDelta::from_nanos);
        assert_eq!(statistic(&rises), Some(0.75));
    }

    #[test]
    fn a_level_pair_does_not_rise() {
        assert_eq!(statistic(&[TimeDelta::ZERO; 4]), Some(0.0));
        assert_eq!(statistic(&[]), None);
    }
}
