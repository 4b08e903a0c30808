//! Tools of others that measure the available bandwidth with packets of their own.
//!
//! | Name | Tells | Source |
//! |---|---|---|
//! | `pathload` | a range: rates below it fit, above it they do not | Jain and Dovrolis, 2003 |
//! | `igi` | capacity less what the gaps of a train hold of others | Hu and Steenkiste, 2003 |
//! | `ptr` | the rate of the fastest train that makes no queue | Hu and Steenkiste, 2003 |
//! | `spruce` | capacity less what entered between the packets of pairs | Strauss et al., 2003 |
//! | `pathchirp` | the rate at which delays within a chirp begin to grow | Ribeiro et al., 2003 |
//!
//! A tool is a machine without input and output. Whoever drives it carries out its [`Step`]s, sends
//! its probes, and takes what became of them back to the sender. All rates count the bytes of IP
//! packets.

mod igi;
mod path_chirp;
mod pathload;
mod spruce;
mod stream;

pub use igi::{Igi, Reading};
pub use path_chirp::PathChirp;
pub use pathload::Pathload;
pub use spruce::Spruce;

use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::fmt::Debug;

/// The largest IP packet of a tool: that of an Ethernet.
const LARGEST_PACKET: Bytes = Bytes::new(1500);

/// What a tool wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A probe leaves now. The tool has another step at the same time.
    Send {
        /// Its number, each once in a measurement.
        number: u64,
        /// The size of the IP packet.
        size: Bytes,
    },
    /// A message asks the receiver which probes came, and when. The answer is told by
    /// [`Tool::on_arrival`] and ends with [`Tool::on_report`]. The tool has another step at the
    /// same time.
    Ask,
    /// Nothing happens before this instant, unless an answer comes.
    WaitUntil(Timestamp),
    /// Nothing happens before an answer comes.
    WaitForReport,
    /// The measurement is over.
    Done,
}

/// What a measurement came to, in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The lower end of the range; the value, where the tool tells no range.
    pub low: Bandwidth,
    /// The upper end of the range; the value, where the tool tells no range.
    pub high: Bandwidth,
    /// The value; the middle of the range.
    pub value: Bandwidth,
}

impl Answer {
    /// An answer without a range. `None` if the rate is not finite; a negative one counts as none
    /// available.
    fn of(bits_per_second: f64) -> Option<Self> {
        let value = rate(bits_per_second)?;
        Some(Self {
            low: value,
            high: value,
            value,
        })
    }
}

/// A measurement. Tools read no clock and need bounded memory. Numbers that were never sent, and
/// answers that nobody asked for, change nothing.
pub trait Tool: Debug + Send {
    /// What to do now. `now` never runs backwards.
    fn step(&mut self, now: Timestamp) -> Step;

    /// A probe had come at `arrived`, by the receiver's clock.
    fn on_arrival(&mut self, number: u64, arrived: Timestamp);

    /// The answer to the last [`Step::Ask`] is complete. What was not told has not come.
    fn on_report(&mut self, now: Timestamp);

    /// What the measurement came to; `None` before its end, and if it failed.
    fn answer(&self) -> Option<Answer>;

    /// How many answers it has told: more than one if it follows the path.
    fn told(&self) -> u64 {
        u64::from(self.answer().is_some())
    }
}

/// What a tool is told beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The capacity of the narrowest link, which IGI, PTR and Spruce have to know. It is above
    /// zero.
    pub capacity: Bandwidth,
    /// Seeds what a tool draws.
    pub seed: u64,
}

/// The tools by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// [`Pathload`].
    Pathload,
    /// [`Igi`], read as IGI.
    Igi,
    /// [`Igi`], read as PTR.
    Ptr,
    /// [`Spruce`].
    Spruce,
    /// [`PathChirp`].
    PathChirp,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Pathload,
        Self::Igi,
        Self::Ptr,
        Self::Spruce,
        Self::PathChirp,
    ];

    /// Its name in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pathload => "pathload",
            Self::Igi => "igi",
            Self::Ptr => "ptr",
            Self::Spruce => "spruce",
            Self::PathChirp => "pathchirp",
        }
    }

    /// Whether it has to be told the capacity.
    pub const fn needs_capacity(self) -> bool {
        matches!(self, Self::Igi | Self::Ptr | Self::Spruce)
    }

    /// A measurement that has not begun.
    pub fn build(self, settings: &Settings) -> Box<dyn Tool> {
        match self {
            Self::Pathload => Box::new(Pathload::default()),
            Self::Igi => Box::new(Igi::new(settings.capacity, Reading::Igi)),
            Self::Ptr => Box::new(Igi::new(settings.capacity, Reading::Ptr)),
            Self::Spruce => Box::new(Spruce::new(settings.capacity, settings.seed)),
            Self::PathChirp => Box::new(PathChirp::default()),
        }
    }
}

/// A computed rate, zero where it is negative; `None` if it is not finite.
fn rate(bits_per_second: f64) -> Option<Bandwidth> {
    let is_rate = bits_per_second.is_finite();
    is_rate.then(|| Bandwidth::from_bps_f64(bits_per_second.max(0.0)))
}

#[cfg(test)]
mod testing;
