//! Whether others may have made blocks of dispersions, and not something late.
//!
//! If others have a constant share X of the link, then packets that left in `x` times what the link
//! needs for them come in 1 + X * x times that, up to the point where the link is idle now and
//! then. What something late adds does not depend on `x`. So packets that left faster than most
//! tell the two apart, and packets that left slower.

use super::Block;
use crate::path::capacity::dispersion::Times;
use crate::units::{Bandwidth, Bytes};

/// Blocks count as fast if they left in at most this part of the time in which others send what was
/// added to a block in the mean.
const FAST_DIVISOR: f64 = 2.0;

/// Packets that left in so many times what the link needs for them, up to the next of these
/// numbers, are looked at together.
const SLOW: [f64; 4] = [1.1, 1.5, 2.0, 3.0];

/// So many bytes that others did not send show that something else made the blocks: four full
/// packets.
const UNSENT_BYTES: f64 = 6000.0;

/// It also has to be this part of what would be missing if nobody else had sent anything.
const LEAST_PART: f64 = 0.5;

/// And it has to be so many standard deviations of what others send in that time, as blocks tell
/// them. A few blocks and gaps of packets that left in another time see more or less of them by
/// chance.
const SIGNIFICANT: f64 = 3.0;

/// Collects packets that left slower than those of blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slow([Sum; SLOW.len() - 1]);

/// Bytes of packets, and how many bytes the link could have carried while they left, and while they
/// came.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    own: f64,
    left: f64,
    came: f64,
}

impl Slow {
    /// Takes a gap.
    #[inline]
    pub(super) fn on_gap(&mut self, bytes: Bytes, times: &Times) {
        let Some(served) = times.served.filter(|_| !times.is_close) else {
            return;
        };
        let own = bytes.as_f64();
        let rate = own / served.get() as f64;
        let [left, came] = [times.sent, times.arrival].map(|it| it.get() as f64 * rate);
        let place = SLOW
            .windows(2)
            .position(|it| left >= own * it[0] && left < own * it[1]);
        if let Some(sum) = place.and_then(|place| self.0.get_mut(place)) {
            sum.own += own;
            sum.left += left;
            sum.came += came;
        }
    }

    /// Whether others may have made these blocks, and the gaps meanwhile, on a link of this
    /// capacity. `may_be_spaced` says that a link ahead may have spaced what left faster than that.
    pub(super) fn may_be_of_others(
        &self,
        blocks: &[Block],
        capacity: Bandwidth,
        may_be_spaced: bool,
    ) -> bool {
        let served = 8e9 / capacity.as_bps_f64();
        let least = if may_be_spaced { served } else { 0.0 };
        let sent = |block: &Block| f64::from(block.sent).max(least);
        let mean = |part: &dyn Fn(&Block) -> f64| {
            blocks.iter().map(part).sum::<f64>() / blocks.len() as f64
        };
        let added = mean(&|block| block.nanos_per_byte.into()) - served;
        let share = (added / mean(&sent).max(f64::MIN_POSITIVE)).min(1.0);
        let (mut unsent, mut most, mut looked_at) = (0.0, 0.0, 0.0);
        for block in blocks {
            let of_others = share * sent(block);
            if of_others * FAST_DIVISOR <= added {
                let bytes = f64::from(block.bytes) / served;
                unsent += (f64::from(block.nanos_per_byte) - served - of_others) * bytes;
                most += (added - of_others) * bytes;
                looked_at += f64::from(block.bytes);
            }
        }
        // Beyond this the link is idle now and then, with others or without.
        let is_busy = |up_to: f64| up_to * (1.0 - share) <= 1.0;
        for (sum, _) in self
            .0
            .iter()
            .zip(&SLOW[1..])
            .filter(|(_, up_to)| is_busy(**up_to))
        {
            let with_others = sum.own + share * sum.left;
            let alone = sum.left.max(sum.own * (1.0 + added / served));
            unsent += with_others - sum.came;
            most += with_others - alone;
            looked_at += sum.own;
        }
        let by_chance = chance(blocks, served) * libm::sqrt(looked_at);
        unsent < UNSENT_BYTES.max(SIGNIFICANT * by_chance) || unsent < LEAST_PART * most
    }
}

