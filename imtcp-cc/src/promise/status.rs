//! What a promise says of itself while it runs, and at the end of each slot.

use crate::units::{Bandwidth, Bytes, Timestamp};
use std::fmt;

/// How the present evaluation slot stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Status {
    /// Nothing is required.
    #[default]
    Idle,
    /// It will be kept, as far as can be foreseen.
    Kept,
    /// It will rather not be kept.
    AtRisk {
        /// Why, as far as can be told.
        cause: Cause,
        /// How much goodput the slot is expected to lack.
        shortfall: Bytes,
    },
    /// It cannot be kept any more: not even the whole capacity would deliver what is missing.
    Broken {
        /// How much goodput is missing now.
        shortfall: Bytes,
    },
}

impl Status {
    /// True while the slot will rather not be kept, or cannot be any more.
    pub const fn is_warning(&self) -> bool {
        matches!(self, Self::AtRisk { .. } | Self::Broken { .. })
    }

    /// The name, as qlog has it.
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
pub enum Cause {
    /// Others leave less than is needed, and what can be taken from them has not been enough.
    Crowded,
    /// It would take more from others than the ceiling allows.
    Ceiling,
    /// Enough is available, and losses or a window that is still small keep it from being used.
    Window,
    /// The round trip has become so long that the period no longer holds two of them.
    RoundTrip,
}

impl Cause {
    /// The name, as qlog has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crowded => "crowded",
            Self::Ceiling => "ceiling",
            Self::Window => "window",
            Self::RoundTrip => "round_trip",
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

    /// The name, as qlog has it.
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
    /// Counts slots since the controller began, from 0; not reset by a change of the requirement.
    pub index: u64,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// The rate that was required, application data.
    pub required: Bandwidth,
    /// The rate that was achieved, application data.
    pub achieved: Bandwidth,
    /// Whether that is enough.
    pub outcome: Outcome,
    /// When the application was first told that the slot was at risk or broken, if it was.
    pub warned: Option<Timestamp>,
}
