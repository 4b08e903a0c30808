//! What busy gaps tell. Their sums over short slices of time are averaged over the stretch in which
//! the others' traffic stayed on one level.

use super::slice::SliceView;
use super::slices::Slices;
use super::window::FEWEST_SLICES;
use super::{CAPACITY_DOUBT, LONGEST_WINDOW, SYSTEMATIC_SHARE, change, is_variable, window};
use crate::estimate::{Estimate, Flags};
use crate::path::ack::{EchoGap, EchoTiming};
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};
use std::time::Duration;

/// If nothing that came since then tells what others send, what was seen before is old. A source
/// that sends packets one by one would be told for seconds what was seen while it began.
const LATEST: Duration = Duration::from_millis(500);

/// The shortest window for an estimate.
const SHORTEST_WINDOW: Duration = Duration::from_millis(100);

/// The usual length of a slice. It is longer on slow links, where a slice must hold several
/// packets.
pub(super) const SLICE: Duration = Duration::from_millis(5);

/// How many packets a slice must have room for at the capacity.
const PACKETS_PER_SLICE: u64 = 8;

/// The length of a slice in jitters, if echoes are read coarsely. There is one jitter at either
/// end of a slice.
const JITTERS_PER_SLICE: u32 = 8;

/// The longest slice. With longer slices a window would hold too few.
const LONGEST_SLICE: Duration = Duration::from_millis(320);

/// The largest number of slices in memory. Where something is heard in each, they become longer
/// once, so that they reach back for as long as the longest window.
const MOST_SLICES: usize = 408;

/// Fewer slices than [`FEWEST_SLICES`] make an estimate if they are so many, and as much time was
/// seen as this number of slices has. A source that sends in bursts fills few.
const FEWEST_SEEN: usize = 3;
const SEEN_SLICES: f64 = 2.0;

/// Half of the 95 % interval of what gaps read wrongly of the others' traffic, as a share of that
/// traffic. Traffic that reacts, or that other links carry, is no sample of anything, so its error
/// does not shrink with more gaps. It is a fit: laid over what was read on drawn paths
/// (`survey --estimates`, seeds 1 to 60), 0.1, 0.15 and 0.2 all lower the mean interval score of
/// each class, and this is the least at which the median coverage of `steps` and `elastic` is 0.9.
const FOREIGN_SHARE: f64 = 0.15;

/// The gaps of the present level.
#[derive(Debug)]
pub(super) struct GapView {
    slices: Slices,
    scratch: Vec<SliceView>,
    /// The first slice of the present level, and whether it began with a change that is not older
    /// than the longest window.
    level_start: u64,
    changed: bool,
    /// Whether packets leave in bunches, and those are read.
    reads_bunches: bool,
    /// Whether the link is covered. It follows the complete slices, and changes with them alone.
    is_covered: bool,
}

impl GapView {
    pub(super) fn new() -> Self {
        Self {
            slices: Slices::new(SLICE, MOST_SLICES),
            scratch: Vec::new(),
            level_start: 0,
            changed: false,
            reads_bunches: false,
            is_covered: false,
        }
    }

    /// Tells whether packets leave in bunches.
    pub(super) fn set_bunched(&mut self, bunched: bool) {
        self.reads_bunches = bunched;
    }

    /// Whether the link was recently busy practically all the time.
    pub(super) fn is_covered(&self) -> bool {
        self.is_covered
    }

    /// Whether what is told over `window` has followed a change.
    pub(super) fn has_changed_within(&self, window: Duration) -> bool {
        self.changed && window < LONGEST_WINDOW / 2
    }

    #[inline]
    pub(super) fn on_gap(&mut self, gap: &EchoGap) {
        if self.slices.lengthen_within(LONGEST_WINDOW) {
            self.level_start /= 2;
        }
        if self.slices.add(gap) {
            self.look_at_coverage();
        }
    }

    /// No gap so far is proven.
    pub(super) fn clear(&mut self) {
        self.slices.clear();
        self.look_at_coverage();
    }

    /// Keeps its memory, because an acknowledgement must not allocate.
    pub(super) fn reset(&mut self) {
        self.clear();
        self.level_start = 0;
        self.changed = false;
    }

    /// What was seen until `since` says nothing of now.
    pub(super) fn begin_level_at(&mut self, since: Timestamp) {
        self.begin_level(self.slices.index_of(since));
    }

    /// What was seen until now says nothing of what comes. False if nothing was seen.
    pub(super) fn begin_level_next(&mut self) -> bool {
        let present = self.slices.present();
        if let Some((present, _)) = present {
            self.begin_level(present + 1);
        }
        present.is_some()
    }

    fn begin_level(&mut self, first: u64) {
        self.level_start = first;
        self.changed = true;
        self.slices.forget_before(first);
        self.look_at_coverage();
    }

