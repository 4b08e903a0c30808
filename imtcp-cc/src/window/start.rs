//! The measured start: slow start ends when the window fills what is free on the path.
//!
//! ```text
//!                window reaches what is enough             packets waited for a whole round
//!   Searching ------------------------------------> Holding ------------------------------> Left
//!     ^   ^  |                                         |                                     |
//!     |   |  +----> Crowded ---> (congestion)          |                                     |
//!     |   +------------+                               |                                     |
//!     +------------------------------------------------+-------------------------------------+
//!                      packets did not wait                  packets do not wait any more
//! ```
//!
//! The measurement says early, and roughly, how much is enough ([`Enough`]). The window stops
//! there. If that much fills the path, packets of the next round trips wait at the tight link,
//! because the window is larger than the path by [`GAIN`]. Then slow start is over. If they do not
//! wait, more is free than the measurement said, and slow start goes on. So a reading that is too
//! low costs two round trips, and never a window. If packets cease to wait afterwards, the path has
//! more room than before, and slow start goes on as well.
//!
//! If others send, nobody can tell whether they would give way. The window then does not stop. It
//! grows a quarter as fast from the window on that fills the whole link.
//!
//! The first congestion ends all of this: from then on the window follows its law alone. Slow
//! start, and HyStart++ in it, stays what it is where the measurement says nothing.

use super::AckedBytes;
use crate::control::Enough;
use crate::units::{Bytes, Timestamp};
use std::time::Duration;

/// The window that is held, as a multiple of the window that fills the path. The difference waits
/// at the tight link and is the sign that the path is full.
const GAIN: (u64, u64) = (5, 4);

/// The wait that shows that the path is full is a round trip divided by this number: half of what
/// [`GAIN`] makes.
const WAIT_DIVISOR: u32 = 8;

/// The shortest wait that is one. Hosts are late by less.
const SHORTEST_WAIT: Duration = Duration::from_micros(500);

/// The fewest samples that decide (N_RTT_SAMPLE of RFC 9406, section 4.3).
const FEWEST_SAMPLES: u32 = 8;

/// After a hold in vain, the window is not held again before it is this many times as large.
const NEXT_HOLD: u64 = 2;

/// How slowly the window grows beyond what is enough if others matter (CSS_GROWTH_DIVISOR of
/// RFC 9406, section 4.3).
pub(super) const CROWDED_DIVISOR: u64 = 4;

/// What slow start does with an acknowledged packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It grows the window.
    Grow,
    /// It grows the window by a part of its bytes.
    Slow,
    /// It does not grow the window.
    Hold,
    /// Slow start is over.
    Leave,
    /// Slow start goes on.
    Resume,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The window grows until it is enough. It is not held before it is `least`.
    Searching { least: Bytes },
    /// The window has stopped.
    Holding(Hold),
    /// The window grows slowly beyond what is enough, because others may give way.
    Crowded(Hold),
    /// Slow start has ended, because the path was full.
    Left(Hold),
    /// There was congestion, or slow start has ended for another reason.
    Over,
}

/// Packets that are sent while the window stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hold {
    /// Packets sent from here on tell. The round trip before belongs to bursts that the growing
    /// window sent.
    from: Timestamp,
    /// The round trip of a path without a queue.
    least_rtt: Duration,
    /// The least round trip among the packets that tell.
    seen: Duration,
    samples: u32,
}

/// Follows the first slow start of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MeasuredStart(Stage);

impl MeasuredStart {
    pub(super) fn new() -> Self {
        Self(Stage::Searching { least: Bytes::ZERO })
    }

    /// Whether the first slow start is over.
    pub(super) fn is_over(&self) -> bool {
        self.0 == Stage::Over
    }

    /// Whether the window grows, and nothing has bounded it yet.
    pub(super) fn is_searching(&self) -> bool {
        matches!(self.0, Stage::Searching { .. })
    }

    /// Whether slow start has ended because the path was full, and may go on.
    pub(super) fn has_left(&self) -> bool {
        matches!(self.0, Stage::Left(_))
    }

    /// Whether the measurement has not been wrong so far.
    pub(super) fn is_trusting(&self) -> bool {
        match self.0 {
            Stage::Searching { least } => least.is_zero(),
            Stage::Holding(_) | Stage::Crowded(_) => true,
            Stage::Left(_) | Stage::Over => false,
        }
    }

    /// Slow start has ended for another reason.
    pub(super) fn give_up(&mut self) {
        self.0 = Stage::Over;
    }

    /// A packet was acknowledged in slow start, when the window was `window`.
    pub(super) fn on_ack(
        &mut self,
        acked: &AckedBytes,
        window: Bytes,
        enough: Option<&Enough>,
    ) -> Step {
        match &mut self.0 {
            Stage::Over => Step::Grow,
            Stage::Searching { least } => {
                let is_enough = |enough: &&Enough| {
                    window >= *least && window.times(GAIN.1) >= enough.window.times(GAIN.0)
                };
                let Some(enough) = enough.filter(is_enough) else {
                    return Step::Grow;
                };
                let hold = Hold::new(acked.now, enough.least_rtt);
                if enough.is_crowded {
                    self.0 = Stage::Crowded(hold);
                    return Step::Slow;
                }
                self.0 = Stage::Holding(hold);
                Step::Hold
            }
            Stage::Holding(hold) => match hold.on_ack(acked) {
                None => Step::Hold,
                Some(true) => {
                    self.0 = Stage::Left(hold.again(acked.now));
                    Step::Leave
                }
                Some(false) => {
                    let least = window.times(NEXT_HOLD);
                    self.0 = Stage::Searching { least };
                    Step::Grow
                }
            },
            Stage::Crowded(hold) => match hold.on_ack(acked) {
                None => Step::Slow,
                Some(true) => {
                    *hold = hold.again(acked.now);
                    Step::Slow
                }
                Some(false) => {
                    let least = window.times(NEXT_HOLD);
                    self.0 = Stage::Searching { least };
                    Step::Grow
                }
            },
            Stage::Left(hold) => match hold.on_ack(acked) {
                None => Step::Grow,
                Some(true) => {
                    *hold = hold.again(acked.now);
                    Step::Grow
                }
                Some(false) if acked.application_limited => {
                    *hold = hold.again(acked.now);
                    Step::Grow
                }
                Some(false) => {
                    self.0 = Stage::Searching { least: window };
                    Step::Resume
                }
            },
        }
    }
}

impl Hold {
    fn new(now: Timestamp, least_rtt: Duration) -> Self {
        Self {
            from: now + least_rtt,
            least_rtt,
            seen: Duration::MAX,
            samples: 0,
        }
    }

    /// The same from the next packet on.
    fn again(&self, now: Timestamp) -> Self {
        Self {
            from: now,
            seen: Duration::MAX,
            samples: 0,
            ..*self
        }
    }

    /// Whether the path is full, once that is known.
    fn on_ack(&mut self, acked: &AckedBytes) -> Option<bool> {
        if acked.sent < self.from {
            return None;
        }
        self.seen = self.seen.min(acked.latest_rtt);
        self.samples = self.samples.saturating_add(1);
        if self.samples < FEWEST_SAMPLES {
            return None;
        }
        let wait = (self.least_rtt / WAIT_DIVISOR).max(SHORTEST_WAIT);
        if self.seen < self.least_rtt.saturating_add(wait) {
            return Some(false);
        }
        let is_round_over = acked.sent >= self.from + self.least_rtt;
        is_round_over.then_some(true)
    }
}

#[cfg(test)]
mod tests;
