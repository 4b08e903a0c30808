//! Plans trains, and says for how long a packet may be held back.

use super::known::LARGEST_BURST;
use super::{Held, Known, PacingPlan, Ready, Scheduler, gather};
use crate::control::{Phase, Reduction};
use crate::path::PathView;
use crate::path::ack::EchoTiming;
use crate::transport::{RoundTrip, SendRequest};
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};
use std::time::Duration;

/// The number of packets of the shortest train that has a gap.
const PAIR: u32 = 2;

/// The least congestion window, in packets, at which a packet waits for a second one.
const WINDOW_FOR_PAIRS: u64 = 64;

/// The largest number of packets of a train. A longer train adds little: 31 of its 32 packets
/// already end a gap.
const LONGEST_TRAIN: u32 = 32;

/// The rushed gap, in per cent of the gap at the known capacity. If the capacity has risen, the
/// known value follows in steps of a sixth.
const RUSHED_GAP_PERCENT: u32 = 85;

/// A queue that overflowed may do so again for so many round trips: a window that doubled until it
/// was known is too large even after its reduction.
const SETTLING: u32 = 2;

impl Scheduler {
    /// The number of packets that leave together while a large window doubles, and while the queue
    /// may still overflow because it did. A source that does not fill its window overflows none.
    #[inline]
    pub(super) fn burst(&self, now: Timestamp, rtt: &RoundTrip, known: &Known<'_>) -> Option<u32> {
        let settles =
            |last: Reduction| last.ended_slow_start && now < last.at + rtt.smoothed * SETTLING;
        let overflows =
            known.window.phase == Phase::SlowStart || known.window.reduction.is_some_and(settles);
        let bursts = overflows && self.is_window_limited && self.settings.pacing;
        bursts.then(|| gather::burst(known.window_packets()))?
    }

    #[inline]
    pub(super) fn pacing_plan(&self, burst: Option<u32>, known: &Known<'_>) -> PacingPlan {
        if let Some(train_packets) = burst {
            return PacingPlan {
                train_packets,
                ..PacingPlan::EVEN
            };
        }
        let wanted = self.settings.measurement
            && self.settings.reads_all_packets
            && !self.only_watches(known.steering)
            // A train can be read only if the echoes keep the times of its packets.
            && known.path.timing == EchoTiming::Own;
        // What a slow source delivered is no pace for its bursts: each packet would be held back
        // for as long as the guard lets it.
        let capacity = known.path.shown_capacity();
        let Some(capacity) = capacity.filter(|_| wanted) else {
            return PacingPlan::EVEN;
        };
        let packet = known.path.on_wire(known.path.datagram);
        let own_pace = capacity.time_for(packet);
        let rushed_gap = own_pace * RUSHED_GAP_PERCENT / 100;
        // If the link is always busy, its queue is never empty, and each pair may be rushed.
        let (train_packets, gap) = if known.findings.is_link_covered {
            (PAIR, rushed_gap)
        } else {
            (longest_train(known), own_pace)
        };
        if self.is_too_short(gap) {
            // Packets that leave together are a train at the pace of the host's own link, and its
            // dispersion tells as much.
            return PacingPlan {
                train_packets: train_packets.min(LARGEST_BURST),
                ..PacingPlan::EVEN
            };
        }
        let waits = known.findings.is_link_covered || known.window_packets() >= WINDOW_FOR_PAIRS;
        let longest_wait = match waits {
            true => self.probing.store_limit(),
            false => Duration::ZERO,
        };
        PacingPlan {
            train_packets,
            pace: own_pace,
            gap,
            rushed_gap,
            longest_wait,
        }
    }

    /// Whether timers of this host would change such a gap by half of its length.
    fn is_too_short(&self, gap: Duration) -> bool {
        gap <= self.guard.usual_lateness() * 2
    }

    /// Whether packets leave in bunches, because timers cannot space them at the link's own pace.
    pub(crate) fn leaves_in_bunches(&self, path: &PathView) -> bool {
        let own_pace = |capacity: Bandwidth| capacity.time_for(path.packet());
        let gap = path.shown_capacity().map(own_pace);
        gap.is_some_and(|gap| self.is_too_short(gap))
    }

    /// What waits to leave, for the guard to judge.
    pub(super) fn held(
        &self,
        rtt: &RoundTrip,
        ready: Ready,
        request: &SendRequest,
        known: &Known<'_>,
    ) -> Held {
        Held {
            ready: request.queued.min(request.window_left),
            packets: ready.packets,
            under_way: under_way(request, known, self.is_window_limited),
            window_limited: self.is_window_limited,
            allowance: self.longest_hold(rtt, known.path),
            measurement: request.max_datagram.times(self.probing.packets()),
        }
    }

    /// The longest time for which measuring may hold a packet back: half of (least round trip minus
    /// M / C), and at most [`crate::Config::longest_hold`]. M is the packet size and C the capacity
    /// of the tight link. M / C is the time that the link takes to send one packet, so it is not
    /// part of the path's propagation delay. If C is unknown, half of the round trip takes its
    /// place.
    #[inline]
    pub(super) fn longest_hold(&self, rtt: &RoundTrip, path: &PathView) -> Duration {
        let half = |span: Nanos| Nanos::new(span.get() / 2);
        let (packet, least) = (path.packet(), Nanos::from(rtt.min));
        let sending = path
            .capacity
            .map_or(half(least), |rate| rate.nanos_for(packet));
        let longest = Nanos::from(self.settings.longest_hold);
        half(least.saturating_sub(sending)).min(longest).into()
    }
}

/// What is in flight or waits to leave, in bytes of UDP payload. It is the window where that limits
/// the transfer.
fn under_way(request: &SendRequest, known: &Known<'_>, is_window_limited: bool) -> Bytes {
    let window = known.window.size;
    if is_window_limited {
        return window;
    }
    window.saturating_sub(request.window_left) + request.queued
}

#[expect(clippy::cast_possible_truncation, reason = "saturates, and is clamped")]
#[expect(clippy::cast_sign_loss, reason = "saturates at zero")]
fn longest_train(known: &Known<'_>) -> u32 {
    let bound = known.steering.gathered_packets;
    bound.map_or(LONGEST_TRAIN, |packets| {
        (packets as u32).clamp(PAIR, LONGEST_TRAIN)
    })
}
