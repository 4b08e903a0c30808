//! Congestion controllers of others, for the seam of the workspace's quiche.
//!
//! | Name | Law | Source |
//! |---|---|---|
//! | `reno-whole` | NewReno | RFC 9002 |
//! | `highspeed` | HighSpeed TCP | RFC 3649 |
//! | `westwood` | Reno; after a loss the threshold is what Westwood's estimate fills | DFT 2 |
//! | `westwood-dft` | the same with DFT's estimate, on sent packets | DFT 3 |
//! | `westwood-dft-acks` | the same with DFT's estimate, on acknowledgements | DFT 3 |
//! | `ledbat++` | LEDBAT++ | draft-irtf-iccrg-ledbat-plus-plus |
//! | `tcp-cubic` | CUBIC of Linux, with SACK | RFC 9438, Linux |
//!
//! Loss detection and round trips are quiche's. The seam lets out whole packets only, where
//! quiche's own Reno and CUBIC fill the rest of their window with small ones. None of them paces.

mod highspeed;
mod ledbat;
mod reno;
mod tcp_cubic;
mod westwood;
mod window;

pub use ledbat::LedbatPlusPlus;
pub use tcp_cubic::TcpCubic;
pub use window::{Law, LossBased, Reduced};

use quiche::cc::{CongestionController, PathContext};

/// The controllers by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Reno in whole packets.
    Reno,
    /// HighSpeed TCP.
    HighSpeed,
    /// Westwood with its own estimator.
    Westwood,
    /// Westwood with DFT on sent packets.
    WestwoodDft,
    /// Westwood with DFT on acknowledgements.
    WestwoodDftAcks,
    /// LEDBAT++.
    LedbatPlusPlus,
    /// TCP CUBIC as Linux has it.
    TcpCubic,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Reno,
        Self::HighSpeed,
        Self::Westwood,
        Self::WestwoodDft,
        Self::WestwoodDftAcks,
        Self::LedbatPlusPlus,
        Self::TcpCubic,
    ];

    /// Its name in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno-whole",
            Self::HighSpeed => "highspeed",
            Self::Westwood => "westwood",
            Self::WestwoodDft => "westwood-dft",
            Self::WestwoodDftAcks => "westwood-dft-acks",
            Self::LedbatPlusPlus => "ledbat++",
            Self::TcpCubic => "tcp-cubic",
        }
    }
}

/// Builds controllers of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Factory(pub Kind);

impl quiche::cc::Factory for Factory {
    fn build(&self, path: &PathContext) -> Box<dyn CongestionController> {
        match self.0 {
            Kind::Reno => Box::new(LossBased::new(path, reno::Reno)),
            Kind::HighSpeed => Box::new(LossBased::new(path, highspeed::HighSpeed)),
            Kind::Westwood => Box::new(LossBased::new(path, westwood::own(path.now))),
            Kind::WestwoodDft => Box::new(LossBased::new(path, westwood::dft_on_sent(path.now))),
            Kind::WestwoodDftAcks => {
                Box::new(LossBased::new(path, westwood::dft_on_acks(path.now)))
            }
            Kind::LedbatPlusPlus => Box::new(LedbatPlusPlus::new(path)),
            Kind::TcpCubic => Box::new(TcpCubic::new(path)),
        }
    }

    fn requests_acks(&self) -> bool {
        false
    }
}
