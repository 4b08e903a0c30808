//! What the scheduler knows of path, measurement, promise and window, and the rates and packet
//! counts that follow from it.

use super::{MeanRate, PACKET_OVERHEAD, Ready};
use crate::control::{Phase, StartPace, Steering, WindowView};
use crate::measurement::Findings;
use crate::path::PathView;
use crate::transport::{RoundTrip, SendRequest};
use crate::units::Bandwidth;
use std::time::Duration;

/// The ratio of the pacing rate to the window's own rate, cwnd / smoothed_rtt (RFC 9002,
/// section 7.7, its N). It is above 1, so that the window stays the limit.
const GAIN: f64 = 1.25;

/// The same ratio in slow start, where the window doubles per round trip.
const SLOW_START_GAIN: f64 = 2.0;

/// The largest burst in packets: as many as begin a connection (RFC 9002, section 7.7).
pub(super) const LARGEST_BURST: u32 = 10;

/// A burst lasts at most the smoothed round trip divided by this number.
const BURST_DIVISOR: u32 = 16;

/// So many packets may leave together in any case. Most receivers acknowledge every second packet.
const CLOCKED_PACKETS: u32 = 2;

/// A burst into a full window is at most what the link serves in the time for which packets waited
/// when the window was last reduced, divided by this number.
const QUEUE_DIVISOR: u32 = 2;

/// What is known when a packet asks to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) path: &'a PathView,
    pub(crate) findings: Findings<'a>,
    pub(crate) window: WindowView,
    pub(crate) steering: &'a Steering,
}

impl Known<'_> {
    /// The mean rate at which packets leave, in bits of UDP payload per second: GAIN cwnd /
    /// smoothed_rtt (RFC 9002, section 7.7), or the required rate if the source wants no more.
    #[inline]
    pub(super) fn pacing_rate(&self, rtt: &RoundTrip) -> Bandwidth {
        let gain = match (self.window.phase, self.window.start) {
            (Phase::SlowStart, StartPace::Free) => SLOW_START_GAIN,
            (Phase::SlowStart, StartPace::Filling(ratio)) => ratio.clamp(1.0, SLOW_START_GAIN),
            (Phase::SlowStart, StartPace::Jump) => 1.0,
            _ => GAIN,
        };
        let rate = Bandwidth::from_bytes_over(self.window.size, rtt.smoothed)
            .map_or(Bandwidth::MAX, |rate| rate.scaled(gain));
        let most = self.steering.bound_on_rate(self.path.max_datagram);
        rate.min(most.unwrap_or(Bandwidth::MAX))
    }

    /// The same without pacing: a required rate alone spaces packets.
    pub(super) fn rate_without_pacing(&self) -> Option<Bandwidth> {
        self.steering.bound_on_rate(self.path.max_datagram)
    }

    /// The mean rate at which packets leave, and the burst that it allows.
    #[inline]
    pub(super) fn mean_rate(&self, rate: Bandwidth, rtt: &RoundTrip) -> MeanRate {
        MeanRate {
            rate,
            burst: self.burst(rate, rtt),
            room: self.room(rate),
        }
    }

    /// The largest burst that the queue holds, as the time that it takes at `rate`, where
    /// acknowledgements clock the packets out. One that frees many packets of a full window would
    /// otherwise let a burst leave that a short queue does not hold. A rate that bounds the source
    /// clocks its packets in their place, and what it missed is made up for.
    #[inline]
    fn room(&self, rate: Bandwidth) -> Option<Duration> {
        let is_bounded = self.steering.packets_per_second.is_some();
        let is_clocked = self.window.is_used && self.window.phase != Phase::SlowStart;
        let reduction = self.window.reduction;
        let queue = reduction.filter(|_| is_clocked && !is_bounded)?.queue;
        // The queue empties at the link's pace, which is faster than ours where others send too.
        let pace = self.path.shown_capacity().unwrap_or(rate).max(rate);
        let least = self.path.datagram.times(CLOCKED_PACKETS.into());
        Some(rate.time_for(least.max(pace.bytes_in(queue / QUEUE_DIVISOR))))
    }

    /// The largest burst, as the time that it takes at `rate`.
    ///
    /// Packets that the application writes together leave together, up to this bound. Gaps between
    /// them would cost timers and system calls, and no estimator would read the gaps. Slow start is
    /// the exception: its gaps are the first that can be read, so no burst is allowed. In the
    /// scenario `m1-chunks-50-rtt100` the spare bandwidth was known after 0.5 s instead of 4.3 s.
    #[inline]
    fn burst(&self, rate: Bandwidth, rtt: &RoundTrip) -> Duration {
        if self.window.phase == Phase::SlowStart {
            return Duration::ZERO;
        }
        let burst = rate.time_for(self.path.max_datagram.times(LARGEST_BURST.into()));
        burst.min(rtt.smoothed / BURST_DIVISOR)
    }

    /// The latest estimate of the available bandwidth, in IP-layer bits per second (the paper's A).
    pub(super) fn available(&self) -> Option<Bandwidth> {
        self.findings.estimate.map(|estimate| estimate.available)
    }

    /// Whether the congestion window limits the transfer: more data waits than the window has room
    /// for, or the window was full lately. The second sign is needed because some transports take
    /// no more data from the application than the window has room for.
    pub(super) fn is_window_limited(&self, request: &SendRequest) -> bool {
        let is_promised = self.steering.packets_per_second.is_some();
        (request.window_left < request.queued || self.window.is_used) && !is_promised
    }

    /// The packets that may leave now. A packet that the window would cut short is not ready, so
    /// no undersized packet is sent.
    pub(super) fn ready(&self, request: &SendRequest) -> Ready {
        let full = request.max_datagram.get().max(1);
        let (packets, stored) = if request.window_left >= request.queued {
            // Headers take a part of each packet, so data fills more of them than its size says.
            let data = full.saturating_sub(PACKET_OVERHEAD.get()).max(1);
            let queued = request.queued.get();
            (queued.div_ceil(full), queued.div_ceil(data))
        } else {
            let packets = request.window_left.get() / full;
            (packets, packets)
        };
        let count = |packets: u64| u32::try_from(packets).unwrap_or(u32::MAX);
        Ready {
            packets: count(packets),
            stored: count(stored),
            window: count(self.window_packets()),
        }
    }

    pub(super) fn window_packets(&self) -> u64 {
        self.window.size.get() / self.path.max_datagram.get().max(1)
    }
}
