//! What a measurement says: a value with its uncertainty, and how far it can be trusted.

use crate::units::{Bandwidth, Timestamp};
use std::fmt;
use std::time::Duration;

/// Which estimator made an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EstimatorKind {
    /// The paper's: trends, choice of a sub-range, two-line fit (IM 3.2).
    Classic,
    /// The default: busy-gap samples of all packets, fused, with change detection (ALGORITHM.md).
    Statistical,
}

impl fmt::Display for EstimatorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Classic => "classic",
            Self::Statistical => "statistical",
        })
    }
}

/// What was delivered exceeds a value clearly from this ratio on.
const CLEARLY: f64 = 1.25;

/// The available bandwidth of the path as last measured: what this connection could carry, i.e.
/// the tight link's capacity less everybody else's traffic (RFC 5136, section 2.3.5, with the own
/// connection's traffic not counted as used).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// When the estimate was made: the arrival of the last echo that went into it.
    pub at: Timestamp,
    /// The value, in bits of IP packets per second (RFC 5136, section 2.3: IP-layer, headers
    /// counted; see [`crate::Config::header_overhead`]).
    pub available: Bandwidth,
    /// Lower end of the 95 % interval.
    pub low: Bandwidth,
    /// Upper end of the 95 % interval.
    pub high: Bandwidth,
    /// The time over which the value is an average, ending one propagation delay before `at`.
    pub window: Duration,
    /// What qualifies it.
    pub flags: Flags,
}

impl Estimate {
    /// How old the estimate is at `now`.
    pub fn age(&self, now: Timestamp) -> Duration {
        now.saturating_since(self.at)
    }

    /// The estimate, told that `delivered` got through in its time and so was available. A value
    /// that this exceeds clearly is refuted; what lies closer is chance, and the interval speaks of
    /// it.
    #[must_use]
    pub(crate) fn at_least(mut self, delivered: Bandwidth) -> Self {
        if delivered > self.available.scaled(CLEARLY) {
            self.available = delivered;
            self.high = self.high.max(delivered);
        }
        self
    }
}

/// Circumstances that qualify an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The application sent less than the window allowed: the value rests on probe streams alone.
    pub application_limited: bool,
    /// Packets were acknowledged in groups; echoes were taken from the groups' edges.
    pub aggregated_acks: bool,
    /// The value lies outside the search range that was probed: a bound, not a measurement.
    pub out_of_range: bool,
    /// The window holds a change of level: the value is younger than its usual averaging time.
    pub changed: bool,
}

impl Flags {
    /// The names of the flags that are set, in a fixed order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        [
            (self.application_limited, "application_limited"),
            (self.aggregated_acks, "aggregated_acks"),
            (self.out_of_range, "out_of_range"),
            (self.changed, "changed"),
        ]
        .into_iter()
        .filter_map(|(set, name)| set.then_some(name))
    }
}
