//! Piles of dispersions, and the capacity that they show.

use super::FEWEST;
use crate::units::Bandwidth;
use std::ops::Range;
use std::time::Duration;

/// The largest ratio between dispersions of one pile.
const PILE_WIDTH: f64 = 1.02;

/// The least share of all dispersions that makes a pile. If Poisson traffic of full packets takes
/// 80 % of the link, e^-0.8 = 45 % of back-to-back pairs stay together. With the mix of packet
/// sizes that is mostly acknowledgements (340 bytes on average), e^-2.9 = 6 % do. A fiftieth
/// leaves room for heavier loads, and stray echoes do not gather in such numbers in one place.
const PILE_SHARE: f64 = 0.02;

/// A pile is the shadow of a larger one if the larger one is within this ratio and has more than
/// this many times as many dispersions. A 40-byte packet more or less between two of ours is 3 %,
/// two are 6 %. A true pile under heavy load also has larger ones behind it, but they are three
/// times as large only if on average five foreign packets come between two of ours.
const SHADOW_WIDTH: f64 = 1.10;
const SHADOW_RATIO: usize = 3;

/// A pile with most of all dispersions rules over one that is smaller by more than this. Traffic of
/// others spreads dispersions and does not gather most of them in one place. Acknowledgements of
/// one size that queue on their way back make small piles, at what that way needs for each.
const RULING_RATIO: usize = 20;

/// A pile does not stand out if this many times as many dispersions are shorter than are in it. The
/// link cannot have made those, so what made them may have made the pile. Fewer dispersions than
/// [`FEWEST_SPREAD`] are not judged.
const SPREAD_RATIO: usize = SHADOW_RATIO;
const FEWEST_SPREAD: usize = 2 * FEWEST;

/// The pile of the present capacity stays valid while it has this part of what makes a pile.
const OUTLIVED_DIVISOR: f64 = 4.0;

/// The width of a pile in standard deviations of the hosts' lateness.
const PILE_DEVIATIONS: f64 = 3.0;

/// What counts as a pile.
///
/// If hosts are late, a pile is as wide as their lateness makes it. Its least dispersions are then
/// no capacity: they are those whose echoes came closer together by chance. So the fullest pile
/// nearby counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piles {
    /// The largest ratio between two dispersions of a pile.
    width: f64,
    /// The largest ratio between the least pile and the one that counts in its place.
    reach: f64,
    /// That one has more than this many times as many dispersions.
    ratio: usize,
}

impl Piles {
    /// Those of hosts that are never late.
    pub(super) const SHARP: Self = Self {
        width: PILE_WIDTH,
        reach: SHADOW_WIDTH,
        ratio: SHADOW_RATIO,
    };

    /// Echoes are late with a standard deviation of `jitter`. Dispersions are read over `read_s`
    /// seconds.
    pub(super) fn new(jitter: Duration, read_s: f64) -> Self {
        let spread = if read_s > 0.0 {
            PILE_DEVIATIONS * jitter.as_secs_f64() / read_s
        } else {
            0.0
        };
        if 1.0 + spread <= PILE_WIDTH {
            Self::SHARP
        } else {
            Self {
                width: 1.0 + spread,
                reach: 1.0 + 2.0 * spread,
                ratio: 1,
            }
        }
    }

    /// The largest ratio between two dispersions of a pile.
    pub(super) fn width(&self) -> f64 {
        self.width
    }

    /// The rate of the least pile that is big enough. The dispersions are in ascending order, in
    /// nanoseconds per byte.
    pub(super) fn capacity(&self, sorted: &[f32], present: Option<Bandwidth>) -> Option<Bandwidth> {
        let needed = (sorted.len() as f64 * PILE_SHARE).max(FEWEST as f64 / 2.0);
        let is_enough = |count: usize| count as f64 >= needed;
        let fewest = (1..=sorted.len()).find(|count| is_enough(*count))?;
        let is_pile = |ends: &[f32]| f64::from(ends[fewest - 1]) <= f64::from(ends[0]) * self.width;
        let start = sorted.windows(fewest).position(is_pile)?;
        let first = start..start + self.length(&sorted[start..]);
        let pile = self.dominant_near(sorted, first);
        let pile = self.ruling(sorted, pile);
        let found = Bandwidth::from_bps_f64(8.0e9 / median(&sorted[pile]));
        let stays = present.filter(|present| {
            *present > found && self.is_left(sorted, *present, needed / OUTLIVED_DIVISOR)
        });
        Some(stays.unwrap_or(found))
    }

