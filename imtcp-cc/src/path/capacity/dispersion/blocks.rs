//! Whether something late gave the echoes their times, and not the link.
//!
//! A host that reads packets at ticks, or a link that brings them so, makes some dispersions short
//! and others long. What it adds to one it takes from the next. So eight dispersions in a row, a
//! block, differ far less from one block to the next than chance would have it, and no block is as
//! short as the shortest dispersions. Traffic of others that is very regular does both as well. But
//! what others add to a block grows with the time in which its packets left, and what hosts and
//! ticks add does not.

mod others;

use super::reading::Dispersion;
use super::{Times, nanos_per_byte, ratio};
use crate::units::{Bandwidth, Bytes, Nanos, single};
use others::Slow;

/// The dispersions of a block, one after the other.
const DISPERSIONS: usize = 8;

/// The blocks that are looked at together.
const BLOCKS: usize = 64;

/// The most that blocks spread, as a share of what the dispersions within them do, both as the mean
/// distance from the middle. If each dispersion is by chance, 64 blocks have a share of 0.38, with
/// a deviation of 0.04, and this is one deviation less. If the next dispersion takes back what was
/// added to one, the share is 0.13; where ticks and packets have nearly one period it is up to 0.3.
const MOST_SPREAD: f64 = 0.34;

/// Blocks that spread less than this are hardly chance: it is midway between lateness and chance,
/// on a logarithmic scale.
const HARDLY_CHANCE: f64 = 0.22;

/// So many blocks are enough where something else has refuted the capacity, and there is none to
/// lose. Nothing else is asked of them but that they are hardly chance.
const FEWEST: usize = 4;

/// Nine blocks in ten are slower than the capacity by this factor at least.
const SLOWER: f64 = 1.15;

/// A block came at the capacity's pace if it is within this factor of it. One in so many blocks is
/// enough to show that the link has that capacity.
const AT_ITS_PACE: f64 = 1.07;
const FEW_DIVISOR: u32 = 16;

/// What blocks say of the link, where something late gave the echoes their times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    /// The mean time of a block.
    pub(super) time: Nanos,
    /// The blocks in nanoseconds per byte, in ascending order, and how many there are.
    blocks: [f32; BLOCKS],
    count: usize,
    /// How far they spread, as a share of what the dispersions within them do.
    spread: f64,
}

impl Late {
    /// The blocks in nanoseconds per byte, in ascending order.
    pub(super) fn blocks(&self) -> &[f32] {
        &self.blocks[..self.count]
    }
}

/// Collects dispersions that follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    row: Row,
    blocks: [Block; BLOCKS],
    count: usize,
    /// The time of these blocks together.
    time: Nanos,
    pace: Pace,
    slow: Slow,
}

/// Dispersions that follow each other.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// The packet that ends the last one.
    end: Option<u64>,
    dispersions: [f32; DISPERSIONS],
    count: usize,
    bytes: Bytes,
    time: Nanos,
    sent_time: Nanos,
}

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    nanos_per_byte: f32,
    /// The time in which its packets left, likewise.
    sent: f32,
    bytes: f32,
    /// How far its dispersions are from that in the mean, as a share of it.
    distance: f32,
}

/// How many blocks there were, and how many of them came at the pace of the capacity.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    capacity: Bandwidth,
    all: u32,
    at_its_pace: u32,
}

impl Default for Blocks {
    fn default() -> Self {
        Self {
            row: Row::default(),
            blocks: [Block::default(); BLOCKS],
            count: 0,
            time: Nanos::ZERO,
            pace: Pace::default(),
            slow: Slow::default(),
        }
    }
}

impl Blocks {
    /// Takes a gap, whether it becomes a part of a dispersion or not.
    #[inline]
    pub(super) fn on_gap(&mut self, bytes: Bytes, times: &Times) {
        self.slow.on_gap(bytes, times);
    }

    /// Takes a dispersion. Returns what the blocks say if `capacity` is none of the link.
    #[inline]
    pub(super) fn on_dispersion(
        &mut self,
        dispersion: &Dispersion,
        capacity: Bandwidth,
    ) -> Option<Late> {
        let block = self.row.with(dispersion)?;
        self.time = self.time + self.row.time;
        self.row.begin(self.row.end);
        // What was slow, and what was at its pace, was so for that capacity.
        if self.pace.is_of_another(capacity) {
            (self.pace, self.slow) = (Pace::of(capacity), Slow::default());
        }
        self.pace.take(&block, capacity);
        self.blocks[self.count] = block;
        self.count += 1;
        if self.count < BLOCKS {
            return None;
        }
        let late = self.alike(MOST_SPREAD);
        (self.count, self.time) = (0, Nanos::ZERO);
        let slow = std::mem::take(&mut self.slow);
        late.filter(|late| {
            // Chance makes others' traffic as even as this now and then, and a link ahead of the
            // tight one spaces what left at once.
            let may_be_spaced = late.spread >= HARDLY_CHANCE;
            self.pace.is_missed(late, capacity)
                && !slow.may_be_of_others(&self.blocks, capacity, may_be_spaced)
        })
    }

