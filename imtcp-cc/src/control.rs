//! What the other rooms and the window tell each other. The promise steers the window, and sees its
//! size and phase. The measurement tells a window in slow start how much is enough.

use crate::units::{Bandwidth, Bytes, Timestamp};
use std::fmt;
use std::time::Duration;

/// The law that the congestion window follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Window {
    /// CUBIC (RFC 9438) with HyStart++ (RFC 9406). A reduction after a loss that proves spurious is
    /// undone (RFC 9438, section 4.9), and so is one after a lone loss, of one packet among at
    /// least fifty. CUBIC is also quiche's own default.
    #[default]
    Cubic,
    /// Reno (RFC 9002, section 7). The ImTCP papers build upon it, and send full packets alone.
    Reno,
}

/// The congestion window as the other rooms see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WindowView {
    /// The congestion window, in bytes of UDP payload.
    pub(crate) size: Bytes,
    pub(crate) phase: Phase,
    /// Whether the window was filled lately. Packets that the controller's own pacing held back
    /// count as filling it.
    pub(crate) is_used: bool,
    pub(crate) start: StartPace,
    /// `None` before the first congestion.
    pub(crate) reduction: Option<Reduction>,
}

/// How the window answered a loss or a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// It did not: that was no congestion, or belongs to one that was answered before.
    Nothing,
    /// That was a congestion event. The window is as large as before, because it is the least one,
    /// or is needed.
    Kept,
    /// The window was reduced.
    Reduced,
}

/// When congestion last reduced the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) at: Timestamp,
    /// For how long packets waited then: what the queue holds, as a time.
    pub(crate) queue: Duration,
    /// Whether the window was in slow start.
    pub(crate) ended_slow_start: bool,
}

/// How packets of the first slow start are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StartPace {
    /// Nothing is known of the path, or slow start is over.
    Free,
    /// The window that fills the path is this multiple of the present one.
    Filling(f64),
    /// The window has jumped to what is remembered of the path.
    Jump,
}

/// The window that fills what is free on the path, as the measurement tells it to a window in slow
/// start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Enough {
    /// What is free, times the least round trip, in bytes of UDP payload.
    pub(crate) window: Bytes,
    /// Whether others send so much that they matter. They may give way, or not.
    pub(crate) is_crowded: bool,
    /// The least round trip.
    pub(crate) least_rtt: Duration,
}

/// What a promise or a mode asks of the window and of the pacer.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct Steering {
    pub(crate) order: WindowOrder,
    /// The largest window, in bytes of UDP payload (MaxCwnd of IM 5.1); `None` without a bound.
    pub(crate) most: Option<Bytes>,
    /// The highest rate at which to send, in packets per second; set if the source wants no more
    /// than its required rate, or what others leave.
    pub(crate) packets_per_second: Option<f64>,
    /// The largest number of packets that may be gathered for a train of such a source.
    pub(crate) gathered_packets: Option<f64>,
    /// How the window responds to congestion; `None` leaves it to the law.
    pub(crate) proportion: Option<Proportion>,
}

impl Steering {
    /// The highest rate at which to send, in bits of UDP payload per second, if all datagrams have
    /// this size.
    pub(crate) fn bound_on_rate(&self, datagram: Bytes) -> Option<Bandwidth> {
        let packets = self.packets_per_second?;
        Some(Bandwidth::from_bps_f64(packets * datagram.as_bits_f64()))
    }
}

/// The growth of the window in congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slope {
    /// The growth in bytes of UDP payload. The window shrinks if the number is negative.
    pub(crate) bytes_per_round_trip: i64,
    /// Whether the window law may grow the window faster.
    pub(crate) is_floor: bool,
}

impl Slope {
    /// A computed growth, rounded towards zero; saturates.
    #[expect(clippy::cast_possible_truncation, reason = "saturation is wanted")]
    pub(crate) fn of(bytes_per_round_trip: f64, is_floor: bool) -> Self {
        Self {
            bytes_per_round_trip: bytes_per_round_trip as i64,
            is_floor,
        }
    }
}

/// The response to a congestion event in proportion to what a promise needs (MulTCP). N flows
/// lose 1 / N of what one flow loses, because an event meets one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Proportion {
    /// N, the number of standard flows that this flow stands for; at least 1.
    pub(crate) weight: f64,
    /// The window that the promise needs, in bytes of UDP payload. The part of the window above it
    /// gives way as that of any other flow.
    pub(crate) needed: Bytes,
}

impl Proportion {
    /// That of a standard flow. A promise that may not compete answers each loss, lone ones too.
    pub(crate) const STANDARD: Self = Self {
        weight: 1.0,
        needed: Bytes::ZERO,
    };
}

/// The order that a promise gives to the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WindowOrder {
    /// The window follows its own law.
    #[default]
    Free,
    /// In congestion avoidance the window grows along this slope.
    Along(Slope),
    /// The window leaves slow start, because it has reached the size that the requirement needs.
    LeaveSlowStart,
}

/// The phase of a window law (RFC 9002, section 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The window grows by the bytes that are acknowledged (RFC 9002, section 7.3.1).
    SlowStart,
    /// The window grows slowly, by the rule of its law (RFC 9002, section 7.3.3).
    CongestionAvoidance,
    /// The window was reduced, and no packet sent since has been acknowledged (RFC 9002,
    /// section 7.3.2).
    Recovery,
}

impl Phase {
    /// The name of the phase in qlog.
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
