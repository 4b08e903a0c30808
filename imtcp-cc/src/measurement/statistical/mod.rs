//! The default estimator: it computes what the others send, from every gap in which the tight link
//! was busy.
//!
//! If the link works without a pause between two echoed packets of ours, it carries its capacity
//! times the gap. The part that was not ours was somebody else's. Its average over time is the
//! others' traffic, and the capacity less that traffic is available. The estimator assumes nothing
//! about the traffic's pattern. The queueing that the earlier packet met proves for each gap that
//! the link was busy ([`crate::path::ack::EchoGap`]). The later packet's own delay is not used for
//! this, because it would choose the gaps by their outcome.
//!
//! While our own packets wait all the time, what arrives is what the others leave (`full.rs`). How
//! often our packets find the link idle refutes gaps beside others who give way (`idle.rs`), and
//! takes their place beside others who send evenly (`stretches.rs`). Where a queue serves flows in
//! turn, the pace of our waiting packets is our share (`given.rs`).

mod arrivals;
mod change;
mod full;
mod given;
mod idle;
mod pauses;
mod slices;
mod stretches;
mod sums;
#[cfg(test)]
mod tests;
mod window;

use super::Estimator;
use super::range::SearchRange;
use crate::estimate::{Estimate, Flags};
use crate::path::ack::{EchoGap, EchoTiming};
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};
use arrivals::{Arrivals, Link};
use idle::IdleView;
use slices::{SliceView, Slices};
use std::time::Duration;

/// The longest averaging window.
pub(super) const LONGEST_WINDOW: Duration = Duration::from_secs(4);

/// If nothing that came since then tells what others send, what was seen before is old. A source
/// that sends packets one by one would be told for seconds what was seen while it began.
const LATEST: Duration = Duration::from_millis(500);

/// The shortest window for an estimate.
const SHORTEST_WINDOW: Duration = Duration::from_millis(100);

/// The usual length of a slice. It is longer on slow links, where a slice must hold several
/// packets.
const SLICE: Duration = Duration::from_millis(5);

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

/// The fewest slices with samples that make an estimate.
const FEWEST_SLICES: usize = 8;

/// The capacity is known to this share of it.
const CAPACITY_DOUBT: f64 = 0.005;

/// The least half width of an interval, as a share of the estimate. The capacity is in doubt
/// ([`CAPACITY_DOUBT`]), and the window's edges cut packets.
const SYSTEMATIC_SHARE: f64 = 0.015;

/// Half of the 95 % interval of what gaps read wrongly of the others' traffic, as a share of that
/// traffic. Traffic that reacts, or that other links carry, is no sample of anything, so its error
/// does not shrink with more gaps. It is a fit: laid over what was read on drawn paths
/// (`survey --estimates`, seeds 1 to 60), 0.1, 0.15 and 0.2 all lower the mean interval score of
/// each class, and this is the least at which the median coverage of `steps` and `elastic` is 0.9.
const FOREIGN_SHARE: f64 = 0.15;

/// Others give way if the gaps within our bursts say that more is available than what our packets
/// found idle allows, by this share of the capacity.
const GIVEN_WAY: f64 = 0.05;

/// What is available varies if blocks of time differ so much that half of the 95 % interval of the
/// present one exceeds this share of the capacity. A value within the same share counts as having
/// followed a change (`survey --estimates`).
const VARIABLE_SHARE: f64 = 0.15;

/// The least width of the search range as a share of the value, if none is configured (B_m of
/// IM 3.2.6).
/// Streams then reach 15 % to either side. That is more than the doubt about the value after a few
/// hundred gaps.
const MINIMUM_RANGE_SHARE: f64 = 0.3;

/// Fuses busy gaps into estimates.
#[derive(Debug)]
pub struct StatisticalEstimator {
    minimum_range: Bandwidth,
    capacity: Option<Bandwidth>,
    /// Whether the capacity is only a lower bound.
    bound: bool,
    latest: Option<Estimate>,
    slices: Slices,
    scratch: Vec<SliceView>,
    /// The first slice of the present level, and whether the level began with a change.
    level_start: u64,
    changed: bool,
    /// Since when the link has had its capacity, if that has changed.
    link_since: Option<Timestamp>,
    application_limited: bool,
    /// What sets the echoes' time, and by how much the times may be off; zero if the data sets
    /// them.
    timing: EchoTiming,
    jitter: Nanos,
    arrivals: Arrivals,
    link: Option<Link>,
    /// Whether the link is covered. It follows the complete slices, and changes with them alone.
    link_covered: bool,
}

impl StatisticalEstimator {
    /// An estimator whose search range is at least `minimum_range` wide (B_m of IM 3.2.6). Zero
    /// stands for a share of the value.
    pub fn new(minimum_range: Bandwidth) -> Self {
        Self {
            minimum_range,
            capacity: None,
            bound: false,
            latest: None,
            slices: Slices::new(SLICE, MOST_SLICES),
            scratch: Vec::new(),
            level_start: 0,
            changed: false,
            link_since: None,
            application_limited: false,
            timing: EchoTiming::Own,
            jitter: Nanos::ZERO,
            arrivals: Arrivals::new(),
            link: None,
            link_covered: false,
        }
    }

