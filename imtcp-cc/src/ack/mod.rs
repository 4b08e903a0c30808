//! Echoes: what the acknowledgements of the peer say about single packets.

mod base_delay;
mod cadence;
mod clock;
pub mod echo;
pub mod gap;
pub mod quality;
mod tracker;
mod work;

pub use cadence::CadenceDetector;
pub use clock::{EchoClock, EchoTiming};
pub use echo::Echo;
pub use gap::{EchoGap, EchoPoint, LinkState};
pub use quality::EchoQuality;
pub use tracker::{AckOutcome, EchoTracker};
