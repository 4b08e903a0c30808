//! A stored video that is fetched chunk after chunk, as far as the player's buffer has room.

use imtcp_cc::units::{Bandwidth, Timestamp};
use std::time::Duration;

/// A chunk is asked for once the one before it has come whole, and what is buffered and not yet
/// shown leaves room for it. Showing begins with the first chunk, and halts while nothing is
/// buffered.
#[derive(Debug)]
pub(super) struct Player {
    chunk: u64,
    /// Media time of a chunk.
    period: Duration,
    /// The most media time that is buffered.
    buffer: Duration,
    /// Bytes of all chunks that were asked for.
    requested: u64,
    /// The part of these that the connection has not taken yet.
    backlog: u64,
    /// Bytes that are known to have come, in whole chunks.
    received: u64,
    /// Media time that waited to be shown at `seen`.
    ahead: Duration,
    seen: Timestamp,
    next: Option<Timestamp>,
}

impl Player {
    pub(super) fn new(rate: Bandwidth, period: Duration, buffer: Duration) -> Self {
        Self {
            chunk: rate.bytes_in(period).get().max(1),
            period,
            buffer,
            requested: 0,
            backlog: 0,
            received: 0,
            ahead: Duration::ZERO,
            seen: Timestamp::ZERO,
            next: None,
        }
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.next
    }

    pub(super) fn made(&self) -> u64 {
        self.requested
    }

    /// How much is to be written now.
    pub(super) fn ask(&mut self, now: Timestamp, acknowledged: u64) -> u64 {
        self.ahead = self.ahead.saturating_sub(now.saturating_since(self.seen));
        self.seen = now;
        self.next = None;
        if self.backlog > 0 || acknowledged < self.requested {
            return self.backlog;
        }
        if self.received < self.requested {
            self.received = self.requested;
            self.ahead += self.period;
        }
        let surplus = (self.ahead + self.period).saturating_sub(self.buffer);
        if surplus.is_zero() {
            self.requested += self.chunk;
            self.backlog = self.chunk;
        } else {
            self.next = Some(now + surplus);
        }
        self.backlog
    }

    /// The connection took so many bytes.
    pub(super) fn took(&mut self, bytes: u64) {
        self.backlog -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_origin(Duration::from_secs_f64(seconds))
    }

    /// Chunks of 1 MB and 4 s; up to 12 s are buffered.
    fn player() -> Player {
        let four = Duration::from_secs(4);
        Player::new(Bandwidth::from_mbps(2), four, 3 * four)
    }

    /// The connection takes all at once.
    fn asked(player: &mut Player, seconds: f64, acknowledged: u64) -> u64 {
        let bytes = player.ask(at(seconds), acknowledged);
        player.took(bytes);
        bytes
    }

    #[test]
    fn a_chunk_follows_the_other_until_the_buffer_is_full_and_then_one_comes_each_period() {
        let mut player = player();
        assert_eq!(asked(&mut player, 0.0, 0), 1_000_000);
        assert_eq!(asked(&mut player, 0.5, 999_999), 0, "not whole yet");
        assert_eq!(asked(&mut player, 1.0, 1_000_000), 1_000_000);
        assert_eq!(asked(&mut player, 2.0, 2_000_000), 1_000_000);
        // 12 s came, 2 s of them were shown: there is room in 2 s.
        assert_eq!(asked(&mut player, 3.0, 3_000_000), 0);
        assert_eq!(player.next(), Some(at(5.0)));
        assert_eq!(asked(&mut player, 5.0, 3_000_000), 1_000_000);
        assert_eq!(player.next(), None);
        assert_eq!(asked(&mut player, 5.5, 4_000_000), 0);
        assert_eq!(player.next(), Some(at(9.0)));
    }

    #[test]
    fn while_nothing_is_buffered_nothing_is_shown() {
        let mut player = player();
        assert_eq!(asked(&mut player, 0.0, 0), 1_000_000);
        assert_eq!(asked(&mut player, 1.0, 1_000_000), 1_000_000);
        // The player halts from 5 s to 20 s. Then 4 s are buffered. Had it shown the video for 19
        // s, there would be less.
        assert_eq!(asked(&mut player, 20.0, 2_000_000), 1_000_000);
        assert_eq!(asked(&mut player, 20.0, 3_000_000), 1_000_000);
        assert_eq!(asked(&mut player, 20.0, 4_000_000), 0);
        assert_eq!(player.next(), Some(at(24.0)));
    }

    #[test]
    fn what_the_connection_does_not_take_stays() {
        let mut player = player();
        assert_eq!(player.ask(at(0.0), 0), 1_000_000);
        player.backlog = 300_000;
        assert_eq!(player.ask(at(0.1), 700_000), 300_000);
    }
}
