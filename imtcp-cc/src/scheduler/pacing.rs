//! How trains are made, and for how long a packet may be held back.

use super::known::{GAIN, LARGEST_BURST};
use super::{Held, Known, PacingPlan, Ready, Scheduler};
use crate::path::PathView;
use crate::path::ack::EchoTiming;
use crate::transport::{RoundTrip, SendRequest};
use crate::units::Bandwidth;
use std::time::Duration;

/// The shortest train that has a gap, and the window from which on a packet may wait for a second
/// one.
const PAIR: u32 = 2;
const WINDOW_FOR_PAIRS: u64 = 64;

/// A longer train adds little: of 32 packets, 31 gaps count.
const LONGEST_TRAIN: u32 = 32;

/// A rushed gap as a share of the gap at the capacity, in per cent: a capacity that has risen shows
/// in steps of a sixth.
const RUSHED_GAP_PERCENT: u32 = 85;

impl Scheduler {
    pub(super) fn pacing_plan(&self, known: &Known<'_>) -> PacingPlan {
        let wanted = self.settings.measurement
            && self.settings.reads_all_packets
            && !self.only_watches()
            // Nobody could read them.
            && known.path.timing == EchoTiming::Own;
        let Some(capacity) = known.path.capacity.filter(|_| wanted) else {
            return PacingPlan::EVEN;
        };
        let packet = known.path.packet();
        let own_pace = capacity.time_for(packet);
        let rushed_gap = own_pace * RUSHED_GAP_PERCENT / 100;
        // A queue that is never empty needs no head to build one.
        let (train_packets, head_gap) = if known.findings.is_link_covered {
            (PAIR, rushed_gap)
        } else {
            (longest_train(known), own_pace)
        };
        // T is several such gaps long; it is the bound when hardly anything is available.
        let longest = self.probing.store_limit();
        let tail_gap = tail_rate(known).time_for(packet).min(longest);
        if head_gap <= self.guard.usual_lateness() * 2 {
            // Timers of this host would change such a gap by half of it. What leaves together is a
            // train at the pace of the host's own link, whose dispersion tells as much.
            return PacingPlan {
                train_packets: train_packets.min(LARGEST_BURST),
                ..PacingPlan::EVEN
            };
        }
        let waits = known.findings.is_link_covered || known.window_packets() >= WINDOW_FOR_PAIRS;
        PacingPlan {
            train_packets,
            head_gap,
            rushed_gap,
            tail_gap: head_gap.max(tail_gap),
            longest_wait: if waits { longest } else { Duration::ZERO },
        }
    }

    /// What measuring may not hold back for longer than the guard allows.
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
            window: known.window.size,
            window_limited: self.is_window_limited,
            allowance: self.longest_hold(rtt, known.path),
            measurement: request.max_datagram.times(self.probing.packets()),
        }
    }

    /// Half of the least round trip, less what a slow link takes to send a packet: that is no delay
    /// of the path's. Where nobody knows how long that is, half of the round trip is taken for it.
    pub(super) fn longest_hold(&self, rtt: &RoundTrip, path: &PathView) -> Duration {
        let packet = path.packet();
        let sending = path
            .capacity
            .map_or(rtt.min / 2, |rate| rate.time_for(packet));
        let round_trip = rtt.min.saturating_sub(sending);
        (round_trip / 2).min(self.settings.longest_hold)
    }
}

/// A tail keeps the queue while it is faster than the available bandwidth. Data that comes in
/// bursts loses nothing by it: sent faster, it would wait at the tight link.
fn tail_rate(known: &Known<'_>) -> Bandwidth {
    known.available().unwrap_or(Bandwidth::MAX).scaled(GAIN)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and is clamped"
)]
fn longest_train(known: &Known<'_>) -> u32 {
    let bound = known.steering.gathered_packets;
    bound.map_or(LONGEST_TRAIN, |packets| {
        (packets as u32).clamp(PAIR, LONGEST_TRAIN)
    })
}
