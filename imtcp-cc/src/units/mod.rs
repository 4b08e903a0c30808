//! The quantities everything else is written in: rates, instants, spans and sizes.
//!
//! A bare number elsewhere in this crate is a count, a ratio, or ends in its unit (`gap_ns`).

mod bandwidth;
mod bytes;
pub mod quantity;
mod time;

pub use bandwidth::Bandwidth;
pub use bytes::Bytes;
pub use time::{TimeDelta, Timestamp};

pub(crate) const NANOS_PER_SECOND: u64 = 1_000_000_000;
