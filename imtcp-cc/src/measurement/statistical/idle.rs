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
use super::is_variable;
use super::noise::Waits;
use super::pauses::Pauses;
use super::window::BLOCK_95;
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
            is_full: sum.ended.idle().is_some_and(|[_, share, _]| share < HARDLY),
        })
    }

    /// Whether a value is more than this one and chance explain.
    pub(super) fn refutes(&self, estimate: &Estimate) -> bool {
        self.at >= estimate.at && estimate.available > self.most
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

    /// A value that reaches as far up as this one, if this one found more.
    pub(super) fn widened(&self, estimate: Estimate) -> Estimate {
        let found_more = self.at >= estimate.at && self.available > estimate.high;
        let high = if found_more { self.high } else { estimate.high };
        Estimate { high, ..estimate }
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
mod tests {
    use super::super::arrivals::Link;
    use super::*;
    use crate::path::ack::{EchoGap, EchoPoint, LinkState};
    use crate::units::Bytes;

    /// Packets of 1250 bytes, of which a link of 10 Mbit/s serves one in a millisecond.
    const PACKET: Bytes = Bytes::new(1250);
    const CAPACITY: Bandwidth = Bandwidth::from_mbps(10);
    const NOW: Timestamp = Timestamp::from_nanos(10_000_000_000);

    fn at_us(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    /// Four seconds of bursts of five packets, one each 20 ms. The link serves a burst without a
    /// pause. The first packet of burst `n` waited for `wait_us(n)`. Echoes within a burst are
    /// `apart_us` apart.
    fn bursts(wait_us: impl Fn(u64) -> u64, apart_us: u64) -> Arrivals {
        let mut arrivals = Arrivals::new();
        let link = Link::new(CAPACITY, PACKET);
        let mut last: Option<EchoPoint> = None;
        for number in 0..1000 {
            let (burst, place) = (number / 5, number % 5);
            let waited = wait_us(burst) + place * 1000;
            let arrived = at_us(burst * 20_000 + wait_us(burst) + 1000 + place * apart_us);
            let point = EchoPoint {
                number,
                size: PACKET,
                sent: at_us(burst * 20_000),
                arrived,
                came: arrived,
            };
            if let Some(from) = last.replace(point) {
                let gap = EchoGap {
                    from,
                    to: point,
                    bytes: PACKET,
                    packets: 1,
                    waited: Duration::from_micros(waited).into(),
                    is_alone: false,
                    link: LinkState::Unknown,
                };
                arrivals.on_gap(&gap, Some(&link));
            }
        }
        arrivals
    }

    /// What is told, in megabits per second: available, most, low, high.
    fn view(arrivals: &Arrivals) -> [f64; 4] {
        let view = IdleView::of(arrivals, CAPACITY, NOW).expect("it tells something");
        [view.available, view.most, view.low, view.high].map(|rate| rate.as_bps_f64() / 1e6)
    }

    /// Our five packets in 20 ms are 2.5 Mbit/s.
    #[test]
    fn a_link_that_is_always_found_busy_leaves_what_we_have() {
        // Between 3 and 13 ms, and now and then nothing.
        let wait = |burst: u64| {
            if burst.is_multiple_of(40) {
                0
            } else {
                3000 + burst * 7919 % 10_000
            }
        };
        let [available, most, low, high] = view(&bursts(wait, 1000));
        assert!((2.4..2.9).contains(&available), "{available}");
        assert!(most < 4.2 && high < 4.5, "{most}, {high}");
        assert!(low <= 2.5, "{low}");
    }

    /// Each second burst waits for 8 ms. Of 40 ms, 10 are ours, and 6 pass before a packet that
    /// found the link idle.
    #[test]
    fn what_is_idle_is_available_besides_what_we_have() {
        let wait = |burst: u64| if burst.is_multiple_of(2) { 0 } else { 8000 };
        let [available, _, low, high] = view(&bursts(wait, 1000));
        assert!((4.0..4.4).contains(&available), "{available}");
        assert!(low < 3.6 && high > 5.0, "{low}, {high}");
    }

    #[test]
    fn a_wait_that_is_always_the_same_is_no_traffic_of_others() {
        for wait_us in [0, 700, 2000] {
            let [available, ..] = view(&bursts(|_| wait_us, 1000));
            // Of 20 ms, the time of the wait itself is not counted.
            let least = 9.6 - wait_us as f64 / 2e3;
            assert!(available > least, "{available} after {wait_us} us");
        }
    }

    /// A full packet of others takes the link a millisecond, and ours come at any time of it.
    #[test]
    fn who_waits_for_part_of_a_packet_found_the_link_busy() {
        let part = |burst: u64| 100 + burst * 7919 % 900;
        let wait = |burst: u64| part(burst) * (burst % 2);
        let [available, ..] = view(&bursts(wait, 1000));
        // Half of the bursts waited, and half of those for less than half a packet.
        assert!((7.4..8.4).contains(&available), "{available}");
    }

    /// Four seconds of one packet each 5 ms, of which each second one waited for a part of a packet
    /// of others, which takes 1.2 ms.
    #[test]
    fn short_waits_are_waits_beside_even_traffic() {
        let (mut arrivals, link) = (Arrivals::new(), Link::new(CAPACITY, PACKET));
        let point = |number: u64| {
            let waited_us = number * 7919 % 1200 * (number % 2);
            let arrived = at_us(number * 5000 + waited_us + 1000);
            let point = EchoPoint {
                number,
                size: PACKET,
                sent: at_us(number * 5000),
                arrived,
                came: arrived,
            };
            (point, Duration::from_micros(waited_us))
        };
        for number in 1..800 {
            let ((from, _), (to, waited)) = (point(number - 1), point(number));
            let gap = EchoGap {
                from,
                to,
                bytes: PACKET,
                packets: 1,
                waited: waited.into(),
                is_alone: true,
                link: LinkState::Unknown,
            };
            arrivals.on_gap(&gap, Some(&link));
        }
        let told = IdleView::of(&arrivals, CAPACITY, NOW).expect("it tells something");
        assert!(told.is_even);
        let [available, low, high] = [told.available, told.low, told.high]
            .map(|rate| (rate.as_bps_f64() / 1e5).round() / 10.0);
        assert!((4.6..5.1).contains(&available), "{available}");
        assert!(
            (2.5..4.2).contains(&low) && (5.5..8.0).contains(&high),
            "{low} {high}"
        );
    }

    #[test]
    fn the_last_of_two_packets_tells_if_it_met_none_of_ours() {
        let view = |is_alone| {
            let (mut arrivals, link) = (Arrivals::new(), Link::new(CAPACITY, PACKET));
            let point = |number: u64| EchoPoint {
                number: number * 2,
                size: PACKET,
                sent: at_us(number * 20_000),
                arrived: at_us(number * 20_000 + 1000),
                came: at_us(number * 20_000 + 1000),
            };
            for number in 1..200 {
                let gap = EchoGap {
                    from: point(number - 1),
                    to: point(number),
                    bytes: PACKET + PACKET,
                    packets: 2,
                    waited: Duration::ZERO.into(),
                    is_alone,
                    link: LinkState::Unknown,
                };
                arrivals.on_gap(&gap, Some(&link));
            }
            IdleView::of(&arrivals, CAPACITY, NOW)
        };
        assert_eq!(view(false), None);
        let available = view(true).expect("each was alone").available;
        assert!(available > Bandwidth::from_mbps(9), "{available}");
    }

    #[test]
    fn a_value_below_what_packets_found_idle_reaches_up_to_it() {
        let arrivals = bursts(|_| 0, 1000);
        let view = IdleView::of(&arrivals, CAPACITY, NOW).expect("it tells something");
        let told = |mbps: u64| Estimate {
            at: view.at,
            available: Bandwidth::from_mbps(mbps),
            low: Bandwidth::from_mbps(mbps - 1),
            high: Bandwidth::from_mbps(mbps + 1),
            ..view.estimate(Flags::default())
        };
        let low = told(4);
        let widened = view.widened(low);
        assert_eq!(widened.high, view.high);
        assert_eq!((widened.low, widened.available), (low.low, low.available));
        let same = told(10);
        assert_eq!(view.widened(same), same);
    }

    #[test]
    fn where_echoes_are_pushed_together_waiting_tells_nothing() {
        let pushed = bursts(|burst| 3000 + burst * 7919 % 10_000, 300);
        assert_eq!(IdleView::of(&pushed, CAPACITY, NOW), None);
    }
}
