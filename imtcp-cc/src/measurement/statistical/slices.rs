//! Gaps between echoes, summed up over short slices of the time in which the packets left.
//!
//! A window is averaged over slices, not over gaps, because gaps are not spread evenly. A busy
//! link makes more of them, so a plain average would count busy times more often than idle ones.
//! The sums do not depend on the capacity, which may be learnt better later.

use super::sums::{GapSums, OpenSums, Spaced};
use crate::path::ack::{EchoGap, LinkState};
use crate::units::{Bandwidth, Timestamp, single};
use std::collections::VecDeque;
use std::time::Duration;

/// The share of a slice that busy gaps must cover. A slice with this share is known, and others
/// are sampled.
const COVERED_SHARE: f64 = 0.9;

/// Gaps that rest on waiting may read this many standard errors more foreign traffic than the
/// other gaps. If they read more, they are left out.
const DISBELIEF: f64 = 3.0;

/// The fewest gaps of a slice that tell something where packets leave in bunches.
const FEWEST_BUNCHED: u32 = 8;

/// Bunches tell nothing if they left in less than this share of the time that the link takes for
/// them.
const LEAST_SPREAD: f64 = 0.25;

/// The largest number of slices that a gap may span. A longer gap says nothing of the slices
/// within it.
const MOST_SPANNED: u64 = 10;

/// One slice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slice {
    pub(super) index: u64,
    /// Gaps in which the link was busy.
    busy: GapSums,
    /// The busy gaps of which no waiting of the earlier packet is needed as a proof.
    close: Spaced,
    /// The busy gaps that were busy because the earlier packet had waited.
    queued: Spaced,
    /// Parts of gaps in which the link may have been idle.
    open: OpenSums,
}

/// A slice of which only a bound of the others' rate is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Room {
    pub(super) index: u64,
    /// The largest rate of the others, in bits per second.
    pub(super) most: f64,
}

/// What a slice says about the others' traffic, for a given capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SliceView {
    pub(super) index: u64,
    /// Mean rate of the others' traffic, bits per second.
    pub(super) rate: f32,
    /// The time that was seen, in seconds.
    pub(super) seen_s: f32,
    /// The squared scatter of single gaps about the slice's own rate, and its degrees of freedom.
    pub(super) scatter: f32,
    pub(super) freedom: u16,
    /// Whether the slice was seen from end to end.
    pub(super) covered: bool,
    /// By how much the rate may be off, in bits per second, because nobody knows when packets
    /// reached the link.
    pub(super) doubt: f32,
}

impl SliceView {
    pub(super) fn rate(&self) -> f64 {
        self.rate.into()
    }

    pub(super) fn seen_s(&self) -> f64 {
        self.seen_s.into()
    }
}

impl Slice {
    #[inline]
    pub(super) fn add(&mut self, gap: &EchoGap, arrived_s: f64) {
        let [own_bits, sent_s, arrived_s] = [
            gap.bytes.as_bits_f64(),
            gap.sent_gap().as_secs_f64(),
            arrived_s,
        ]
        .map(single);
        self.busy.add(own_bits, sent_s, arrived_s);
        match gap.link {
            LinkState::BusySpaced if sent_s > 0.0 => self.close.add(own_bits, sent_s, arrived_s),
            LinkState::BusyQueued if sent_s > 0.0 => self.queued.add(own_bits, sent_s, arrived_s),
            _ => {}
        }
    }

    /// Both slices as one of twice the length.
    fn with(self, next: &Self) -> Self {
        Self {
            index: self.index,
            busy: self.busy.with(&next.busy),
            close: self.close.with(&next.close),
            queued: self.queued.with(&next.queued),
            open: self.open.with(&next.open),
        }
    }

    fn is_covered(&self, slice_s: f64) -> bool {
        self.busy.sent_s() >= COVERED_SHARE * slice_s
    }

    /// The bound on what others sent, if nothing else is known.
    fn room(&self, capacity: f64) -> Option<Room> {
        let OpenSums {
            own_bits,
            arrived_s,
        } = self.open;
        let (own_bits, arrived_s) = (f64::from(own_bits), f64::from(arrived_s));
        (self.busy.gaps == 0 && arrived_s > 0.0).then(|| Room {
            index: self.index,
            most: (capacity - own_bits / arrived_s).max(0.0),
        })
    }

