//! The tools by name.

use super::standalone::Standalone;
use baselines::tools::{self, Settings, Tool};
use imtcp_cc::standalone;

/// A tool that a scenario may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// This project's own, with trains.
    AbwPing,
    /// The same with the search and the settings of the ICMP paper.
    AbwPingPaper,
    /// A tool of others.
    Other(tools::Kind),
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::AbwPing,
        Self::AbwPingPaper,
        Self::Other(tools::Kind::Pathload),
        Self::Other(tools::Kind::Igi),
        Self::Other(tools::Kind::Ptr),
        Self::Other(tools::Kind::Spruce),
        Self::Other(tools::Kind::PathChirp),
    ];

    /// Its name in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AbwPing => "abw-ping",
            Self::AbwPingPaper => "abw-ping-paper",
            Self::Other(kind) => kind.name(),
        }
    }

    /// Whether it is made to take the times of echoes, and needs no receiver.
    pub const fn echoes(self) -> bool {
        !matches!(self, Self::Other(_))
    }

    /// Whether it can go on and follow the path.
    pub const fn follows(self) -> bool {
        !matches!(self, Self::Other(_))
    }

    /// Whether it has to be told the capacity.
    pub const fn needs_capacity(self) -> bool {
        match self {
            Self::Other(kind) => kind.needs_capacity(),
            _ => false,
        }
    }

    /// A measurement that has not begun. If it is `continuous`, it has no end.
    pub fn build(self, settings: &Settings, continuous: bool) -> Box<dyn Tool> {
        let own = match self {
            Self::AbwPing => standalone::Settings::default(),
            Self::AbwPingPaper => standalone::Settings::paper(),
            Self::Other(kind) => return kind.build(settings),
        };
        Box::new(Standalone::new(own, continuous))
    }
}
