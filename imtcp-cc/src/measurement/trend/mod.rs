//! Step 3 of IM 3.2: finds out whether the delay of a stream increases.
//!
//! The tests are Pathload's two (Jain and Dovrolis, End-to-End Available Bandwidth: Measurement
//! Methodology, Dynamics, and Relation with TCP Throughput, IEEE/ACM Transactions on Networking
//! 11(4), 2003): [`pct`] asks how often the delay rises, and [`pdt`] how much of its movement is a
//! net rise. Pathload first takes medians over groups of sqrt(K) of its 100 packets. IM 3.2.3 and
//! this module work on D_j - D_(j-1), the rise of the delay from packet to packet: a stream of
//! five is too short for groups.

pub mod pct;
pub mod pdt;

use super::MAX_STREAM_PACKETS;
use super::pairs::{most_pairs, pairs};
use super::record::{PacketRecord, StreamRecord};
use crate::path::ack::EchoCadence;
use crate::units::TimeDelta;

/// The trend of the delay in one stream (T_i of IM 3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// T_i = +1: the stream is faster than the available bandwidth.
    Increasing,
    /// T_i = -1: the stream is not faster than the available bandwidth.
    NotIncreasing,
    /// T_i = 0: the trend cannot be determined.
    CannotTell(Doubt),
}

impl Trend {
    /// The trend as the number that IM 3.2.4 adds up: +1, -1 or 0.
    pub const fn as_number(self) -> i8 {
        match self {
            Self::Increasing => 1,
            Self::NotIncreasing => -1,
            Self::CannotTell(_) => 0,
        }
    }
}

/// Why a trend could not be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The stream was not sent, or not to its end.
    Incomplete,
    /// A packet was lost: the queue overflowed or the link failed. Either changes the delays of
    /// the other packets.
    PacketLost,
    /// Less than half of the echoes that the test needs carry a time of their own.
    TooFewEchoes,
    /// One test says increasing, and the other says not increasing.
    Contradiction,
    /// Both tests are in the grey zone between their thresholds.
    GreyZone,
}

impl Doubt {
    /// Whether the delays could be read, and were undecided.
    pub const fn has_delays(self) -> bool {
        matches!(self, Self::Contradiction | Self::GreyZone)
    }
}

/// The thresholds of one test: above `upper` the delay rises, at `lower` or below it does not,
/// between them the test cannot tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// The largest statistic that speaks against a rise.
    pub lower: f64,
    /// The largest statistic that does not speak for a rise.
    pub upper: f64,
}

/// The thresholds of both tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The thresholds of [`pct`].
    pub pct: Band,
    /// The thresholds of [`pdt`].
    pub pdt: Band,
}

impl Thresholds {
    /// PCT 0.40 and PDT 0.30, one threshold each, as section 4.1 of IC says. Table 3 of IC has the
    /// two exchanged; the text must be right. In delays without a trend half of the pairs rise, so
    /// PCT is about 0.5, while the net rise and so PDT are about 0. In Pathload too the threshold
    /// of PCT is the higher one.
    pub const SINGLE: Self = Self {
        pct: Band {
            lower: 0.40,
            upper: 0.40,
        },
        pdt: Band {
            lower: 0.30,
            upper: 0.30,
        },
    };

    /// PCT 0.54 and 0.66, PDT 0.45 and 0.55: Pathload's thresholds, for streams of 100 packets.
    #[cfg(test)]
    pub const PATHLOAD: Self = Self {
        pct: Band {
            lower: 0.54,
            upper: 0.66,
        },
        pdt: Band {
            lower: 0.45,
            upper: 0.55,
        },
    };
}

impl Default for Thresholds {
    fn default() -> Self {
        Self::SINGLE
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Rises,
    DoesNot,
    Grey,
}

impl Band {
    /// Whether delays without any trend have a PCT above the band.
    fn is_below_noise(&self) -> bool {
        self.upper < pct::WITHOUT_TREND
    }

    fn read(&self, statistic: f64) -> Reading {
        if statistic > self.upper {
            Reading::Rises
        } else if statistic <= self.lower {
            Reading::DoesNot
        } else {
            Reading::Grey
        }
    }
}

/// Judges the trend of a stream (T_i of IM 3.2.3; for [`EchoCadence::EverySecond`] IM 3.5.1).
pub fn judge(stream: &StreamRecord, cadence: EchoCadence, thresholds: &Thresholds) -> Trend {
    if !stream.is_complete() || !stream.is_settled() {
        return Trend::CannotTell(Doubt::Incomplete);
    }
    if stream.packets().iter().any(PacketRecord::is_lost) {
        return Trend::CannotTell(Doubt::PacketLost);
    }
    let mut rises = [TimeDelta::ZERO; MAX_STREAM_PACKETS as usize];
    let mut count = 0;
    for (slot, pair) in rises.iter_mut().zip(pairs(stream.packets(), cadence)) {
        *slot = pair.delay_rise();
        count += 1;
    }
    // Two differences are the fewest of which one can confirm the other. In longer streams half of
    // the possible pairs are needed, so that one part of the stream's rates does not speak for all
    // of them.
    let needed = most_pairs(stream.packets().len(), cadence)
        .div_ceil(2)
        .max(2);
    if count < needed {
        return Trend::CannotTell(Doubt::TooFewEchoes);
    }
    judge_rises(&rises[..count], thresholds)
}

/// Both tests on the differences D_j - D_(j-1), joined as Pathload does: if one test is in its
/// grey zone, the other decides, and a contradiction leaves the trend open.
///
/// There is one exception. With [`Thresholds::SINGLE`] the threshold of PCT is below the PCT of
/// delays without any trend. A PCT above the threshold is then needed for a rise, but is no
/// evidence of one, so it does not contradict a PDT that says "not increasing". Noise has such a
/// PCT and such a PDT in half of all short streams. Without the exception these streams would be
/// left open. As many of the others say +1 as -1, so the search range would wander off downward
/// and not come back.
pub fn judge_rises(rises: &[TimeDelta], thresholds: &Thresholds) -> Trend {
    let (Some(pct), Some(pdt)) = (pct::statistic(rises), pdt::statistic(rises)) else {
        return Trend::CannotTell(Doubt::TooFewEchoes);
    };
    match (thresholds.pct.read(pct), thresholds.pdt.read(pdt)) {
        (Reading::Grey, Reading::Grey) => Trend::CannotTell(Doubt::GreyZone),
        (Reading::Rises, Reading::Rises | Reading::Grey) | (Reading::Grey, Reading::Rises) => {
            Trend::Increasing
        }
        (Reading::DoesNot, Reading::DoesNot | Reading::Grey)
        | (Reading::Grey, Reading::DoesNot) => Trend::NotIncreasing,
        (Reading::Rises, Reading::DoesNot) if thresholds.pct.is_below_noise() => {
            Trend::NotIncreasing
        }
        (Reading::Rises, Reading::DoesNot) | (Reading::DoesNot, Reading::Rises) => {
            Trend::CannotTell(Doubt::Contradiction)
        }
    }
}

#[cfg(test)]
mod tests;