    /// Tells whether the sender now sends less than it may.
    pub fn set_application_limited(&mut self, limited: bool) {
        self.application_limited = limited;
    }

    /// Whether the sender now sends less than it may.
    pub fn is_application_limited(&self) -> bool {
        self.application_limited
    }

    /// Whether the link was recently busy practically all the time. Every gap then counts, and
    /// trains bring nothing more.
    pub fn is_link_covered(&self) -> bool {
        self.link_covered
    }

    /// Tells what sets the time of echoes, and how large their `jitter` is.
    #[inline]
    pub fn set_echoes(&mut self, timing: EchoTiming, jitter: Nanos, packet: Bytes) {
        let jitter = match timing {
            EchoTiming::Own => Nanos::ZERO,
            EchoTiming::Clumped | EchoTiming::Foreign => jitter,
        };
        if (self.timing, self.jitter) != (timing, jitter) {
            (self.timing, self.jitter) = (timing, jitter);
            self.cut(packet);
        }
    }

    /// Tells whether the capacity is only a lower bound.
    pub fn set_bound(&mut self, bound: bool) {
        self.bound = bound;
    }

    /// The capacity of the tight link was learnt or revised. Full packets are `packet` bytes long
    /// on the wire. If the link itself has changed, nothing counts that left before `since`.
    pub fn on_capacity(&mut self, capacity: Bandwidth, packet: Bytes, since: Option<Timestamp>) {
        let before = self.capacity.replace(capacity);
        self.link = Some(Link::new(capacity, packet));
        self.cut(packet);
        if let Some(since) = since {
            self.link_since = Some(since);
            self.begin_level(self.slices.index_of(since));
        } else if before.is_some_and(|slower| capacity > slower.scaled(1.0 + SYSTEMATIC_SHARE)) {
            // What kept a slower link busy may leave this one idle, so no gap so far is proven.
            self.slices.clear();
            self.latest = None;
        }
    }

    /// The path has become longer. Packets that had met no queue were thought to have waited.
    pub fn on_longer_path(&mut self) {
        if let Some((present, _)) = self.slices.present() {
            self.begin_level(present + 1);
        }
        self.arrivals.forget_pauses();
    }

    /// What was available until the slice at `first` says nothing of now.
    fn begin_level(&mut self, first: u64) {
        self.level_start = first;
        self.changed = true;
        self.slices.forget_before(first);
        self.arrivals.clear();
        self.latest = None;
    }

    /// Whether nothing is known yet of a link that has changed. Trains at the pace of its capacity
    /// then tell more than streams in a range that nobody knows.
    pub fn is_new_link(&self, now: Timestamp) -> bool {
        self.latest.is_none() && self.has_just_changed(now)
    }

    /// Two clean echoes followed each other, whether or not their packets belong to a stream.
    #[inline]
    pub fn on_gap(&mut self, gap: &EchoGap) {
        self.arrivals.on_gap(gap, self.link.as_ref());
        if self.slices.lengthen_within(LONGEST_WINDOW) {
            self.level_start /= 2;
        }
        if self.slices.add(gap) {
            self.look_at_coverage();
        }
    }

    /// An estimate from all gaps up to `now`. If nothing is left in flight, it may have to hold for
    /// a pause.
    pub fn report(&mut self, now: Timestamp, in_flight: Bytes) -> Option<Estimate> {
        let full = self.full_estimate(now);
        let mut estimate = full
            .or_else(|| self.given_estimate(now))
            .or_else(|| self.estimate_of_slices(now))?;
        if let Some(capacity) = self.capacity.filter(|_| in_flight.is_zero()) {
            let least = self.arrivals.pauses().least(capacity);
            estimate.low = estimate.low.min(least.unwrap_or(estimate.low));
        }
        // A lower end that holds for a pause is news, even if nothing arrived since.
        let is_news = self
            .latest
            .is_none_or(|latest| latest.at < estimate.at || estimate.low < latest.low);
        self.latest = Some(estimate);
        is_news.then_some(estimate)
    }

