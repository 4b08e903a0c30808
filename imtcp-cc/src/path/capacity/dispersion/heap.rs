//! Heaps: most dispersions, where hosts have spread those of the link too far for a pile.
//!
//! A host that sends or reads packets late by some tens of microseconds makes one dispersion longer
//! and another shorter. Half of them are then shorter than what the link needs, the pile at its own
//! pace does not stand out any more, and a few elsewhere are a pile by chance. The middle of most
//! dispersions is where it was. Traffic of others moves it, but not by much while most packets
//! stay together, and they are no heap where most do not.

use super::piles::{NEAR, are_within, median};
use crate::units::Bandwidth;

/// Dispersions within this factor of each other are a heap if they are this share of all, and all
/// are no fewer than this. Once a capacity was taken from it, a smaller share is enough. Where a
/// capacity was refuted on drawn paths and such a heap was there, its middle was within a tenth of
/// the link's rate in 86 % of 105 cases, and the refuted capacity in half of them. On sockets it
/// was within a twentieth in 20 of 21 cases. With shares of 0.65 to 0.8 these figures hardly
/// differ (docs/ALGORITHM.md).
const WIDTH: f64 = 1.35 * 1.35;
const SHARE: f64 = 0.7;
const SHARE_LEFT: f64 = 0.5;
const FEWEST: usize = 48;

/// How far the link's rate may be from the middle, as a share of it.
pub(super) const DOUBT: f64 = 0.1;

/// A capacity is that of a heap if the middle of the heap is within this factor of it. The middle
/// moves about by less while the link does not change.
const SAME: f64 = 1.04;

/// Most of some dispersions, which are close together even if a host has spread them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heap {
    /// The rate in its middle.
    pub(super) middle: Bandwidth,
}

impl Heap {
    /// The heap of these dispersions, in ascending order, if there is one.
    pub(super) fn of(sorted: &[f32]) -> Option<Self> {
        Self::with(SHARE, sorted)
    }

    /// What is left in these dispersions, in ascending order, of the heap of a capacity.
    pub(super) fn left(capacity: Bandwidth, sorted: &[f32]) -> Option<Self> {
        Self::with(SHARE_LEFT, sorted).filter(|heap| heap.is_near(capacity))
    }

    fn with(share: f64, sorted: &[f32]) -> Option<Self> {
        let from = |start: usize| {
            let reach = f64::from(sorted[start]) * WIDTH;
            &sorted[start..sorted.partition_point(|other| f64::from(*other) <= reach)]
        };
        let heap = (0..sorted.len()).map(from).max_by_key(|heap| heap.len())?;
        let is_most = heap.len() as f64 >= share * sorted.len() as f64;
        (is_most && sorted.len() >= FEWEST).then(|| Self {
            middle: Bandwidth::from_bps_f64(8.0e9 / median(heap)),
        })
    }

    /// Whether a capacity is that of the heap.
    pub(super) fn has(&self, capacity: Bandwidth) -> bool {
        are_within(SAME, self.middle, capacity)
    }

    /// Whether what spread the heap may have made a pile at this capacity.
    pub(super) fn is_near(&self, capacity: Bandwidth) -> bool {
        are_within(NEAR, self.middle, capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `near` of 100 dispersions between 640 and 1120 ns per byte, most of them around 880,
    /// and the others further up.
    fn dispersions(near: u16) -> Vec<f32> {
        let near = (0..near).map(|at| f32::from(at) / f32::from(near) * 2.0 - 1.0);
        let near = near.map(|at| 880.0 + 240.0 * at * at * at);
        let left = 100 - u16::try_from(near.len()).expect("not so many");
        let far = (0..left).map(|at| 1300.0 + 3800.0 * f32::from(at) / f32::from(left.max(1)));
        near.chain(far).collect()
    }

    #[test]
    fn a_heap_is_most_in_one_place_even_if_a_host_spread_them() {
        let most = Heap::of(&dispersions(72)).expect("seven in ten are enough");
        let middle = most.middle.as_bps_f64() / 1e6;
        assert!((middle - 9.1).abs() < 0.1, "{middle} Mbit/s");
        assert!(Heap::of(&dispersions(60)).is_none(), "many are elsewhere");
        assert!(Heap::of(&dispersions(72)[..47]).is_none(), "too few");
    }

    #[test]
    fn a_heap_that_was_taken_is_left_until_half_are_elsewhere() {
        let (here, elsewhere) = (Bandwidth::from_mbps(9), Bandwidth::from_mbps(4));
        assert!(Heap::left(here, &dispersions(60)).is_some());
        assert!(Heap::left(here, &dispersions(45)).is_none());
        assert!(Heap::left(elsewhere, &dispersions(60)).is_none());
    }

    #[test]
    fn what_is_near_a_heap_and_what_is_its_own() {
        let heap = Heap::of(&dispersions(100)).expect("all of them");
        assert!(heap.has(Bandwidth::from_bps(9_300_000)));
        assert!(!heap.has(Bandwidth::from_bps(9_700_000)));
        assert!(heap.is_near(Bandwidth::from_mbps(12)) && heap.is_near(Bandwidth::from_mbps(7)));
        assert!(!heap.is_near(Bandwidth::from_mbps(13)) && !heap.is_near(Bandwidth::from_mbps(6)));
    }
}
