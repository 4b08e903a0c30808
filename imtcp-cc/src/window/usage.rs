//! Finds out whether the congestion window is used. A window that the application does not fill
//! must not grow (RFC 9002, section 7.8). Packets that pacing, trains and streams hold back count
//! as use, because they leave within the same round trip. So the peak of a round trip is compared
//! with the window.

use super::Phase;
use crate::units::{Bytes, Timestamp};
use std::time::Duration;

/// In congestion avoidance the window counts as used if the peak in flight falls short of it by at
/// most the window divided by this number. A tenth covers the packets that trains (a fiftieth) and
/// streams hold back, and the packet that is being built.
const SLACK_DIVISOR: u64 = 10;

/// The least such shortfall that is allowed, in datagrams. It matters for small windows.
const SLACK_DATAGRAMS: u64 = 3;

/// Follows the peak of the bytes in flight during the last round trip and the present one.
#[derive(Clone, Debug, Default)]
pub struct WindowUsage {
    last_round: Bytes,
    this_round: Bytes,
    round_ends: Timestamp,
}

impl WindowUsage {
    /// A packet left.
    pub fn on_sent(&mut self, bytes_in_flight: Bytes) {
        self.this_round = self.this_round.max(bytes_in_flight);
    }

    /// An acknowledgement came.
    pub fn on_ack(&mut self, now: Timestamp, bytes_in_flight: Bytes, smoothed_rtt: Duration) {
        if now >= self.round_ends {
            self.last_round = self.this_round;
            self.this_round = bytes_in_flight;
            self.round_ends = now + smoothed_rtt;
        }
    }

    /// Whether fewer bytes were in flight than the window allowed. In slow start half of the window
    /// is enough, because pacing at two windows per round trip keeps no more in flight.
    pub fn is_underused(&self, window: Bytes, phase: Phase, max_datagram: Bytes) -> bool {
        let peak = self.last_round.max(self.this_round);
        match phase {
            Phase::SlowStart => peak.times(2) < window,
            _ => {
                let slack = window.get() / SLACK_DIVISOR;
                let slack = slack.max(max_datagram.times(SLACK_DATAGRAMS).get());
                peak < window.saturating_sub(Bytes::new(slack))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(20);
    const DATAGRAM: Bytes = Bytes::new(1200);

    #[test]
    fn a_window_is_used_until_two_round_trips_after_its_last_full_use() {
        let window = Bytes::new(120_000);
        let mut usage = WindowUsage::default();
        let at = |ms: u64| Timestamp::from_origin(Duration::from_millis(ms));
        usage.on_sent(Bytes::new(115_000));
        let underused =
            |usage: &WindowUsage| usage.is_underused(window, Phase::CongestionAvoidance, DATAGRAM);
        assert!(!underused(&usage));
        usage.on_ack(at(20), Bytes::new(50_000), RTT);
        assert!(!underused(&usage), "the last round used it");
        usage.on_ack(at(40), Bytes::new(50_000), RTT);
        assert!(underused(&usage), "two rounds without");
    }

    #[test]
    fn slow_start_needs_half() {
        let mut usage = WindowUsage::default();
        usage.on_sent(Bytes::new(60_000));
        let underused = |window| usage.is_underused(Bytes::new(window), Phase::SlowStart, DATAGRAM);
        assert!(!underused(120_000));
        assert!(underused(120_001));
    }
}
