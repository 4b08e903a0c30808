//! The stored values of IM 3.2.6, and the interval they give.

use crate::units::Bandwidth;

/// The two-sided 95 % point of the normal distribution, as printed in IM 3.2.6.
const NORMAL_95: f64 = 1.96;

/// How many values are kept. From about thirty on, 1.96 is within 5 % of the exact factor
/// (Student's t with 29 degrees of freedom is 2.05). The paper keeps all values; its interval then
/// goes on shrinking with values from circumstances that are long past.
pub const STORE_CAPACITY: usize = 30;

/// The latest values of the available bandwidth, the last [`STORE_CAPACITY`] of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastValues {
    values: [Bandwidth; STORE_CAPACITY],
    count: usize,
    next: usize,
}

impl Default for LastValues {
    fn default() -> Self {
        Self {
            values: [Bandwidth::ZERO; STORE_CAPACITY],
            count: 0,
            next: 0,
        }
    }
}

impl LastValues {
    /// Stores a value, in place of the oldest when full.
    pub fn push(&mut self, value: Bandwidth) {
        self.values[self.next] = value;
        self.next = (self.next + 1) % STORE_CAPACITY;
        self.count = (self.count + 1).min(STORE_CAPACITY);
    }

    /// Discards all values: the network has changed (IM 3.2.6).
    pub fn clear(&mut self) {
        self.count = 0;
        self.next = 0;
    }

    /// The number of stored values (q of IM 3.2.6).
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no value is stored.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The standard deviation of the stored values with divisor q - 1, in bits per second (S of
    /// IM 3.2.6); `None` below two values.
    ///
    /// The paper calls S the variance, but then `1.96 S / sqrt(q)` is neither a bandwidth nor a
    /// 95 % interval of a mean.
    pub fn standard_deviation(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let values = || self.values[..self.count].iter().map(|v| v.as_bps_f64());
        let q = self.count as f64;
        let mean = values().sum::<f64>() / q;
        let squares: f64 = values().map(|v| (v - mean) * (v - mean)).sum();
        Some(libm::sqrt(squares / (q - 1.0)))
    }

    /// Half of the 95 % interval of the mean in bits per second, 1.96 S / sqrt(q) of IM 3.2.6.
    /// `None` below two values, which have no S.
    pub fn half_width(&self) -> Option<Bandwidth> {
        let deviation = self.standard_deviation()?;
        let q = self.count as f64;
        Some(Bandwidth::from_bps_f64(
            NORMAL_95 * deviation / libm::sqrt(q),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> LastValues {
        let mut last = LastValues::default();
        for value in values {
            last.push(Bandwidth::from_bps(*value));
        }
        last
    }

    #[test]
    fn four_values_give_the_interval_of_the_paper() {
        // Mean 60, squares 100 + 100 + 100 + 100 = 400, S^2 = 400/3, S = 11.547;
        // 1.96 * 11.547 / 2 = 11.316.
        let last = of(&[50_000, 70_000, 50_000, 70_000]);
        assert_eq!(last.half_width(), Some(Bandwidth::from_bps(11_316)));
    }

    #[test]
    fn one_value_has_no_deviation() {
        assert_eq!(of(&[60]).half_width(), None);
        assert_eq!(of(&[]).half_width(), None);
        assert_eq!(of(&[60, 60]).half_width(), Some(Bandwidth::ZERO));
    }

    #[test]
    fn the_oldest_value_makes_room() {
        let mut values = of(&[1_000_000]);
        for _ in 0..STORE_CAPACITY {
            values.push(Bandwidth::from_bps(60));
        }
        assert_eq!(values.len(), STORE_CAPACITY);
        assert_eq!(values.standard_deviation(), Some(0.0));
    }

    #[test]
    fn a_cleared_store_remembers_nothing() {
        let mut values = of(&[10, 90]);
        values.clear();
        assert!(values.is_empty());
        values.push(Bandwidth::from_bps(50));
        assert_eq!(values.half_width(), None);
    }

    proptest! {
        #[test]
        fn the_deviation_is_a_number(values in proptest::collection::vec(any::<u64>(), 0..100)) {
            let last = of(&values);
            prop_assert_eq!(last.len(), values.len().min(STORE_CAPACITY));
            if let Some(deviation) = last.standard_deviation() {
                prop_assert!(deviation.is_finite() && deviation >= 0.0, "{deviation}");
            }
        }
    }
}
