//! The tools by name.

use baselines::tools::{self, Settings, Tool};

/// A tool that a scenario may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A tool of others.
    Other(tools::Kind),
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Other(tools::Kind::Pathload),
        Self::Other(tools::Kind::Igi),
        Self::Other(tools::Kind::Ptr),
        Self::Other(tools::Kind::Spruce),
        Self::Other(tools::Kind::PathChirp),
    ];

    /// Its name in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Other(kind) => kind.name(),
        }
    }

    /// Whether it takes the time of echoes, and needs no receiver.
    pub const fn echoes(self) -> bool {
        match self {
            Self::Other(_) => false,
        }
    }

    /// Whether it has to be told the capacity.
    pub const fn needs_capacity(self) -> bool {
        match self {
            Self::Other(kind) => kind.needs_capacity(),
        }
    }

    /// A measurement that has not begun.
    pub fn build(self, settings: &Settings) -> Box<dyn Tool> {
        match self {
            Self::Other(kind) => kind.build(settings),
        }
    }
}
