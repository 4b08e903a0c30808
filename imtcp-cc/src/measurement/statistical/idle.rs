//! What is available by how often our packets find the link idle.
//!
//! Gaps tell what others send between packets of ours that come close together. Others who react,
//! as a rival with a congestion window does, send less just then: our burst fills the queue that
//! their packets need. They make up for it while we are away. So a packet that ends a stretch
//! without packets of ours is asked: if it had to wait, the link was busy in that stretch, and if
//! not, it was idle. What was idle, and what we had ourselves, was available.
//!
//! This is far less sharp than the gaps, because each stretch is one sample. So it speaks only
//! where it contradicts them. Where the gaps say more than it allows, it takes their place. Where
//! they say less than it found, they may have seen busy times alone: if packets of ours leave one
//! by one, only the wait that others cause proves a gap busy. Then nobody knows which of the two is
//! right, and the interval reaches up to this one's.

use super::arrivals::{Arrivals, SPAN, Span};
use super::blocks::BLOCK_95;
use super::is_variable;
use super::noise::Waits;
use super::pauses::Pauses;
use super::{CAPACITY_DOUBT, SYSTEMATIC_SHARE};
use crate::deviation::Deviation;
use crate::estimate::{Estimate, Flags};
use crate::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// The number of spans that the value rests on: a second.
const SPANS: u32 = 20;

/// How the present second differs from another one is seen from blocks of so many spans.
const BLOCK: u64 = 10;
const BLOCKS: usize = 8;

/// The fewest gaps that tell anything, and the fewest in a block.
const FEWEST: u32 = 8;
const FEWEST_IN_BLOCK: u32 = 4;

/// If more than this share of the echoes was pushed together on the way, waiting is no sign of a
/// busy link: hosts, aggregates or another link make packets wait. One alone is chance.
const PUSHED_SHARE: f64 = 0.01;

/// A link of which packets find less than this share of the time idle is full. Waits at such a link
/// have a long memory.
const HARDLY: f64 = 0.1;

/// Nobody gives way, and waits are noise, if gaps say more than this view allows by this share of
/// the capacity, and one wait has nothing to do with the next.
const NOISY: f64 = 0.1;

/// What is available as packets after stretches found it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct IdleView {
    pub(super) available: Bandwidth,
    /// What no more than chance can add: above this the samples refute a value.
    pub(super) most: Bandwidth,
    /// The ends of the 95 % interval.
    pub(super) low: Bandwidth,
    pub(super) high: Bandwidth,
    pub(super) at: Timestamp,
    /// At most [`IdleView::LONGEST`].
    pub(super) window: Duration,
    pub(super) is_variable: bool,
    /// Whether others send evenly.
    pub(super) is_even: bool,
    /// Whether hardly anybody waited for more than one packet of others.
    is_single: bool,
    /// Whether hardly any packet found the link idle.
    is_full: bool,
}

impl IdleView {
    pub(super) const LONGEST: Duration = SPAN.saturating_mul(SPANS);

    /// What the newest second of `arrivals` says of a link of this capacity; `None` if that is
    /// nothing.
    pub(super) fn of(arrivals: &Arrivals, capacity: Bandwidth, now: Timestamp) -> Option<Self> {
        let capacity = capacity.as_bps_f64();
        let mut sum = Span::default();
        let mut length = 0;
        let newest = arrivals.backwards();
        for (reach, span) in newest.take_while(|(reach, _)| *reach <= u64::from(SPANS)) {
            length = reach;
            sum.add(span);
        }
        let is_pushed =
            sum.pushed > 1 && f64::from(sum.pushed) > PUSHED_SHARE * f64::from(sum.gaps);
        if sum.gaps < FEWEST || is_pushed || sum.arrived_s <= 0.0 {
            return None;
        }
        let [low, available, most] = sum.available(capacity, arrivals.pauses())?;
        let bound = capacity * (1.0 + CAPACITY_DOUBT);
        let spread = BLOCK_95 * deviation(arrivals, capacity);
        let systematic = SYSTEMATIC_SHARE * available;
        let half =
            |chance: f64| libm::sqrt(spread * spread + systematic * systematic + chance * chance);
        Some(Self {
            available: Bandwidth::from_bps_f64(available),
            most: Bandwidth::from_bps_f64(most),
            low: Bandwidth::from_bps_f64(available - half(available - low)),
            high: Bandwidth::from_bps_f64((available + half(most - available)).min(bound)),
            at: arrivals.newest().min(now),
            window: SPAN * u32::try_from(length).unwrap_or(SPANS),
            is_variable: is_variable(spread, capacity),
            is_even: sum.ended.are_beside_even(),
            is_single: sum.ended.are_beside_single(),
            is_full: sum.ended.idle().is_some_and(|[_, share, _]| share < HARDLY),
        })
    }

