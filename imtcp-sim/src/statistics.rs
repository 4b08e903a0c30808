//! Order statistics.

/// The quantile `at` (0 to 1) of ascending values, by nearest rank: always one of the values.
pub fn quantile_of_sorted<T: Copy>(sorted: &[T], at: f64) -> Option<T> {
    let last = sorted.len().checked_sub(1)?;
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the last index")]
    #[expect(clippy::cast_sign_loss, reason = "saturates at zero")]
    let rank = libm::round(at * last as f64) as usize;
    Some(sorted[rank.min(last)])
}

/// The median of values in any order: the mean of the middle two where their number is even.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// The mean. None without values.
pub fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Jain's index: 1 if all have the same, 1 / n if one has everything.
pub fn jain(values: impl Iterator<Item = f64>) -> Option<f64> {
    let add = |(n, sum, squares), value| (n + 1.0, sum + value, squares + value * value);
    let (n, sum, squares): (f64, f64, f64) = values.fold((0.0, 0.0, 0.0), add);
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_and_medians_and_means_may_lie_between() {
        let sorted = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
        assert_eq!(quantile_of_sorted(&sorted, 0.0), Some(1));
        assert_eq!(quantile_of_sorted(&sorted, 0.5), Some(6));
        assert_eq!(quantile_of_sorted(&sorted, 0.95), Some(11));
        assert_eq!(quantile_of_sorted::<u8>(&[], 0.5), None);
        assert_eq!(median(vec![4.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
        assert_eq!(mean([4.0, 1.0, 4.0].into_iter()), Some(3.0));
        assert_eq!(mean([].into_iter()), None);
    }

    #[test]
    fn jains_index_is_one_if_all_have_the_same() {
        assert_eq!(jain([3.0; 10].into_iter()), Some(1.0));
        assert_eq!(jain([8.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(jain([0.0; 2].into_iter()), None);
    }
}
