//! Gaps between echoes, summed up over short slices of the time in which the packets left.
//!
//! A window is averaged over slices, not over gaps, because gaps are not spread evenly. A busy
//! link makes more of them, so a plain average would count busy times more often than idle ones.
//! The sums do not depend on the capacity, which may be learnt better later.

use super::slice::{Room, Slice, SliceView};
use super::sums::Spaced;
use crate::path::ack::EchoGap;
use crate::units::{Bandwidth, Nanos, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// Gaps that rest on waiting may read this many standard errors more foreign traffic than the
/// other gaps. If they read more, they are left out.
const DISBELIEF: f64 = 3.0;

/// The largest number of slices that a gap may span. A longer gap says nothing of the slices
/// within it.
const MOST_SPANNED: u64 = 10;

/// The slices of the recent past, in constant memory. A slice without an echo takes no place.
#[derive(Debug)]
pub(super) struct Slices {
    slices: VecDeque<Slice>,
    /// When the newest packet with a clean echo left, and when that echo came.
    last_echo: Option<(Timestamp, Timestamp)>,
    length: Nanos,
    capacity: usize,
}

impl Slices {
    pub(super) fn new(length: Duration, capacity: usize) -> Self {
        Self {
            slices: VecDeque::new(),
            last_echo: None,
            length: length.into(),
            capacity,
        }
    }

    /// Forgets all slices.
    pub(super) fn clear(&mut self) {
        self.slices.clear();
        self.last_echo = None;
    }

    pub(super) fn length(&self) -> Duration {
        self.length.into()
    }

    /// Cuts time anew, and forgets slices of another length.
    pub(super) fn set_length(&mut self, length: Duration) {
        if length != self.length() {
            self.length = length.into();
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
        if span.saturating_mul(self.length.get()) >= Nanos::of(longest).get() {
            return false;
        }
        self.length = self.length.times(2);
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
        at.as_nanos() / self.length.get()
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
                slice.add_open(gap.bytes.as_bits_f64() * part, arrived_s * part);
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
            self.slices.push_back(Slice::new(index));
        }
        self.slices
            .back_mut()
            .filter(|newest| newest.index == index)
    }

    /// The slice for which echoes still come, and the time at which its end was or will be echoed.
    pub(super) fn present(&self) -> Option<(u64, Timestamp)> {
        let (sent, arrived) = self.last_echo?;
        let index = self.index_of(sent);
        let begun = Timestamp::from_nanos(index.saturating_mul(self.length.get()));
        Some((index, arrived - sent.saturating_since(begun)))
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
            .map(|slice| slice.busy_s())
            .sum();
        busy / (count as f64 * self.length.as_secs_f64())
    }

    /// What each slice says, given `capacity`. Where it says nothing, its bunches do, if `bunches`
    /// are read. Slices of which neither says anything are left out.
    pub(super) fn views(
        &self,
        capacity: Bandwidth,
        bunches: bool,
    ) -> impl Iterator<Item = SliceView> {
        let bits_per_second = capacity.as_bps_f64();
        let length = self.length.as_secs_f64();
        let waiting_counts = self.waiting_is_believed(bits_per_second, length);
        self.slices.iter().filter_map(move |slice| {
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
        self.slices
            .iter()
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
        for slice in self
            .slices
            .iter()
            .filter(|slice| !slice.is_covered(slice_s))
        {
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
