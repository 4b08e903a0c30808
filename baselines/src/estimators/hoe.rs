//! The estimator of Hoe (*Improving the start-up behavior of a congestion control scheme for TCP*,
//! SIGCOMM 1996), repeated in every round trip as IM 4.2 repeats it.

use super::{Estimator, bytes_of, finite};
use imtcp_cc::transport::Acked;
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};

/// How many acknowledgements make a measurement.
const ACKNOWLEDGEMENTS: usize = 3;

/// The slope of acknowledged bits over time, by least squares through the first three
/// acknowledgements in a row of each round trip:
///
/// ```text
/// estimate = sum (t_i - mean t) (b_i - mean b) / sum (t_i - mean t)^2
/// ```
///
/// t_i is when acknowledgement i came, and b_i what was acknowledged by then.
#[derive(Debug, Default)]
pub struct Hoe {
    /// Times in seconds since the first of them, and bits by then.
    points: Vec<(f64, f64)>,
    first: Timestamp,
    acked: Bytes,
    /// When the next round trip begins.
    next: Timestamp,
    estimate: Option<Bandwidth>,
}

impl Estimator for Hoe {
    fn on_acked(&mut self, acked: &Acked<'_>) {
        if acked.now < self.next || acked.packets.is_empty() {
            return;
        }
        if self.points.is_empty() {
            self.first = acked.now;
            self.acked = Bytes::ZERO;
        } else {
            self.acked += bytes_of(acked);
        }
        let since = acked.now.saturating_since(self.first).as_secs_f64();
        self.points.push((since, self.acked.as_bits_f64()));
        if self.points.len() == ACKNOWLEDGEMENTS {
            self.estimate = slope(&self.points).and_then(finite).or(self.estimate);
            self.points.clear();
            self.next = self.first + acked.info.rtt.smoothed;
        }
    }

    fn estimate(&self) -> Option<Bandwidth> {
        self.estimate
    }
}

/// The slope of the straight line nearest to points; `None` if they are of one time.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (time, bits) = (mean(|point| point.0), mean(|point| point.1));
    let (mut covariance, mut variance) = (0.0, 0.0);
    for (t, b) in points {
        covariance += (t - time) * (b - bits);
        variance += (t - time) * (t - time);
    }
    (variance > 0.0).then(|| covariance / variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::testing::{acknowledge, mbps, packet};

    #[test]
    fn a_line_through_three_acknowledgements_by_hand() {
        // At 0, 1 and 3 ms there are 0, 10 and 20 kbit: means 4/3 ms and 10 kbit. Covariance
        // 0 * ... : (-4/3)(-10) + (-1/3)(0) + (5/3)(10) = 30; variance 16/9 + 1/9 + 25/9 = 42/9.
        let mut hoe = Hoe::default();
        for (number, at) in [0, 1000, 3000].into_iter().enumerate() {
            assert_eq!(hoe.estimate(), None);
            acknowledge(&mut hoe, at, &[packet(number as u64, 0)]);
        }
        let expected = 30.0 / (42.0 / 9.0);
        assert!((mbps(hoe.estimate()) - expected).abs() < 1e-5);
    }

    #[test]
    fn one_measurement_in_a_round_trip() {
        // The first three come at 10 Mbit/s, later ones of the same 50 ms at 100.
        let mut hoe = Hoe::default();
        for (number, at) in [0, 1000, 2000, 2100, 2200, 2300, 2400]
            .into_iter()
            .enumerate()
        {
            acknowledge(&mut hoe, at, &[packet(number as u64, 0)]);
        }
        assert!((mbps(hoe.estimate()) - 10.0).abs() < 1e-9);
        for (number, at) in [50_000, 50_500, 51_000].into_iter().enumerate() {
            acknowledge(&mut hoe, at, &[packet(10 + number as u64, 0)]);
        }
        assert!((mbps(hoe.estimate()) - 20.0).abs() < 1e-9);
    }

    #[test]
    fn three_of_one_instant_say_nothing() {
        let mut hoe = Hoe::default();
        for number in 0..3 {
            acknowledge(&mut hoe, 7, &[packet(number, 0)]);
        }
        assert_eq!(hoe.estimate(), None);
    }
}
