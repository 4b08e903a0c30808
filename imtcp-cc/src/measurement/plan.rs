//! The planned times at which the packets of a stream leave (IM 3.2.3).

use super::MAX_STREAM_PACKETS;
use super::range::{SearchRange, SubRange};
use crate::units::{Bandwidth, Bytes, NANOS_PER_SECOND};
use std::time::Duration;

/// The largest packet on the wire: the longest IPv4 packet, or an IPv6 payload and its header.
const LARGEST_PACKET: u64 = 65_575;

/// The send times of one stream, relative to its first packet. The plan is immutable;
/// [`super::record::StreamRecord`] has what really happened.
///
/// Packets are counted from 1 as in the paper: packet 1 opens the stream, packet j ends pair j.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPlan {
    stream: u32,
    rates: SubRange,
    packets: u32,
    offsets_ns: [u64; MAX_STREAM_PACKETS as usize],
}

impl StreamPlan {
    /// Plans stream `stream` (1 is the fastest) of `sub_ranges` over `range`, with `packets`
    /// packets of `size` bytes each on the wire. `packets` is held between 2 and
    /// [`MAX_STREAM_PACKETS`], which [`crate::Config`] has checked already.
    pub fn new(
        range: &SearchRange,
        sub_ranges: u32,
        stream: u32,
        packets: u32,
        size: Bytes,
    ) -> Self {
        let mut plan = Self {
            stream,
            rates: range.sub_range(stream, sub_ranges),
            packets: packets.clamp(2, MAX_STREAM_PACKETS),
            offsets_ns: [0; MAX_STREAM_PACKETS as usize],
        };
        let mut offset = 0;
        for j in 2..=plan.packets {
            offset += gap_ns(size, plan.pair_rate(j));
            plan.offsets_ns[j as usize - 1] = offset;
        }
        plan
    }

    /// The number of packets of the stream (N of IM 3.2.3).
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// The rate from packet j - 1 to packet j, for j = 2..N. It is the right side of the equation
    /// in IM 3.2.3, `B_{i+1} + (B_i - B_{i+1}) / (N - 1) * (j - 1)`, and ends at B_i. A `j`
    /// outside the range is taken as the nearer end.
    pub fn pair_rate(&self, j: u32) -> Bandwidth {
        let pairs = self.packets - 1;
        let step = u128::from(j.saturating_sub(1).min(pairs));
        let width = self.rates.high.saturating_sub(self.rates.low).as_bps();
        let up = u128::from(width) * step / u128::from(pairs);
        // `up` is a part of the width, which is a u64.
        let up = u64::try_from(up).unwrap_or(u64::MAX);
        self.rates.low.saturating_add(Bandwidth::from_bps(up))
    }

    /// The time at which packet j = 1..N leaves, counted from the first packet (S_ij - S_i1 of
    /// IM 3.2.3). `None` for other `j`.
    pub fn offset(&self, j: u32) -> Option<Duration> {
        (1..=self.packets)
            .contains(&j)
            .then(|| Duration::from_nanos(self.offsets_ns[j as usize - 1]))
    }

    /// The planned gap between packets j - 1 and j; `None` if there are no such packets.
    pub fn gap_before(&self, j: u32) -> Option<Duration> {
        let before = self.offset(j.checked_sub(1)?)?;
        Some(self.offset(j)?.saturating_sub(before))
    }
}

/// The gap to the next packet, M / rate with the packet size M, rounded to nanoseconds. It is at
/// least 1 ns, so that no two packets share a time.
fn gap_ns(size: Bytes, rate: Bandwidth) -> u64 {
    let bits = u128::from(size.get().min(LARGEST_PACKET)) * 8;
    let rate = u128::from(rate.as_bps().max(1));
    let nanos = (bits * u128::from(NANOS_PER_SECOND) + rate / 2) / rate;
    u64::try_from(nanos).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_rates_of_a_stream_climb_through_its_sub_range() {
        // Range 40 to 80, k = 4, stream 2 covers 60 to 70; N = 5 steps by 10 / 4 = 2.5.
        let range = SearchRange::first(Bandwidth::from_mbps(80));
        let plan = StreamPlan::new(&range, 4, 2, 5, Bytes::new(1250));
        let rates: Vec<u64> = (2..=5)
            .map(|j| plan.pair_rate(j).as_bps() / 100_000)
            .collect();
        assert_eq!(rates, [625, 650, 675, 700]);
    }

    #[test]
    fn the_offsets_are_the_sums_of_the_gaps() {
        // 1250 B are 10^4 bits: at 62.5, 65, 67.5 and 70 Mbit/s that is
        // 160000, 153846, 148148 and 142857 ns.
        let range = SearchRange::first(Bandwidth::from_mbps(80));
        let plan = StreamPlan::new(&range, 4, 2, 5, Bytes::new(1250));
        let offsets: Vec<u128> = (1..=5)
            .filter_map(|j| plan.offset(j))
            .map(|offset| offset.as_nanos())
            .collect();
        assert_eq!(offsets, [0, 160_000, 313_846, 461_994, 604_851]);
        assert_eq!(plan.offset(0), None);
        assert_eq!(plan.offset(6), None);
    }

    proptest! {
        #[test]
        fn offsets_rise_strictly_and_gaps_shrink(
            low: u64, high: u64, k in 0u32..20, i in 0u32..20, n in 0u32..80, size: u64,
        ) {
            let range =
                SearchRange::spanning(Bandwidth::from_bps(low), Bandwidth::from_bps(high));
            let plan = StreamPlan::new(&range, k, i, n, Bytes::new(size));
            let offsets: Vec<u128> = (1..=plan.packets())
                .filter_map(|j| plan.offset(j))
                .map(|offset| offset.as_nanos())
                .collect();
            prop_assert_eq!(offsets.len(), plan.packets() as usize);
            prop_assert!(offsets.windows(2).all(|w| w[0] < w[1]), "{:?}", offsets);
            let gaps: Vec<u128> = offsets.windows(2).map(|w| w[1] - w[0]).collect();
            prop_assert!(gaps.windows(2).all(|w| w[0] >= w[1]), "{:?}", gaps);
        }
    }
}