    /// What the blocks say that there are, if they are alike: a capacity was refuted.
    pub(super) fn on_refuted(&mut self) -> Option<Late> {
        if self.count < FEWEST {
            return None;
        }
        self.alike(HARDLY_CHANCE)
    }

    /// The blocks, if they spread at most this share of what their dispersions do.
    fn alike(&mut self, most: f64) -> Option<Late> {
        let (count, blocks) = (self.count, &mut self.blocks[..self.count]);
        blocks.sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance));
        let within = f64::from(blocks[count / 2].distance);
        blocks.sort_unstable_by(|a, b| a.nanos_per_byte.total_cmp(&b.nanos_per_byte));
        let mut late = Late {
            time: Nanos::new(self.time.get() / count as u64),
            blocks: self.blocks.map(|block| block.nanos_per_byte),
            count,
            spread: 0.0,
        };
        let middle = f64::from(late.blocks[count / 2]);
        late.spread = mean_distance(late.blocks(), middle) / within.max(f64::MIN_POSITIVE);
        (late.spread < most).then_some(late)
    }
}

impl Row {
    fn begin(&mut self, end: Option<u64>) {
        *self = Self {
            end,
            ..Self::default()
        };
    }

    /// Takes a dispersion. Returns the block that it completes.
    #[inline]
    fn with(&mut self, dispersion: &Dispersion) -> Option<Block> {
        if self.end != Some(dispersion.first) {
            self.begin(None);
        }
        self.end = Some(dispersion.last);
        self.dispersions[self.count] = single(dispersion.nanos_per_byte);
        self.count += 1;
        self.bytes += dispersion.bytes;
        self.time = self.time + dispersion.time;
        self.sent_time = self.sent_time + dispersion.sent_time;
        (self.count == DISPERSIONS).then(|| self.block())
    }

    fn block(&self) -> Block {
        let mean = nanos_per_byte(self.time, self.bytes);
        Block {
            nanos_per_byte: single(mean),
            sent: single(nanos_per_byte(self.sent_time, self.bytes)),
            bytes: single(self.bytes.as_f64()),
            distance: single(mean_distance(&self.dispersions, mean)),
        }
    }
}

impl Pace {
    fn of(capacity: Bandwidth) -> Self {
        Self {
            capacity,
            ..Self::default()
        }
    }

    fn is_of_another(&self, capacity: Bandwidth) -> bool {
        let is_above = |a: Bandwidth, b: Bandwidth| a > b.scaled(AT_ITS_PACE);
        is_above(capacity, self.capacity) || is_above(self.capacity, capacity)
    }

    fn take(&mut self, block: &Block, capacity: Bandwidth) {
        let ratio = ratio(block.nanos_per_byte.into(), capacity);
        let is_at_its_pace = ratio < AT_ITS_PACE && ratio * AT_ITS_PACE > 1.0;
        self.all = self.all.saturating_add(1);
        self.at_its_pace += u32::from(is_at_its_pace && self.at_its_pace < self.all);
    }

    /// Whether hardly any block, now or before, was as fast as a link of this capacity.
    fn is_missed(&self, late: &Late, capacity: Bandwidth) -> bool {
        let fast = late.blocks[BLOCKS / 10].into();
        ratio(fast, capacity) > SLOWER && self.at_its_pace <= self.all / FEW_DIVISOR
    }
}

