//! Piles of dispersions, and the capacity that they show.

use super::FEWEST;
use crate::units::Bandwidth;
use std::ops::Range;

/// The largest ratio between dispersions of one pile.
pub(super) const WIDTH: f64 = 1.02;

/// The least share of all dispersions that makes a pile. If Poisson traffic of full packets takes
/// 80 % of the link, e^-0.8 = 45 % of back-to-back pairs stay together. With the mix of packet
/// sizes that is mostly acknowledgements (340 bytes on average), e^-2.9 = 6 % do. A fiftieth
/// leaves room for heavier loads, and stray echoes do not gather in such numbers in one place.
const SHARE: f64 = 0.02;

/// A pile is the shadow of a larger one if the larger one is within this ratio and has more than
/// this many times as many dispersions. Echoes that come late make the next dispersion short, and
/// some of those gather by chance. Traffic of others makes no such piles: a 40-byte packet more or
/// less between two of ours is 3 %, and a full packet for every two of ours, the least that makes
/// a pile of its own, is a half. Where drawn paths and sockets had such a pair of piles, the
/// larger was the capacity in 576 looks and the smaller in 18 (docs/ALGORITHM.md).
const SHADOW_WIDTH: f64 = 1.40;
const SHADOW_RATIO: usize = 4;

/// Most of all dispersions within this factor rule over a pile that is smaller by more than this
/// ratio. Traffic of others spreads dispersions and does not gather most of them in one place.
/// Acknowledgements of one size that queue on their way back make small piles, at what that way
/// needs for each. The factor is larger than that of a pile, because hosts spread the times of
/// packets.
const RULING_WIDTH: f64 = 1.08;
const RULING_RATIO: usize = 20;

/// A pile does not stand out if this many times as many dispersions are shorter than are in it. The
/// link cannot have made those, so what made them may have made the pile. Fewer dispersions than
/// [`FEWEST_SPREAD`] are not judged.
const SPREAD_RATIO: usize = 3;
const FEWEST_SPREAD: usize = 2 * FEWEST;

/// The dispersions around a pile lie within this factor of it. Of dispersions that are spread
/// evenly between, on a logarithmic scale, one in [`SPREAD_OUT`] is in a pile: ln 1.02 of 2 ln 1.4.
pub(super) const NEAR: f64 = 1.4;
const SPREAD_OUT: f64 = 34.0;

/// A pile stands out if it holds more dispersions than chance gathers there, by this many standard
/// deviations.
const SIGNIFICANT: f64 = 3.0;

/// The pile of the present capacity stays valid while it has this part of what makes a pile.
const OUTLIVED_DIVISOR: f64 = 4.0;

/// The rate of the least pile that is big enough. The dispersions are in ascending order, in
/// nanoseconds per byte.
pub(super) fn capacity(sorted: &[f32], present: Option<Bandwidth>) -> Option<Bandwidth> {
    let needed = (sorted.len() as f64 * SHARE).max(FEWEST as f64 / 2.0);
    let fewest = (1..=sorted.len()).find(|count| *count as f64 >= needed)?;
    let start = first_of(fewest, sorted)?;
    let pile = ruling(sorted, lit(sorted, start..start + length(&sorted[start..])));
    let pile = outstanding(sorted, pile, fewest);
    let found = Bandwidth::from_bps_f64(8.0e9 / median(&sorted[pile]));
    let stays = |present: &Bandwidth| {
        *present > found && is_left(sorted, *present, needed) && !is_shadow(sorted, *present, found)
    };
    Some(present.filter(stays).unwrap_or(found))
}

/// Whether the pile of `capacity` does not stand out. The dispersions are in ascending order.
pub(super) fn is_spread(sorted: &[f32], capacity: Bandwidth) -> bool {
    let Range { start, end } = pile_of(capacity, sorted);
    sorted.len() >= FEWEST_SPREAD && start > SPREAD_RATIO * (end - start)
}

