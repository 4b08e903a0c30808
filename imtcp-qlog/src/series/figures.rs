//! Figures that are kept up while a log is read. They are of all values, however few of them are
//! drawn, and take the same memory for every log.

use crate::whole::whole;

/// Figures of all values of a log.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Estimates of the default estimator.
    pub estimates: u64,
    /// Their mean.
    pub value: TimeMean,
    /// The mean of the lower ends of their intervals.
    pub low: TimeMean,
    /// The mean of the upper ends.
    pub high: TimeMean,
    /// The mean of the congestion window, in bytes.
    pub window: TimeMean,
    /// Samples of the round trip, in milliseconds.
    pub round_trips: Histogram,
    /// The least round trip that the log tells, in milliseconds.
    pub least_rtt: Option<f64>,
    /// Evaluation slots that the source did not limit.
    pub slots: u64,
    /// Those of them in which the promise was kept.
    pub slots_kept: u64,
}

/// The mean over time of a value that holds until it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeMean {
    /// The values times their spans.
    sum: f64,
    whole_ms: f64,
    /// What holds, and since when.
    holds: Option<(f64, f64)>,
    /// What held last.
    last: Option<f64>,
}

impl TimeMean {
    /// From now on this value holds.
    pub(super) fn set(&mut self, now_ms: f64, value: f64) {
        self.end(now_ms);
        self.holds = Some((now_ms, value));
        self.last = Some(value);
    }

    /// From now on no value holds.
    pub(super) fn end(&mut self, now_ms: f64) {
        if let Some((since_ms, value)) = self.holds.take() {
            let span_ms = (now_ms - since_ms).max(0.0);
            self.sum += value * span_ms;
            self.whole_ms += span_ms;
        }
    }

    /// The mean over the time in which a value held; that of the last one ends at `end_ms`. `None`
    /// if there never was a value.
    pub fn until(mut self, end_ms: f64) -> Option<f64> {
        self.end(end_ms);
        let last = self.last?;
        Some(if self.whole_ms > 0.0 {
            self.sum / self.whole_ms
        } else {
            last
        })
    }
}

/// The values of this are counted together: the limits of a class differ by so much.
const CLASS: f64 = 1.01;
/// The lowest class begins here. In milliseconds this is a microsecond.
const LOWEST: f64 = 1e-3;
/// Twelve powers of ten.
const CLASSES: usize = 2_777;

/// How often values of about this size came. A quantile is right to half a per cent.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    least: f64,
    greatest: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            count: 0,
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
        }
    }
}

impl Histogram {
    pub(super) fn add(&mut self, value: f64) {
        if self.counts.is_empty() {
            self.counts.resize(CLASSES, 0);
        }
        let class = (value / LOWEST).max(1.0).ln() / CLASS.ln();
        let class = usize::try_from(whole(class)).unwrap_or(usize::MAX);
        let class = class.min(CLASSES - 1);
        self.counts[class] += 1;
        self.count += 1;
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The least value.
    pub fn least(&self) -> Option<f64> {
        (self.count > 0).then_some(self.least)
    }

    /// The value at this share of the values in their order, by nearest rank; right to half a per
    /// cent.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let rank = rank(self.count, share)?;
        if rank == 0 {
            return Some(self.least);
        }
        if rank + 1 == self.count {
            return Some(self.greatest);
        }
        let mut below = 0;
        let class = self.counts.iter().position(|count| {
            below += count;
            below > rank
        })?;
        let middle = LOWEST * CLASS.powf(class as f64 + 0.5);
        Some(middle.clamp(self.least, self.greatest))
    }
}

/// The index of the value at this share of so many values in their order, by nearest rank.
pub(crate) fn rank(count: u64, share: f64) -> Option<u64> {
    let last = count.checked_sub(1)? as f64;
    Some(whole((last * share.clamp(0.0, 1.0)).round()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_over_the_time_in_which_a_value_holds() {
        let mut mean = TimeMean::default();
        assert_eq!(mean.until(9.0), None);
        mean.set(0.0, 10.0);
        assert_eq!(mean.until(0.0), Some(10.0));
        mean.set(90.0, 20.0);
        assert_eq!(mean.until(100.0), Some(11.0));
        // Nothing holds for a while.
        mean.end(100.0);
        assert_eq!(mean.until(1e6), Some(11.0));
        mean.set(1000.0, 2.0);
        assert_eq!(mean.until(1100.0), Some(6.5));
    }

    #[test]
    fn quantiles_are_right_to_half_a_per_cent_from_microseconds_to_days() {
        for unit in [1e-3, 1.0, 1e5] {
            let mut histogram = Histogram::default();
            for value in (1..=1001u32).rev() {
                histogram.add(f64::from(value) * unit);
            }
            for (share, exact) in [(0.0, 1.0), (0.05, 51.0), (0.5, 501.0), (0.95, 951.0)] {
                let found = histogram.quantile(share).expect("there are values") / unit;
                assert!((found / exact - 1.0).abs() <= 0.005, "{unit}: {found}");
            }
            assert_eq!(histogram.quantile(1.0), Some(1001.0 * unit));
            assert_eq!(histogram.least(), Some(unit));
        }
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn values_beyond_all_classes_are_counted_at_their_ends() {
        let mut histogram = Histogram::default();
        for value in [-1.0, 0.0, 1e300, f64::MAX] {
            histogram.add(value);
        }
        assert_eq!(histogram.count(), 4);
        assert_eq!(histogram.least(), Some(-1.0));
        assert!(histogram.quantile(1.0).is_some_and(|value| value > 1e8));
    }
}
