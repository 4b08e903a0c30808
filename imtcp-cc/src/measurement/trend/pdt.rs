//! The pairwise difference test.

use crate::units::TimeDelta;

/// S_PDT = (D_N - D_1) / sum of |D_j - D_(j-1)|, Pathload: the share of the movement of the delay
/// D that is a net rise, from -1 to 1. It is about 0 without a trend, and exactly 0 for a delay
/// that does not move at all, which Pathload leaves undefined. `None` without a pair.
///
/// The numerator is the sum of the same differences, so a missing echo is missing in both
/// numerator and denominator.
pub fn statistic(rises: &[TimeDelta]) -> Option<f64> {
    if rises.is_empty() {
        return None;
    }
    let net: f64 = rises.iter().map(|rise| rise.as_nanos_f64()).sum();
    let movement: f64 = rises.iter().map(|rise| rise.as_nanos_f64().abs()).sum();
    Some(if movement > 0.0 { net / movement } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_net_rise_is_set_against_the_movement() {
        // 5 + 7 - 4 + 4 = 12 net, 20 moved.
        let rises = [5, 7, -4, 4].map(TimeDelta::from_nanos);
        assert_eq!(statistic(&rises), Some(0.6));
    }

    #[test]
    fn it_spans_minus_one_to_one() {
        assert_eq!(statistic(&[3, 4].map(TimeDelta::from_nanos)), Some(1.0));
        assert_eq!(statistic(&[-3, -4].map(TimeDelta::from_nanos)), Some(-1.0));
        assert_eq!(statistic(&[TimeDelta::ZERO; 3]), Some(0.0));
        assert_eq!(statistic(&[]), None);
    }
}
