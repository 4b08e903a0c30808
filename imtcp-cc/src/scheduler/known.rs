//! What the scheduler is told of path, measurement, promise and window, and what follows from that
//! alone: rates and counts of packets.

use super::{MeanRate, Ready};
use crate::control::{Phase, Steering, WindowView};
use crate::measurement::Findings;
use crate::path::PathView;
use crate::transport::{RoundTrip, SendRequest};
use crate::units::Bandwidth;
use std::time::Duration;

/// Pacing runs this much ahead of the window's own rate, so that the window stays the limit (RFC
/// 9002, section 7.7), and twice as fast while it doubles.
pub(super) const GAIN: f64 = 1.25;
const SLOW_START_GAIN: f64 = 2.0;

/// Packets that may leave at once: as many as begin a connection (RFC 9002, section 7.7), and this
/// part of a round trip's at most.
pub(super) const LARGEST_BURST: u32 = 10;
const BURST_DIVISOR: u32 = 16;

/// What is known when a packet asks to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) path: &'a PathView,
    pub(crate) findings: Findings,
    pub(crate) window: WindowView,
    pub(crate) steering: &'a Steering,
}

impl Known<'_> {
    /// The mean rate that the window law asks for, or a source that wants no more than a rate; on
    /// the wire without headers.
    pub(crate) fn pacing_rate(&self, rtt: &RoundTrip) -> Bandwidth {
        let gain = match self.window.phase {
            Phase::SlowStart => SLOW_START_GAIN,
            _ => GAIN,
        };
        let rate = Bandwidth::from_bytes_over(self.window.size, rtt.smoothed)
            .map_or(Bandwidth::MAX, |rate| rate.scaled(gain));
        let most = self.steering.bound_on_rate(self.path.max_datagram);
        rate.min(most.unwrap_or(Bandwidth::MAX))
    }

    /// How packets leave on average.
    pub(super) fn mean_rate(&self, rtt: &RoundTrip) -> MeanRate {
        let rate = self.pacing_rate(rtt);
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
        if self.window.phase == Phase::SlowStart {
            return Duration::ZERO;
        }
        let burst = rate.time_for(self.path.max_datagram.times(LARGEST_BURST.into()));
        burst.min(rtt.smoothed / BURST_DIVISOR)
    }

    /// A, as far as known.
    pub(super) fn available(&self) -> Option<Bandwidth> {
        self.findings.estimate.map(|estimate| estimate.available)
    }

    /// A transport that takes no more data from the application than the window has room for never
    /// has more waiting: then a window that was full of late tells.
    pub(super) fn is_window_limited(&self, request: &SendRequest) -> bool {
        let is_promised = self.steering.packets_per_second.is_some();
        (request.window_left < request.queued || self.window.is_used) && !is_promised
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

    pub(super) fn window_packets(&self) -> u64 {
        self.window.size.get() / self.path.max_datagram.get().max(1)
    }
}
