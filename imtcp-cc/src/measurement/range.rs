//! The search range, in which the available bandwidth is sought (IM 3.2.1, 3.2.2, 3.2.6).

use crate::units::Bandwidth;
use std::fmt;

/// The lowest rate of a search: 8 kbit/s. A full packet of 1200 bytes takes 1.2 s there, so a
/// stream of five takes longer than any level of available bandwidth is likely to last.
pub const LOWEST_RATE: Bandwidth = Bandwidth::from_kbps(8);

/// A range is never narrower than its upper end divided by this number. It is the length of the
/// longest stream, 64 packets: rates that lie closer together differ by less than one packet in a
/// stream.
const NARROWEST: u64 = 64;

/// The largest error of a found value, as a factor. It is the paper's own: the first range of
/// IM 3.2.1 reaches down to half the rough value.
const WIDEST_FACTOR: u64 = 2;

/// The search range, I = (B_l, B_u) of IM 3.2. By construction `LOWEST_RATE <= B_l < B_u`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchRange {
    low: Bandwidth,
    high: Bandwidth,
}

/// The range of rates that one stream covers, I_i = (B_{i+1}, B_i) of IM 3.2.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubRange {
    /// The lower end of the sub-range, in IP-layer bits per second (B_{i+1}).
    pub low: Bandwidth,
    /// The upper end of the sub-range, in IP-layer bits per second (B_i).
    pub high: Bandwidth,
}

impl SearchRange {
    /// The range from `low` to `high`, corrected if it is not a valid one: `high` becomes at least
    /// twice [`LOWEST_RATE`], and `low` is moved until the range is in order and wide enough.
    pub fn spanning(low: Bandwidth, high: Bandwidth) -> Self {
        let high = high.as_bps().max(2 * LOWEST_RATE.as_bps());
        let low = low
            .as_bps()
            .clamp(LOWEST_RATE.as_bps(), high - high / NARROWEST);
        Self {
            low: Bandwidth::from_bps(low),
            high: Bandwidth::from_bps(high),
        }
    }

    /// The first range, (A_cprobe / 2, A_cprobe) of IM 3.2.1, where A_cprobe is the rate of the
    /// first train.
    pub fn first(cprobe: Bandwidth) -> Self {
        Self::spanning(Bandwidth::from_bps(cprobe.as_bps() / 2), cprobe)
    }

    /// The lower end of the range, in IP-layer bits per second (B_l of IM 3.2).
    pub fn low(&self) -> Bandwidth {
        self.low
    }

    /// The upper end of the range, in IP-layer bits per second (B_u of IM 3.2).
    pub fn high(&self) -> Bandwidth {
        self.high
    }

    /// The width of the range, B_u - B_l; never zero.
    pub fn width(&self) -> Bandwidth {
        self.high.saturating_sub(self.low)
    }

    /// The i-th edge from above, B_i = B_u - (B_u - B_l) / k (i - 1) of IM 3.2.2, for i from 1
    /// (B_u) to k + 1 (B_l). An `i` outside that is taken as the nearer end.
    pub fn edge(&self, i: u32, sub_ranges: u32) -> Bandwidth {
        let k = u64::from(sub_ranges.max(1));
        let steps = u64::from(i.saturating_sub(1)).min(k);
        let down = u128::from(self.width().as_bps()) * u128::from(steps) / u128::from(k);
        // `down` is a part of the width, which is a u64.
        let down = u64::try_from(down).unwrap_or(u64::MAX);
        self.high.saturating_sub(Bandwidth::from_bps(down))
    }

    /// The i-th sub-range, I_i = (B_{i+1}, B_i) of IM 3.2.2; i = 1 has the highest rates.
    pub fn sub_range(&self, i: u32, sub_ranges: u32) -> SubRange {
        SubRange {
            low: self.edge(i.saturating_add(1), sub_ranges),
            high: self.edge(i, sub_ranges),
        }
    }

    /// The next range after A was found: A -/+ half the width (IM 3.2.6).
    ///
    /// The paper lets the lower end reach zero, where a stream would never end. Here neither end
    /// is further than a factor of two from the value. A was just found in a sub-range; if it
    /// moves by more than that, the next measurement says so and the range follows.
    pub fn around(value: Bandwidth, half_width: Bandwidth) -> Self {
        let lowest = Bandwidth::from_bps(value.as_bps() / WIDEST_FACTOR);
        let highest = Bandwidth::from_bps(value.as_bps().saturating_mul(WIDEST_FACTOR));
        Self::spanning(
            value.saturating_sub(half_width).max(lowest),
            value.saturating_add(half_width).min(highest),
        )
    }

    /// The next range when A lies above (a = 0): (B_l, B_u + (B_u - B_l) / 2) of IM 3.2.6.
    #[must_use]
    pub fn raised(&self) -> Self {
        Self::spanning(self.low, self.high.saturating_add(self.half_width()))
    }

    /// The next range when A lies below (a = k + 1): (B_l - (B_u - B_l) / 2, B_u) of IM 3.2.6.
    ///
    /// The width grows by half with each such move, so the paper's lower end soon passes zero. If
    /// the lower end would fall by more than half of itself, it is halved instead. That is the
    /// geometric pace at which the range also grows upward.
    #[must_use]
    pub fn lowered(&self) -> Self {
        let halved = Bandwidth::from_bps(self.low.as_bps() / 2);
        let moved = self.low.saturating_sub(self.half_width());
        Self::spanning(moved.max(halved), self.high)
    }

