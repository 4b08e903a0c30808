//! From window and path to a pacing plan and to counts of packets.

use super::ImTcp;
use crate::ack::EchoTiming;
use crate::estimate::EstimatorKind;
use crate::scheduler::{Backlog, Held, PacingPlan, Ready};
use crate::transport::{RoundTrip, SendRequest};
use crate::units::{Bandwidth, Bytes};
use crate::window::Phase;
use std::time::Duration;

/// Pacing runs this much ahead of the window's own rate, so that the window stays the limit (RFC
/// 9002, section 7.7), and twice as fast while it doubles.
const GAIN: f64 = 1.25;
const SLOW_START_GAIN: f64 = 2.0;

/// Packets are held back until a train has this share of the window, no more: what waits is not in
/// flight, and half of it on average is lost to throughput while the link is not full.
const TRAIN_SHARE_DIVISOR: u32 = 100;
/// The shortest train that has a gap, and the window from which on waiting for it costs less than a
/// per cent: half a packet on average.
const PAIR: u32 = 2;
const WINDOW_FOR_PAIRS: u32 = 64;
/// Where the window is the limit, so many packets go by themselves after each train: it keeps the link
/// busy by itself. Packets of a train are lost together at a full queue, and two losses in a round trip
/// cost what one costs: with nothing but trains a flow had a third more of a Reno flow's share than
/// without measuring, +37 % (`goodput-beside-reno`).
const SINGLES_PER_TRAIN: u32 = 30;

/// A longer train adds little: of 32 packets, 31 gaps count.
const LONGEST_TRAIN: u32 = 32;

/// A rushed gap as a share of the gap at the capacity, in per cent: a capacity that has risen shows
/// in steps of a sixth.
const RUSHED_GAP_PERCENT: u32 = 85;

impl ImTcp {
    /// The mean rate that the window law asks for, or a source that wants no more than a rate; on the
    /// wire without headers.
    pub(super) fn pacing_rate_for(&self, rtt: &RoundTrip) -> Bandwidth {
        let gain = match self.window.phase() {
            Phase::SlowStart => SLOW_START_GAIN,
            _ => GAIN,
        };
        let rate = Bandwidth::from_bytes_over(self.window.window(), rtt.smoothed)
            .map_or(Bandwidth::MAX, |rate| rate.scaled(gain));
        let most = self.keeper.bound_on_rate(self.max_datagram);
        rate.min(most.unwrap_or(Bandwidth::MAX))
    }

    pub(super) fn pacing_plan(&self, rtt: &RoundTrip, backlog: Backlog) -> PacingPlan {
        let mut plan = PacingPlan {
            rate: self.pacing_rate_for(rtt),
            train_packets: 1,
            train_fill: 1,
            singles: 0,
            head_gap: Duration::ZERO,
            tail_gap: Duration::ZERO,
            rushed_gap: Duration::ZERO,
            longest_wait: Duration::ZERO,
        };
        // While the window doubles and is what limits, trains would only worsen its overshoot.
        let wanted = self.config.measurement()
            && self.config.estimator() == EstimatorKind::Statistical
            && !self.only_watches()
            && !(backlog.window_limited && self.window.phase() == Phase::SlowStart)
            // Nobody could read them.
            && self.tracker.timing() == EchoTiming::Own;
        if let Some(capacity) = self.capacity.get().filter(|_| wanted) {
            (plan.train_packets, plan.train_fill) = self.train();
            if backlog.window_limited {
                plan.singles = SINGLES_PER_TRAIN;
            }
            if backlog.window_limited && !self.guard.may_gather() {
                plan.train_fill = 1;
            }
            plan.longest_wait = self.probing.store_limit();
            let packet = self.on_wire(self.max_datagram);
            plan.head_gap = capacity.time_for(packet);
            if backlog.window_limited {
                // Never slower than the mean rate: a capacity that is taken for too low must not
                // make itself true.
                plan.head_gap = plan.head_gap.min(plan.rate.time_for(packet));
            }
            plan.rushed_gap = plan.head_gap * RUSHED_GAP_PERCENT / 100;
            if self.link_covered {
                plan.head_gap = plan.rushed_gap;
            }
            let tail_gap = self.tail_rate(plan.rate, backlog).time_for(packet);
            // T is several such gaps long; it is the bound when hardly anything is available.
            plan.tail_gap = plan.head_gap.max(tail_gap.min(plan.longest_wait));
        }
        plan
    }

