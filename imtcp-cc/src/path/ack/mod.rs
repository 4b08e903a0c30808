//! Echoes: what the acknowledgements of the peer say about single packets.

mod cadence;
mod clump;
pub mod echo;
pub mod gap;
mod outstanding;
pub mod quality;
mod receive_clock;
mod route;
mod skew;
mod timing;
mod tracker;
mod waiting;
mod work;

pub use cadence::{CadenceDetector, EchoCadence};
pub use echo::Echo;
#[cfg(test)]
pub use gap::EchoPoint;
pub use gap::{EchoGap, LinkState};
pub use quality::EchoQuality;
pub use receive_clock::{Reading, ReceiveClock};
pub use timing::EchoTiming;
pub use tracker::EchoTracker;
