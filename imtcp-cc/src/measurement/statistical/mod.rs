//! The default estimator: what the others send, from every gap in which the tight link was busy.
//!
//! While the link works without a pause between two echoed packets of ours, what it carried is its
//! capacity times the gap; what was not ours was somebody else's. Averaged over time this is the
//! others' traffic, and the capacity less that is available. Nothing about the traffic's pattern is
//! assumed: whether the link was busy is proven for each gap from the queueing that the earlier
//! packet met ([`crate::ack::EchoGap`]), never guessed from the later packet's own delay, which
//! would choose the gaps by their outcome.

mod change;
mod peak;
mod slices;
mod window;

use super::Estimator;
use super::range::SearchRange;
use super::record::MeasurementRecord;
use crate::ack::{EchoGap, EchoTiming};
use crate::estimate::{Estimate, EstimatorKind, Flags};
use crate::units::{Bandwidth, Bytes, Timestamp};
use peak::Peak;
use slices::{SliceView, Slices};
use std::time::Duration;

/// The longest averaging window.
const LONGEST_WINDOW: Duration = Duration::from_secs(4);

/// The shortest window that makes an estimate.
const SHORTEST_WINDOW: Duration = Duration::from_millis(100);

/// Usual length of a slice; longer on slow links, where a slice must hold several packets.
const SLICE: Duration = Duration::from_millis(5);

/// Packets that a slice must have room for at the capacity.
const PACKETS_PER_SLICE: u64 = 8;

/// A slice is this many times the jitter of echoes that are read coarsely, of which there is one at
/// either end.
const JITTERS_PER_SLICE: u32 = 8;

/// No slice is longer, lest a window hold too few.
const LONGEST_SLICE: Duration = Duration::from_millis(320);

/// Most slices remembered.
const MOST_SLICES: usize = 1024;

/// Fewest slices with samples that make an estimate.
const FEWEST_SLICES: usize = 8;

/// An interval is never narrower than this share of the estimate: the capacity is known to about
/// half a per cent, and the window's edges cut packets.
const SYSTEMATIC_SHARE: f64 = 0.015;

/// The same where the capacity is only known to be no less: with the capacity a fifth low, and half
/// of it available, trains at its rate read 4 % off (ALGORITHM.md, "Capacity").
const SYSTEMATIC_SHARE_OF_BOUND: f64 = 0.04;

/// B_m as a share of the value where none is configured: streams then reach 15 % to either side,
/// beyond what the value is in doubt by after a few hundred gaps.
const MINIMUM_RANGE_SHARE: f64 = 0.3;

/// Fuses busy gaps into estimates.
#[derive(Debug)]
pub struct StatisticalEstimator {
    minimum_range: Bandwidth,
    capacity: Option<Bandwidth>,
    /// It is only known to be no less.
    bound: bool,
    latest: Option<Estimate>,
    slices: Slices,
    scratch: Vec<SliceView>,
    /// The first slice of the present level, and whether a change put it there.
    level_start: u64,
    changed: bool,
    application_limited: bool,
    /// What sets the echoes' time, and by how much they may be off; zero if it is the data.
    timing: EchoTiming,
    jitter: Duration,
    peak: Peak,
    /// Follows the complete slices, and changes with them alone.
    link_covered: bool,
}

impl StatisticalEstimator {
    /// An estimator with B_m = `minimum_range`; zero stands for a share of the value.
    pub fn new(minimum_range: Bandwidth) -> Self {
        Self {
            minimum_range,
            capacity: None,
            bound: false,
            latest: None,
            slices: Slices::new(SLICE, MOST_SLICES),
            scratch: Vec::with_capacity(MOST_SLICES),
            level_start: 0,
            changed: false,
            application_limited: false,
            timing: EchoTiming::Own,
            jitter: Duration::ZERO,
            peak: Peak::new(),
            link_covered: false,
        }
    }

    /// Whether the sender now sends less than it may.
    pub fn set_application_limited(&mut self, limited: bool) {
        self.application_limited = limited;
    }

    /// Whether the link was busy practically all the time of late, so that every gap counts and
    /// nothing is gained by forming trains.
    pub fn is_link_covered(&self) -> bool {
        self.link_covered
    }

    /// What sets the time of echoes, and their `jitter`.
    pub fn set_echoes(&mut self, timing: EchoTiming, jitter: Duration, packet: Bytes) {
        let jitter = match timing {
            EchoTiming::Own => Duration::ZERO,
            EchoTiming::Clumped | EchoTiming::Foreign => jitter,
        };
        if (self.timing, self.jitter) != (timing, jitter) {
            (self.timing, self.jitter) = (timing, jitter);
            self.cut(packet);
        }
    }

    /// Whether the capacity is only a lower bound.
    pub fn set_bound(&mut self, bound: bool) {
        self.bound = bound;
    }

    /// The path could not carry what was sent.
    pub fn on_congestion(&mut self, now: Timestamp) {
        self.peak.on_congestion(now);
    }

    /// Slices are cut so that each holds several packets, and is long against the jitter of echoes,
    /// in steps of a factor of two, so that small revisions do not cut time anew.
    fn cut(&mut self, packet: Bytes) {
        let packets = packet.times(PACKETS_PER_SLICE);
        let room = self.capacity.map_or(SLICE, |rate| rate.time_for(packets));
        let room = room.max(self.jitter * JITTERS_PER_SLICE);
        let mut length = SLICE;
        while length < room && length < LONGEST_SLICE {
            length *= 2;
        }
        // Cutting anew forgets; the jitter comes and goes within a factor of two.
        let present = self.slices.length();
        let coarse = self.timing != EchoTiming::Own;
        if !(coarse && length < present && length * 4 > present) {
            self.slices.set_length(length);
        }
        self.look_at_coverage();
    }

