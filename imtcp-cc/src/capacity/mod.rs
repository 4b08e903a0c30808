//! What the tight link could carry if it were ours alone.

mod dispersion;

pub use dispersion::DispersionCapacity;
