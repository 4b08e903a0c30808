//! A beat: echoes come one after the other at a pace of their own, whatever they echo.
//!
//! A link that serves data needs twice the time for twice the bytes. A full link on the way back
//! needs as long for one acknowledgement as for another. So do a receiver with a timer and a host
//! that reads one packet after the other. Two signs tell these from the link of the data:
//!
//! - Most gaps of a block are alike, while acknowledgements cover different numbers of packets.
//! - Of two echoes that follow each other, the one that echoes fewer bytes took as long as the
//!   other, time after time. A burst ends with a smaller packet, so this shows where each packet
//!   has an acknowledgement of its own. Echoes of as many bytes are alike as well then: where hosts
//!   or links have ticks, they are not.

use super::{BLOCK, EchoPair};
use crate::units::Nanos;

/// The width of a beat around the median gap, in per cent, and the number of gaps within it that
/// make a beat. The width is not zero because acknowledgements differ in size by a range or two.
const WIDTH_PERCENT: u64 = 15;
const MAJORITY: usize = BLOCK * 3 / 4;

/// A beat also needs different numbers of packets: this many acknowledgements do not cover the
/// most common number.
const IRREGULAR: usize = BLOCK / 4;

/// Two echoes are compared if a link would make their gaps differ by this percentage.
const DIFFERENCE_PERCENT: i64 = 15;

/// A shorter gap is a host's own pace.
const LEAST: Nanos = Nanos::new(50_000);

/// The difference of their gaps counts as none if it is less than a quarter of what a link would
/// make of it, and as that of a link from three quarters on.
const PARTS: i64 = 4;

/// The fewest pairs of alike gaps that make a beat, and how many times as many as of a link's they
/// are. A fair queue serves a small packet after a round of the others like a large one, but not
/// more often than that: what it owes is left over, and one in four follows at once.
const FEWEST_ALIKE: u32 = 6;
const ALIKE_RATIO: u32 = 8;

/// In a beat so many times as many pairs of equal bytes have alike gaps as have others.
const EVEN_RATIO: u32 = 3;

/// From this many pairs on each counts half. A block without a pair takes one away.
const REMEMBERED: u32 = 24;

/// Whether most gaps of a block are alike, and the numbers of packets are not.
pub(super) fn is_heard(apart: &[Nanos; BLOCK], packets: &[u32; BLOCK]) -> bool {
    // The first number is nearly always the commonest, and one glance is enough.
    let other = |count: &&u32| **count != packets[0];
    if packets.iter().filter(other).count() < IRREGULAR {
        return false;
    }
    if alike(*apart, WIDTH_PERCENT).1 < MAJORITY {
        return false;
    }
    let mut counts = *packets;
    counts.sort_unstable();
    let lengths = counts.chunk_by(|a, b| a == b).map(<[u32]>::len);
    BLOCK - lengths.max().unwrap_or(0) >= IRREGULAR
}

/// The median of these gaps, and how many of them are within this percentage of it.
pub(super) fn alike<const N: usize>(mut gaps: [Nanos; N], width: u64) -> (Nanos, usize) {
    let median = *gaps.select_nth_unstable(N / 2).1;
    let width = median.get().saturating_mul(width) / 100;
    let is_alike = |gap: &&Nanos| gap.get().abs_diff(median.get()) <= width;
    (median, gaps.iter().filter(is_alike).count())
}

/// Compares echoes of unequal bytes that follow each other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Neighbours {
    before: Option<EchoPair>,
    /// Pairs with alike gaps, and with gaps as those of a link.
    alike: u32,
    served: u32,
    /// Pairs of equal bytes with alike gaps, and with others.
    even: u32,
    uneven: u32,
    /// Whether this block had any.
    any: bool,
}

impl Neighbours {
    #[inline]
    pub(super) fn on_echo(&mut self, echo: &EchoPair) {
        let Some(before) = self.before.replace(*echo) else {
            return;
        };
        // Most are of equal bytes.
        if before.bytes == echo.bytes {
            self.compare_equal(&before, echo);
            return;
        }
        let (small, large) = if echo.bytes < before.bytes {
            (echo, &before)
        } else {
            (&before, echo)
        };
        self.compare(small, large);
    }

    /// Whether the gaps are alike says something if the packets did not leave with them.
    #[inline]
    fn compare_equal(&mut self, before: &EchoPair, echo: &EchoPair) {
        let [one, other] = [before, echo].map(|it| it.arrival.as_nanos());
        if one.max(other) < LEAST.signed().as_nanos() || !is_spread(before) || !is_spread(echo) {
            return;
        }
        if (one - other).abs() < one.max(other) / 10 {
            self.even += 1;
        } else {
            self.uneven += 1;
        }
        if self.even + self.uneven > REMEMBERED {
            (self.even, self.uneven) = (self.even / 2, self.uneven / 2);
        }
    }

