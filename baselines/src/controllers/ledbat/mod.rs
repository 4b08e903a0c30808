//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): background traffic that keeps its own queue below
//! a target delay and gives way to others.
//!
//! ```text
//!            queue above 3/4 of the target, threshold, or loss
//! SlowStart --------------------------------------------------> Avoidance <----+
//!                          2 RTT later for the first time,          |          |
//!                          then 9 times the last slowdown later     v          | threshold
//!                                                                Frozen ---> Ramp
//!                                                                     2 RTT
//! ```
//!
//! - Delays are of round trips, because ours are known by one clock (section 4.5).
//! - Growth is scaled by GAIN = 1 / min(16, ceil(2 TARGET / base)) (section 4.2).
//! - In avoidance the window changes by GAIN packets a round trip below the target, and by
//!   max(GAIN - W (delay / TARGET - 1), -W / 2) above (section 4.3).
//! - A slowdown holds the window at two packets for two round trips, so that the queue empties and
//!   the base delay is seen, and then grows to what it was (section 4.4). The growth doubles the
//!   window in a round trip: with GAIN a slowdown on a short path would take far more than the
//!   tenth of the time that the section allows it.

mod delays;

use delays::Delays;
use imtcp_cc::Phase as WindowPhase;
use imtcp_cc::units::{Bytes, Timestamp};
use imtcp_cc::unstable::WindowUsage;
use quiche::cc::{
    AckReceived, CongestionController, PacketSent, PacketSpace, PacketsLost, PathContext, Release,
    SendContext,
};
use std::time::{Duration, Instant};

/// The delay of the queue that is aimed at (TARGET; section 4.5).
const TARGET: Duration = Duration::from_millis(60);
/// The largest divisor of growth (section 4.2).
const MOST_DIVISOR: f64 = 16.0;
/// The share of the target at which the first slow start ends (section 4.1).
const EXIT: f64 = 0.75;
/// What scales the reduction (Constant; section 4.3).
const CONSTANT: f64 = 1.0;
/// The least window in packets, and the window of a slowdown (section 4.4).
const LEAST: f64 = 2.0;
/// Round trips from the first slow start to the first slowdown, and of a frozen window.
const ROUND_TRIPS: u32 = 2;
/// The time between slowdowns, in slowdowns: at most a tenth of the link is lost by them.
const BETWEEN: u32 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first one.
    SlowStart,
    /// Until the next slowdown is due.
    Avoidance { until: Timestamp },
    /// The window is held at its least.
    Frozen { began: Timestamp, until: Timestamp },
    /// The window grows back to the threshold.
    Ramp { began: Timestamp },
}

/// The controller of one path. Windows are in packets.
#[derive(Debug)]
pub struct LedbatPlusPlus {
    origin: Instant,
    /// Bytes of a packet, UDP payload; not 0.
    packet: f64,
    window: f64,
    threshold: f64,
    phase: Phase,
    delays: Delays,
    round_trip: Duration,
    /// Losses of packets that left by then belong to the last reduction.
    recovery_start: Option<Instant>,
    usage: WindowUsage,
}

impl LedbatPlusPlus {
    /// A controller of a path that nothing is known of.
    pub fn new(path: &PathContext) -> Self {
        Self {
            origin: path.now,
            packet: path.max_datagram_size.max(1) as f64,
            window: (path.initial_window_packets as f64).max(LEAST),
            threshold: f64::INFINITY,
            phase: Phase::SlowStart,
            delays: Delays::default(),
            round_trip: path.initial_rtt,
            recovery_start: None,
            usage: WindowUsage::default(),
        }
    }

    fn timestamp(&self, at: Instant) -> Timestamp {
        Timestamp::from_origin(at.saturating_duration_since(self.origin))
    }

    fn window_bytes(&self) -> Bytes {
        Bytes::from_f64(self.window * self.packet)
    }

    fn is_used(&self) -> bool {
        let phase = match self.phase {
            Phase::SlowStart | Phase::Ramp { .. } => WindowPhase::SlowStart,
            _ => WindowPhase::CongestionAvoidance,
        };
        let packet = Bytes::from_f64(self.packet);
        !self.usage.is_underused(self.window_bytes(), phase, packet)
    }

    /// Time goes on.
    fn advance(&mut self, now: Timestamp) {
        match self.phase {
            Phase::Avoidance { until } if now >= until => {
                self.threshold = self.window;
                self.window = LEAST;
                self.phase = Phase::Frozen {
                    began: now,
                    until: now + self.round_trip.saturating_mul(ROUND_TRIPS),
                };
            }
            Phase::Frozen { began, until } if now >= until => self.phase = Phase::Ramp { began },
            Phase::Ramp { began } if self.window >= self.threshold => {
                let took = now.saturating_since(began);
                self.phase = Phase::Avoidance {
                    until: now + took.saturating_mul(BETWEEN),
                };
            }
            _ => {}
        }
    }

    fn leave_slow_start(&mut self, now: Timestamp) {
        self.phase = Phase::Avoidance {
            until: now + self.round_trip.saturating_mul(ROUND_TRIPS),
        };
    }