/// How many of these dispersions, in ascending order, are those of a capacity.
pub(super) fn size(sorted: &[f32], capacity: Bandwidth) -> usize {
    pile_of(capacity, sorted).len()
}

/// How many of them are within [`NEAR`] of it.
pub(super) fn near(sorted: &[f32], capacity: Bandwidth) -> usize {
    within(NEAR, capacity, sorted).len()
}

/// Whether two capacities are within this factor of each other.
pub(super) fn are_within(factor: f64, one: Bandwidth, other: Bandwidth) -> bool {
    one <= other.scaled(factor) && other <= one.scaled(factor)
}

/// The rate of the fullest pile, if it holds half of these dispersions and this share of them.
/// They are in ascending order.
pub(super) fn fullest(sorted: &[f32], share: f64) -> Option<Bandwidth> {
    let lengths = (0..sorted.len()).map(|start| (length(&sorted[start..]), start));
    let (length, start) = lengths.max_by_key(|(length, _)| *length)?;
    let enough = sorted.len() as f64 * share.max(0.5);
    let pile = &sorted[start..start + length];
    (length as f64 >= enough).then(|| Bandwidth::from_bps_f64(8.0e9 / median(pile)))
}

/// The pile that counts in place of `pile` if others rule: the largest one among most of all
/// dispersions, if these are close together and far more than there are in `pile`.
fn ruling(sorted: &[f32], pile: Range<usize>) -> Range<usize> {
    let most = sorted.len() / 2 + 1;
    let Some(start) = first_within(RULING_WIDTH, most, sorted) else {
        return pile;
    };
    let reach = f64::from(sorted[start]) * RULING_WIDTH;
    let end = sorted.partition_point(|other| f64::from(*other) <= reach);
    if pile.len() * RULING_RATIO >= end - start {
        return pile;
    }
    let piles = (start..end).map(|start| start..start + length(&sorted[start..]));
    piles.max_by_key(Range::len).unwrap_or(pile)
}

/// The pile that counts for `pile`: the largest one within reach if this one is its shadow.
fn lit(sorted: &[f32], pile: Range<usize>) -> Range<usize> {
    let reach = f64::from(sorted[pile.start]) * SHADOW_WIDTH;
    let mut best = pile.clone();
    for (start, least) in sorted.iter().enumerate().skip(pile.start) {
        let least = f64::from(*least);
        if least > reach {
            break;
        }
        // Only a pile that is larger than the best one so far is of interest.
        let (most, known) = (least * WIDTH, start + best.len());
        if known >= sorted.len() {
            break;
        }
        let rest = sorted[known..].iter();
        let more = rest.take_while(|other| f64::from(**other) <= most).count();
        if more > 0 {
            best = start..known + more;
        }
    }
    if best.len() > SHADOW_RATIO * pile.len() {
        best
    } else {
        pile
    }
}

/// The pile that counts for `pile` if that one does not stand out: the largest one near the least
/// that does. Echoes of a host that wakes late scatter around the link's own pace, and the least
/// pile is then somewhere on the slope before it.
fn outstanding(sorted: &[f32], pile: Range<usize>, fewest: usize) -> Range<usize> {
    if stands_out(sorted, &pile) {
        return pile;
    }
    let further = (pile.start..sorted.len()).map(|start| start..start + length(&sorted[start..]));
    let mut piles = further
        .filter(|pile| pile.len() >= fewest)
        .skip_while(|pile| !stands_out(sorted, pile));
    let Some(least) = piles.next() else {
        return pile;
    };
    let reach = f64::from(sorted[least.start]) * NEAR;
    piles
        .take_while(|pile| f64::from(sorted[pile.start]) <= reach)
        .fold(
            least,
            |most, pile| if pile.len() > most.len() { pile } else { most },
        )
}

