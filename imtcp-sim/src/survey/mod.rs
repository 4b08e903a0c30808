//! Paths that nobody chose, and what measuring costs on them.
//!
//! A [`Class`] is a kind of path. Each seed draws one path of it ([`Class::draw`]), and [`compare`]
//! runs that path several times with the same draws: with the controller that measures, with the
//! same controller not measuring, and with quiche's CUBIC. [`Paired`] holds what came of each,
//! [`bars`] says what measuring may cost, and [`Tally`] sums up many seeds.

pub mod bars;
mod clients;
mod compare;
mod draw;
mod echoes;
mod elastic;
pub mod estimate;
mod fixed;
mod ground;
mod hops;
mod hosts;
mod jitter;
mod managed;
mod mixed;
mod path;
pub mod promise;
mod radio;
mod repeats;
mod shaped;
pub mod share;
mod source;
mod sources;
mod statements;
mod steps;
mod tally;
mod traces;

pub use bars::Miss;
pub use compare::{Extent, Outcome, Paired, Variant, compare};
pub use path::{Facts, Path, Tokens};
pub use repeats::{Mean, Repeats};
pub use tally::Tally;
pub use traces::Traces;

use crate::scenario::ScenarioError;

/// A kind of path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// One FIFO link of constant rate.
    Fixed,
    /// Capacity or cross traffic changes one to five times, by factors of 1.3 to 10.
    Steps,
    /// One to twenty flows beside, which take what they can get.
    Elastic,
    /// A queue managed by CoDel, FQ-CoDel, PIE, RED or `DualPI2`, with marks or without.
    Managed,
    /// A link whose rate follows a walk, the rungs of Wi-Fi or a trace, with losses in bursts and
    /// aggregates.
    Radio,
    /// A link behind a token bucket, shaper or policer.
    Shaped,
    /// Two to five links with traffic on each; the tight one need not be the narrow one.
    Hops,
    /// Acknowledgements that come late, thinned, in aggregates, or over a poor way back.
    Echoes,
    /// Machines whose timers are late and whose packets leave and come in batches.
    Hosts,
    /// Troubles that the other classes leave out: jitter, losses, other routes, outages, packets
    /// that overtake others, closed loops.
    Mixed,
    /// Sources that the other classes leave out: small datagrams, and up to all that is left, over
    /// round trips from that of a local network on.
    Sources,
    /// Clients with a cadence, a machine, a bound of flow control and a way back at once, with and
    /// without a link that delays by chance.
    Clients,
    /// A delay that varies by about as much as the packets of the source lie apart.
    Jitter,
}

impl Class {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Fixed,
        Self::Steps,
        Self::Elastic,
        Self::Managed,
        Self::Radio,
        Self::Shaped,
        Self::Hops,
        Self::Echoes,
        Self::Hosts,
        Self::Mixed,
        Self::Sources,
        Self::Clients,
        Self::Jitter,
    ];

    /// Those on which promises are surveyed.
    pub const PROMISED: &[Self] = &[Self::Fixed, Self::Steps, Self::Elastic, Self::Managed];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Steps => "steps",
            Self::Elastic => "elastic",
            Self::Managed => "managed",
            Self::Radio => "radio",
            Self::Shaped => "shaped",
            Self::Hops => "hops",
            Self::Echoes => "echoes",
            Self::Hosts => "hosts",
            Self::Mixed => "mixed",
            Self::Sources => "sources",
            Self::Clients => "clients",
            Self::Jitter => "jitter",
        }
    }

    /// The class of that name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|class| class.name() == name)
    }

    /// The path of this class that belongs to a seed.
    ///
    /// # Errors
    /// None is known: what is drawn is a valid scenario.
    pub fn draw(self, seed: u64) -> Result<Path, ScenarioError> {
        self.draw_among(seed, None)
    }

    /// The same. Where there are recorded traces, each radio link follows one of them.
    ///
    /// # Errors
    /// A trace is not there any more.
    pub fn draw_among(self, seed: u64, traces: Option<&Traces>) -> Result<Path, ScenarioError> {
        match self {
            Self::Fixed => fixed::draw(seed),
            Self::Steps => steps::draw(seed),
            Self::Elastic => elastic::draw(seed),
            Self::Managed => managed::draw(seed),
            Self::Radio => radio::draw(seed, traces),
            Self::Shaped => shaped::draw(seed),
            Self::Hops => hops::draw(seed),
            Self::Echoes => echoes::draw(seed),
            Self::Hosts => hosts::draw(seed),
            Self::Mixed => mixed::draw(seed),
            Self::Sources => sources::draw(seed),
            Self::Clients => clients::draw(seed),
            Self::Jitter => jitter::draw(seed),
        }
    }
}
