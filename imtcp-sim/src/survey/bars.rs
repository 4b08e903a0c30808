//! What measuring may cost, and what it has to say in return.

use super::compare::Paired;
use super::statements::DUE;
use serde::Serialize;

/// Goodput has to be at least this share of what it is without measuring, on each path.
pub const GOODPUT_EACH: f64 = 0.97;
/// The same at the median of the paths.
pub const GOODPUT_MEDIAN: f64 = 0.995;
/// The 95th percentile of the age of data when it leaves may be above that without measuring by a
/// round trip of the empty path, and by no more than this.
pub const AGE_ABOVE_MS: f64 = 10.0;

/// A bar that was missed on one path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Miss {
    /// Goodput, as a share of what it is without measuring.
    Goodput(f64),
    /// The age of data when it leaves.
    Age {
        /// By how much it is above that without measuring, in ms.
        above_ms: f64,
        /// By how much it may be above, in ms.
        allowed_ms: f64,
    },
    /// After so many steps nothing was said of the path within a second.
    Silence(usize),
}

/// The bars that a path misses.
pub(super) fn misses(paired: &Paired) -> Vec<Miss> {
    let mut misses = Vec::new();
    let share = paired.of_not_measuring();
    let (share, less) = match &paired.repeats {
        None => (share, share < GOODPUT_EACH),
        Some(repeats) => (repeats.goodput.mean, repeats.has_less_than(GOODPUT_EACH)),
    };
    if less {
        misses.push(Miss::Goodput(share));
    }
    let allowed_ms = AGE_ABOVE_MS.min(paired.facts.rtt_ms);
    let above = match &paired.repeats {
        None => paired.age_above_ms().filter(|above| *above > allowed_ms),
        Some(repeats) => {
            let older = repeats.is_older_by_more_than(allowed_ms);
            older.then_some(repeats.age_above_ms.mean)
        }
    };
    if let Some(above_ms) = above {
        misses.push(Miss::Age {
            above_ms,
            allowed_ms,
        });
    }
    let late = |seconds: Option<f64>| seconds.is_none_or(|s| s > DUE.as_secs_f64());
    let waits = paired.measuring.waits.iter();
    let silent = waits.filter(|wait| late(wait.seconds)).count();
    if silent > 0 {
        misses.push(Miss::Silence(silent));
    }
    misses
}

impl Miss {
    /// Whether another run could by chance come out differently.
    pub(super) fn may_be_chance(&self) -> bool {
        matches!(self, Self::Goodput(_) | Self::Age { .. })
    }

    /// In few words, for tables.
    pub fn in_words(&self) -> String {
        match self {
            Self::Goodput(_) => "goodput".to_owned(),
            Self::Age { .. } => "age".to_owned(),
            Self::Silence(1) => "silent after 1 step".to_owned(),
            Self::Silence(steps) => format!("silent after {steps} steps"),
        }
    }

    /// The order of misses: goodput first, then age, then silence. Within each, the one that is
    /// farther off comes first.
    pub(super) fn rank(&self) -> (u8, f64) {
        match *self {
            Self::Goodput(share) => (0, share),
            Self::Age {
                above_ms,
                allowed_ms,
            } => (1, -above_ms / allowed_ms),
            Self::Silence(steps) => (2, -(steps as f64)),
        }
    }
}
