//! What a connection's path carried lately: acknowledged bytes over the time in which something was
//! in flight.

use imtcp_cc::units::{Bandwidth, Bytes};
use std::time::Duration;
use tokio_quiche::quic::QuicConnectionStats;

/// Fewer bytes say more of the window's beginning than of the path.
const LEAST_BYTES: u64 = 256 * 1024;

/// In a shorter time than so many round trips, too.
const LEAST_TRIPS: u32 = 4;

/// The rate of the last answer, or of several, that took the path long enough to tell.
#[derive(Debug, Default)]
pub struct Delivery {
    /// Bytes and time at the last look.
    until: (u64, Duration),
    /// Changes of the path at the last look. What one path carried says nothing of the next.
    moves: u64,
    rate: Option<Bandwidth>,
}

impl Delivery {
    /// Looks at the counts when an answer begins. Returns the rate in QUIC packets.
    pub fn look(&mut self, stats: &QuicConnectionStats, moves: u64) -> Option<Bandwidth> {
        let path = stats.path_stats.as_ref()?;
        let counts = (
            stats.stats.acked_bytes,
            stats.stats.bytes_in_flight_duration,
        );
        self.on_counts(counts, path.min_rtt.unwrap_or(path.rtt), moves)
    }

    fn on_counts(
        &mut self,
        (acked, busy): (u64, Duration),
        trip: Duration,
        moves: u64,
    ) -> Option<Bandwidth> {
        if moves != self.moves {
            self.moves = moves;
            self.rate = None;
        }
        let (acked_until, busy_until) = std::mem::replace(&mut self.until, (acked, busy));
        let bytes = acked.saturating_sub(acked_until);
        let time = busy.saturating_sub(busy_until);
        if bytes >= LEAST_BYTES && time >= trip * LEAST_TRIPS {
            // The link is idle for a round trip without a queue: until the first packet is there,
            // and while the last acknowledgement comes.
            let time = time.saturating_sub(trip);
            self.rate = Bandwidth::from_bytes_over(Bytes::new(bytes), time);
        }
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: Duration = Duration::from_millis(20);

    fn mbps(rate: u64) -> Option<Bandwidth> {
        Some(Bandwidth::from_mbps(rate))
    }

    #[test]
    fn the_rate_is_that_of_the_last_answer_that_was_long_enough() {
        let mut delivery = Delivery::default();
        let ms = Duration::from_millis;
        assert_eq!(delivery.on_counts((3_000, ms(40)), TRIP, 0), None);
        // 2.5 MB in a second, and a round trip besides.
        let counts = (2_503_000, ms(1_060));
        assert_eq!(delivery.on_counts(counts, TRIP, 0), mbps(20));
        // A playlist says nothing, and neither does a pause, in which nothing is in flight.
        let counts = (2_513_000, ms(1_090));
        assert_eq!(delivery.on_counts(counts, TRIP, 0), mbps(20));
        let counts = (5_013_000, ms(3_110));
        assert_eq!(delivery.on_counts(counts, TRIP, 0), mbps(10));
    }

    #[test]
    fn what_another_path_carried_is_forgotten() {
        let mut delivery = Delivery::default();
        let second = Duration::from_secs(1);
        let counts = (2_500_000, second + TRIP);
        assert_eq!(delivery.on_counts(counts, TRIP, 0), mbps(20));
        assert_eq!(delivery.on_counts(counts, TRIP, 1), None);
        let counts = (5_000_000, second * 3 + TRIP * 2);
        assert_eq!(delivery.on_counts(counts, TRIP, 1), mbps(10));
    }
}
