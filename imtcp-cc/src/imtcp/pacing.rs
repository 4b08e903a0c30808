//! From window and path to a pacing plan and to counts of packets.

use super::ImTcp;
use crate::ack::EchoTiming;
use crate::estimate::EstimatorKind;
use crate::scheduler::{Held, MeanRate, PacingPlan, Ready};
use crate::transport::{RoundTrip, SendRequest};
use crate::units::{Bandwidth, Bytes};
use crate::window::Phase;
use std::time::Duration;

/// Pacing runs this much ahead of the window's own rate, so that the window stays the limit (RFC
/// 9002, section 7.7), and twice as fast while it doubles.
const GAIN: f64 = 1.25;
const SLOW_START_GAIN: f64 = 2.0;

/// The shortest train that has a gap, and the window from which on a packet may wait for a second
/// one.
const PAIR: u32 = 2;
const WINDOW_FOR_PAIRS: u64 = 64;

/// A longer train adds little: of 32 packets, 31 gaps count.
const LONGEST_TRAIN: u32 = 32;

/// A rushed gap as a share of the gap at the capacity, in per cent: a capacity that has risen shows
/// in steps of a sixth.
const RUSHED_GAP_PERCENT: u32 = 85;

/// Packets that may leave at once: as many as begin a connection (RFC 9002, section 7.7), and this
/// part of a round trip's at most.
const LARGEST_BURST: u32 = 10;
const BURST_DIVISOR: u32 = 16;

impl ImTcp {
    /// The mean rate that the window law asks for, or a source that wants no more than a rate; on
    /// the wire without headers.
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

    pub(super) fn pacing_plan(&self) -> PacingPlan {
        let wanted = self.config.measurement()
            && self.config.estimator() == EstimatorKind::Statistical
            && !self.only_watches()
            // Nobody could read them.
            && self.tracker.timing() == EchoTiming::Own;
        let Some(capacity) = self.capacity.get().filter(|_| wanted) else {
            return PacingPlan::EVEN;
        };
        let packet = self.on_wire(self.max_datagram);
        let own_pace = capacity.time_for(packet);
        let rushed_gap = own_pace * RUSHED_GAP_PERCENT / 100;
        // A queue that is never empty needs no head to build one.
        let (train_packets, head_gap) = if self.link_covered {
            (PAIR, rushed_gap)
        } else {
            (self.longest_train(), own_pace)
        };
        // T is several such gaps long; it is the bound when hardly anything is available.
        let longest = self.probing.store_limit();
        let tail_gap = self.tail_rate().time_for(packet).min(longest);
        if head_gap <= self.guard.usual_lateness() * 2 {
            // Timers of this host would change such a gap by half of it. What leaves together is a
            // train at the pace of the host's own link, whose dispersion tells as much.
            return PacingPlan {
                train_packets: train_packets.min(LARGEST_BURST),
                ..PacingPlan::EVEN
            };
        }
        let waits = self.link_covered || self.window_packets() >= WINDOW_FOR_PAIRS;
        PacingPlan {
            train_packets,
            head_gap,
            rushed_gap,
            tail_gap: head_gap.max(tail_gap),
            longest_wait: if waits { longest } else { Duration::ZERO },
        }
    }

    /// Whether nothing is held back at all, because the window is what limits. What waits for a
    /// train or a stream is not in flight, and lets others overtake at the queue: with probe
    /// streams a flow had a fifth more of a Reno flow's share than without, though each packet of
    /// it waited for less than a millisecond (`goodput-beside-reno`). A full window shows as much
    /// to somebody who only watches.
    ///
    /// The papers' own driver needs its streams, and who sends at a promised rate is limited by
    /// that.
    pub(super) fn only_watches(&self) -> bool {
        self.window_limited && self.config.estimator() == EstimatorKind::Statistical
    }

    /// A transport that takes no more data from the application than the window has room for never
    /// has more waiting: then a window that was full of late tells.
    pub(super) fn is_window_limited(&self, request: &SendRequest) -> bool {
        let phase = self.window.phase();
        let window = self.window.window();
        let is_used = !self.usage.is_underused(window, phase, self.max_datagram);
        (request.window_left < request.queued || is_used)
            && self.keeper.bound_on_rate(self.max_datagram).is_none()
    }

    /// A tail keeps the queue while it is faster than the available bandwidth. Data that comes in
    /// bursts loses nothing by it: sent faster, it would wait at the tight link.
    fn tail_rate(&self) -> Bandwidth {
        self.believed()
            .map_or(Bandwidth::MAX, |estimate| estimate.available)
            .scaled(GAIN)
    }

    /// The longest train.
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

    /// What measuring may not hold back for longer than the guard allows: half of the least round
    /// trip, and [`Config::longest_hold`](crate::Config::longest_hold).
    pub(super) fn held(&self, rtt: RoundTrip, ready: Ready, request: &SendRequest) -> Held {
        Held {
            ready: request.queued.min(request.window_left),
            packets: ready.packets,
            window: self.window.window(),
            window_limited: self.window_limited,
            allowance: self.longest_hold(&rtt),
            measurement: request.max_datagram.times(self.probing.packets()),
        }
    }

    /// How packets leave on average.
    pub(super) fn mean_rate(&self, rtt: &RoundTrip) -> MeanRate {
        let rate = self.pacing_rate_for(rtt);
        MeanRate {
            rate,
            burst: self.burst(rate, rtt),
        }
    }

    /// What an application writes at a time leaves at a time: each timer in between is system
    /// calls, for a gap that nobody reads. While the window doubles they are read: they are the
    /// first there are (`m1-chunks-50-rtt100`: the headroom was known after 4.3 s, and is after
    /// 0.5).
    fn burst(&self, rate: Bandwidth, rtt: &RoundTrip) -> Duration {
        if self.window.phase() == Phase::SlowStart {
            return Duration::ZERO;
        }
        let burst = rate.time_for(self.max_datagram.times(LARGEST_BURST.into()));
        burst.min(rtt.smoothed / BURST_DIVISOR)
    }

    /// Half of the least round trip, less what a slow link takes to send a packet: that is no delay
    /// of the path's. Where nobody knows how long that is, half of the round trip is taken for it.
    pub(super) fn longest_hold(&self, rtt: &RoundTrip) -> Duration {
        let packet = self.on_wire(self.max_datagram);
        let capacity = self.capacity.get();
        let sending = capacity.map_or(rtt.min / 2, |rate| rate.time_for(packet));
        let round_trip = rtt.min.saturating_sub(sending);
        (round_trip / 2).min(self.config.longest_hold())
    }

    pub(super) fn window_packets(&self) -> u64 {
        self.window.window().get() / self.max_datagram.get().max(1)
    }

    /// A UDP payload's size on the wire.
    pub(super) fn on_wire(&self, payload: Bytes) -> Bytes {
        payload + self.config.header_overhead()
    }
}