/// How far these are from `middle` in the mean, as a share of it.
fn mean_distance(values: &[f32], middle: f64) -> f64 {
    let distances = values.iter().map(|it| (f64::from(*it) - middle).abs());
    distances.sum::<f64>() / values.len() as f64 / middle.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Timestamp;
    use std::time::Duration;

    const PACKET: Bytes = Bytes::new(1250);

    /// Dispersions of echoes as they came, in microseconds, packet by packet, read over 50 us. One
    /// packet in `bunch` left `bunch` times 100 us after the one before, and the others at once.
    fn dispersions(
        bunch: u64,
        arrivals_us: impl IntoIterator<Item = f64>,
    ) -> impl Iterator<Item = Dispersion> {
        let (mut first, mut from) = (0, 0.0);
        let arrivals = (0u64..).zip(arrivals_us);
        let micros = |span: f64| Nanos::of(Duration::from_secs_f64(span / 1e6));
        arrivals.filter_map(move |(last, at)| {
            let left = |packet: u64| (packet / bunch * bunch * 100) as f64;
            let apart = at - from;
            if last == 0 || apart < 50.0 {
                return None;
            }
            let bytes = PACKET.times(last - first);
            let dispersion = Dispersion {
                nanos_per_byte: apart * 1e3 / bytes.as_f64(),
                first,
                last,
                bytes,
                time: micros(apart),
                sent_time: micros(left(last) - left(first)),
                sent: Timestamp::ZERO,
                is_rushed: false,
                is_stretched: true,
            };
            (first, from) = (last, at);
            Some(dispersion)
        })
    }

    /// What blocks say at their median, in Mbit/s.
    fn megabits(late: &Late) -> f64 {
        8e3 / f64::from(late.blocks()[late.count / 2])
    }

    /// What the first blocks say that say something of a capacity in Mbit/s, of packets that left
    /// in bunches of twenty.
    fn told(capacity_mbps: u64, arrivals_us: impl IntoIterator<Item = f64>) -> Option<f64> {
        told_of_bunches(20, capacity_mbps, arrivals_us)
    }

    fn told_of_bunches(
        bunch: u64,
        capacity_mbps: u64,
        arrivals_us: impl IntoIterator<Item = f64>,
    ) -> Option<f64> {
        let mut blocks = Blocks::default();
        let capacity = Bandwidth::from_mbps(capacity_mbps);
        dispersions(bunch, arrivals_us)
            .find_map(|dispersion| blocks.on_dispersion(&dispersion, capacity))
            .map(|late| megabits(&late))
    }

    /// Echoes of packets 100 us apart, each late by up to 90 us.
    fn late_by_chance(count: u32) -> impl Iterator<Item = f64> {
        let at = (0..count).map(|at| f64::from(at) * 100.0);
        at.zip(by_chance()).map(|(at, chance)| at + 90.0 * chance)
    }

    /// Echoes of packets on a link of 100 Mbit/s, with none or one of others between two.
    fn among_others(count: usize) -> impl Iterator<Item = f64> {
        let mut at_us = 0.0;
        by_chance().take(count).map(move |chance| {
            at_us += if chance < 0.5 { 100.0 } else { 200.0 };
            at_us
        })
    }

    /// Numbers between 0 and 1 by chance (SplitMix64).
    fn by_chance() -> impl Iterator<Item = f64> {
        (1..).map(|at: u64| {
            let mut z = at.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        })
    }

    #[test]
    fn packets_that_come_at_ticks_show_the_link_and_not_the_ticks() {
        // A packet takes 286 us, a link of 35 Mbit/s. Each way has ticks of 100 us, so that many
        // packets come 200 us apart, as from a link of 50 Mbit/s.
        let tick = |at: f64, phase: f64| ((at - phase) / 100.0).ceil() * 100.0 + phase;
        let arrivals = (0..800).map(|at| tick(tick(f64::from(at) * 286.0, 0.0), 30.0));
        let found = told(50, arrivals).expect("no block is as fast");
        assert!((found - 35.0).abs() < 1.0, "{found} Mbit/s");
    }

    #[test]
    fn hosts_that_are_late_by_chance_show_the_link() {
        let found = told(160, late_by_chance(800)).expect("no block is as fast");
        assert!((found - 100.0).abs() < 3.0, "{found} Mbit/s");
        assert_eq!(
            told(100, late_by_chance(8000)),
            None,
            "that is the link's own"
        );
    }

    #[test]
    fn a_few_blocks_take_the_place_of_a_refuted_capacity() {
        let refuted = |arrivals: &mut dyn Iterator<Item = f64>| {
            let mut blocks = Blocks::default();
            for dispersion in dispersions(20, arrivals) {
                let _ = blocks.on_dispersion(&dispersion, Bandwidth::from_mbps(400));
            }
            blocks.on_refuted().map(|late| megabits(&late))
        };
        let found = refuted(&mut late_by_chance(60)).expect("there are four blocks");
        assert!((found - 100.0).abs() < 5.0, "{found} Mbit/s");
        assert_eq!(refuted(&mut late_by_chance(30)), None, "there are fewer");
        assert_eq!(refuted(&mut among_others(60)), None);
    }

    #[test]
    fn traffic_of_others_does_not_take_back_what_it_adds() {
        assert_eq!(told_of_bunches(1, 100, among_others(200_000)), None);
    }

    #[test]
    fn what_others_add_grows_with_the_time_in_which_packets_left() {
        // Two packets of others after every second one, on a link of 100 Mbit/s.
        let arrivals = (0..1000).map(|at| f64::from(at / 2 * 400 + at % 2 * 100));
        assert_eq!(told_of_bunches(1, 100, arrivals.clone()), None);
        // Nobody sends so much in no time: ticks of a link of 50 Mbit/s look like that.
        let found = told(100, arrivals).expect("no traffic explains that");
        assert!((found - 50.0).abs() < 1.0, "{found} Mbit/s");
        // Nor is it known of packets that always leave at the capacity's own pace, or slower.
        let late = |count| late_by_chance(count);
        assert_eq!(told_of_bunches(1, 160, late(800)), None);
        assert!(told_of_bunches(20, 160, late(800)).is_some());
    }

    #[test]
    fn regular_traffic_that_pauses_leaves_the_link_its_capacity() {
        // Every second packet on a link of 100 Mbit/s follows one of others, but not always.
        let mut at_us = 0.0;
        let arrivals = (0..20_000).map(|at| {
            let is_on = at % 1000 >= 200;
            at_us += if is_on && at % 2 == 0 { 200.0 } else { 100.0 };
            at_us
        });
        assert_eq!(told(100, arrivals), None);
    }
}
