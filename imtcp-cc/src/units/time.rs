//! Instants and signed differences between them, in nanoseconds.

use super::NANOS_PER_SECOND;
use std::fmt;
use std::ops::{Add, AddAssign, Neg, Sub};
use std::time::Duration;

/// An instant in nanoseconds since an origin. The caller of the core chooses the origin; the
/// quiche adapter takes the controller's creation. The core never reads a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The origin.
    pub const ZERO: Self = Self(0);

    /// An instant from nanoseconds since the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// An instant a span after the origin.
    pub fn from_origin(span: Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin, for statistics and reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// The span since `earlier`, or zero if `earlier` is later.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)),
        )
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)),
        )
    }
}

impl Sub for Timestamp {
    type Output = TimeDelta;
    fn sub(self, other: Self) -> TimeDelta {
        TimeDelta(saturating_signed(i128::from(self.0) - i128::from(other.0)))
    }
}

/// A signed span in nanoseconds. Gaps and delay differences can be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeDelta(i64);

impl TimeDelta {
    /// The span zero.
    pub const ZERO: Self = Self(0);

    /// A signed span from nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The span in nanoseconds as a float, for statistics.
    pub fn as_nanos_f64(self) -> f64 {
        self.0 as f64
    }

    /// The span in seconds as a float, for statistics.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// The magnitude of the span, without its sign.
    pub const fn abs(self) -> Duration {
        Duration::from_nanos(self.0.unsigned_abs())
    }

    /// The span as a `Duration`; `None` if it is negative.
    pub fn to_duration(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }
}

impl From<Duration> for TimeDelta {
    fn from(span: Duration) -> Self {
        Self(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl Add for TimeDelta {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for TimeDelta {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for TimeDelta {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for TimeDelta {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} s", self.as_secs_f64())
    }
}

fn saturating_signed(nanos: i128) -> i64 {
    i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_signed_and_saturate() {
        let early = Timestamp::from_nanos(10);
        let late = Timestamp::from_nanos(25);
        assert_eq!(late - early, TimeDelta::from_nanos(15));
        assert_eq!(early - late, TimeDelta::from_nanos(-15));
        assert_eq!(early.saturating_since(late), Duration::ZERO);
        assert_eq!(
            Timestamp::from_nanos(u64::MAX) - Timestamp::ZERO,
            TimeDelta::from_nanos(i64::MAX)
        );
        assert_eq!(Timestamp::ZERO - Duration::from_secs(1), Timestamp::ZERO);
    }
}
