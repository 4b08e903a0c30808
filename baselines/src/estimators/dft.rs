//! The Double Filtering Technique (DFT 3): the mean packet length over the mean gap.

use super::{Estimator, bytes_of, finite};
use imtcp_cc::transport::{Acked, SentPacket};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};

/// The pole of both filters (alpha; DFT, Fig. 6).
const ALPHA: f64 = 0.99;

/// The time constant T_0 of the adaptive filter, in seconds (DFT 3, below (5)).
const TIME_CONSTANT_S: f64 = 1.0;

/// Filters lengths and gaps apart, then the quotient by a filter whose pole depends on the gap.
///
/// ```text
/// length_k = alpha length_(k-1) + (1 - alpha) bits_k
/// gap_k    = alpha gap_(k-1)    + (1 - alpha) (now - last)
/// Bwe_k    = (1 - exp(-T_k / T_0)) length_k / gap_k + exp(-T_k / T_0) Bwe_(k-1)        (5)
/// ```
///
/// Both filters begin at zero. Their shortfall is the same, so it cancels in the quotient.
#[derive(Debug, Default)]
pub struct DoubleFilter {
    last: Option<Timestamp>,
    length_bits: f64,
    gap_s: f64,
    estimate: Option<f64>,
}

impl DoubleFilter {
    /// Bytes left, or were acknowledged.
    pub fn on_bytes(&mut self, now: Timestamp, bytes: Bytes) {
        // The length of the first packet belongs to a gap that nobody saw.
        let Some(last) = self.last else {
            self.last = Some(now);
            return;
        };
        let gap_s = now.saturating_since(last).as_secs_f64();
        self.last = Some(last.max(now));
        self.length_bits = ALPHA * self.length_bits + (1.0 - ALPHA) * bytes.as_bits_f64();
        self.gap_s = ALPHA * self.gap_s + (1.0 - ALPHA) * gap_s;
        let Some(quotient) = self.quotient() else {
            return;
        };
        let kept = libm::exp(-gap_s / TIME_CONSTANT_S);
        self.estimate = Some(match self.estimate {
            None => quotient,
            Some(before) => (1.0 - kept) * quotient + kept * before,
        });
    }

    /// The quotient of the two filters in bits per second, before the adaptive filter. `None` as
    /// long as no time has passed.
    pub fn quotient(&self) -> Option<f64> {
        (self.gap_s > 0.0).then(|| self.length_bits / self.gap_s)
    }

    /// The estimate (Bwe); `None` as long as no time has passed.
    pub fn estimate(&self) -> Option<Bandwidth> {
        self.estimate.and_then(finite)
    }
}

/// The two forms of DFT.
#[derive(Debug)]
enum Form {
    /// Lengths and gaps of the packets that leave.
    Sent,
    /// Lengths and gaps of acknowledgements.
    Acks,
}

/// Estimates the bandwidth that a connection uses.
#[derive(Debug)]
pub struct Dft {
    form: Form,
    filter: DoubleFilter,
}

impl Dft {
    /// The form on the stream of sent packets.
    pub fn of_sent_packets() -> Self {
        Self {
            form: Form::Sent,
            filter: DoubleFilter::default(),
        }
    }

    /// The form on the stream of acknowledgements.
    pub fn of_acknowledgements() -> Self {
        Self {
            form: Form::Acks,
            filter: DoubleFilter::default(),
        }
    }
}

impl Estimator for Dft {
    fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) {
        if matches!(self.form, Form::Sent) {
            self.filter.on_bytes(now, packet.size);
        }
    }

    fn on_acked(&mut self, acked: &Acked<'_>) {
        if matches!(self.form, Form::Acks) {
            self.filter.on_bytes(acked.now, bytes_of(acked));
        }
    }

    fn estimate(&self) -> Option<Bandwidth> {
        self.filter.estimate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::testing::{PACKET, acknowledge, mbps, packet, packet_timing, send, us};

    /// The rate of DFT's example, 4 L / T, in Mbit/s.
    const FOUR_L_OVER_T: f64 = 40.0 / 9.0;

    #[test]
    fn dfts_packet_timing_reads_four_l_over_t_in_both_forms() {
        let mut sent = Dft::of_sent_packets();
        let mut acks = Dft::of_acknowledgements();
        for (number, at) in packet_timing(2000) {
            send(&mut sent, at, number);
            acknowledge(&mut acks, at + 50_000, &[packet(number, at)]);
            // After 9 s the adaptive filter has forgotten the first gap.
            if number < 4000 {
                continue;
            }
            for dft in [&sent, &acks] {
                let reading = mbps(dft.estimate()) / FOUR_L_OVER_T;
                assert!((reading - 1.0).abs() < 0.01, "{number}: {reading}");
            }
        }
    }

    #[test]
    fn without_the_adaptive_filter_a_pole_of_a_hundredth_swings_by_two_per_cent() {
        let mut filter = DoubleFilter::default();
        let mut swing: f64 = 0.0;
        for (number, at) in packet_timing(500) {
            filter.on_bytes(us(at), PACKET);
            if number > 1000 {
                let quotient = filter.quotient().expect("time has passed") / 1e6;
                swing = swing.max((quotient / FOUR_L_OVER_T - 1.0).abs());
            }
        }
        // A gap of 6 ms among a mean of 2.25 moves the filter by (6 - 2.25) / 100 / 2.25 = 1.7 %.
        assert!((0.005..0.017).contains(&swing), "{swing}");
    }

    #[test]
    fn the_filters_by_hand() {
        // Two gaps, of 1 ms and 3 ms: lengths 0.99 L + L, gaps 0.99 + 3 ms.
        let mut filter = DoubleFilter::default();
        for at in [0, 1000, 4000] {
            filter.on_bytes(us(at), PACKET);
        }
        let quotient = filter.quotient().expect("4 ms have passed");
        assert!((quotient - 1e4 * 1.99 / 3.99e-3).abs() < 1.0, "{quotient}");
        // (5): the first quotient is 10 Mbit/s, and 3 ms keep exp(-0.003) of it.
        let kept = libm::exp(-0.003);
        let expected = (1.0 - kept) * quotient / 1e6 + kept * 10.0;
        assert!((mbps(filter.estimate()) - expected).abs() < 1e-6);
    }

    #[test]
    fn a_step_is_followed_within_the_time_constant() {
        let mut filter = DoubleFilter::default();
        let mut now = 0;
        for gap in std::iter::repeat_n(1000, 5000).chain(std::iter::repeat_n(2000, 500)) {
            now += gap;
            filter.on_bytes(us(now), PACKET);
        }
        // A second at half the rate leaves exp(-1) of the difference, and a little of the filters'.
        let estimate = mbps(filter.estimate());
        assert!((6.5..7.5).contains(&estimate), "{estimate}");
    }
}
