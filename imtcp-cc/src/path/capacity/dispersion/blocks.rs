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
mod tests;
