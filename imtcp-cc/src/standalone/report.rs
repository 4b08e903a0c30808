//! What a stand-alone measurement has found.

use crate::estimate::Estimate;
use crate::units::{Bandwidth, Bytes};
use std::fmt;
use std::time::Duration;

/// Why a measurement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The interval is narrow enough (B_u - B_l < alpha A of IC 3.1).
    Narrow,
    /// The time is used up.
    Time,
    /// The bytes are used up.
    Bytes,
    /// The path carried more than this side could send. The value is a lower bound.
    SenderTooSlow,
    /// No reply came, or none any more. What was found until then stays.
    NoReply,
    /// The peer, or a router, answers a steady number of packets each second, whatever is sent. The
    /// replies then say nothing of the path.
    RateLimited {
        /// The replies a second.
        per_second: u32,
    },
    /// The caller stopped it.
    Stopped,
}

impl Ended {
    /// A name for machines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Narrow => "narrow",
            Self::Time => "time",
            Self::Bytes => "bytes",
            Self::SenderTooSlow => "sender_too_slow",
            Self::NoReply => "no_reply",
            Self::RateLimited { .. } => "rate_limited",
            Self::Stopped => "stopped",
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Narrow => f.write_str("the interval is narrow enough"),
            Self::Time => f.write_str("the time is used up"),
            Self::Bytes => f.write_str("the bytes are used up"),
            Self::SenderTooSlow => f.write_str("the path carries more than this side can send"),
            Self::NoReply => f.write_str("no reply came"),
            Self::RateLimited { per_second } => write!(
                f,
                "replies are limited to about {per_second} a second, whatever is sent"
            ),
            Self::Stopped => f.write_str("it was stopped"),
        }
    }
}

/// The result so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// The available bandwidth with its 95 % interval. `None` until there is one, and where replies
    /// were limited ([`Ended::RateLimited`]). With [`super::Method::Search`] the interval is the
    /// next search range.
    pub estimate: Option<Estimate>,
    /// The capacity of the tight link, in bits of IP packets per second. `None` until it is known;
    /// [`super::Method::Search`] has the rate of its first train here.
    pub capacity: Option<Bandwidth>,
    /// The bytes that were sent, IP headers included.
    pub bytes_sent: Bytes,
    /// The packets that were sent.
    pub packets_sent: u64,
    /// The replies, without duplicates.
    pub replies: u64,
    /// The packets that were taken for lost, on either way.
    pub lost: u64,
    /// The measurements: searches of a whole range, or groups of trains.
    pub measurements: u32,
    /// The time since the first step.
    pub elapsed: Duration,
    /// The shortest round trip.
    pub round_trip: Option<Duration>,
    /// How long a probe packet waited beyond the shortest round trip, on average.
    pub mean_wait: Duration,
    /// How long a probe packet waited beyond the shortest round trip, at most.
    pub longest_wait: Duration,
    /// Why the measurement ended. `None` while it runs.
    pub ended: Option<Ended>,
}