/// By how many bytes blocks differ from their mean by chance, for one byte of their own: the
/// standard deviation, which grows with the root of their bytes. That of a normal distribution is
/// 1.25 mean distances.
fn chance(blocks: &[Block], served: f64) -> f64 {
    let count = blocks.len() as f64;
    let mean = blocks
        .iter()
        .map(|it| f64::from(it.nanos_per_byte))
        .sum::<f64>()
        / count;
    let distances = blocks.iter().map(|block| {
        let distance = (f64::from(block.nanos_per_byte) - mean).abs() / served;
        distance * libm::sqrt(block.bytes.into())
    });
    1.25 * distances.sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Nanos, single};

    /// The link needs 100 us for a packet.
    const CAPACITY: Bandwidth = Bandwidth::from_mbps(100);
    const PACKET: Bytes = Bytes::new(1250);
    const SERVED: f64 = 80.0;

    /// Blocks of ten packets that left and came in so many times what the link needs for them.
    fn blocks<const N: usize>(seen: [[f64; 2]; N]) -> [Block; N] {
        seen.map(|[left, came]| Block {
            nanos_per_byte: single(came * SERVED),
            sent: single(left * SERVED),
            bytes: 12_500.0,
            distance: 0.2,
        })
    }

    /// A thousand packets that left and came in so many times what the link needs for one.
    fn slow([left, came]: [f64; 2]) -> Slow {
        let mut slow = Slow::default();
        #[expect(clippy::cast_possible_truncation, reason = "nanoseconds")]
        #[expect(clippy::cast_sign_loss, reason = "times are positive")]
        let times = |it: f64| Nanos::new((it * 100_000.0) as u64);
        let times = Times {
            sent: times(left),
            arrival: times(came),
            unheld: times(came),
            served: Some(times(1.0)),
            is_close: false,
        };
        for _ in 0..1000 {
            slow.on_gap(PACKET, &times);
        }
        slow
    }

    fn may_be<const N: usize>(seen: [[f64; 2]; N], slow: Slow) -> bool {
        slow.may_be_of_others(&blocks(seen), CAPACITY, false)
    }

    #[test]
    fn others_add_nothing_to_packets_that_left_at_once() {
        // Others have three quarters of the link.
        let of_others = [[1.0, 1.75], [1.0, 1.75], [1.0, 1.75], [0.1, 1.08]];
        assert!(may_be(of_others, Slow::default()));
        let late = [[1.0, 1.75], [1.0, 1.75], [1.0, 1.75], [0.1, 1.75]];
        assert!(!may_be(late, Slow::default()));
        // Where that is one packet of others, it may be chance.
        let hardly = [[1.0, 1.15], [1.0, 1.15], [1.0, 1.15], [0.1, 1.15]];
        assert!(may_be(hardly, Slow::default()));
    }

    #[test]
    fn a_link_ahead_may_space_what_left_at_once() {
        let late = blocks([[1.0, 1.75], [1.0, 1.75], [1.0, 1.75], [0.1, 1.75]]);
        let slow = Slow::default();
        assert!(!slow.may_be_of_others(&late, CAPACITY, false));
        assert!(slow.may_be_of_others(&late, CAPACITY, true));
        // It spaces nothing that left slower.
        let [most, few] = [[3.0, 1.75], [1.0, 1.75]];
        let slower = blocks([most, most, most, most, most, few, few]);
        assert!(!slow.may_be_of_others(&slower, CAPACITY, true));
    }

    #[test]
    fn what_chance_makes_of_others_is_no_proof() {
        // Two fast blocks lack 9 kB of what others sent. Among blocks that differ so much this is
        // less than three standard deviations.
        let even = [[1.0, 1.6]; 62];
        let uneven = std::array::from_fn::<_, 62, _>(|at| [1.0, 1.3 + 0.6 * (at % 2) as f64]);
        let with_fast = |blocks: [[f64; 2]; 62]| {
            let mut all = [[0.1, 1.42]; 64];
            all[2..].copy_from_slice(&blocks);
            all
        };
        assert!(!may_be(with_fast(even), Slow::default()));
        assert!(may_be(with_fast(uneven), Slow::default()));
    }

    #[test]
    fn others_cannot_take_more_than_the_link() {
        assert!(may_be([[1.0, 1.95]; 4], Slow::default()));
        assert!(!may_be([[0.4, 1.95]; 4], Slow::default()));
    }

    #[test]
    fn packets_that_all_left_alike_tell_nothing() {
        assert!(may_be([[1.0, 1.6]; 64], Slow::default()));
    }

    #[test]
    fn others_add_as_much_to_packets_that_left_slower() {
        let seen = [[1.0, 1.6]; 64];
        assert!(may_be(seen, slow([1.4, 1.84])));
        assert!(!may_be(seen, slow([1.4, 1.6])));
        assert!(!may_be(seen, slow([1.8, 1.8])));
        // From here on the link is idle now and then beside others as well.
        assert!(may_be(seen, slow([2.6, 2.6])));
    }
}
