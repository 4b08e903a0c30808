//! What promise and window tell each other: the promise steers the window, and sees it.

use crate::units::{Bandwidth, Bytes};
use std::fmt;

/// The congestion window as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowView {
    pub(crate) size: Bytes,
    pub(crate) phase: Phase,
    /// It was filled of late, for all that our own pacing holds back.
    pub(crate) is_used: bool,
}

/// What a promise asks of the window and of the pacer.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct Steering {
    pub(crate) order: WindowOrder,
    /// The rate at which a source that wants no more may send, in packets per second.
    pub(crate) packets_per_second: Option<f64>,
    /// How many packets may be gathered for a train of such a source.
    pub(crate) gathered_packets: Option<f64>,
}

impl Steering {
    /// The rate above which nothing is to be sent, in UDP payload of full datagrams of this size.
    pub(crate) fn bound_on_rate(&self, datagram: Bytes) -> Option<Bandwidth> {
        let packets = self.packets_per_second?;
        Some(Bandwidth::from_bps_f64(packets * datagram.as_bits_f64()))
    }
}

/// How the window moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WindowOrder {
    /// The window follows its own law.
    #[default]
    Free,
    /// In congestion avoidance the window grows by this many bytes per round trip. It shrinks if
    /// the number is negative.
    Slope { bytes_per_round_trip: i64 },
    /// The window has reached the size that the requirement needs, and more is not wanted.
    LeaveSlowStart,
}

/// The states of RFC 9002, section 7.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The window grows by what is acknowledged.
    SlowStart,
    /// The window probes for more, as its law has it.
    CongestionAvoidance,
    /// The window was reduced, and no packet sent since has been acknowledged.
    Recovery,
}

impl Phase {
    /// The name, as qlog has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlowStart => "slow_start",
            Self::CongestionAvoidance => "congestion_avoidance",
            Self::Recovery => "recovery",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