/// Whether more dispersions are in a pile than chance gathers in one place.
fn stands_out(sorted: &[f32], pile: &Range<usize>) -> bool {
    let middle = median(&sorted[pile.clone()]);
    let below = sorted.partition_point(|other| f64::from(*other) * NEAR < middle);
    let near = sorted[below..].partition_point(|other| f64::from(*other) <= middle * NEAR);
    let by_chance = near as f64 / SPREAD_OUT;
    pile.len() as f64 > by_chance + SIGNIFICANT * libm::sqrt(by_chance)
}

/// Whether the pile of `present` is the shadow of that of `found`, which is slower.
fn is_shadow(sorted: &[f32], present: Bandwidth, found: Bandwidth) -> bool {
    let size = |capacity| pile_of(capacity, sorted).len();
    present <= found.scaled(SHADOW_WIDTH) && size(found) > SHADOW_RATIO * size(present)
}

/// Whether enough of the pile of the present capacity is left, where `needed` make a pile. A pile
/// under load grows and shrinks by chance, so a pile further out replaces the present one only when
/// that one is gone for good.
fn is_left(sorted: &[f32], present: Bandwidth, needed: f64) -> bool {
    pile_of(present, sorted).len() as f64 >= needed / OUTLIVED_DIVISOR
}

/// Where `count` dispersions that follow each other in order make a pile for the first time.
fn first_of(count: usize, sorted: &[f32]) -> Option<usize> {
    first_within(WIDTH, count, sorted)
}

/// Where `count` of them lie within a factor of `width` for the first time.
fn first_within(width: f64, count: usize, sorted: &[f32]) -> Option<usize> {
    let are_close = |ends: &[f32]| f64::from(ends[count - 1]) <= f64::from(ends[0]) * width;
    sorted.windows(count).position(are_close)
}

/// How many of these dispersions, in ascending order, make a pile with the first.
fn length(sorted: &[f32]) -> usize {
    let Some(first) = sorted.first() else {
        return 0;
    };
    let most = f64::from(*first) * WIDTH;
    sorted.partition_point(|other| f64::from(*other) <= most)
}

/// Which of these dispersions, in ascending order, are those of a capacity.
fn pile_of(capacity: Bandwidth, sorted: &[f32]) -> Range<usize> {
    within(WIDTH, capacity, sorted)
}

fn within(factor: f64, capacity: Bandwidth, sorted: &[f32]) -> Range<usize> {
    let nanos_per_byte = 8.0e9 / capacity.as_bps_f64();
    let (low, high) = (nanos_per_byte / factor, nanos_per_byte * factor);
    let below = sorted.partition_point(|other| f64::from(*other) < low);
    below..sorted.partition_point(|other| f64::from(*other) <= high)
}

