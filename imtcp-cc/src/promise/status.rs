//! The status of a promise while it runs, and its outcome at the end of each slot.

use crate::units::{Bandwidth, Bytes, Timestamp};
use std::fmt;

/// The status of the present evaluation slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Status {
    /// No promise is in force: nothing is required, or the connection has just changed its path, or
    /// it is gone ([`super::Promise`] says more).
    #[default]
    Idle,
    /// The slot will be kept, as far as can be foreseen.
    Kept,
    /// The slot may well be missed: with a probability of more than 0.8 when it begins, and of more
    /// than a third from its middle on. Once it is called at risk, both are a tenth less.
    AtRisk {
        /// The cause, as far as it can be told.
        cause: Cause,
        /// The goodput that the slot is expected to lack.
        shortfall: Bytes,
    },
    /// The slot cannot be kept any more, because not even the whole capacity would deliver what is
    /// missing. Or the promise has stopped competing after two slots that were missed by a tenth
    /// with N at its bound ([`crate::Config::promise_weight`]), or that the source limited while
    /// more than 5 % of the packets were lost. Its flow then takes no more than any other
    /// flow. After 8 slots it tries again for one slot, and each trial that fails doubles the
    /// rest, up to 128 slots. A new requirement of nine tenths of the rate that failed, or more,
    /// goes on resting. Or the other promises on its path leave no room for it
    /// ([`super::Bounds`]). Its flow then is an ordinary one, too, until there is room.
    Broken {
        /// The cause, as far as it can be told.
        cause: Cause,
        /// The goodput that is missing now.
        shortfall: Bytes,
    },
}

impl Status {
    /// True while the slot is at risk, or cannot be kept any more.
    pub const fn is_warning(&self) -> bool {
        matches!(self, Self::AtRisk { .. } | Self::Broken { .. })
    }

    /// The name of the status in qlog.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Kept => "kept",
            Self::AtRisk { .. } => "at_risk",
            Self::Broken { .. } => "broken",
        }
    }
}

/// Why a promise is at risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// Others leave less than is needed, and the bandwidth taken from them has not been enough.
    Crowded,
    /// The promise would have to take more from others than the ceiling allows, or than the other
    /// promises on its path leave of it ([`super::Bounds`]).
    Ceiling,
    /// Enough is available, but losses or a window that is still small keep the promise from using
    /// it.
    Window,
    /// The round trip is now so long that the period no longer holds two of them.
    RoundTrip,
    /// Nothing that was sent is acknowledged, not even probes after a timeout. If this lasts as
    /// long again as it has lasted, too little time is left.
    Silence,
}

impl Cause {
    /// The name of the cause in qlog.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crowded => "crowded",
            Self::Ceiling => "ceiling",
            Self::Window => "window",
            Self::RoundTrip => "round_trip",
            Self::Silence => "silence",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How an evaluation slot ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The required rate was achieved.
    Kept,
    /// The source offered less than the required rate, and the path carried what it offered.
    SourceLimited,
    /// Data waited, and less than the required rate was achieved.
    Missed,
}

impl Outcome {
    /// True unless the slot was missed.
    pub const fn is_kept(self) -> bool {
        !matches!(self, Self::Missed)
    }

    /// The name of the outcome in qlog.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::SourceLimited => "source_limited",
            Self::Missed => "missed",
        }
    }
}

/// An evaluation slot that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotReport {
    /// The number of the slot. It counts from 0 when the connection began, and neither a change of
    /// the requirement nor one of the path resets it.
    pub index: u64,
    /// When the slot began.
    pub start: Timestamp,
    /// When the slot ended.
    pub end: Timestamp,
    /// The required rate, in bits of application data per second.
    pub required: Bandwidth,
    /// The achieved rate, in bits of application data per second.
    pub achieved: Bandwidth,
    /// How the slot ended.
    pub outcome: Outcome,
    /// When the application was first told that the slot was at risk or broken; `None` if it was
    /// never told.
    pub warned: Option<Timestamp>,
}

#[cfg(test)]
impl SlotReport {
    /// A report to tell apart from others by its number.
    pub(super) fn missed(index: u64) -> Self {
        Self {
            index,
            start: Timestamp::from_nanos(index),
            end: Timestamp::from_nanos(index + 1),
            required: Bandwidth::from_mbps(8),
            achieved: Bandwidth::from_mbps(7),
            outcome: Outcome::Missed,
            warned: None,
        }
    }
}
