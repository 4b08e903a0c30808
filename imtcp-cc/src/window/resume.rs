//! A path that was seen before: Careful Resume (draft-ietf-tsvwg-careful-resume).
//!
//! ```text
//!                     first flight is back       a packet of the jump is back
//!   Reconnaissance -------------------> Unvalidated ---------------> Validating
//!        | loss, or another round trip     | loss                    | loss   | all are back
//!        v                                 v                         v        v
//!       Over <------------------------ Retreating <------------------+       Over
//! ```
//!
//! The first flight is never larger than without memory. If it comes back without loss, and with a
//! round trip that fits, the window jumps to half of what is remembered. The jump is spread over a
//! round trip. If the first flight showed the capacity of the path itself, the path vouches for
//! what is remembered: then the jump is all of it, but no more than the capacity fills. A loss
//! proves the jump wrong. The window falls to half of what got through, and slow start does not
//! go on beyond what got through.

use super::{AckedBytes, WindowLaw};
use crate::control::Enough;
use crate::saved::SavedPath;
use crate::units::{Bytes, Timestamp};
use std::time::Duration;

/// The round trip may have become shorter by this factor, and longer by the other one.
const SHORTER: u32 = 2;
const LONGER: u32 = 10;

/// The part of the remembered window that nothing but memory vouches for.
const UNCERTAIN_DIVISOR: u64 = 2;

/// The window after a jump that proved wrong, as a part of what got through.
const RETREAT_DIVISOR: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Over,
    /// The first flight is under way. `acked` bytes of it are back.
    Reconnaissance {
        saved: SavedPath,
        acked: Bytes,
    },
    /// The window has jumped, and no packet sent since is back.
    Unvalidated(Jump),
    /// Packets of the jump come back. The newest of them left at `last`.
    Validating {
        jump: Jump,
        last: Timestamp,
    },
    /// Packets of the jump were lost. Those that left up to `last` still count.
    Retreating {
        pipe: Bytes,
        last: Timestamp,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Jump {
    at: Timestamp,
    /// What got through: the bytes in flight at the jump, and all that was acknowledged since
    /// (PipeSize of the draft).
    pipe: Bytes,
}

/// Follows the beginning of a connection over a path that was seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resume(Stage);

/// What an acknowledgement tells, beside the packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight<'a> {
    /// The bytes that remain in flight after the acknowledgement.
    pub(super) in_flight: Bytes,
    /// The least round trip so far.
    pub(super) least_rtt: Duration,
    pub(super) enough: Option<&'a Enough>,
}

impl Resume {
    pub(super) fn new(saved: Option<SavedPath>) -> Self {
        Self(saved.map_or(Stage::Over, |saved| Stage::Reconnaissance {
            saved,
            acked: Bytes::ZERO,
        }))
    }

    pub(super) fn is_over(&self) -> bool {
        self.0 == Stage::Over
    }

    /// Whether packets of a jump are leaving. They are spread over a round trip.
    pub(super) fn is_jumping(&self) -> bool {
        matches!(self.0, Stage::Unvalidated(_))
    }

    /// A packet was acknowledged. True if it does not grow the window.
    pub(super) fn on_ack(
        &mut self,
        acked: &AckedBytes,
        flight: &Flight<'_>,
        law: &mut dyn WindowLaw,
    ) -> bool {
        match self.0 {
            Stage::Over => return false,
            Stage::Reconnaissance {
                saved,
                acked: so_far,
            } => {
                let so_far = so_far + acked.size;
                self.0 = Stage::Reconnaissance {
                    saved,
                    acked: so_far,
                };
                if so_far >= law.initial_window() {
                    self.jump(acked, &saved, flight, law);
                }
            }
            Stage::Unvalidated(mut jump) => {
                jump.pipe += acked.size;
                if acked.sent < jump.at {
                    self.0 = Stage::Unvalidated(jump);
                    return true;
                }
                // What the application did not use of the jump was not tried.
                law.set_window(law.window().min(flight.in_flight + acked.size));
                let last = acked.now;
                self.0 = Stage::Validating { jump, last };
            }
            Stage::Validating { mut jump, last } => {
                jump.pipe += acked.size;
                self.0 = match acked.sent < last {
                    true => Stage::Validating { jump, last },
                    false => Stage::Over,
                };
            }
            Stage::Retreating { pipe, last } => {
                if acked.sent > last {
                    self.0 = Stage::Over;
                    return false;
                }
                let pipe = pipe + acked.size;
                law.set_pipe(pipe);
                self.0 = Stage::Retreating { pipe, last };
            }
        }
        false
    }

    fn jump(
        &mut self,
        acked: &AckedBytes,
        saved: &SavedPath,
        flight: &Flight<'_>,
        law: &mut dyn WindowLaw,
    ) {
        self.0 = Stage::Over;
        let (least, then) = (flight.least_rtt, saved.least_rtt);
        let fits = least.saturating_mul(SHORTER) >= then && least <= then.saturating_mul(LONGER);
        let remembered = saved.available.bytes_in(least.min(then));
        let target = match flight.enough {
            Some(enough) => remembered.min(enough.window),
            None => Bytes::new(remembered.get() / UNCERTAIN_DIVISOR),
        };
        if fits && !acked.application_limited && target > law.window() {
            law.set_window(target);
            self.0 = Stage::Unvalidated(Jump {
                at: acked.now,
                pipe: flight.in_flight,
            });
        }
    }

    /// The reduction was undone: what was lost arrived after all. Nothing is to be retreated from
    /// any more.
    pub(super) fn on_undone(&mut self) {
        self.0 = Stage::Over;
    }

    /// The window was reduced because packets were lost. The newest of them left at `sent`.
    pub(super) fn on_reduction(
        &mut self,
        now: Timestamp,
        sent: Timestamp,
        law: &mut dyn WindowLaw,
    ) {
        let jump = match self.0 {
            Stage::Unvalidated(jump) | Stage::Validating { jump, .. } if sent >= jump.at => jump,
            // What was lost left before the jump: it is congestion as any other.
            _ => {
                self.0 = Stage::Over;
                return;
            }
        };
        law.set_pipe(jump.pipe);
        let half = Bytes::new(jump.pipe.get() / RETREAT_DIVISOR);
        law.set_window(half.min(law.window()));
        self.0 = Stage::Retreating {
            pipe: jump.pipe,
            last: now,
        };
    }
}

#[cfg(test)]
mod tests;
