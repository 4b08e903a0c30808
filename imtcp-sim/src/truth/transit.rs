//! How long cross traffic took through a hop.

use crate::statistics::quantile_of_sorted;
use std::time::Duration;

/// One-way delays of the cross traffic that a hop carried.
#[derive(Clone, Debug, Default)]
pub struct Transits {
    /// Four bytes for each packet, because there are many.
    microseconds: Vec<u32>,
}

/// Mean and quantiles of one-way delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneWay {
    /// The mean.
    pub mean: Duration,
    /// The median.
    pub p50: Duration,
    /// The 95th percentile.
    pub p95: Duration,
}

impl Transits {
    /// Counts a packet. Its delay is the sum of waiting, transmission and propagation.
    pub(crate) fn record(&mut self, delay: Duration) {
        self.microseconds
            .push(u32::try_from(delay.as_micros()).unwrap_or(u32::MAX));
    }

    /// Mean and quantiles. None without any packet.
    pub fn one_way(&self) -> Option<OneWay> {
        let mut sorted = self.microseconds.clone();
        sorted.sort_unstable();
        let at = |share| {
            let value = quantile_of_sorted(&sorted, share);
            value.map(|us| Duration::from_micros(u64::from(us)))
        };
        let sum: u64 = sorted.iter().map(|us| u64::from(*us)).sum();
        Some(OneWay {
            mean: Duration::from_micros(sum.checked_div(sorted.len() as u64)?),
            p50: at(0.5)?,
            p95: at(0.95)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_quantiles() {
        let mut transits = Transits::default();
        assert_eq!(transits.one_way(), None);
        for ms in [5, 1, 2, 3, 9] {
            transits.record(Duration::from_millis(ms));
        }
        let one_way = transits.one_way().expect("five packets");
        assert_eq!(one_way.mean, Duration::from_millis(4));
        assert_eq!(one_way.p50, Duration::from_millis(3));
        assert_eq!(one_way.p95, Duration::from_millis(9));
    }
}
