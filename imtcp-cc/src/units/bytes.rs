//! Sizes in bytes.

use std::fmt;
use std::ops::{Add, AddAssign};

/// A size in bytes. Unless a name says otherwise, it counts bytes of the UDP payload, which is the
/// size that QUIC counts against the congestion window (RFC 9002, section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// A size from a number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// A size from a `usize`, the type of lengths in memory.
    pub fn from_usize(bytes: usize) -> Self {
        Self(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// A size from a computed number of bytes, rounded down; saturates.
    #[expect(clippy::cast_possible_truncation, reason = "saturates at the top")]
    #[expect(clippy::cast_sign_loss, reason = "saturates at zero")]
    pub fn from_f64(bytes: f64) -> Self {
        Self(bytes as u64)
    }

    /// The number of bytes, for statistics.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The number of bits, for statistics.
    pub fn as_bits_f64(self) -> f64 {
        self.0 as f64 * 8.0
    }

    /// True for zero bytes.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference, or zero where it would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `count` times this size; saturates.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}