    fn estimate_of_slices(&mut self, now: Timestamp) -> Option<Estimate> {
        let capacity = self.capacity?;
        // If nobody knows in which direction a packet waited, no gap is known to be busy. And where
        // only deliveries speak for the capacity, the link may be any faster.
        if self.timing == EchoTiming::Foreign || self.bound {
            return None;
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
        let idle =
            IdleView::of(&self.arrivals, capacity, now).filter(|_| self.timing == EchoTiming::Own);
        match (self.estimate(present, echoed.min(now), capacity), idle) {
            (Some(estimate), Some(view)) if view.is_even => Some(view.estimate(estimate.flags)),
            (Some(estimate), Some(view)) if view.refutes(&estimate) => {
                let excess = estimate.available.saturating_sub(view.most);
                Some(view.estimate(Flags {
                    elastic: excess > capacity.scaled(GIVEN_WAY),
                    ..estimate.flags
                }))
            }
            (Some(estimate), Some(view)) => Some(view.widened(estimate)),
            (Some(estimate), None) => Some(estimate),
            (None, Some(view)) if view.is_even || self.has_just_changed(now) => {
                Some(view.estimate(self.flags(view.window)))
            }
            (None, _) => None,
        }
    }

    /// Whether the link has just changed. Until gaps tell of it, packets after stretches do.
    fn has_just_changed(&self, now: Timestamp) -> bool {
        self.link_since
            .is_some_and(|since| now.saturating_since(since) <= IdleView::LONGEST)
    }

    /// The estimate of a sender whose packets wait all the time. Single spans may read a little
    /// more than the capacity, because echoes come closer together now and then. A capacity for
    /// which only deliveries speak bounds the value as well: this is a delivery.
    fn full_estimate(&self, now: Timestamp) -> Option<Estimate> {
        let tells = !self.application_limited && self.timing != EchoTiming::Foreign;
        let mut estimate = full::estimate(&self.arrivals, now).filter(|_| tells)?;
        if let Some(capacity) = self.capacity {
            let half = estimate.high.saturating_sub(estimate.low).as_bps_f64() / 2.0;
            estimate.flags.variable = is_variable(half, capacity.as_bps_f64());
            estimate.available = estimate.available.min(capacity);
            estimate.low = estimate.low.min(capacity);
        }
        estimate.flags.aggregated_acks = self.timing != EchoTiming::Own;
        Some(estimate)
    }

    /// The share that a queue gives us which serves flows in turn.
    fn given_estimate(&self, now: Timestamp) -> Option<Estimate> {
        let tells = self.timing != EchoTiming::Foreign;
        let capacity = self.capacity.filter(|_| !self.bound);
        let estimate = given::estimate(&self.arrivals, now, capacity).filter(|_| tells)?;
        let flags = Flags {
            share: estimate.flags.share,
            ..self.flags(estimate.window)
        };
        Some(Estimate { flags, ..estimate })
    }

    /// Cuts time into slices. A slice holds several packets, and is long against the jitter of
    /// echoes. Lengths go in steps of a factor of two, so that small revisions do not cut time
    /// anew.
    fn cut(&mut self, packet: Bytes) {
        let packets = packet.times(PACKETS_PER_SLICE);
        let room = self.capacity.map_or(SLICE, |rate| rate.time_for(packets));
        let room = room.max(self.jitter.times(JITTERS_PER_SLICE).into());
        let mut length = SLICE;
        while length < room && length < LONGEST_SLICE {
            length *= 2;
        }
        // A new cut forgets the slices. They are longer by a factor of two where many are heard of,
        // and the jitter varies by another.
        let present = self.slices.length();
        let kept = match self.timing {
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
        self.link_covered = self.slices.busy_share(RECENT) > 0.9;
    }

    fn estimate(&self, present: u64, at: Timestamp, capacity: Bandwidth) -> Option<Estimate> {
        let slice = self.slices.length();
        let oldest = self.scratch.first()?.index;
        let newest = self.scratch.last()?.index;
        let since = u32::try_from(present - newest).unwrap_or(u32::MAX);
        if slice.saturating_mul(since) > LATEST {
            return None;
        }
        let span = usize::try_from(newest + 1 - oldest).unwrap_or(usize::MAX);
        let window = slice * u32::try_from(span).unwrap_or(u32::MAX);
        if window < SHORTEST_WINDOW || self.scratch.len() < FEWEST_SLICES {
            return None;
        }
        let rooms = self.slices.rooms(capacity, newest);
        let mean = window::mean(&self.scratch, rooms, span, slice, capacity.as_bps_f64())?;
        Some(self.report_of(at, window, capacity, &mean))
    }

    /// Views of all complete slices of the present level.
    fn collect(&mut self, capacity: Bandwidth, present: u64) {
        self.scratch.clear();
        self.scratch.reserve_exact(MOST_SLICES);
        self.scratch.extend(
            self.slices
                .views(capacity)
                .filter(|view| view.index < present),
        );
    }

    /// Keeps only the newest `count` of the slices with a view.
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
                ..self.flags(window)
            },
        }
    }

    /// The flags of a value over `window`.
    fn flags(&self, window: Duration) -> Flags {
        Flags {
            application_limited: self.application_limited,
            aggregated_acks: self.timing != EchoTiming::Own,
            changed: self.changed && window < LONGEST_WINDOW / 2,
            ..Flags::default()
        }
    }
}

impl Estimator for StatisticalEstimator {
    /// The 95 % interval, as IM 3.2.6 has it, but at least B_m wide (the least width of a range).
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

    /// Keeps its memory, because an acknowledgement must not allocate.
    fn reset(&mut self) {
        self.capacity = None;
        self.link = None;
        self.latest = None;
        self.slices.clear();
        self.level_start = 0;
        self.changed = false;
        self.link_since = None;
        self.arrivals = Arrivals::new();
        self.link_covered = false;
    }
}

/// Whether what is available varies. Half of the interval that this makes is `spread`.
fn is_variable(spread: f64, capacity: f64) -> bool {
    spread > VARIABLE_SHARE * capacity
}