    /// Whether a value is more than this one and chance explain.
    pub(super) fn refutes(&self, estimate: &Estimate) -> bool {
        self.at >= estimate.at && estimate.available > self.most
    }

    /// Whether this one counts in place of a value that it refutes. Others that give way to our
    /// packets keep several of theirs waiting. Where nobody waited for more than one, others would
    /// be seen between our packets, or the waits are those of a host.
    pub(super) fn replaces(&self, estimate: &Estimate) -> bool {
        self.refutes(estimate) && !self.is_single
    }

    /// By how much a value is more than that.
    pub(super) fn excess(&self, estimate: &Estimate) -> Bandwidth {
        estimate.available.saturating_sub(self.most)
    }

    /// Whether this one and what gaps say can both be true only if `waits` are related, and they
    /// are not.
    pub(super) fn is_noise(
        &self,
        gaps: Option<&Estimate>,
        waits: &Waits,
        capacity: Bandwidth,
    ) -> bool {
        let excess = gaps.map_or(Bandwidth::ZERO, |gaps| self.excess(gaps));
        !self.is_even && waits.are_noise() && (self.is_full || excess > capacity.scaled(NOISY))
    }

    /// A value that reaches as far up as this one if this one found more, and as far down if this
    /// one refutes it.
    pub(super) fn widened(&self, estimate: Estimate) -> Estimate {
        let found_more = self.at >= estimate.at && self.available > estimate.high;
        let high = if found_more { self.high } else { estimate.high };
        let low = if self.refutes(&estimate) {
            self.low
        } else {
            estimate.low
        };
        Estimate {
            low,
            high,
            ..estimate
        }
    }

    /// An estimate of this alone.
    pub(super) fn estimate(&self, flags: Flags) -> Estimate {
        Estimate {
            at: self.at,
            available: self.available,
            low: self.low,
            high: self.high,
            window: self.window,
            flags: Flags {
                variable: self.is_variable,
                ..flags
            },
        }
    }
}

impl Span {
    /// What was available, between what chance can have taken from it and added to it. `None` if
    /// nobody saw what the link did while we were away.
    fn available(&self, capacity: f64, pauses: &Pauses) -> Option<[f64; 3]> {
        let own = self.bits / self.arrived_s;
        if self.ended.are_beside_even() {
            return Some(self.beside_even(own, capacity));
        }
        let away_s = self.away_s - self.paused_s;
        let mut idle_s = [0.0; 3];
        if away_s > 0.0 {
            idle_s = self.ended.idle()?.map(|idle| idle * away_s);
        }
        if self.paused_s > 0.0 {
            for (sum, idle) in idle_s.iter_mut().zip(pauses.idle()?) {
                *sum += idle * self.paused_s;
            }
        }
        Some(idle_s.map(|idle| (own + idle / self.arrived_s * capacity).min(capacity)))
    }

    /// The same beside even traffic of others. A packet that comes at any time finds the link as
    /// busy as they keep it, and what it served of ours is over by then. If it is not, that is too
    /// little, and what was idle besides our own too much.
    fn beside_even(&self, own: f64, capacity: f64) -> [f64; 3] {
        let [low, share, high] = self.ended.idle_beside_even();
        let least = own.max(low * capacity);
        let available = least.max(share * capacity);
        let most = available.max(own + high * capacity * self.away_s / self.arrived_s);
        [least, available, most].map(|rate| rate.min(capacity))
    }
}

/// The standard deviation of what was available in blocks.
fn deviation(arrivals: &Arrivals, capacity: f64) -> f64 {
    let mut blocks = [Span::default(); BLOCKS];
    for (reach, span) in arrivals.backwards() {
        let place = usize::try_from((reach - 1) / BLOCK).unwrap_or(BLOCKS);
        if let Some(block) = blocks.get_mut(place) {
            block.add(span);
        }
    }
    let known = |block: &&Span| block.gaps >= FEWEST_IN_BLOCK && block.arrived_s > 0.0;
    let blocks = blocks.iter().filter(known);
    let mut deviation = Deviation::default();
    let told = |block: &Span| block.available(capacity, arrivals.pauses());
    for [_, available, _] in blocks.filter_map(told) {
        deviation.add(available);
    }
    deviation.get()
}

#[cfg(test)]
mod tests;
