//! Echoes: what the acknowledgements of the peer say about single packets.

pub mod echo;
pub mod quality;

pub use echo::Echo;
pub use quality::EchoQuality;
