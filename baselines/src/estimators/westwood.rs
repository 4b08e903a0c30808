//! The estimator of TCP Westwood (Mascolo et al., 2001), as DFT 2 restates it.

use super::{Estimator, bytes_of, finite};
use imtcp_cc::transport::Acked;
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};

/// The pole of the filter (beta), as the paper suggests.
const BETA: f64 = 19.0 / 21.0;

/// Low-pass filters the rate of acknowledged bytes.
///
/// ```text
/// sample_k = bits acked / (now - last ack)
/// BWE_k    = beta BWE_(k-1) + (1 - beta) (sample_k + sample_(k-1)) / 2
/// ```
///
/// It reads more than the rate where gaps vary, because the mean of quotients is not the quotient
/// of means (DFT (1), (2)).
#[derive(Debug, Default)]
pub struct Westwood {
    last_ack: Option<Timestamp>,
    /// Acknowledged at the instant of the last acknowledgement: their gap is not over.
    pending: Bytes,
    /// In bits per second.
    last_sample: Option<f64>,
    estimate: f64,
}

impl Estimator for Westwood {
    fn on_acked(&mut self, acked: &Acked<'_>) {
        let Some(last) = self.last_ack else {
            self.last_ack = Some(acked.now);
            return;
        };
        self.pending += bytes_of(acked);
        let gap_s = acked.now.saturating_since(last).as_secs_f64();
        if gap_s <= 0.0 {
            return;
        }
        let sample = self.pending.as_bits_f64() / gap_s;
        self.estimate = match self.last_sample {
            // There is nothing before the first sample, so it is the estimate.
            None => sample,
            Some(before) => BETA * self.estimate + (1.0 - BETA) * (sample + before) / 2.0,
        };
        self.last_sample = Some(sample);
        self.last_ack = Some(acked.now);
        self.pending = Bytes::ZERO;
    }

    fn estimate(&self) -> Option<Bandwidth> {
        self.last_sample.and_then(|_| finite(self.estimate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::testing::{acknowledge, mbps, packet, packet_timing};

    #[test]
    fn dfts_packet_timing_reads_seven_l_over_t() {
        // Samples are L over 1, 1, 1 and 6 ms, which is 9, 9, 9 and 1.5 L / T: 7.125 on average.
        let mut westwood = Westwood::default();
        let mut readings = Vec::new();
        for (number, at) in packet_timing(200) {
            acknowledge(&mut westwood, at + 50_000, &[packet(number, at)]);
            readings.push(mbps(westwood.estimate()));
        }
        let period = &readings[readings.len() - 4..];
        let mean = period.iter().sum::<f64>() / 4.0;
        let in_l_over_t = mean / (10.0 / 9.0);
        assert!((in_l_over_t - 7.125).abs() < 1e-3, "{in_l_over_t}");
    }

    #[test]
    fn the_filter_by_hand() {
        // Gaps of 1, 1 and 2 ms: samples of 10, 10 and 5 Mbit/s, and a first acknowledgement that
        // ends no gap. 19/21 * 10 + 2/21 * 7.5 = 205/21.
        let mut westwood = Westwood::default();
        for (number, at) in [0, 1000, 2000, 4000].into_iter().enumerate() {
            acknowledge(&mut westwood, at, &[packet(number as u64, 0)]);
        }
        assert!((mbps(westwood.estimate()) - 205.0 / 21.0).abs() < 1e-5);
    }

    #[test]
    fn acknowledgements_of_one_instant_are_one() {
        let mut westwood = Westwood::default();
        for (number, at) in [0, 1000, 1000, 1000, 4000].into_iter().enumerate() {
            acknowledge(&mut westwood, at, &[packet(number as u64, 0)]);
        }
        // 10^4 bits in 1 ms, then 3 * 10^4 in 3 ms.
        assert!((mbps(westwood.estimate()) - 10.0).abs() < 1e-9);
    }
}