    /// Whether nothing is held back at all, because the window is what limits. What waits for a train or
    /// a stream is not in flight, and lets others overtake at the queue: with probe streams a flow had
    /// a fifth more of a Reno flow's share than without, though each packet of it waited for less than a
    /// millisecond (`goodput-beside-reno`). A full window shows as much to somebody who only watches.
    ///
    /// The papers' own driver needs its streams, and who sends at a promised rate is limited by that.
    pub(super) fn only_watches(&self) -> bool {
        self.window_limited
            && self.config.estimator() == EstimatorKind::Statistical
            && self.keeper.bound_on_rate(self.max_datagram).is_none()
    }

    /// A tail keeps the queue while it is faster than the available bandwidth. Data that comes in
    /// bursts loses nothing by it: sent faster, it would wait at the tight link. A full window is not
    /// slowed down below its own rate.
    fn tail_rate(&self, mean: Bandwidth, backlog: Backlog) -> Bandwidth {
        let available = self
            .believed()
            .map_or(Bandwidth::MAX, |estimate| estimate.available);
        let least = if backlog.window_limited {
            mean
        } else {
            Bandwidth::ZERO
        };
        available.scaled(GAIN).max(least)
    }

    /// The longest train, and the packets that it waits for.
    fn train(&self) -> (u32, u32) {
        let window = u32::try_from(self.window_packets()).unwrap_or(u32::MAX);
        if self.link_covered {
            // Every gap counts as it is; pairs keep the capacity in sight, and what waits for its
            // pair is not missed while the queue is never empty.
            return (PAIR, PAIR);
        }
        let least = if window >= WINDOW_FOR_PAIRS { PAIR } else { 1 };
        let longest = self.longest_train();
        (
            longest,
            (window / TRAIN_SHARE_DIVISOR).clamp(least, longest),
        )
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and is clamped"
    )]
    fn longest_train(&self) -> u32 {
        let bound = self.keeper.bound_on_gathering();
        bound.map_or(LONGEST_TRAIN, |packets| {
            (packets as u32).clamp(PAIR, LONGEST_TRAIN)
        })
    }

    /// What may leave, in packets. A packet that the window would cut short is not ready: no runts.
    pub(super) fn ready(&self, request: &SendRequest) -> Ready {
        let full = request.max_datagram.get().max(1);
        let packets = if request.window_left >= request.queued {
            request.queued.get().div_ceil(full)
        } else {
            request.window_left.get() / full
        };
        Ready {
            packets: u32::try_from(packets).unwrap_or(u32::MAX),
            window: u32::try_from(self.window_packets()).unwrap_or(u32::MAX),
        }
    }

    /// What measuring may not hold back for longer than the guard allows: half of the least round trip,
    /// and [`Config::longest_hold`](crate::Config::longest_hold).
    pub(super) fn held(&self, rtt: RoundTrip, ready: Ready, request: &SendRequest) -> Held {
        Held {
            ready: request.queued.min(request.window_left),
            packets: ready.packets,
            window: self.window.window(),
            window_limited: request.window_left < request.queued,
            allowance: self.longest_hold(&rtt),
            measurement: request.max_datagram.times(self.probing.packets()),
        }
    }

    pub(super) fn longest_hold(&self, rtt: &RoundTrip) -> Duration {
        (rtt.min / 2).min(self.config.longest_hold())
    }

    pub(super) fn backlog(ready: Ready, request: &SendRequest) -> Backlog {
        Backlog {
            ready: ready.packets,
            window_limited: request.window_left < request.queued,
        }
    }

    pub(super) fn window_packets(&self) -> u64 {
        self.window.window().get() / self.max_datagram.get().max(1)
    }

    /// A UDP payload's size on the wire.
    pub(super) fn on_wire(&self, payload: Bytes) -> Bytes {
        payload + self.config.header_overhead()
    }
}
