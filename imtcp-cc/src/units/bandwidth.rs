//! Rates in bits per second.

use super::{Bytes, NANOS_PER_SECOND, Nanos};
use std::fmt;
use std::time::Duration;

/// A rate in bits per second. Zero is a valid rate; there is no negative one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(u64);

impl Bandwidth {
    /// The rate zero.
    pub const ZERO: Self = Self(0);
    /// The largest rate that a `Bandwidth` can hold.
    pub const MAX: Self = Self(u64::MAX);

    /// A rate from bits per second.
    pub const fn from_bps(bits_per_second: u64) -> Self {
        Self(bits_per_second)
    }

    /// A rate from kilobits (1000 bits) per second.
    pub const fn from_kbps(kilobits_per_second: u64) -> Self {
        Self(kilobits_per_second.saturating_mul(1_000))
    }

    /// A rate from megabits (10^6 bits) per second.
    pub const fn from_mbps(megabits_per_second: u64) -> Self {
        Self(megabits_per_second.saturating_mul(1_000_000))
    }

    /// Rounds a computed rate to whole bits per second. Anything below zero and anything that is
    /// not a number become zero. Anything above the range becomes [`Bandwidth::MAX`].
    pub fn from_bps_f64(bits_per_second: f64) -> Self {
        // A float-to-integer `as` saturates and maps NaN to 0, which is the documented rule. The
        // part that it cuts off is exact, so the rounding needs no call of `round`.
        #[expect(clippy::cast_possible_truncation, reason = "saturating is the rule stated above")]
        #[expect(clippy::cast_sign_loss, reason = "saturating is the rule")]
        let whole = bits_per_second as u64;
        let rest = bits_per_second - whole as f64;
        Self(whole.saturating_add(u64::from(rest >= 0.5)))
    }

    /// The rate at which `bytes` pass in `span`; `None` when the span is empty.
    pub fn from_bytes_over(bytes: Bytes, span: Duration) -> Option<Self> {
        let nanos = Nanos::from(span).get();
        (nanos > 0).then(|| Self(bit_nanos_over(bytes, nanos)))
    }

    /// The rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The rate in bits per second as a float, for statistics.
    pub fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }

    /// True for a rate of zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// How long `bytes` take at this rate, rounded down to nanoseconds; `Duration::MAX` at rate
    /// zero.
    pub fn time_for(self, bytes: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        Duration::from_nanos(bit_nanos_over(bytes, self.0))
    }

    /// The same in nanoseconds.
    pub(crate) fn nanos_for(self, bytes: Bytes) -> Nanos {
        if self.0 == 0 {
            return Nanos::MAX;
        }
        Nanos::new(bit_nanos_over(bytes, self.0))
    }

    /// How many whole bytes pass in `span` at this rate.
    pub fn bytes_in(self, span: Duration) -> Bytes {
        let bytes =
            span.as_nanos().saturating_mul(u128::from(self.0)) / (8 * u128::from(NANOS_PER_SECOND));
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// The rate times a ratio, rounded. A ratio that is negative or not finite gives zero or
    /// [`Bandwidth::MAX`], as with [`Bandwidth::from_bps_f64`].
    #[must_use]
    pub fn scaled(self, ratio: f64) -> Self {
        Self::from_bps_f64(self.as_bps_f64() * ratio)
    }

    /// The sum, or [`Bandwidth::MAX`] where it does not fit.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or zero where it would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Bits times nanoseconds per second, divided by `divisor`, which is not zero. Nearly all values
/// fit into 64 bits, where a division takes a fraction of the time.
fn bit_nanos_over(bytes: Bytes, divisor: u64) -> u64 {
    const PER_BYTE: u64 = 8 * NANOS_PER_SECOND;
    match bytes.get().checked_mul(PER_BYTE) {
        Some(bit_nanos) => bit_nanos / divisor,
        None => {
            let quotient = u128::from(bytes.get()) * u128::from(PER_BYTE) / u128::from(divisor);
            u64::try_from(quotient).unwrap_or(u64::MAX)
        }
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{} bit/s", self.0),
            1_000..1_000_000 => write!(f, "{:.1} kbit/s", self.0 as f64 / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.2} Mbit/s", self.0 as f64 / 1e6),
            _ => write!(f, "{:.3} Gbit/s", self.0 as f64 / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_takes_its_serialisation_time() {
        // 1250 bytes are 10^4 bits; at 10^7 bit/s that is 1 ms.
        let rate = Bandwidth::from_mbps(10);
        assert_eq!(rate.time_for(Bytes::new(1250)), Duration::from_millis(1));
        assert_eq!(rate.bytes_in(Duration::from_millis(1)), Bytes::new(1250));
        assert_eq!(
            Bandwidth::from_bytes_over(Bytes::new(1250), Duration::from_millis(1)),
            Some(rate)
        );
    }

    #[test]
    fn edges_saturate_instead_of_wrapping() {
        assert_eq!(Bandwidth::ZERO.time_for(Bytes::new(1)), Duration::MAX);
        assert_eq!(Bandwidth::from_bps_f64(f64::NAN), Bandwidth::ZERO);
        assert_eq!(Bandwidth::from_bps_f64(-1.0), Bandwidth::ZERO);
        assert_eq!(Bandwidth::from_bps_f64(f64::INFINITY), Bandwidth::MAX);
        assert_eq!(
            Bandwidth::from_bytes_over(Bytes::new(1), Duration::ZERO),
            None
        );
        assert_eq!(Bandwidth::MAX.scaled(2.0), Bandwidth::MAX);
    }

    proptest! {
        #[test]
        fn a_computed_rate_is_rounded_to_the_nearest_bit(
            rate in prop_oneof![
                any::<f64>(),
                0.0..1e12,
                (0u32..1_000_000).prop_map(|n| f64::from(n) / 2.0),
            ],
        ) {
            #[expect(clippy::cast_possible_truncation, reason = "saturating is the rule")]
            #[expect(clippy::cast_sign_loss, reason = "saturating is the rule")]
            let rounded = libm::round(rate) as u64;
            prop_assert_eq!(Bandwidth::from_bps_f64(rate), Bandwidth::from_bps(rounded));
        }

        #[test]
        fn short_and_long_divisions_agree(bytes: u64, shift in 0u32..64, divisor in 1u64..) {
            let bytes = bytes >> shift;
            let exact = u128::from(bytes) * 8_000_000_000 / u128::from(divisor);
            let expected = u64::try_from(exact).unwrap_or(u64::MAX);
            prop_assert_eq!(bit_nanos_over(Bytes::new(bytes), divisor), expected);
        }
    }
}