pub(super) fn median(pile: &[f32]) -> f64 {
    pile[pile.len() / 2].into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::single;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_pile_that_counts_is_the_one_of_a_plain_search(
            values in proptest::collection::vec(100u16..160, 1..super::super::MEMORY),
        ) {
            let mut sorted: Vec<f32> = values.iter().map(|value| f32::from(*value)).collect();
            sorted.sort_by(f32::total_cmp);
            let at = |place: usize| f64::from(sorted[place]);
            let extent = |start: usize| {
                let alike = |other: &usize| at(*other) <= at(start) * WIDTH;
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
                prop_assert_eq!(lit(&sorted, pile), expected);
            }
        }
    }

    /// So many dispersions of 38 ns per byte, as of acknowledgements that queue, and of 886, as of
    /// a link of 9 Mbit/s.
    fn pressed_and_served(pressed: usize, served: usize) -> Option<f64> {
        let sorted: Vec<f32> = [vec![38.0; pressed], vec![886.0; served]].concat();
        let found = capacity(&sorted, None)?;
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
            .chain([886.0; 44])
            .chain(spread)
            .collect();
        sorted.sort_by(f32::total_cmp);
        let found = capacity(&sorted, None).expect("two are enough");
        assert!(found > Bandwidth::from_mbps(200), "{found}");
    }

    #[test]
    fn most_rule_over_a_few_even_if_a_host_spread_them() {
        // 42 between 970 and 1030 ns per byte, and two at half of that.
        let spread = (0..42u8).map(|at| 970.0 + 60.0 * f32::from(at) / 41.0);
        let sorted: Vec<f32> = [500.0; 2].into_iter().chain(spread).collect();
        let found = capacity(&sorted, None).expect("there are many");
        assert!(found < Bandwidth::from_bps(8_300_000), "{found}");
        // As many over a fifth: traffic of others may have spread them.
        let spread = (0..42u8).map(|at| 970.0 + 200.0 * f32::from(at) / 41.0);
        let sorted: Vec<f32> = [500.0; 2].into_iter().chain(spread).collect();
        assert_eq!(capacity(&sorted, None), Some(Bandwidth::from_mbps(16)));
    }

    #[test]
    fn a_pile_with_many_shorter_dispersions_before_it_does_not_stand_out() {
        // 40 at 800 ns per byte, 10 Mbit/s. `before` more are spread over half of that and less.
        let capacity = Bandwidth::from_mbps(10);
        let is_hidden = |before: u16| {
            let shorter = (0..before).map(|at| 200.0 + f32::from(at));
            let sorted: Vec<f32> = shorter.chain([800.0; 40]).collect();
            is_spread(&sorted, capacity)
        };
        assert!(!is_hidden(0) && !is_hidden(120) && is_hidden(121));
        assert!(!is_spread(&[1.0, 2.0, 3.0, 4.0, 800.0], capacity));
    }

    /// What `count` dispersions show of a link of 10 Mbit/s, in Mbit/s, if each echo is late by up
    /// to this share of the time that a packet takes.
    fn found_of_late_echoes(count: u32, most: f64) -> f64 {
        // Spread evenly, and neighbours have nothing to do with each other.
        let late = |at: u32| most * (f64::from(at) * f64::from(at) * 0.618_034).fract();
        let dispersion = |at: u32| single(800.0 * (1.0 + late(at + 1) - late(at)));
        let mut sorted: Vec<f32> = (0..count).map(dispersion).collect();
        sorted.sort_by(f32::total_cmp);
        let found = capacity(&sorted, None).expect("there are many");
        found.as_bps_f64() / 1e6
    }

    #[test]
    fn echoes_that_are_late_by_chance_do_not_make_the_link_faster() {
        // The least pile of 50 would be 10.9 to 12.0 Mbit/s.
        for (count, most) in [(50, 0.1), (50, 0.15), (50, 0.2), (500, 0.2), (500, 0.4)] {
            let found = found_of_late_echoes(count, most);
            assert!(
                (found - 10.0).abs() < 0.1,
                "{count}, {most}: {found} Mbit/s"
            );
        }
    }

    #[test]
    fn a_small_pile_before_a_large_one_is_its_shadow() {
        // 100 dispersions of 10 Mbit/s. Some more came early, at `early` nanoseconds per byte.
        let found = |count: usize, early: f32, present: Option<u64>| {
            let sorted: Vec<f32> = [vec![early; count], vec![800.0; 100]].concat();
            let found = capacity(&sorted, present.map(Bandwidth::from_mbps)).expect("two piles");
            (found.as_bps_f64() / 1e6).round()
        };
        assert_eq!(found(24, 600.0, None), 10.0);
        assert_eq!(found(25, 600.0, None), 13.0, "too many to be by chance");
        assert_eq!(
            found(24, 533.0, None),
            15.0,
            "a full packet for every two of ours"
        );
        // What is taken for the capacity already goes the same way.
        assert_eq!(found(24, 615.4, Some(13)), 10.0);
        assert_eq!(found(25, 615.4, Some(13)), 13.0);
    }
}