    /// What the slice says; `None` if nothing was seen. `waiting_counts` admits gaps that the
    /// earlier packet's waiting time proves busy.
    fn view(&self, capacity: f64, slice_s: f64, waiting_counts: bool) -> Option<SliceView> {
        if self.is_covered(slice_s) {
            // The slice was seen from end to end. What others sent is divided by the time in which
            // they sent it, the sending gaps: while a queue grows, less of it crosses the link
            // than arrives.
            let rate = self.busy.foreign_bits(capacity) / self.busy.sent_s();
            return Some(SliceView {
                index: self.index,
                rate: single(rate),
                seen_s: self.busy.sent_s,
                scatter: 0.0,
                freedom: 0,
                covered: true,
                doubt: 0.0,
            });
        }
        // The slice was sampled: what others sent, per time at the queue, over the times that were
        // seen.
        let spaced = if waiting_counts {
            self.close.with(&self.queued)
        } else {
            self.close
        };
        (spaced.sums.gaps > 0).then(|| SliceView {
            index: self.index,
            rate: single(spaced.rate(capacity)),
            seen_s: spaced.sums.sent_s,
            scatter: single(spaced.squares(capacity)),
            freedom: u16::try_from(spaced.sums.gaps - 1).unwrap_or(u16::MAX),
            covered: false,
            doubt: 0.0,
        })
    }

    /// What a slice says where packets leave in bunches, because the host's timers are coarse. They
    /// reached the link at the times at which they left, or at the link's own pace if an earlier
    /// link held them back, or at times between.
    fn bunched_view(&self, capacity: f64) -> Option<SliceView> {
        let busy = &self.busy;
        let (sent_s, own_s) = (busy.sent_s(), f64::from(busy.own_bits) / capacity);
        if busy.gaps < FEWEST_BUNCHED || sent_s < LEAST_SPREAD * own_s {
            return None;
        }
        let foreign = busy.foreign_bits(capacity);
        let (most, least) = (foreign / sent_s, foreign / own_s.max(sent_s));
        Some(SliceView {
            index: self.index,
            rate: single((most + least) / 2.0),
            seen_s: busy.sent_s,
            scatter: 0.0,
            freedom: 0,
            covered: false,
            doubt: single((most - least).abs() / 2.0),
        })
    }
}

fn nanos_of(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX).max(1)
}

/// The slices of the recent past, in constant memory. A slice without an echo takes no place.
#[derive(Debug)]
pub(super) struct Slices {
    slices: VecDeque<Slice>,
    /// When the newest packet with a clean echo left, and when that echo came.
    last_echo: Option<(Timestamp, Timestamp)>,
    length: Duration,
    /// The same in nanoseconds, and at least one.
    nanos: u64,
    capacity: usize,
}

impl Slices {
    pub(super) fn new(length: Duration, capacity: usize) -> Self {
        Self {
            slices: VecDeque::new(),
            last_echo: None,
            length,
            nanos: nanos_of(length),
            capacity,
        }
    }

    /// Forgets all slices.
    pub(super) fn clear(&mut self) {
        self.slices.clear();
        self.last_echo = None;
    }

    pub(super) fn length(&self) -> Duration {
        self.length
    }

    /// Cuts time anew, and forgets slices of another length.
    pub(super) fn set_length(&mut self, length: Duration) {
        if length != self.length {
            self.length = length;
            self.nanos = nanos_of(length);
            self.slices.clear();
        }
    }

    /// Makes one of every two slices if they are as many as there may be and do not reach back for
    /// so long. Returns whether it did. An instant then has half the index.
    #[inline]
    pub(super) fn lengthen_within(&mut self, longest: Duration) -> bool {
        self.slices.len() == self.capacity && self.lengthen_full(longest)
    }

    #[cold]
    fn lengthen_full(&mut self, longest: Duration) -> bool {
        let ends = self.slices.front().zip(self.slices.back());
        let span = ends.map_or(0, |(oldest, newest)| newest.index + 1 - oldest.index);
        if span.saturating_mul(self.nanos) >= nanos_of(longest) {
            return false;
        }
        self.length *= 2;
        self.nanos *= 2;
        let mut kept = 0;
        for at in 0..self.slices.len() {
            let mut slice = self.slices[at];
            slice.index /= 2;
            let last = kept - usize::from(kept > 0);
            if kept > 0 && self.slices[last].index == slice.index {
                self.slices[last] = self.slices[last].with(&slice);
            } else {
                self.slices[kept] = slice;
                kept += 1;
            }
        }
        self.slices.truncate(kept);
        true
    }

    /// The slice that an instant is in.
    pub(super) fn index_of(&self, at: Timestamp) -> u64 {
        at.as_nanos() / self.nanos
    }