    /// The pile that counts in place of `pile` if another one rules: it holds most of the
    /// dispersions, and far more than this one.
    fn ruling(&self, sorted: &[f32], pile: Range<usize>) -> Range<usize> {
        let most = sorted.len() / 2 + 1;
        let is_pile = |ends: &[f32]| f64::from(ends[most - 1]) <= f64::from(ends[0]) * self.width;
        let Some(start) = sorted.windows(most).position(is_pile) else {
            return pile;
        };
        let rules = start..start + self.length(&sorted[start..]);
        if pile.len() * RULING_RATIO < rules.len() {
            rules
        } else {
            pile
        }
    }

    /// Whether the pile of `capacity` does not stand out. The dispersions are in ascending order.
    pub(super) fn is_spread(&self, sorted: &[f32], capacity: Bandwidth) -> bool {
        let Range { start, end } = pile_of(capacity, sorted, self.width);
        sorted.len() >= FEWEST_SPREAD && start > SPREAD_RATIO * (end - start)
    }

    /// The rate of the fullest pile, if it holds half of these dispersions and this share of them.
    /// They are in ascending order.
    pub(super) fn fullest(&self, sorted: &[f32], share: f64) -> Option<Bandwidth> {
        let lengths = (0..sorted.len()).map(|start| (self.length(&sorted[start..]), start));
        let (length, start) = lengths.max_by_key(|(length, _)| *length)?;
        let enough = sorted.len() as f64 * share.max(0.5);
        let pile = &sorted[start..start + length];
        (length as f64 >= enough).then(|| Bandwidth::from_bps_f64(8.0e9 / median(pile)))
    }

    /// The pile that counts for `pile`. Echoes that were pushed together on their way make a pile
    /// as well, a little before the true one and much smaller. If there is a far larger pile close
    /// behind this one, that pile counts.
    fn dominant_near(&self, sorted: &[f32], pile: Range<usize>) -> Range<usize> {
        let reach = f64::from(sorted[pile.start]) * self.reach;
        let mut best = pile.clone();
        for (start, least) in sorted.iter().enumerate().skip(pile.start) {
            let least = f64::from(*least);
            if least > reach {
                break;
            }
            // Only a pile that is larger than the best one so far is of interest.
            let (most, known) = (least * self.width, start + best.len());
            if known >= sorted.len() {
                break;
            }
            let rest = sorted[known..].iter();
            let more = rest.take_while(|other| f64::from(**other) <= most).count();
            if more > 0 {
                best = start..known + more;
            }
        }
        if best.len() > self.ratio * pile.len() {
            best
        } else {
            pile
        }
    }

    /// Whether enough of the pile of the present capacity is left. A pile under load grows and
    /// shrinks by chance, so a pile further out replaces the present one only when that one is gone
    /// for good. Where hosts are late, no pile stands out, and the fullest counts at once.
    fn is_left(&self, sorted: &[f32], present: Bandwidth, enough: f64) -> bool {
        let left = pile_of(present, sorted, PILE_WIDTH).len();
        self.width <= PILE_WIDTH && left as f64 >= enough
    }

    /// How many of these dispersions, in ascending order, make a pile with the first.
    fn length(&self, sorted: &[f32]) -> usize {
        let Some(first) = sorted.first() else {
            return 0;
        };
        let most = f64::from(*first) * self.width;
        sorted.partition_point(|other| f64::from(*other) <= most)
    }
}

/// Which of these dispersions, in ascending order, are those of a capacity, up to a factor of
/// `width`.
fn pile_of(capacity: Bandwidth, sorted: &[f32], width: f64) -> Range<usize> {
    let nanos_per_byte = 8.0e9 / capacity.as_bps_f64();
    let (low, high) = (nanos_per_byte / width, nanos_per_byte * width);
    let below = sorted.partition_point(|other| f64::from(*other) < low);
    below..sorted.partition_point(|other| f64::from(*other) <= high)
}