    /// So many packets were acknowledged.
    fn move_window(&mut self, acked: f64, now: Timestamp) {
        let gain = gain(self.delays.base());
        match self.phase {
            Phase::Frozen { .. } => {}
            Phase::SlowStart => {
                if self.delays.queue().as_secs_f64() > EXIT * TARGET.as_secs_f64() {
                    self.leave_slow_start(now);
                } else if self.is_used() {
                    self.window += gain * acked;
                }
            }
            Phase::Ramp { .. } => {
                if self.is_used() {
                    self.window = (self.window + acked).min(self.threshold.max(LEAST));
                }
            }
            Phase::Avoidance { .. } => {
                let change = change(gain, self.window, self.delays.queue());
                if change <= 0.0 || self.is_used() {
                    let share = (acked / self.window).min(1.0);
                    self.window = (self.window + change * share).max(LEAST);
                }
            }
        }
    }
}

/// GAIN of section 4.2. A base delay that nobody knows yet has the least.
fn gain(base: Duration) -> f64 {
    let base_s = base.as_secs_f64();
    if base_s <= 0.0 {
        return 1.0 / MOST_DIVISOR;
    }
    1.0 / libm::ceil(2.0 * TARGET.as_secs_f64() / base_s).clamp(1.0, MOST_DIVISOR)
}

/// By how many packets a window changes in a round trip (section 4.3).
fn change(gain: f64, window: f64, queue: Duration) -> f64 {
    let off = queue.as_secs_f64() / TARGET.as_secs_f64() - 1.0;
    if off <= 0.0 {
        return gain;
    }
    (gain - CONSTANT * window * off).max(-window / 2.0)
}

impl CongestionController for LedbatPlusPlus {
    fn cwnd(&self) -> usize {
        usize::try_from(self.window_bytes().get()).unwrap_or(usize::MAX)
    }

    fn next_release(&mut self, context: &SendContext) -> Release {
        self.advance(self.timestamp(context.now));
        Release::Now
    }

    fn on_packet_sent(&mut self, sent: &PacketSent) {
        self.usage.on_sent(Bytes::from_usize(sent.bytes_in_flight));
    }

    fn on_ack(&mut self, ack: &AckReceived<'_>) {
        if ack.space != PacketSpace::Application {
            return;
        }
        let now = self.timestamp(ack.now);
        self.round_trip = ack.rtt.smoothed;
        self.delays.on_sample(now, ack.rtt.latest);
        let in_flight = Bytes::from_usize(ack.bytes_in_flight);
        self.usage.on_ack(now, in_flight, ack.rtt.smoothed);
        self.advance(now);
        let bytes: usize = ack.acked.iter().map(|packet| packet.size).sum();
        self.move_window(bytes as f64 / self.packet, now);
    }

    fn on_loss(&mut self, loss: &PacketsLost<'_>) {
        let newest = loss.lost.iter().map(|packet| packet.time_sent).max();
        if newest > self.recovery_start {
            self.recovery_start = Some(loss.now);
            match self.phase {
                // The window is as small as it gets; what it grows back to is not.
                Phase::Frozen { .. } => self.threshold = (self.threshold / 2.0).max(LEAST),
                _ => {
                    self.window = (self.window / 2.0).max(LEAST);
                    self.threshold = self.window;
                }
            }
            if self.phase == Phase::SlowStart {
                self.leave_slow_start(self.timestamp(loss.now));
            }
        }
        if loss.persistent_congestion {
            self.window = LEAST;
        }
    }

    fn on_max_datagram_size(&mut self, size: usize) {
        // The windows keep their bytes.
        let ratio = self.packet / size.max(1) as f64;
        self.packet = size.max(1) as f64;
        self.window = (self.window * ratio).max(LEAST);
        self.threshold *= ratio;
    }

    fn state(&self) -> &'static str {
        match self.phase {
            Phase::SlowStart | Phase::Ramp { .. } => "slow_start",
            Phase::Avoidance { .. } => "congestion_avoidance",
            Phase::Frozen { .. } => "slowdown",
        }
    }

    fn ssthresh(&self) -> Option<usize> {
        let bytes = Bytes::from_f64(self.threshold * self.packet);
        let is_set = self.threshold.is_finite();
        is_set.then(|| usize::try_from(bytes.get()).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_gain_by_hand() {
        // 2 * 60 ms over the base: 120 / 120, 120 / 50 = 2.4, 120 / 7 = 17.1.
        for (base, divisor) in [(200, 1.0), (120, 1.0), (50, 3.0), (8, 15.0), (7, 16.0)] {
            assert_eq!(gain(MS(base)), 1.0 / divisor, "{base} ms");
        }
        assert_eq!(gain(Duration::ZERO), 1.0 / 16.0);
    }

    #[test]
    fn the_change_of_a_window_by_hand() {
        assert_eq!(change(0.5, 100.0, MS(60)), 0.5);
        // A tenth above the target: a tenth of the window less, and the gain.
        assert!((change(0.5, 100.0, MS(66)) - (0.5 - 10.0)).abs() < 1e-9);
        assert_eq!(change(0.5, 100.0, MS(600)), -50.0);
    }
}
