//! Has the level of the others' traffic changed within the window?

use super::slices::SliceView;
use super::window::spread;

/// How many standard errors apart two means must lie. About 10 splits are tried 20 times a second;
/// at 4.5 a chance hit of a normal variable comes once in several hours.
const THRESHOLD: f64 = 4.5;

/// A change below this share of the capacity is left to the sliding window.
const LEAST_SHARE: f64 = 0.03;

/// Fewest slices on either side of a split.
const FEWEST: usize = 8;

/// How many of the newest views belong to a new level, if the level changed.
///
/// The newest 8, 10, 13 ... slices are compared with all before them. Slices that follow each other
/// are alike, which makes means of few slices vary more than their number says: the standard error
/// is widened by the correlation of neighbours.
pub(super) fn newest_level(views: &[SliceView], capacity: f64) -> Option<usize> {
    let mut best: Option<(f64, usize)> = None;
    let mut recent = FEWEST;
    while recent + FEWEST <= views.len() {
        let (old, new) = views.split_at(views.len() - recent);
        let score = distance(old, new, capacity);
        if score > THRESHOLD && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, recent));
        }
        recent = (recent * 5).div_ceil(4).max(recent + 1);
    }
    best.map(|(_, recent)| recent)
}

fn distance(old: &[SliceView], new: &[SliceView], capacity: f64) -> f64 {
    let old_mean = mean(old);
    let new_mean = mean(new);
    let shift = (new_mean - old_mean).abs();
    if shift < LEAST_SHARE * capacity {
        return 0.0;
    }
    // The older side is longer and gives the scatter; the newer side can only add to it.
    let old_spread = spread(old, old_mean) * widening(old, old_mean);
    let new_spread = spread(new, new_mean);
    let floor = (LEAST_SHARE * capacity / THRESHOLD) * (LEAST_SHARE * capacity / THRESHOLD);
    let variance = (old_spread / old.len() as f64)
        + (old_spread.max(new_spread).max(floor) / new.len() as f64);
    shift / libm::sqrt(variance)
}

fn mean(views: &[SliceView]) -> f64 {
    views.iter().map(|view| view.rate).sum::<f64>() / views.len().max(1) as f64
}

/// By how much the variance of a mean exceeds that of as many independent values, from the
/// correlation of neighbours (first-order autoregression): (1 + r) / (1 - r), within 1 to 20.
fn widening(views: &[SliceView], mean: f64) -> f64 {
    let mut products = 0.0;
    let mut squares = 0.0;
    for pair in views.windows(2) {
        products += (pair[0].rate - mean) * (pair[1].rate - mean);
        squares += (pair[0].rate - mean) * (pair[0].rate - mean);
    }
    let correlation = if squares > 0.0 {
        (products / squares).clamp(0.0, 0.9)
    } else {
        0.0
    };
    ((1.0 + correlation) / (1.0 - correlation)).clamp(1.0, 20.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn views(rates: impl IntoIterator<Item = f64>) -> Vec<SliceView> {
        rates
            .into_iter()
            .map(|rate| SliceView {
                index: 0,
                rate,
                seen_s: 0.002,
                covered: false,
                scatter: 0.0,
                freedom: 3,
            })
            .collect()
    }

    /// A fixed pattern of scatter with mean zero.
    fn wobble(i: usize) -> f64 {
        [3.0, -5.0, 1.0, 4.0, -2.0, -1.0][i % 6] * 1e6
    }

    #[test]
    fn a_step_is_found_within_a_few_slices() {
        let old = (0..100).map(|i| 40e6 + wobble(i));
        let new = (0..10).map(|i| 60e6 + wobble(i));
        let found = newest_level(&views(old.chain(new)), 100e6).expect("a step of 20 Mbit/s");
        assert!(
            (8..=11).contains(&found),
            "found {found} slices, expected about 10"
        );
    }

    #[test]
    fn scatter_alone_is_no_step() {
        let level = (0..250).map(|i| 40e6 + wobble(i * 7));
        assert_eq!(newest_level(&views(level), 100e6), None);
    }

    #[test]
    fn traffic_that_comes_and_goes_is_no_step() {
        // On for ten slices, off for ten: neighbours are alike, means of few slices vary.
        let level = (0..250).map(|i| if i % 20 < 10 { 40e6 } else { 0.0 });
        assert_eq!(newest_level(&views(level), 100e6), None);
    }
}