    /// Adds a gap to the slice in which its later packet left. Returns whether a slice became
    /// complete because its time is over.
    #[inline]
    pub(super) fn add(&mut self, gap: &EchoGap) -> bool {
        let Some(arrived) = gap.arrival_gap() else {
            return false;
        };
        let index = self.index_of(gap.to.sent);
        let last = self.last_echo.replace((gap.to.sent, gap.to.arrived));
        let completes = last.is_none_or(|(sent, _)| self.index_of(sent) != index);
        if gap.link.is_busy() {
            if let Some(slice) = self.slice(index) {
                slice.add(gap, arrived.as_secs_f64());
            }
        } else {
            self.add_open(gap, arrived.as_secs_f64());
        }
        completes
    }

    /// Adds a gap in which the link may have been idle, in equal parts to the slices that it
    /// spans.
    fn add_open(&mut self, gap: &EchoGap, arrived_s: f64) {
        let (first, last) = (self.index_of(gap.from.sent), self.index_of(gap.to.sent));
        let spanned = last - first.min(last) + 1;
        if spanned > MOST_SPANNED {
            return;
        }
        let part = 1.0 / spanned as f64;
        for index in first..=last {
            if let Some(slice) = self.slice(index) {
                slice.open.own_bits += single(gap.bytes.as_bits_f64() * part);
                slice.open.arrived_s += single(arrived_s * part);
            }
        }
    }

    /// The slice at `index` if it is the newest. A later index makes a new slice, and an earlier
    /// one gives `None`.
    #[inline]
    fn slice(&mut self, index: u64) -> Option<&mut Slice> {
        if self.slices.back().is_none_or(|newest| newest.index < index) {
            if self.slices.len() == self.capacity {
                self.slices.pop_front();
            }
            if self.slices.is_empty() {
                self.slices.reserve_exact(self.capacity);
            }
            self.slices.push_back(Slice {
                index,
                ..Slice::default()
            });
        }
        self.slices
            .back_mut()
            .filter(|newest| newest.index == index)
    }

    /// The slice for which echoes still come, and the time at which its end was or will be echoed.
    pub(super) fn present(&self) -> Option<(u64, Timestamp)> {
        let (sent, arrived) = self.last_echo?;
        let index = self.index_of(sent);
        let length = u64::try_from(self.length.as_nanos()).unwrap_or(u64::MAX);
        let begun = Timestamp::from_nanos(index.saturating_mul(length));
        Some((index, arrived - sent.saturating_since(begun)))
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
            .map(|slice| slice.busy.sent_s())
            .sum();
        busy / (count as f64 * self.length.as_secs_f64())
    }

    /// What each slice says, given `capacity`. Slices that say nothing are left out.
    /// Whether `bunches` are read.
    pub(super) fn views(
        &self,
        capacity: Bandwidth,
        bunches: bool,
    ) -> impl Iterator<Item = SliceView> {
        let bits_per_second = capacity.as_bps_f64();
        let length = self.length.as_secs_f64();
        let waiting_counts = self.waiting_is_believed(bits_per_second, length);
        self.iter().filter_map(move |slice| {
            let of_bunches = || slice.bunched_view(bits_per_second).filter(|_| bunches);
            slice
                .view(bits_per_second, length, waiting_counts)
                .or_else(of_bunches)
        })
    }

    /// Bounds on what others sent, given `capacity`, for slices before `end` of which nothing else
    /// is known.
    pub(super) fn rooms(&self, capacity: Bandwidth, end: u64) -> impl Iterator<Item = Room> {
        let bits_per_second = capacity.as_bps_f64();
        self.iter()
            .take_while(move |slice| slice.index < end)
            .filter_map(move |slice| slice.room(bits_per_second))
    }

    /// Whether gaps that rest on a waiting time agree with those that do not.
    ///
    /// Waiting at another queue of the path looks like waiting at the tight link. If the tight
    /// link was idle meanwhile, it then seems to have carried more of the others' traffic. Traffic
    /// that comes and goes has the same effect, because packets that wait meet more of it. In both
    /// cases the slices are better without these gaps.
    fn waiting_is_believed(&self, capacity: f64, slice_s: f64) -> bool {
        let mut close = Spaced::default();
        let mut queued = Spaced::default();
        for slice in self.iter().filter(|slice| !slice.is_covered(slice_s)) {
            close = close.with(&slice.close);
            queued = queued.with(&slice.queued);
        }
        if close.sums.gaps < 2 || queued.sums.gaps < 2 {
            return true;
        }
        let variance = |spaced: &Spaced| {
            let per_second = spaced.squares(capacity) / f64::from(spaced.sums.gaps - 1);
            per_second / spaced.sums.sent_s()
        };
        let error = libm::sqrt(variance(&close) + variance(&queued));
        queued.rate(capacity) - close.rate(capacity) <= DISBELIEF * error
    }
}