fn median(pile: &[f32]) -> f64 {
    pile[pile.len() / 2].into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_pile_that_counts_is_the_one_of_a_plain_search(
            values in proptest::collection::vec(100u16..160, 1..super::super::MEMORY),
        ) {
            let mut sorted: Vec<f32> = values.iter().map(|value| f32::from(*value)).collect();
            sorted.sort_by(f32::total_cmp);
            let at = |place: usize| f64::from(sorted[place]);
            let piles = Piles::new(Duration::ZERO, 1.0);
            let extent = |start: usize| {
                let alike = |other: &usize| at(*other) <= at(start) * PILE_WIDTH;
                (start..sorted.len()).filter(alike).count()
            };
            for start in 0..sorted.len() {
                let pile = start..start + extent(start);
                let mut best = pile.clone();
                let near = (start..sorted.len())
                    .take_while(|other| at(*other) <= at(start) * SHADOW_WIDTH);
                for other in near {
                    if extent(other) > best.len() {
                        best = other..other + extent(other);
                    }
                }
                let expected = if best.len() > SHADOW_RATIO * pile.len() {
                    best
                } else {
                    pile.clone()
                };
                prop_assert_eq!(piles.dominant_near(&sorted, pile), expected);
            }
        }
    }

    /// So many dispersions of 38 ns per byte, as of acknowledgements that queue, and of 886, as of
    /// a link of 9 Mbit/s.
    fn pressed_and_served(pressed: usize, served: usize) -> Option<f64> {
        let sorted: Vec<f32> = [vec![38.0; pressed], vec![886.0; served]].concat();
        let found = Piles::SHARP.capacity(&sorted, None)?;
        Some((found.as_bps_f64() / 1e6).round())
    }

    #[test]
    fn a_few_in_one_place_are_no_capacity_where_most_are_in_another() {
        assert_eq!(pressed_and_served(2, 41), Some(9.0));
        // One in twenty, or another pile that does not hold most, is enough.
        assert_eq!(pressed_and_served(2, 40), Some(211.0));
        let spread = (0..50).map(|place| 300.0 + 20.0 * place as f32);
        let mut sorted: Vec<f32> = [38.0; 2]
            .into_iter()
            .chain([886.0; 48])
            .chain(spread)
            .collect();
        sorted.sort_by(f32::total_cmp);
        let found = Piles::SHARP
            .capacity(&sorted, None)
            .expect("two are enough");
        assert!(found > Bandwidth::from_mbps(200), "{found}");
    }

    #[test]
    fn a_pile_with_many_shorter_dispersions_before_it_does_not_stand_out() {
        // 40 at 800 ns per byte, 10 Mbit/s. `before` more are spread over half of that and less.
        let is_spread = |before: u16| {
            let shorter = (0..before).map(|at| 200.0 + f32::from(at));
            let sorted: Vec<f32> = shorter.chain([800.0; 40]).collect();
            Piles::SHARP.is_spread(&sorted, Bandwidth::from_mbps(10))
        };
        assert!(!is_spread(0) && !is_spread(120) && is_spread(121));
        assert!(!Piles::SHARP.is_spread(&[1.0, 2.0, 3.0, 4.0, 800.0], Bandwidth::from_mbps(10)));
    }

    #[test]
    fn where_hosts_are_late_the_middle_of_the_pile_counts() {
        // A packet of 1250 bytes at 10 Mbit/s takes a millisecond, 800 ns per byte. Its echoes are
        // spread by a fifth to either side.
        let mut sorted: Vec<f32> = (0u16..500)
            .map(|at| 640.0 + 0.64 * f32::from(at))
            .chain((0u16..500).map(|at| 720.0 + 0.32 * f32::from(at)))
            .collect();
        sorted.sort_by(f32::total_cmp);
        let sharp = Piles::new(Duration::ZERO, 1e-3)
            .capacity(&sorted, None)
            .unwrap();
        assert!(sharp > Bandwidth::from_mbps(11), "{sharp}");
        let late = Duration::from_micros(80);
        let found = Piles::new(late, 1e-3).capacity(&sorted, None).unwrap();
        assert!((found.as_bps_f64() / 1e7 - 1.0).abs() < 0.04, "{found}");
    }
}
