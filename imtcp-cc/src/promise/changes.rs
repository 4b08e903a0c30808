//! How the available bandwidth changes from one averaging window to the next.
//!
//! Traffic varies by a little all the time, and by a lot when somebody comes or goes. One variance
//! for both is too wide for most windows and too narrow for the few that matter, and a single jump
//! spoils it for long. So the differences themselves are kept. The next difference is assumed to
//! be like one of them.

use crate::units::Bandwidth;
use std::time::Duration;

/// The number of differences kept. With a window of a few seconds they cover about a minute.
const KEPT: usize = 16;
/// The number of words in the bulletin. A word holds two differences.
pub(super) const CHANGES_WORDS: usize = KEPT / 2;
/// Marks a place without a difference.
const NONE: u32 = u32::MAX;

/// The weight of a difference, relative to the one after it.
const MEMORY: f64 = 0.9;

/// The difference that is assumed before a path has shown any, as a share of the level.
const PRIOR: f64 = 0.1;
/// The weight of that assumption, as a number of differences.
const PRIOR_WEIGHT: f64 = 2.0;

/// A difference stands for all that are about as large. Half of its variance is a spread around
/// it, and half is its own distance from zero.
const SPREAD: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// The latest differences between averaging windows that do not overlap, in kbit/s, the newest
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changes {
    differences: [u32; KEPT],
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            differences: [NONE; KEPT],
        }
    }
}

impl Changes {
    /// Adds a difference. The means of two windows differed by `difference`, in either direction.
    pub fn add(&mut self, difference: Bandwidth) {
        self.differences.rotate_right(1);
        let kbps = u32::try_from(difference.as_bps() / 1000).unwrap_or(NONE);
        self.differences[0] = kbps.min(NONE - 1);
    }

    /// The same differences in another unit: `share` is the part of a packet on the wire that
    /// counts.
    #[must_use]
    pub fn scaled(self, share: f64) -> Self {
        let mut scaled = Self::default();
        for difference in self.oldest_first() {
            scaled.add(difference.scaled(share));
        }
        scaled
    }

    fn oldest_first(&self) -> impl Iterator<Item = Bandwidth> + '_ {
        let known = self.differences.iter().rev();
        known
            .filter(|kbps| **kbps != NONE)
            .map(|kbps| Bandwidth::from_kbps(u64::from(*kbps)))
    }

    /// The probability that the mean over `span` is at least `rate`. The mean over the last
    /// `window` was `available`, with a standard `error`.
    ///
    /// Each of two windows has its own error and its own chance, so a difference has twice the
    /// variance of a single window. A span that is shorter than the window averages less.
    pub fn probability_above(
        &self,
        rate: Bandwidth,
        (available, error): (Bandwidth, Bandwidth),
        (window, span): (Duration, Duration),
    ) -> f64 {
        let above = available.as_bps_f64() - rate.as_bps_f64();
        let shorter = window.as_secs_f64() / span.as_secs_f64().max(1e-9);
        let scale = libm::sqrt(shorter.max(1.0) / 2.0);
        let error = error.as_bps_f64();
        let prior = (PRIOR * available.as_bps_f64() * scale).max(error);
        let mut sum = PRIOR_WEIGHT * at_least(above, prior);
        let (mut weights, mut weight) = (PRIOR_WEIGHT, 1.0);
        for kbps in self.differences.iter().take_while(|kbps| **kbps != NONE) {
            let deviation = f64::from(*kbps) * 1e3 * scale;
            let (shift, spread) = (SPREAD * deviation, (SPREAD * deviation).max(error));
            sum +=
                weight * 0.5 * (at_least(above + shift, spread) + at_least(above - shift, spread));
            weights += weight;
            weight *= MEMORY;
        }
        sum / weights
    }

    pub(super) fn to_words(self) -> [u64; CHANGES_WORDS] {
        std::array::from_fn(|index| {
            u64::from(self.differences[2 * index])
                | u64::from(self.differences[2 * index + 1]) << 32
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "two halves of a word")]
    pub(super) fn from_words(words: &[u64; CHANGES_WORDS]) -> Self {
        Self {
            differences: std::array::from_fn(|index| {
                (words[index / 2] >> (32 * (index % 2))) as u32
            }),
        }
    }
}

