//! What the tight link could carry if it were ours alone.

mod dispersion;
mod rce;

pub use dispersion::DispersionCapacity;
pub use rce::ResidualCapacity;