    /// Cuts time into slices. A slice holds several packets, and is long against the jitter of
    /// echoes. Lengths go in steps of a factor of two, so that small revisions do not cut time
    /// anew.
    pub(super) fn cut(
        &mut self,
        capacity: Option<Bandwidth>,
        packet: Bytes,
        timing: EchoTiming,
        jitter: Nanos,
    ) {
        let packets = packet.times(PACKETS_PER_SLICE);
        let room = capacity.map_or(SLICE, |rate| rate.time_for(packets));
        let room = room.max(jitter.times(JITTERS_PER_SLICE).into());
        let mut length = SLICE;
        while length < room && length < LONGEST_SLICE {
            length *= 2;
        }
        // A new cut forgets the slices. They are longer by a factor of two where many are heard of,
        // and the jitter varies by another.
        let present = self.slices.length();
        let kept = match timing {
            EchoTiming::Own => length * 2,
            EchoTiming::Clumped | EchoTiming::Foreign => length * 4,
        };
        if !(length..=kept).contains(&present) {
            self.slices.set_length(length);
            // Slices of another length have other indices.
            self.level_start = 0;
        }
        self.look_at_coverage();
    }

    /// Must be called whenever complete slices were added or removed.
    fn look_at_coverage(&mut self) {
        const RECENT: usize = 20;
        self.is_covered = self.slices.busy_share(RECENT) > 0.9;
    }

    /// The estimate of all complete slices up to `now`. Of its flags only `variable` is set.
    pub(super) fn estimate(&mut self, now: Timestamp, capacity: Bandwidth) -> Option<Estimate> {
        let (present, echoed) = self.slices.present()?;
        let reach = LONGEST_WINDOW.as_nanos() / self.slices.length().as_nanos().max(1);
        let first = present.saturating_sub(u64::try_from(reach).unwrap_or(u64::MAX));
        self.changed &= self.level_start > first;
        self.slices.forget_before(first.max(self.level_start));
        self.collect(capacity, present);
        if let Some(newest) = change::newest_level(&self.scratch, capacity.as_bps_f64()) {
            self.begin_level(self.scratch[self.scratch.len() - newest].index);
            self.collect(capacity, present);
        }
        self.look_at_coverage();
        self.average(present, echoed.min(now), capacity)
    }

    fn average(&self, present: u64, at: Timestamp, capacity: Bandwidth) -> Option<Estimate> {
        let slice = self.slices.length();
        let oldest = self.scratch.first()?.index;
        let newest = self.scratch.last()?.index;
        let since = u32::try_from(present - newest).unwrap_or(u32::MAX);
        if slice.saturating_mul(since) > LATEST {
            return None;
        }
        let span = usize::try_from(newest + 1 - oldest).unwrap_or(usize::MAX);
        let window = slice * u32::try_from(span).unwrap_or(u32::MAX);
        if window < SHORTEST_WINDOW || !self.is_enough() {
            return None;
        }
        let rooms = self.slices.rooms(capacity, newest);
        let mean = window::mean(&self.scratch, rooms, span, slice, capacity.as_bps_f64())?;
        Some(Self::report_of(at, window, capacity, &mean))
    }

    /// Whether the slices in view make an estimate.
    fn is_enough(&self) -> bool {
        let seen_s: f64 = self.scratch.iter().map(SliceView::seen_s).sum();
        let is_well_seen = seen_s >= SEEN_SLICES * self.slices.length().as_secs_f64();
        let fewest = if is_well_seen {
            FEWEST_SEEN
        } else {
            FEWEST_SLICES
        };
        self.scratch.len() >= fewest
    }

    /// Views of all complete slices of the present level.
    fn collect(&mut self, capacity: Bandwidth, present: u64) {
        self.scratch.clear();
        self.scratch.reserve_exact(MOST_SLICES);
        self.scratch.extend(
            self.slices
                .views(capacity, self.reads_bunches)
                .filter(|view| view.index < present),
        );
    }

    fn report_of(
        at: Timestamp,
        window: Duration,
        capacity: Bandwidth,
        mean: &window::WindowMean,
    ) -> Estimate {
        let available = (capacity.as_bps_f64() - mean.rate).max(0.0);
        let systematic = SYSTEMATIC_SHARE * available;
        let foreign = FOREIGN_SHARE * mean.rate;
        let squares = mean.half_width * mean.half_width;
        let half = libm::sqrt(squares + systematic * systematic + foreign * foreign);
        Estimate {
            at,
            available: Bandwidth::from_bps_f64(available),
            low: Bandwidth::from_bps_f64(available - half),
            high: Bandwidth::from_bps_f64(available + half)
                .min(capacity.scaled(1.0 + CAPACITY_DOUBT)),
            window,
            flags: Flags {
                variable: is_variable(mean.present, capacity.as_bps_f64()),
                ..Flags::default()
            },
        }
    }
}
