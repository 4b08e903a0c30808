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
        Self(nanos_of(span))
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

/// The nanoseconds of a span, or the largest number where they do not fit. Times are added for
/// every packet, and this needs no 128 bits.
fn nanos_of(span: Duration) -> u64 {
    span.as_secs()
        .saturating_mul(NANOS_PER_SECOND)
        .saturating_add(u64::from(span.subsec_nanos()))
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos_of(span)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos_of(span)))
    }
}

impl Sub for Timestamp {
    type Output = TimeDelta;
    fn sub(self, other: Self) -> TimeDelta {
        TimeDelta(match self.0.checked_sub(other.0) {
            Some(after) => i64::try_from(after).unwrap_or(i64::MAX),
            None => 0i64
                .checked_sub_unsigned(other.0 - self.0)
                .unwrap_or(i64::MIN),
        })
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
        Self(i64::try_from(nanos_of(span)).unwrap_or(i64::MAX))
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn differences_are_exact_or_the_farthest(secs: u64, nanos in 0u32..1_000_000_000) {
            let exact = i128::from(secs) - i128::from(nanos);
            let expected = i64::try_from(exact).unwrap_or(i64::MAX);
            let (a, b) = (Timestamp::from_nanos(secs), Timestamp::from_nanos(nanos.into()));
            prop_assert_eq!(a - b, TimeDelta::from_nanos(expected));
            let expected = i64::try_from(-exact).unwrap_or(i64::MIN);
            prop_assert_eq!(b - a, TimeDelta::from_nanos(expected));
            for secs in [secs, secs >> 30, u64::MAX / NANOS_PER_SECOND] {
                let span = Duration::new(secs, nanos);
                let expected = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
                prop_assert_eq!(nanos_of(span), expected);
            }
        }
    }

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
