//! The result of a measurement: a value, its uncertainty, and flags that qualify it.

use crate::units::{Bandwidth, Timestamp};
use std::fmt;
use std::time::Duration;

/// The estimator that made an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EstimatorKind {
    /// The paper's estimator: trends, choice of a sub-range, two-line fit (IM 3.2).
    Classic,
    /// The default estimator: busy-gap samples of all packets, fused, with change detection
    /// (docs/ALGORITHM.md).
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

/// The ratio of the delivered rate to an estimate from which on delivery refutes the estimate.
const CLEARLY: f64 = 1.25;

/// An interval that reaches up to the capacity and over this share of it says nothing: the value
/// may be anything.
const VAGUE_SHARE: f64 = 0.9;

/// The available bandwidth of the path, as last measured. It is the rate that this connection could
/// carry: the tight link's capacity less the traffic of all others. RFC 5136, section 2.3.5,
/// defines it, but there the connection's own traffic counts as used, and here it does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// When the estimate was made: the arrival of the last echo that went into it.
    pub at: Timestamp,
    /// The available bandwidth, in bits of IP packets per second, headers included (A of IM 3.2;
    /// RFC 5136, section 2.3; see [`crate::Config::header_overhead`]).
    pub available: Bandwidth,
    /// The lower end of the 95 % interval of `available`, in bits of IP packets per second.
    pub low: Bandwidth,
    /// The upper end of the 95 % interval of `available`, in bits of IP packets per second.
    pub high: Bandwidth,
    /// The time over which the value is an average. It ends one propagation delay before `at`.
    pub window: Duration,
    /// Circumstances that qualify the estimate.
    pub flags: Flags,
}

impl Estimate {
    /// The age of the estimate at `now`.
    pub fn age(&self, now: Timestamp) -> Duration {
        now.saturating_since(self.at)
    }

    /// The estimate, corrected by delivery. `delivered` is the rate that got through in the time of
    /// the estimate, so at least this rate was available. If it exceeds the value by more than
    /// [`CLEARLY`], the value is raised to it. A smaller excess is chance, which the interval
    /// covers.
    #[must_use]
    pub(crate) fn at_least(mut self, delivered: Bandwidth) -> Self {
        if delivered > self.available.scaled(CLEARLY) {
            self.available = delivered;
            self.high = self.high.max(delivered);
        }
        self
    }

    /// Whether the interval holds practically all that a link of this capacity can leave.
    pub(crate) fn is_vague(&self, capacity: Bandwidth) -> bool {
        let width = self.high.saturating_sub(self.low);
        self.high >= capacity && width > capacity.scaled(VAGUE_SHARE)
    }

    /// The lower end of the interval alone.
    #[must_use]
    pub(crate) fn as_lower_bound(self) -> Self {
        Self {
            available: self.low,
            high: Bandwidth::MAX,
            flags: Flags {
                lower_bound: true,
                ..self.flags
            },
            ..self
        }
    }
}

/// Circumstances that qualify an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The application sent less than the window allowed, so the value rests on probe streams
    /// alone.
    pub application_limited: bool,
    /// Packets were acknowledged in groups, so the echoes were taken from the groups' edges.
    pub aggregated_acks: bool,
    /// The value lies outside the search range that was probed. It is a bound, not a measurement.
    pub out_of_range: bool,
    /// The averaging window holds a change of level, so it is shorter than usual.
    pub changed: bool,
    /// Others send less while our packets come in bursts than between them: they give way, as
    /// rivals with a congestion window do. `available` is what is idle besides what this
    /// connection has. A flow that takes more may get more, at their expense.
    pub elastic: bool,
    /// `available` is what the path gives a flow whose packets wait, however fast it sends: its
    /// share, where a queue serves flows in turn.
    pub share: bool,
    /// What is available changes from one half second to the next by so much that the present one
    /// is likely to be off the value by 15 % of the capacity or more. The interval and
    /// [`crate::promise::Promise::bytes_within`] tell more than the value then.
    pub variable: bool,
    /// A policer drops what exceeds a rate, and queues nothing. `available` is this rate, which
    /// holds once the policer's bucket is empty. For a moment more gets through.
    pub policed: bool,
    /// Nothing is known but what was just delivered, or the interval held nearly all that the link
    /// can leave. At least `low` is available, `available` says no more than that, and `high` is
    /// [`Bandwidth::MAX`].
    pub lower_bound: bool,
}

impl Flags {
    /// The names of the flags that are set, in a fixed order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        [
            (self.application_limited, "application_limited"),
            (self.aggregated_acks, "aggregated_acks"),
            (self.out_of_range, "out_of_range"),
            (self.changed, "changed"),
            (self.elastic, "elastic"),
            (self.share, "share"),
            (self.variable, "variable"),
            (self.policed, "policed"),
            (self.lower_bound, "lower_bound"),
        ]
        .into_iter()
        .filter_map(|(set, name)| set.then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_flags_are_documented_for_qlog() {
        let all = Flags {
            application_limited: true,
            aggregated_acks: true,
            out_of_range: true,
            changed: true,
            elastic: true,
            share: true,
            variable: true,
            policed: true,
            lower_bound: true,
        };
        let names: Vec<String> = all.names().map(|name| format!("\"{name}\"")).collect();
        let flags = format!("\nFlag = {}\n", names.join(" / "));
        assert!(include_str!("../docs/qlog-imtcp.cddl").contains(&flags));
    }
}
