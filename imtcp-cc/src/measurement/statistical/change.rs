//! Finds out whether the level of the others' traffic has changed within the window.

use super::slice::SliceView;
use super::window::spread;

/// How many standard errors apart two means must lie. About 10 splits are tried 20 times a second;
/// with 4.5 standard errors a normal variable exceeds the threshold by chance once in several
/// hours.
const THRESHOLD: f64 = 4.5;

/// The least change, as a share of the capacity. A smaller one is left to the sliding window.
const LEAST_SHARE: f64 = 0.03;

/// The fewest slices on either side of a split.
const FEWEST: usize = 8;

/// The threshold for a split at a long pause. Such a split is one place and not ten. It is also
/// the likeliest place: a change that happened while nothing was seen happened there.
const THRESHOLD_AT_PAUSE: f64 = 3.0;

/// How many of the newest views belong to a new level, if the level changed.
///
/// The newest 8, 10, 13 ... slices are compared with all slices before them. Slices that follow
/// each other are alike, so means of few slices vary more than their number says. For that reason
/// the correlation of neighbours widens the standard error.
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
        .or_else(|| level_after_pause(views, capacity))
}

/// The number of views after the last pause, if they differ from the views before it, and if the
/// pause was longer than the time seen since. A few old views are then enough for the comparison:
/// from chunk to chunk of a video nearly all of them have left the window. The sliding window would
/// otherwise keep the others.
fn level_after_pause(views: &[SliceView], capacity: f64) -> Option<usize> {
    let newest = views.last()?.index;
    let was_long = |pair: &[SliceView]| {
        let seen_since = newest + 1 - pair[1].index;
        pair[1].index - pair[0].index > seen_since
    };
    let splits = views.len().checked_sub(FEWEST)?;
    let last = views.windows(2).take(splits).rposition(was_long)?;
    let (old, new) = views.split_at(last + 1);
    let (old_mean, new_mean) = (mean(old), mean(new));
    let shift = (new_mean - old_mean).abs();
    let least = LEAST_SHARE * capacity;
    // Too few old views have no scatter of their own.
    let old_spread = if old.len() < FEWEST {
        0.0
    } else {
        spread(old, old_mean)
    };
    let new_spread = spread(new, new_mean) * widening(new, new_mean);
    let common = new_spread.max(old_spread).max(least * least);
    let variance = common / old.len() as f64 + common / new.len() as f64;
    (shift > least && shift > THRESHOLD_AT_PAUSE * libm::sqrt(variance)).then_some(new.len())
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
    views.iter().map(|view| view.rate()).sum::<f64>() / views.len().max(1) as f64
}

/// The factor by which the variance of a mean exceeds that of as many independent values. It
/// follows from the correlation r of neighbours (first-order autoregression): (1 + r) / (1 - r),
/// within 1 to 20.
fn widening(views: &[SliceView], mean: f64) -> f64 {
    let mut products = 0.0;
    let mut squares = 0.0;
    for pair in views.windows(2) {
        products += (pair[0].rate() - mean) * (pair[1].rate() - mean);
        squares += (pair[0].rate() - mean) * (pair[0].rate() - mean);
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
    use crate::units::single;

    fn views(rates: impl IntoIterator<Item = f64>) -> Vec<SliceView> {
        rates
            .into_iter()
            .map(|rate| SliceView {
                index: 0,
                rate: single(rate),
                seen_s: 0.002,
                covered: false,
                doubt: 0.0,
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

    /// `old` slices, a pause of 700 slices, `new` slices.
    fn paused(
        old: impl IntoIterator<Item = f64>,
        new: impl IntoIterator<Item = f64>,
    ) -> Vec<SliceView> {
        let mut all = views(old);
        let before = all.len();
        all.extend(views(new));
        for (at, view) in all.iter_mut().enumerate() {
            let pause = if at < before { 0 } else { 700 };
            view.index = (at + pause) as u64;
        }
        all
    }

    #[test]
    fn a_few_slices_before_a_pause_are_no_part_of_the_level_after_it() {
        let new = || (0..30).map(|i| 20e6 + wobble(i));
        assert_eq!(newest_level(&paused([0.0; 4], new()), 50e6), Some(30));
        // The same level, or no pause to speak of: all count.
        let same = (0..4).map(|i| 20e6 + wobble(i));
        assert_eq!(newest_level(&paused(same, new()), 50e6), None);
        let mut near = paused([0.0; 4], new());
        near.iter_mut().skip(4).for_each(|view| view.index -= 680);
        assert_eq!(newest_level(&near, 50e6), None);
        // What came late does not hide it.
        let mut late = paused([0.0; 4], new());
        late.last_mut().expect("some").index += 5;
        assert_eq!(newest_level(&late, 50e6), Some(30));
        // Too few since.
        assert_eq!(newest_level(&paused([0.0; 4], new().take(7)), 50e6), None);
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
