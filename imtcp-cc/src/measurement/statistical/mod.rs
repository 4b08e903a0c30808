//! The default estimator: what the others send, from every gap in which the tight link was busy.
//!
//! While the link works without a pause between two echoed packets of ours, what it carried is its
//! capacity times the gap; what was not ours was somebody else's. Averaged over time this is the
//! others' traffic, and the capacity less that is available. Nothing about the traffic's pattern is
//! assumed: whether the link was busy is proven for each gap from the queueing that the earlier
//! packet met ([`crate::ack::EchoGap`]), never guessed from the later packet's own delay, which
//! would choose the gaps by their outcome.

mod change;
mod slices;
mod window;

use crate::ack::EchoGap;
use crate::estimate::{Estimate, Flags};
use crate::units::{Bandwidth, Bytes, Timestamp};
use slices::{SliceView, Slices};
use std::time::Duration;

/// The longest averaging window.
const LONGEST_WINDOW: Duration = Duration::from_secs(4);

/// The shortest window that makes an estimate.
const SHORTEST_WINDOW: Duration = Duration::from_millis(100);

/// Usual length of a slice; longer on slow links, where a slice must hold several packets.
const SLICE: Duration = Duration::from_millis(20);

/// Packets that a slice must have room for at the capacity.
const PACKETS_PER_SLICE: u32 = 8;

/// Most slices remembered.
const MOST_SLICES: usize = 256;

/// Fewest slices with samples that make an estimate.
const FEWEST_SLICES: usize = 3;

/// An interval is never narrower than this share of the estimate: the capacity is known to about
/// half a per cent, and the window's edges cut packets.
const SYSTEMATIC_SHARE: f64 = 0.015;

/// Fuses busy gaps into estimates.
#[derive(Debug)]
pub struct StatisticalEstimator {
    slices: Slices,
    scratch: Vec<SliceView>,
    /// The first slice of the present level, and whether a change put it there.
    level_start: u64,
    changed: bool,
    application_limited: bool,
}

impl StatisticalEstimator {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self {
            slices: Slices::new(SLICE, MOST_SLICES),
            scratch: Vec::with_capacity(MOST_SLICES),
            level_start: 0,
            changed: false,
            application_limited: false,
        }
    }

    /// The capacity is known or was revised: slices are cut so that each holds several packets of
    /// `packet` bytes.
    pub fn on_capacity(&mut self, capacity: Bandwidth, packet: Bytes) {
        let room = capacity.time_for(packet.times(u64::from(PACKETS_PER_SLICE)));
        let longest = LONGEST_WINDOW / 8;
        // Steps of a factor of two, so that small revisions do not cut time anew.
        let mut length = SLICE;
        while length < room && length < longest {
            length *= 2;
        }
        self.slices.set_length(length);
    }

    /// Takes a gap between clean echoes.
    pub fn on_gap(&mut self, gap: &EchoGap) {
        self.slices.add(gap);
    }

    /// Whether the sender now sends less than it may.
    pub fn set_application_limited(&mut self, limited: bool) {
        self.application_limited = limited;
    }

    /// Whether the link was busy practically all the time of late, so that every gap counts and
    /// nothing is gained by forming trains.
    pub fn is_link_covered(&self) -> bool {
        const RECENT: usize = 5;
        self.slices.busy_share(RECENT) > 0.9
    }

    /// The estimate from everything up to `now`, given the tight link's capacity.
    pub fn estimate(&mut self, now: Timestamp, capacity: Bandwidth) -> Option<Estimate> {
        let slice_s = self.slices.length().as_secs_f64();
        let current = self.slices.index_of(now);
        let reach = LONGEST_WINDOW.as_nanos() / self.slices.length().as_nanos().max(1);
        let first = current.saturating_sub(u64::try_from(reach).unwrap_or(u64::MAX));
        self.slices.forget_before(first.max(self.level_start));
        self.collect(capacity, current);
        if let Some(newest) = change::newest_level(&self.scratch, capacity.as_bps_f64()) {
            self.start_level_at(newest);
            self.collect(capacity, current);
        }
        let oldest = self.scratch.first()?.index;
        let newest = self.scratch.last()?.index;
        let span = usize::try_from(newest + 1 - oldest).unwrap_or(usize::MAX);
        let window = self.slices.length() * u32::try_from(span).unwrap_or(u32::MAX);
        if window < SHORTEST_WINDOW || self.scratch.len() < FEWEST_SLICES {
            return None;
        }
        let mean = window::mean(&self.scratch, span, slice_s)?;
        self.changed = self.changed && window < LONGEST_WINDOW / 2;
        Some(self.report(now, newest, window, capacity, &mean))
    }

    /// Views of all complete slices of the present level.
    fn collect(&mut self, capacity: Bandwidth, current: u64) {
        self.scratch.clear();
        self.scratch.extend(self.slices.views(capacity).filter(|view| view.index < current));
    }

    /// Keeps only the newest `count` of the slices that say something.
    fn start_level_at(&mut self, count: usize) {
        self.level_start = self.scratch[self.scratch.len() - count].index;
        self.changed = true;
        self.slices.forget_before(self.level_start);
    }

    fn report(
        &self,
        now: Timestamp,
        newest: u64,
        window: Duration,
        capacity: Bandwidth,
        mean: &window::WindowMean,
    ) -> Estimate {
        let length = u64::try_from(self.slices.length().as_nanos()).unwrap_or(u64::MAX);
        let end = Timestamp::from_nanos((newest + 1).saturating_mul(length)).min(now);
        let available = (capacity.as_bps_f64() - mean.rate).max(0.0);
        let systematic = SYSTEMATIC_SHARE * available;
        let half = libm::sqrt(mean.half_width * mean.half_width + systematic * systematic);
        Estimate {
            at: end,
            available: Bandwidth::from_bps_f64(available),
            low: Bandwidth::from_bps_f64(available - half),
            high: Bandwidth::from_bps_f64(available + half).min(capacity),
            window,
            flags: Flags {
                application_limited: self.application_limited,
                changed: self.changed,
                ..Flags::default()
            },
        }
    }
}
