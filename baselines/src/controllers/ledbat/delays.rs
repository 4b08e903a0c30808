//! The delays that LEDBAT++ goes by: that of the empty path, and that of the present queue.

use imtcp_cc::units::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// The least of so many last samples is the present delay (CURRENT_FILTER of RFC 6817).
const FILTER: usize = 4;
/// The length of a part of the history.
const PART: Duration = Duration::from_secs(60);
/// The base delay is the least of so many parts (BASE_HISTORY of RFC 6817).
const PARTS: usize = 10;

/// Keeps round trips.
#[derive(Debug, Default)]
pub(super) struct Delays {
    last: VecDeque<Duration>,
    /// The least round trip of each part, oldest first.
    history: VecDeque<Duration>,
    part_began: Timestamp,
}

impl Delays {
    /// A round trip was measured.
    pub(super) fn on_sample(&mut self, now: Timestamp, round_trip: Duration) {
        if self.last.len() == FILTER {
            self.last.pop_front();
        }
        self.last.push_back(round_trip);
        match self.history.back_mut() {
            Some(least) if now.saturating_since(self.part_began) < PART => {
                *least = (*least).min(round_trip);
            }
            _ => {
                if self.history.len() == PARTS {
                    self.history.pop_front();
                }
                self.history.push_back(round_trip);
                self.part_began = now;
            }
        }
    }

    /// The round trip of the empty path; zero before the first sample.
    pub(super) fn base(&self) -> Duration {
        self.history.iter().min().copied().unwrap_or_default()
    }

    /// The delay of the queue.
    pub(super) fn queue(&self) -> Duration {
        let present = self.last.iter().min().copied().unwrap_or_default();
        present.saturating_sub(self.base())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(samples: &[(u64, u64)]) -> Delays {
        let mut delays = Delays::default();
        for (at_s, round_trip_ms) in samples {
            let at = Timestamp::from_origin(Duration::from_secs(*at_s));
            delays.on_sample(at, Duration::from_millis(*round_trip_ms));
        }
        delays
    }

    #[test]
    fn the_queue_is_the_least_of_four_less_the_base() {
        let delays = delays(&[(0, 30), (1, 90), (1, 70), (1, 80), (1, 95)]);
        assert_eq!(delays.base(), Duration::from_millis(30));
        assert_eq!(delays.queue(), Duration::from_millis(40));
    }

    #[test]
    fn a_base_is_forgotten_after_ten_minutes() {
        let minutes: Vec<(u64, u64)> = (0..=10)
            .map(|minute| (minute * 60, if minute == 0 { 30 } else { 50 }))
            .collect();
        assert_eq!(delays(&minutes[..10]).base(), Duration::from_millis(30));
        assert_eq!(delays(&minutes).base(), Duration::from_millis(50));
    }
}