    /// A link serves the smaller bytes in less time, unless they left later. A gap with which the
    /// packets left tells nothing.
    fn compare(&mut self, small: &EchoPair, large: &EchoPair) {
        let (gap, bytes) = (large.arrival.as_nanos(), large.bytes.get().max(1));
        let share = i128::from(gap) * i128::from(small.bytes.get()) / i128::from(bytes);
        let share = i64::try_from(share).unwrap_or(gap);
        let of_link = gap - share.max(small.departure.as_nanos());
        let is_clear = of_link.saturating_mul(100) >= gap.saturating_mul(DIFFERENCE_PERCENT);
        if large.arrival < LEAST.signed() || !is_clear || !is_spread(small) || is_own(large) {
            return;
        }
        let difference = gap - small.arrival.as_nanos();
        if difference.abs() < (of_link / PARTS).min(gap / 10) {
            self.alike += 1;
        } else if difference > of_link - of_link / PARTS && is_spread(large) {
            self.served += 1;
        } else {
            return;
        }
        self.any = true;
        if self.alike + self.served > REMEMBERED {
            (self.alike, self.served) = (self.alike / 2, self.served / 2);
        }
    }

    /// A block is complete.
    pub(super) fn on_block(&mut self) {
        if !self.any {
            self.alike = self.alike.saturating_sub(1);
            self.served = self.served.saturating_sub(1);
        }
        self.any = false;
    }

    pub(super) fn show_a_beat(&self) -> bool {
        self.alike >= FEWEST_ALIKE
            && self.alike > ALIKE_RATIO * self.served
            && self.even >= EVEN_RATIO * self.uneven
    }
}

/// Whether the echoes came further apart than the packets left, by more than a tenth.
fn is_spread(echo: &EchoPair) -> bool {
    echo.arrival.as_nanos().saturating_mul(10) > echo.departure.as_nanos().saturating_mul(11)
}

/// Whether the echoes came at the distance at which the packets left, to a tenth.
fn is_own(echo: &EchoPair) -> bool {
    let off = (echo.arrival - echo.departure).as_nanos().abs();
    off.saturating_mul(10) <= echo.departure.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, TimeDelta};

    /// Packets of `bytes`, which left `left` us after those before and were echoed `came` us after
    /// those.
    fn echo(bytes: u64, left: i64, came: i64) -> EchoPair {
        EchoPair {
            arrival: TimeDelta::from_nanos(came * 1000),
            departure: TimeDelta::from_nanos(left * 1000),
            packets: 1,
            bytes: Bytes::new(bytes),
            served: None,
        }
    }

    /// Whether these echoes, time after time, are a beat.
    fn beats(echoes: &[EchoPair]) -> bool {
        let mut neighbours = Neighbours::default();
        for echo in echoes.repeat(100) {
            neighbours.on_echo(&echo);
        }
        neighbours.show_a_beat()
    }

    #[test]
    fn a_burst_that_ends_with_a_smaller_packet_tells_a_link_from_the_way_back() {
        // A frame every 40 ms: four full packets and a smaller one, which left together.
        let frame = |full: i64, small: i64| {
            let rest = 40_000 - 3 * full - small;
            let mut frame = vec![echo(1378, 0, full); 5];
            frame[0] = echo(1378, 40_000, rest);
            frame[4] = echo(700, 0, small);
            frame
        };
        assert!(beats(&frame(1945, 1945)), "whatever they echo");
        assert!(beats(&frame(1945, 2000)), "a range more");
        assert!(!beats(&frame(1945, 988)), "as the link serves them");
        assert!(!beats(&frame(1945, 1400)), "neither");
        assert!(!beats(&frame(20, 20)), "as the host reads them");
    }

    #[test]
    fn packets_that_left_so_far_apart_are_no_beat() {
        let spaced = [echo(1378, 2000, 2000), echo(700, 2000, 2000)];
        assert!(!beats(&spaced));
        // The small one left so late that a link would bring it no sooner.
        assert!(!beats(&[echo(1378, 0, 1945), echo(700, 1900, 1945)]));
    }

    #[test]
    fn acknowledgements_of_several_packets_that_take_no_longer_are_a_beat() {
        assert!(beats(&[echo(8268, 990, 265), echo(1378, 165, 265)]));
        assert!(!beats(&[echo(8268, 0, 1590), echo(1378, 0, 265)]));
    }

    #[test]
    fn one_in_five_that_a_fair_queue_serves_at_once_is_enough() {
        let round = vec![echo(1378, 0, 2000), echo(1160, 0, 2000)];
        assert!(beats(&round));
        let at_once = vec![echo(1378, 0, 2000), echo(1160, 0, 200)];
        assert!(!beats(&[round.repeat(4), at_once].concat()));
    }

    #[test]
    fn packets_that_come_at_ticks_are_no_beat() {
        let frame = |full: [i64; 4]| {
            let full = full.map(|gap| echo(1378, 0, gap));
            [
                full.as_slice(),
                &[echo(1100, 0, full[3].arrival.as_nanos() / 1000)],
            ]
            .concat()
        };
        assert!(beats(&frame([400, 400, 400, 400])));
        assert!(!beats(&frame([200, 400, 200, 400])));
    }

    #[test]
    fn a_beat_that_is_heard_no_more_is_forgotten() {
        let mut neighbours = Neighbours::default();
        for _ in 0..100 {
            neighbours.on_echo(&echo(1378, 0, 1945));
            neighbours.on_echo(&echo(700, 0, 1945));
        }
        assert!(neighbours.show_a_beat());
        let blocks = (1..).take_while(|_| {
            neighbours.on_block();
            neighbours.show_a_beat()
        });
        assert!((6..=20).contains(&blocks.count()));
    }
}
