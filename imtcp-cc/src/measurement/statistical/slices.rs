//! Gaps between echoes, summed up over short slices of the time in which the packets left.
//!
//! A window is averaged over slices, not over gaps, because gaps are not spread evenly: a busy
//! link makes more of them, so that a plain average would count busy times more often than idle
//! ones. Sums do not depend on the capacity, which may be learnt better later.

use crate::ack::{EchoGap, EchoPoint, LinkState};
use crate::units::{Bandwidth, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// Share of a slice that busy gaps must cover for the slice to be known, not sampled.
const COVERED_SHARE: f64 = 0.9;

/// Sums over gaps of one sort.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct GapSums {
    pub(super) gaps: u32,
    pub(super) own_bits: f64,
    pub(super) sent_s: f64,
    pub(super) arrived_s: f64,
}

impl GapSums {
    fn add(&mut self, own_bits: f64, sent_s: f64, arrived_s: f64) {
        self.gaps += 1;
        self.own_bits += own_bits;
        self.sent_s += sent_s;
        self.arrived_s += arrived_s;
    }

    /// Bits of other traffic that the link carried in these gaps.
    fn foreign_bits(&self, capacity: f64) -> f64 {
        capacity * self.arrived_s - self.own_bits
    }
}

/// One slice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slice {
    pub(super) index: u64,
    /// Gaps in which the link was surely busy.
    busy: GapSums,
    /// Those of them whose sending gap is the gap at the queue.
    spaced: GapSums,
    /// Over the spaced gaps: sums of a^2/s, ab/s and b^2/s with a the arrival gap, b the own bits
    /// and s the sending gap: the scatter of foreign bits for any capacity.
    scatter: [f64; 3],
}

/// What a slice says about the others' traffic, for a given capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SliceView {
    pub(super) index: u64,
    /// Mean rate of the others' traffic, bits per second.
    pub(super) rate: f64,
    /// The time that was looked at, seconds.
    pub(super) seen_s: f64,
    /// Whether the slice was seen from end to end.
    pub(super) covered: bool,
    /// Squared scatter of single gaps about the slice's own rate, and its degrees of freedom.
    pub(super) scatter: f64,
    pub(super) freedom: u32,
}

impl Slice {
    pub(super) fn add(&mut self, gap: &EchoGap, arrived_s: f64) {
        let sent_s = gap.sent_gap().as_secs_f64();
        let own_bits = gap.bytes.as_bits_f64();
        self.busy.add(own_bits, sent_s, arrived_s);
        if gap.link == LinkState::BusySpaced && sent_s > 0.0 {
            self.spaced.add(own_bits, sent_s, arrived_s);
            self.scatter[0] += arrived_s * arrived_s / sent_s;
            self.scatter[1] += arrived_s * own_bits / sent_s;
            self.scatter[2] += own_bits * own_bits / sent_s;
        }
    }

    /// `None` if nothing was seen.
    pub(super) fn view(&self, capacity: f64, slice_s: f64) -> Option<SliceView> {
        if self.busy.sent_s >= COVERED_SHARE * slice_s {
            // Seen from end to end. What others sent is counted against the time in which they sent
            // it, the sending gaps: while a queue grows, less of it crosses the link than comes.
            let rate = self.busy.foreign_bits(capacity) / self.busy.sent_s;
            return Some(SliceView {
                index: self.index,
                rate: rate.max(0.0),
                seen_s: self.busy.sent_s,
                covered: true,
                scatter: 0.0,
                freedom: 0,
            });
        }
        if self.spaced.gaps == 0 {
            return None;
        }
        // Sampled: what others sent per time at the queue, over the times that were looked at.
        let seen_s = self.spaced.sent_s;
        let rate = self.spaced.foreign_bits(capacity) / seen_s;
        let [aa, ab, bb] = self.scatter;
        let squares = capacity * capacity * aa - 2.0 * capacity * ab + bb;
        Some(SliceView {
            index: self.index,
            rate,
            seen_s,
            covered: false,
            scatter: (squares - rate * rate * seen_s).max(0.0),
            freedom: self.spaced.gaps - 1,
        })
    }
}

/// The slices of the recent past, in constant memory.
#[derive(Debug)]
pub(super) struct Slices {
    slices: VecDeque<Slice>,
    /// The newest clean echo.
    last_echo: Option<EchoPoint>,
    length: Duration,
    capacity: usize,
}

impl Slices {
    pub(super) fn new(length: Duration, capacity: usize) -> Self {
        Self {
            slices: VecDeque::with_capacity(capacity),
            last_echo: None,
            length,
            capacity,
        }
    }

    pub(super) fn length(&self) -> Duration {
        self.length
    }

    /// Cuts time anew, forgetting what was cut otherwise.
    pub(super) fn set_length(&mut self, length: Duration) {
        if length != self.length {
            self.length = length;
            self.slices.clear();
        }
    }

    fn index_of(&self, at: Timestamp) -> u64 {
        let length = u64::try_from(self.length.as_nanos())
            .unwrap_or(u64::MAX)
            .max(1);
        at.as_nanos() / length
    }

    /// Files a gap under the time at which its later packet left. Returns whether that completed a
    /// slice: its time is over.
    pub(super) fn add(&mut self, gap: &EchoGap) -> bool {
        let Some(arrived) = gap.arrival_gap() else {
            return false;
        };
        let index = self.index_of(gap.to.sent);
        let last = self.last_echo.replace(gap.to);
        let completes = last.is_none_or(|last| self.index_of(last.sent) != index);
        if !gap.link.is_busy() {
            return completes;
        }
        if self.slices.back().is_none_or(|newest| newest.index < index) {
            if self.slices.len() == self.capacity {
                self.slices.pop_front();
            }
            self.slices.push_back(Slice {
                index,
                ..Slice::default()
            });
        }
        if let Some(newest) = self.slices.back_mut() {
            newest.add(gap, arrived.as_secs_f64());
        }
        completes
    }

    /// The slice that echoes still come for, and when its end was or will be echoed.
    pub(super) fn present(&self) -> Option<(u64, Timestamp)> {
        let last = self.last_echo?;
        let index = self.index_of(last.sent);
        let length = u64::try_from(self.length.as_nanos()).unwrap_or(u64::MAX);
        let begun = Timestamp::from_nanos(index.saturating_mul(length));
        Some((index, last.arrived - last.sent.saturating_since(begun)))
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Slice> {
        self.slices.iter()
    }

    /// Forgets everything before slice `index`.
    pub(super) fn forget_before(&mut self, index: u64) {
        while self
            .slices
            .front()
            .is_some_and(|oldest| oldest.index < index)
        {
            self.slices.pop_front();
        }
    }

    /// Busy time within the newest `count` slices that are complete, as a share of their length.
    pub(super) fn busy_share(&self, count: usize) -> f64 {
        let Some((present, _)) = self.present() else {
            return 0.0;
        };
        let first = present.saturating_sub(count as u64);
        let busy: f64 = self
            .slices
            .iter()
            .rev()
            .take_while(|slice| slice.index >= first)
            .filter(|slice| slice.index < present)
            .map(|slice| slice.busy.sent_s)
            .sum();
        busy / (count as f64 * self.length.as_secs_f64())
    }

    /// What each slice says, given `capacity`; slices that say nothing are left out.
    pub(super) fn views(&self, capacity: Bandwidth) -> impl Iterator<Item = SliceView> {
        let bits_per_second = capacity.as_bps_f64();
        let length = self.length.as_secs_f64();
        self.iter()
            .filter_map(move |slice| slice.view(bits_per_second, length))
    }
}