    /// To be called whenever complete slices have come or gone.
    fn look_at_coverage(&mut self) {
        const RECENT: usize = 20;
        self.link_covered = self.slices.busy_share(RECENT) > 0.9;
    }

    fn estimate(&self, at: Timestamp, capacity: Bandwidth) -> Option<Estimate> {
        let slice_s = self.slices.length().as_secs_f64();
        let oldest = self.scratch.first()?.index;
        let newest = self.scratch.last()?.index;
        let span = usize::try_from(newest + 1 - oldest).unwrap_or(usize::MAX);
        let window = self.slices.length() * u32::try_from(span).unwrap_or(u32::MAX);
        if window < SHORTEST_WINDOW || self.scratch.len() < FEWEST_SLICES {
            return None;
        }
        let rooms = self.slices.rooms(capacity, newest);
        let mean = window::mean(&self.scratch, rooms, span, slice_s, capacity.as_bps_f64())?;
        Some(self.report_of(at, window, capacity, &mean))
    }

    /// Views of all complete slices of the present level.
    fn collect(&mut self, capacity: Bandwidth, present: u64) {
        self.scratch.clear();
        self.scratch.extend(
            self.slices
                .views(capacity)
                .filter(|view| view.index < present),
        );
    }

    /// Keeps only the newest `count` of the slices that say something.
    fn start_level_at(&mut self, count: usize) {
        self.level_start = self.scratch[self.scratch.len() - count].index;
        self.changed = true;
        self.slices.forget_before(self.level_start);
    }

    fn report_of(
        &self,
        at: Timestamp,
        window: Duration,
        capacity: Bandwidth,
        mean: &window::WindowMean,
    ) -> Estimate {
        let available = (capacity.as_bps_f64() - mean.rate).max(0.0);
        let share = if self.bound {
            SYSTEMATIC_SHARE_OF_BOUND
        } else {
            SYSTEMATIC_SHARE
        };
        let systematic = share * available;
        // A lower bound of the capacity bounds nothing from above.
        let most = if self.bound { Bandwidth::MAX } else { capacity };
        let half = libm::sqrt(mean.half_width * mean.half_width + systematic * systematic);
        Estimate {
            at,
            available: Bandwidth::from_bps_f64(available),
            low: Bandwidth::from_bps_f64(available - half),
            high: Bandwidth::from_bps_f64(available + half).min(most),
            window,
            flags: Flags {
                application_limited: self.application_limited,
                aggregated_acks: self.timing != EchoTiming::Own,
                changed: self.changed && window < LONGEST_WINDOW / 2,
                ..Flags::default()
            },
        }
    }
}

impl Estimator for StatisticalEstimator {
    fn kind(&self) -> EstimatorKind {
        EstimatorKind::Statistical
    }

    /// The train's packets come in as gaps, like all others.
    fn on_first_train(&mut self, _cprobe: Bandwidth) {}

    fn on_capacity(&mut self, capacity: Bandwidth, packet: Bytes) {
        self.capacity = Some(capacity);
        self.cut(packet);
    }

    fn on_gap(&mut self, gap: &EchoGap) {
        if self.timing == EchoTiming::Foreign {
            self.peak.on_gap(gap, self.jitter);
        }
        if self.slices.add(gap) {
            self.look_at_coverage();
        }
    }

    /// Streams are packets like all others.
    fn on_measurement(&mut self, _record: &MeasurementRecord) -> Option<Estimate> {
        None
    }

    fn report(&mut self, now: Timestamp) -> Option<Estimate> {
        let capacity = self.capacity?;
        if self.timing == EchoTiming::Foreign {
            let estimate = self.peak.estimate(now, capacity)?;
            self.latest = Some(estimate);
            return Some(estimate);
        }
        let (present, echoed) = self.slices.present()?;
        let reach = LONGEST_WINDOW.as_nanos() / self.slices.length().as_nanos().max(1);
        let first = present.saturating_sub(u64::try_from(reach).unwrap_or(u64::MAX));
        self.slices.forget_before(first.max(self.level_start));
        self.collect(capacity, present);
        if let Some(newest) = change::newest_level(&self.scratch, capacity.as_bps_f64()) {
            self.start_level_at(newest);
            self.collect(capacity, present);
        }
        self.look_at_coverage();
        let estimate = self.estimate(echoed.min(now), capacity)?;
        let is_news = self.latest.is_none_or(|latest| latest.at < estimate.at);
        self.latest = Some(estimate);
        is_news.then_some(estimate)
    }

    /// The 95 % interval, as IM 3.2.6 has it, but at least B_m wide.
    fn next_range(&self, bound: Option<Bandwidth>) -> Option<SearchRange> {
        let latest = self.latest?;
        let minimum = if self.minimum_range.is_zero() {
            latest.available.scaled(MINIMUM_RANGE_SHARE)
        } else {
            self.minimum_range
        };
        let interval = latest.high.saturating_sub(latest.low);
        let half_width = interval.max(minimum).scaled(0.5);
        Some(SearchRange::around(latest.available, half_width).bounded(bound))
    }

    /// Keeps its memory: an acknowledgement allocates nothing.
    fn reset(&mut self) {
        self.capacity = None;
        self.latest = None;
        self.slices.clear();
        self.level_start = 0;
        self.changed = false;
        self.peak.clear();
        self.link_covered = false;
    }
}