    /// The part of the range up to `bound`, the physical bandwidth that is the maximum of B_u in
    /// IM 3.2. If the whole range is above the bound, the result is a narrow range just below it.
    #[must_use]
    pub fn bounded(&self, bound: Option<Bandwidth>) -> Self {
        Self::spanning(self.low, bound.map_or(self.high, |b| self.high.min(b)))
    }

    fn half_width(&self) -> Bandwidth {
        Bandwidth::from_bps(self.width().as_bps() / 2)
    }
}

impl SubRange {
    /// The middle of the sub-range.
    pub fn middle(&self) -> Bandwidth {
        let half = self.high.saturating_sub(self.low).as_bps() / 2;
        self.low.saturating_add(Bandwidth::from_bps(half))
    }
}

impl fmt::Display for SearchRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mbps(low: u64, high: u64) -> SearchRange {
        SearchRange::spanning(Bandwidth::from_mbps(low), Bandwidth::from_mbps(high))
    }

    #[test]
    fn the_first_range_is_the_upper_half_below_cprobe() {
        assert_eq!(SearchRange::first(Bandwidth::from_mbps(80)), mbps(40, 80));
    }

    #[test]
    fn four_sub_ranges_of_40_to_80_are_ten_wide_and_the_first_is_the_highest() {
        let range = mbps(40, 80);
        let edges: Vec<u64> = (1..=5)
            .map(|i| range.edge(i, 4).as_bps() / 1_000_000)
            .collect();
        assert_eq!(edges, [80, 70, 60, 50, 40]);
        assert_eq!(
            range.sub_range(2, 4),
            SubRange {
                low: Bandwidth::from_mbps(60),
                high: Bandwidth::from_mbps(70)
            }
        );
        assert_eq!(range.sub_range(2, 4).middle(), Bandwidth::from_mbps(65));
    }

    #[test]
    fn the_moves_out_of_range_follow_the_paper() {
        // Width 40, half of it 20: (40, 80) goes to (40, 100) or (20, 80).
        assert_eq!(mbps(40, 80).raised(), mbps(40, 100));
        assert_eq!(mbps(40, 80).lowered(), mbps(20, 80));
    }

    #[test]
    fn a_lower_end_that_would_pass_zero_is_halved() {
        // (20, 80) less half its width would start at -10.
        assert_eq!(mbps(20, 80).lowered(), mbps(10, 80));
    }

    #[test]
    fn a_found_value_is_the_centre() {
        let next = SearchRange::around(Bandwidth::from_mbps(60), Bandwidth::from_mbps(5));
        assert_eq!(next, mbps(55, 65));
    }

    #[test]
    fn a_found_value_is_trusted_to_a_factor_of_two() {
        let next = SearchRange::around(Bandwidth::from_mbps(10), Bandwidth::from_mbps(49));
        assert_eq!(next, mbps(5, 20));
    }

    #[test]
    fn the_capacity_bounds_the_range() {
        let bound = Some(Bandwidth::from_mbps(64));
        assert_eq!(mbps(40, 80).bounded(bound), mbps(40, 64));
        assert_eq!(mbps(40, 80).bounded(None), mbps(40, 80));
        // Wholly above: 64 Mbit/s less a sixty-fourth.
        assert_eq!(mbps(70, 80).bounded(bound), mbps(63, 64));
    }

    #[derive(Clone, Copy, Debug)]
    enum Move {
        First(u64),
        Around(u64, u64),
        Raised,
        Lowered,
        Bounded(u64),
    }

    fn any_move() -> impl Strategy<Value = Move> {
        prop_oneof![
            any::<u64>().prop_map(Move::First),
            (any::<u64>(), any::<u64>()).prop_map(|(a, h)| Move::Around(a, h)),
            Just(Move::Raised),
            Just(Move::Lowered),
            any::<u64>().prop_map(Move::Bounded),
        ]
    }

    proptest! {
        #[test]
        fn the_range_stays_ordered_and_positive_whatever_happens(
            moves in proptest::collection::vec(any_move(), 1..200),
            k in 0u32..20,
        ) {
            let mut range = mbps(40, 80);
            for step in moves {
                range = match step {
                    Move::First(a) => SearchRange::first(Bandwidth::from_bps(a)),
                    Move::Around(a, h) => {
                        SearchRange::around(Bandwidth::from_bps(a), Bandwidth::from_bps(h))
                    }
                    Move::Raised => range.raised(),
                    Move::Lowered => range.lowered(),
                    Move::Bounded(b) => range.bounded(Some(Bandwidth::from_bps(b))),
                };
                prop_assert!(range.low() >= LOWEST_RATE, "{step:?} gave {range}");
                prop_assert!(range.low() < range.high(), "{step:?} gave {range}");
                prop_assert_eq!(range.edge(1, k), range.high());
                prop_assert_eq!(range.edge(k.max(1) + 1, k), range.low());
                for i in 1..=k {
                    let sub = range.sub_range(i, k);
                    prop_assert!(sub.low <= sub.middle() && sub.middle() <= sub.high);
                }
            }
        }
    }
}
