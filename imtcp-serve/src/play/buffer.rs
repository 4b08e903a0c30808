//! What has been fetched and not yet played. It plays by the clock of its caller.

use std::time::Duration;

/// The buffer of a player. Times count from the start of the session.
#[derive(Clone, Debug)]
pub struct Buffer {
    level: Duration,
    /// To play this much has to be there, at the start and after a stall.
    enough: Duration,
    now: Duration,
    is_playing: bool,
    is_complete: bool,
    /// When the first picture was shown.
    pub began: Option<Duration>,
    /// How often it ran empty.
    pub stalls: u64,
    /// For how long it was empty, all in all.
    pub stalled: Duration,
    /// What has been played.
    pub played: Duration,
}

impl Buffer {
    /// An empty one.
    pub fn new(enough: Duration) -> Self {
        Self {
            level: Duration::ZERO,
            enough,
            now: Duration::ZERO,
            is_playing: false,
            is_complete: false,
            began: None,
            stalls: 0,
            stalled: Duration::ZERO,
            played: Duration::ZERO,
        }
    }

    /// Plays until `now`.
    pub fn advance(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.now);
        self.now = self.now.max(now);
        let missing = if self.is_playing {
            let shown = elapsed.min(self.level);
            self.level -= shown;
            self.played += shown;
            let missing = elapsed - shown;
            // It is no stall before anybody had to wait, nor at the end of the title.
            if missing.is_zero() || self.is_complete {
                return;
            }
            self.is_playing = false;
            self.stalls += 1;
            missing
        } else {
            elapsed
        };
        if self.began.is_some() {
            self.stalled += missing;
        }
    }

    /// A segment has come.
    pub fn add(&mut self, now: Duration, segment: Duration) {
        self.advance(now);
        self.level += segment;
        self.start_if(self.level >= self.enough);
    }

    /// Nothing comes after what is here.
    pub fn complete(&mut self, now: Duration) {
        self.advance(now);
        self.is_complete = true;
        self.start_if(!self.level.is_zero());
    }

    fn start_if(&mut self, is_enough: bool) {
        if is_enough && !self.is_playing {
            self.is_playing = true;
            self.began.get_or_insert(self.now);
        }
    }

    /// What is in it.
    pub fn level(&self) -> Duration {
        self.level
    }

    /// Whether it waits for data, at the start or in a stall.
    pub fn is_waiting(&self) -> bool {
        !self.is_playing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn it_begins_with_enough_and_stalls_when_empty() {
        let mut buffer = Buffer::new(s(4));
        buffer.add(s(1), s(2));
        assert!(buffer.is_waiting());
        buffer.add(s(3), s(2));
        assert_eq!((buffer.began, buffer.level()), (Some(s(3)), s(4)));
        // Empty at 7, and enough again at 11.
        buffer.add(s(10), s(2));
        assert_eq!((buffer.stalls, buffer.stalled), (1, s(3)));
        buffer.add(s(11), s(2));
        assert_eq!((buffer.stalls, buffer.stalled), (1, s(4)));
        buffer.advance(s(12));
        assert_eq!((buffer.level(), buffer.played), (s(3), s(5)));
    }

    #[test]
    fn the_end_of_the_title_is_no_stall() {
        let mut buffer = Buffer::new(s(4));
        buffer.add(s(1), s(2));
        buffer.complete(s(1));
        buffer.advance(s(9));
        assert_eq!((buffer.began, buffer.stalls), (Some(s(1)), 0));
        assert_eq!((buffer.played, buffer.stalled), (s(2), s(0)));
    }

    #[test]
    fn waiting_at_the_start_is_no_stall() {
        let mut buffer = Buffer::new(s(2));
        buffer.advance(s(5));
        buffer.add(s(6), s(2));
        assert_eq!((buffer.began, buffer.stalls), (Some(s(6)), 0));
        assert_eq!(buffer.stalled, s(0));
    }
}
