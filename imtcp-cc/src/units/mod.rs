//! The quantities of this crate: rates, instants, spans and sizes.
//!
//! Elsewhere in this crate a bare number is a count or a ratio, or its name ends in its unit
//! (`gap_ns`).

mod bandwidth;
mod bytes;
mod time;

pub use bandwidth::Bandwidth;
pub use bytes::Bytes;
pub(crate) use time::Nanos;
pub use time::{TimeDelta, Timestamp};

pub(crate) const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The value in single precision, for numbers of which there are many.
#[expect(clippy::cast_possible_truncation, reason = "rounding is what it is for")]
#[inline]
pub(crate) fn single(value: f64) -> f32 {
    value as f32
}
