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
mod blocks;
mod change;
mod full;
mod gaps;
mod given;
mod idle;
mod noise;
mod pauses;
mod slice;
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
use gaps::GapView;
use idle::IdleView;
use std::time::Duration;

/// The longest averaging window.
pub(super) const LONGEST_WINDOW: Duration = Duration::from_secs(4);

/// The two-sided 95 % point of the normal distribution.
const NORMAL_95: f64 = 1.96;

/// The capacity is known to this share of it.
const CAPACITY_DOUBT: f64 = 0.005;

/// The least half width of an interval, as a share of the estimate. The capacity is in doubt
/// ([`CAPACITY_DOUBT`]), and the window's edges cut packets.
const SYSTEMATIC_SHARE: f64 = 0.015;

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
    /// The share by which the capacity may be wrong, if it is more than [`CAPACITY_DOUBT`].
    doubt: f64,
    latest: Option<Estimate>,
    gaps: GapView,
    /// Since when the link has had its capacity, if that has changed.
    link_since: Option<Timestamp>,
    application_limited: bool,
    /// What sets the echoes' time, and by how much the times may be off; zero if the data sets
    /// them.
    timing: EchoTiming,
    jitter: Nanos,
    arrivals: Arrivals,
    link: Option<Link>,
    /// Whether the last report told nothing because waits are noise.
    is_noisy: bool,
}

impl StatisticalEstimator {
    /// An estimator whose search range is at least `minimum_range` wide (B_m of IM 3.2.6). Zero
    /// stands for a share of the value.
    pub fn new(minimum_range: Bandwidth) -> Self {
        Self {
            minimum_range,
            capacity: None,
            bound: false,
            doubt: 0.0,
            latest: None,
            gaps: GapView::new(),
            link_since: None,
            application_limited: false,
            timing: EchoTiming::Own,
            jitter: Nanos::ZERO,
            arrivals: Arrivals::new(),
            link: None,
            is_noisy: false,
        }
    }

    /// Tells whether the sender now sends less than it may.
    pub fn set_application_limited(&mut self, limited: bool) {
        self.application_limited = limited;
    }

    /// Tells whether packets leave in bunches because the host's timers cannot space them.
    pub fn set_bunched(&mut self, bunched: bool) {
        self.gaps.set_bunched(bunched);
    }

    /// Whether the sender now sends less than it may.
    pub fn is_application_limited(&self) -> bool {
        self.application_limited
    }

    /// Whether the link was recently busy practically all the time. Every gap then counts, and
    /// trains bring nothing more.
    pub fn is_link_covered(&self) -> bool {
        self.gaps.is_covered()
    }

    /// Whether nothing is told because waits are noise. What was learnt of the path is not at fault
    /// then.
    pub fn is_noisy(&self) -> bool {
        self.is_noisy
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

    /// Tells the share by which the capacity may be wrong.
    pub fn set_doubt(&mut self, doubt: f64) {
        self.doubt = doubt;
    }

    /// The capacity of the tight link was learnt or revised. Full packets are `packet` bytes long
    /// on the wire. If the link itself has changed, nothing counts that left before `since`.
    pub fn on_capacity(&mut self, capacity: Bandwidth, packet: Bytes, since: Option<Timestamp>) {
        let before = self.capacity.replace(capacity);
        self.link = Some(Link::new(capacity, packet));
        self.cut(packet);
        if let Some(since) = since {
            self.link_since = Some(since);
            self.gaps.begin_level_at(since);
            self.forget_past();
        } else if before.is_some_and(|slower| capacity > slower.scaled(1.0 + SYSTEMATIC_SHARE)) {
            // What kept a slower link busy may leave this one idle, so no gap so far is proven.
            self.gaps.clear();
            self.latest = None;
        }
    }

    /// The path has become longer. Packets that had met no queue were thought to have waited.
    pub fn on_longer_path(&mut self) {
        if self.gaps.begin_level_next() {
            self.forget_past();
        }
        self.arrivals.forget_pauses();
    }

    /// What was available so far says nothing of now.
    fn forget_past(&mut self) {
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
        self.gaps.on_gap(gap);
    }

    /// An estimate from all gaps up to `now`. If nothing is left in flight, it may have to hold for
    /// a pause.
    pub fn report(&mut self, now: Timestamp, in_flight: Bytes) -> Option<Estimate> {
        self.is_noisy = false;
        let full = self.full_estimate(now);
        let mut estimate = full
            .or_else(|| self.given_estimate(now))
            .or_else(|| self.estimate_of_slices(now).map(|it| self.doubted(it)))?;
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

    /// The estimate, with the interval that it has if the capacity may be wrong.
    fn doubted(&self, estimate: Estimate) -> Estimate {
        let doubt = self.capacity.map_or(0.0, |it| self.doubt * it.as_bps_f64());
        if doubt <= 0.0 {
            return estimate;
        }
        let available = estimate.available.as_bps_f64();
        let half = |end: Bandwidth| libm::hypot(end.as_bps_f64() - available, doubt);
        Estimate {
            low: Bandwidth::from_bps_f64(available - half(estimate.low)),
            high: Bandwidth::from_bps_f64(available + half(estimate.high)),
            ..estimate
        }
    }

    fn estimate_of_slices(&mut self, now: Timestamp) -> Option<Estimate> {
        let capacity = self.capacity?;
        // If nobody knows in which direction a packet waited, no gap is known to be busy. And where
        // only deliveries speak for the capacity, the link may be any faster.
        if self.timing == EchoTiming::Foreign || self.bound {
            return None;
        }
        let estimate = self.gaps.estimate(now, capacity).map(|estimate| Estimate {
            flags: Flags {
                variable: estimate.flags.variable,
                ..self.flags(estimate.window)
            },
            ..estimate
        });
        let idle =
            IdleView::of(&self.arrivals, capacity, now).filter(|_| self.timing == EchoTiming::Own);
        let waits = self.arrivals.waits();
        self.is_noisy = idle.is_some_and(|view| view.is_noise(estimate.as_ref(), waits, capacity));
        if self.is_noisy {
            return None;
        }
        match (estimate, idle) {
            (Some(estimate), Some(view)) if view.is_even => Some(view.estimate(estimate.flags)),
            (Some(estimate), Some(view)) if view.replaces(&estimate) => {
                Some(view.estimate(Flags {
                    elastic: view.excess(&estimate) > capacity.scaled(GIVEN_WAY),
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
            // Otherwise the capacity is what is wrong.
            if estimate.low <= capacity {
                estimate.available = estimate.available.min(capacity);
            }
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

    fn cut(&mut self, packet: Bytes) {
        self.gaps
            .cut(self.capacity, packet, self.timing, self.jitter);
    }

    /// The flags of a value over `window`.
    fn flags(&self, window: Duration) -> Flags {
        Flags {
            application_limited: self.application_limited,
            aggregated_acks: self.timing != EchoTiming::Own,
            changed: self.gaps.has_changed_within(window),
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
        self.gaps.reset();
        self.link_since = None;
        self.arrivals.clear();
        self.arrivals.forget_pauses();
    }
}

/// Whether what is available varies. Half of the interval that this makes is `spread`.
fn is_variable(spread: f64, capacity: f64) -> bool {
    spread > VARIABLE_SHARE * capacity
}
