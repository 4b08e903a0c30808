//! Bodies that come in frames, as those of a live source do.

use crate::amount;
use quantity::{SPANS, Units};
use std::time::{Duration, Instant};

const SIZES: Units<'static> = &[("B", 1), ("kB", 1_000), ("MB", 1_000_000)];

/// A frame is between these, and so is its period: beyond them nothing is like a live source.
const MOST_BYTES: u64 = 100_000_000;
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(60);

const EXAMPLE: &str = "write `60 kB per 33 ms`";

/// So many bytes at the beginning of each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    bytes: u64,
    period: Duration,
}

impl Frames {
    /// Reads `SIZE per PERIOD`.
    ///
    /// # Errors
    /// Says what is wrong and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((size, period)) = text.split_once(" per ") else {
            return Err(format!("there is no period in `{text}`; {EXAMPLE}"));
        };
        let bytes = amount::parse(size, SIZES, EXAMPLE)?;
        let period = Duration::from_nanos(amount::parse(period, SPANS, EXAMPLE)?);
        if bytes == 0 || bytes > MOST_BYTES {
            return Err(format!(
                "a frame has 1 B to 100 MB, not {bytes} B; {EXAMPLE}"
            ));
        }
        if !(SHORTEST..=LONGEST).contains(&period) {
            return Err(format!(
                "a frame's period is 1 ms to 60 s, not {period:?}; {EXAMPLE}"
            ));
        }
        Ok(Self { bytes, period })
    }
}

/// How much of one body there is so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recording {
    frames: Frames,
    began: Instant,
    /// The frames that there were, and their bytes that have not been taken.
    made: u32,
    left: u64,
}

impl Recording {
    /// The first frame is there at once.
    pub(super) fn begin(frames: Frames, now: Instant) -> Self {
        Self {
            frames,
            began: now,
            made: 1,
            left: frames.bytes,
        }
    }

    /// Makes the frames that there are by now.
    pub(super) fn advance(&mut self, now: Instant) {
        while self.next() <= now {
            self.made += 1;
            self.left += self.frames.bytes;
        }
    }

    /// The bytes of these that may be taken.
    pub(super) fn part<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        &bytes[..bytes.len().min(left)]
    }

    pub(super) fn take(&mut self, count: usize) {
        self.left -= count as u64;
    }

    /// When the next frame comes.
    pub(super) fn next(&self) -> Instant {
        self.began + self.frames.period * self.made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_once_a_period_and_wait_for_who_is_slow() {
        let frames = Frames::parse("60 kB per 33 ms").expect("possible");
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let body = vec![0; 1_000_000];
        let mut recording = Recording::begin(frames, began);
        let mut left_at = |ms, taken| {
            recording.take(taken);
            recording.advance(at(ms));
            (recording.part(&body).len(), recording.next())
        };
        assert_eq!(left_at(0, 0), (60_000, at(33)));
        assert_eq!(left_at(32, 50_000), (10_000, at(33)));
        assert_eq!(left_at(33, 0), (70_000, at(66)));
        assert_eq!(left_at(140, 70_000), (180_000, at(165)));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        for (text, expected) in [
            (
                "60 kB",
                "there is no period in `60 kB`; write `60 kB per 33 ms`",
            ),
            (
                "60 kbit per 33 ms",
                "unknown unit `kbit`; known here: B, kB, MB",
            ),
            ("60 kB per 33", "`33` has no unit; write"),
            (
                "many per 33 ms",
                "`many` does not begin with a number; write",
            ),
            ("0 B per 33 ms", "1 B to 100 MB, not 0 B"),
            ("101 MB per 33 ms", "1 B to 100 MB, not 101000000 B"),
            ("60 kB per 33 us", "1 ms to 60 s, not 33µs"),
            ("60 kB per 2 min", "1 ms to 60 s, not 120s"),
        ] {
            let error = Frames::parse(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