/// The probability that a normal variable with the mean `above` is not negative.
fn at_least(above: f64, deviation: f64) -> f64 {
    if deviation > 0.0 {
        0.5 * libm::erfc(-above / (deviation * std::f64::consts::SQRT_2))
    } else {
        f64::from(u8::from(above >= 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn mbps(rate: u64) -> Bandwidth {
        Bandwidth::from_mbps(rate)
    }

    fn above(changes: &Changes, rate: u64, span: Duration) -> f64 {
        changes.probability_above(mbps(rate), (mbps(20), mbps(0)), (SECOND, span))
    }

    #[test]
    fn beliefs_before_the_first_change() {
        let none = Changes::default();
        // A tenth of 20, of which one window has 1 / sqrt 2: sigma 1.414. 20 is the median, 18 one
        // sigma times sqrt 2 below: Phi(1.414) = 0.92135.
        assert!((above(&none, 20, SECOND) - 0.5).abs() < 1e-12);
        assert!((above(&none, 18, SECOND) - 0.921_35).abs() < 1e-5);
        // A quarter of the window: twice as wide.
        assert!((above(&none, 18, SECOND / 4) - 0.760_25).abs() < 1e-5);
        // An estimate that is worse than that counts as it is: sigma 4, Phi(0.5) = 0.69146.
        let vague = none.probability_above(mbps(18), (mbps(20), mbps(4)), (SECOND, SECOND));
        assert!((vague - 0.691_46).abs() < 1e-5, "{vague}");
    }

    #[test]
    fn a_change_is_expected_again() {
        let mut changes = Changes::default();
        changes.add(mbps(8));
        // 8 / sqrt 2 = 5.657 of which 4 is the shift and 4 the spread: half of Phi((2 + 4) / 4) =
        // 0.93319 and of Phi((2 - 4) / 4) = 0.30854, weight 1; the belief of before, 0.92135,
        // weight 2.
        let expected = (2.0 * 0.921_35 + 0.5 * (0.933_19 + 0.308_54)) / 3.0;
        assert!((above(&changes, 18, SECOND) - expected).abs() < 1e-5);
    }

    #[test]
    fn one_jump_does_not_make_every_window_doubtful() {
        let mut changes = Changes::default();
        changes.add(mbps(100));
        for _ in 0..10 {
            changes.add(mbps(1));
        }
        // A normal distribution of the same variance, 28 / sqrt 2, would say 0.54.
        let likely = above(&changes, 18, SECOND);
        assert!(likely > 0.9, "{likely}");
        for _ in 0..KEPT {
            changes.add(mbps(0));
        }
        assert!(above(&changes, 18, SECOND) > likely, "and it is forgotten");
        assert_eq!(Changes::from_words(&changes.to_words()), changes);
        let mut scaled = Changes::default();
        scaled.add(mbps(8));
        scaled.add(mbps(2));
        let mut half = Changes::default();
        half.add(mbps(4));
        half.add(mbps(1));
        assert_eq!(scaled.scaled(0.5), half);
    }

    proptest! {
        #[test]
        fn it_is_a_probability_and_falls_with_the_rate(
            differences in proptest::collection::vec(0u64..1_000_000, 0..20), less in 0u64..200,
            more in 0u64..200, available in 0u64..200, error in 0u64..50, window_ms in 1u64..5000,
            span_ms in 0u64..10_000,
        ) {
            let mut changes = Changes::default();
            for kbps in differences {
                changes.add(Bandwidth::from_kbps(kbps));
            }
            let spans = (Duration::from_millis(window_ms), Duration::from_millis(span_ms));
            let known = (mbps(available), mbps(error));
            let p = |rate| changes.probability_above(mbps(rate), known, spans);
            prop_assert!((0.0..=1.0).contains(&p(less)));
            prop_assert!(p(less) >= p(less + more) - 1e-12);
        }
    }
}
