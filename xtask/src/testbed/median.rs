//! The median.

/// The value that half of the values are below. If their number is even, it is the mean of the two
/// in the middle. `None` without values.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let upper = *sorted.get(half)?;
    Some(if sorted.len().is_multiple_of(2) {
        sorted[half - 1].midpoint(upper)
    } else {
        upper
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([]), None);
        assert_eq!(median([3.0, 1.0, 9.0]), Some(3.0));
        assert_eq!(median([3.0, 1.0, 9.0, 4.0]), Some(3.5));
    }
}
