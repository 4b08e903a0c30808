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

    /// The same in nanoseconds.
    pub(crate) const fn nanos_since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// The instant a span after this one.
    pub(crate) const fn after(self, span: Nanos) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// The nanoseconds of a span, or the largest number where they do not fit. Times are added for
/// every packet, and this needs no 128 bits.
const fn nanos_of(span: Duration) -> u64 {
    let whole = span.as_secs().saturating_mul(NANOS_PER_SECOND);
    whole.saturating_add(span.subsec_nanos() as u64)
}

/// A span in whole nanoseconds, up to 584 years; saturates. It is what a [`Duration`] is, in one
/// word, and without a carry at each second: spans are added and compared for every packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Nanos(u64);

impl Nanos {
    pub(crate) const ZERO: Self = Self(0);
    pub(crate) const MAX: Self = Self(u64::MAX);

    pub(crate) const fn new(nanos: u64) -> Self {
        Self(nanos)
    }

    pub(crate) const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    pub(crate) const fn of(span: Duration) -> Self {
        Self(nanos_of(span))
    }

    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    pub(crate) const fn times(self, count: u32) -> Self {
        Self(self.0.saturating_mul(count as u64))
    }

    pub(crate) const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    pub(crate) fn signed(self) -> TimeDelta {
        TimeDelta(i64::try_from(self.0).unwrap_or(i64::MAX))
    }

    /// The span in seconds, for statistics: the same number as [`Duration::as_secs_f64`] gives.
    pub(crate) fn as_secs_f64(self) -> f64 {
        match u32::try_from(self.0) {
            Ok(nanos) if self.0 < NANOS_PER_SECOND => f64::from(nanos) / NANOS_PER_SECOND as f64,
            _ => Duration::from(self).as_secs_f64(),
        }
    }
}

impl From<Duration> for Nanos {
    fn from(span: Duration) -> Self {
        Self(nanos_of(span))
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Self {
        Self::from_nanos(span.0)
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
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
        // Up to 292 years from the origin nothing overflows.
        if let (Ok(later), Ok(earlier)) = (i64::try_from(self.0), i64::try_from(other.0)) {
            return TimeDelta(later - earlier);
        }
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

    /// The magnitude of the span in nanoseconds.
    pub(crate) const fn magnitude(self) -> Nanos {
        Nanos(self.0.unsigned_abs())
    }

    /// The span in nanoseconds; `None` if it is negative.
    pub(crate) fn to_nanos(self) -> Option<Nanos> {
        u64::try_from(self.0).ok().map(Nanos)
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

        #[test]
        fn nanoseconds_are_as_many_seconds_as_a_duration(nanos: u64, shift in 0u32..64) {
            let span = Duration::from_nanos(nanos >> shift);
            prop_assert_eq!(Nanos::from(span).as_secs_f64(), span.as_secs_f64());
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
