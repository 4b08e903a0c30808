//! What really happened on the links: bytes that crossed, in bins, and the available bandwidth that
//! follows from them.

mod available;
mod meter;
mod transit;

pub use available::Available;
pub use meter::{BIN, Meter, bin_start};
pub use transit::{OneWay, Transits};
