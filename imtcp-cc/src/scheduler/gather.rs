//! How a large window leaves while it doubles: in bursts.
//!
//! A window that doubles overflows the queue in the end, and for a round trip more than that. Each
//! run of packets that is lost is a gap in what the client keeps. Many clients close the connection
//! when there are a thousand gaps (quic-go, quinn and noq, each with a limit of its own). Packets
//! that leave one by one are lost one by one. Packets that leave in bursts are lost in runs.
//!
//! A burst waits until it is complete, or for its share of the round trip. No measurement holds it
//! back, so the guard does not count this time.

use crate::units::Timestamp;
use std::time::Duration;

/// The window leaves in so many bursts.
const BURSTS: u32 = 64;

/// The least burst, in packets. A window that makes a smaller one loses fewer packets in a round
/// trip than a client has room for gaps.
const LEAST: u32 = 16;

/// The largest burst, in packets. Hosts hand over as many to the network at a time.
const MOST: u32 = 64;

/// The number of packets of a burst; `None` while the window is small.
pub(super) fn burst(window_packets: u64) -> Option<u32> {
    let packets = u32::try_from(window_packets / u64::from(BURSTS)).unwrap_or(u32::MAX);
    (packets >= LEAST).then_some(packets.min(MOST))
}

/// Gathers the packets of a burst.
#[derive(Debug, Default)]
pub(super) struct Gather {
    since: Option<Timestamp>,
}

impl Gather {
    /// Until when the packets that are ready wait for the rest of their burst; `None` if they may
    /// leave.
    pub(super) fn wait(
        &mut self,
        now: Timestamp,
        ready: u32,
        burst: u32,
        round_trip: Duration,
    ) -> Option<Timestamp> {
        let until = *self.since.get_or_insert(now) + round_trip / BURSTS;
        (ready < burst && now < until).then_some(until)
    }

    /// The burst leaves, or nothing waits.
    pub(super) fn reset(&mut self) {
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(64);

    fn at_micros(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    #[test]
    fn a_large_window_leaves_in_64_bursts() {
        assert_eq!(burst(1023), None);
        assert_eq!(burst(1024), Some(16));
        assert_eq!(burst(2048), Some(32));
        assert_eq!(burst(u64::MAX), Some(64));
    }

    #[test]
    fn a_burst_waits_until_it_is_complete_or_for_its_share_of_a_round_trip() {
        let mut gather = Gather::default();
        let wait =
            |gather: &mut Gather, us, ready| gather.wait(at_micros(us), ready, 8, ROUND_TRIP);
        assert_eq!(wait(&mut gather, 0, 1), Some(at_micros(1000)));
        assert_eq!(wait(&mut gather, 500, 7), Some(at_micros(1000)));
        assert_eq!(wait(&mut gather, 600, 8), None, "complete");
        assert_eq!(wait(&mut gather, 600, 8), None, "the same again");
        assert_eq!(wait(&mut gather, 1000, 2), None, "it waited long enough");
        assert_eq!(wait(&mut gather, 1000, 2), None, "the same again");
        gather.reset();
        assert_eq!(wait(&mut gather, 1800, 1), Some(at_micros(2800)));
    }
}
