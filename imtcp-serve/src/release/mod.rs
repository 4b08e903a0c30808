//! Packets leave at their times, although tokio's timers tick in milliseconds.
//!
//! tokio-quiche sleeps until a packet may leave by a timer of tokio's, which is 0.5 to 2 ms late.
//! [`OnTime`] stands between it and the HTTP/3 driver. It waits for the same time with a timer of
//! the kernel's, and ends the wait early. The sent time that quiche notes is the real one either
//! way. [`Distances`] hears how well the planned distances were kept.

mod distances;
mod on_time;
mod pace;

pub use distances::Distances;
pub use on_time::OnTime;
pub use pace::Options as Pace;

use clap::ValueEnum;

/// How the release time of a packet is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Release {
    /// The best that this machine has: `exact` where there are two processors or more, else
    /// `timer`.
    Auto,
    /// By a timer of the kernel's. For packets whose distance is measured with, it is set early,
    /// and the rest, 50 µs at most, is spent looking at the clock.
    Exact,
    /// By a timer of the kernel's: 10 to 40 µs late on a machine with time to spare.
    Timer,
    /// By tokio's timers: 0.5 to 2 ms late, and the cheapest.
    Tokio,
}

impl Release {
    /// The choice for this machine, and the reason for it.
    pub fn chosen(self) -> (Self, &'static str) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        match self {
            Self::Auto if processors > 1 => (
                Self::Exact,
                "two processors or more; SO_TXTIME is of no use, because quiche builds a packet at \
                 its release time and not before",
            ),
            Self::Auto => (
                Self::Timer,
                "there is one processor, and nobody should look at a clock on it",
            ),
            asked => (asked, "asked for"),
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Exact => "exact",
            Self::Timer => "timer",
            Self::Tokio => "tokio",
        }
    }
}
