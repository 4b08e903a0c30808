//! The Residual Capacity Estimator (RCE 3, Table 3.1): bits acknowledged, divided by the time that
//! was not spent waiting for the window.
//!
//! Time is cut into packet slots of one retransmission timeout. The acknowledgements of the packets
//! of one make an acknowledgement slot:
//!
//! ```text
//! waiting  = sum of (gap - mean gap) over the gaps above the mean
//! sample   = bits acked / (slot time - waiting)
//! estimate = (sample + estimate) / 2
//! ```
//!
//! It reads the capacity of the bottleneck less the part that evenly spread traffic takes. It
//! needs no acknowledgement to belong to a single packet. For this reason it can take the place of
//! [`super::DispersionCapacity`].

use crate::units::{Bandwidth, Bytes, Timestamp, single};
use std::time::Duration;

/// The largest number of gaps in an acknowledgement slot. A slot that would have more ends early,
/// which also makes it one sample.
const MOST_GAPS: usize = 1024;

/// The fewest gaps in a slot. A mean of fewer gaps says nothing.
const FEWEST_GAPS: usize = 4;

/// Follows the residual capacity, in IP-layer bits per second.
#[derive(Debug)]
pub struct ResidualCapacity {
    /// When the packets of this slot end; `None` before the first slot.
    packets_until: Option<Timestamp>,
    slot_start: Timestamp,
    last_ack: Timestamp,
    /// The gaps of this slot in seconds. The first one counts from the slot's beginning.
    gaps: Vec<f32>,
    acked: Bytes,
    estimate: Option<Bandwidth>,
}

impl Default for ResidualCapacity {
    fn default() -> Self {
        Self {
            packets_until: None,
            slot_start: Timestamp::ZERO,
            last_ack: Timestamp::ZERO,
            gaps: Vec::new(),
            acked: Bytes::ZERO,
            estimate: None,
        }
    }
}

impl ResidualCapacity {
    /// Makes room once and for all: an acknowledgement must not allocate.
    pub(crate) fn reserve(&mut self) {
        self.gaps.reserve_exact(MOST_GAPS);
    }

    /// The estimate, once there is one.
    pub fn get(&self) -> Option<Bandwidth> {
        self.estimate
    }

    /// An acknowledgement of `size` bytes on the wire came at `now`. The newest of its packets
    /// left at `newest_sent`. `timeout` computes the retransmission timeout. Returns the new
    /// estimate at the end of a slot.
    #[inline]
    pub fn on_ack(
        &mut self,
        now: Timestamp,
        newest_sent: Timestamp,
        size: Bytes,
        timeout: impl FnOnce() -> Duration,
    ) -> Option<Bandwidth> {
        let Some(until) = self.packets_until else {
            self.begin(now, newest_sent + timeout());
            return None;
        };
        let mut updated = None;
        if newest_sent >= until || self.gaps.len() == MOST_GAPS {
            updated = self.end();
            // The slot began with the last acknowledgement of the one before.
            self.begin(self.last_ack, newest_sent + timeout());
        }
        let gap = now.nanos_since(self.last_ack);
        self.gaps.push(single(gap.as_secs_f64()));
        self.acked += size;
        self.last_ack = self.last_ack.max(now);
        updated
    }

    fn begin(&mut self, start: Timestamp, packets_until: Timestamp) {
        self.packets_until = Some(packets_until);
        self.slot_start = start;
        self.last_ack = start;
        self.gaps.clear();
        self.acked = Bytes::ZERO;
    }

    fn end(&mut self) -> Option<Bandwidth> {
        if self.gaps.len() < FEWEST_GAPS {
            return None;
        }
        let slot = self.last_ack.saturating_since(self.slot_start);
        let sample = sample(self.acked, slot, &self.gaps)?;
        let estimate = self.estimate.map_or(sample, |estimate| {
            Bandwidth::from_bps(estimate.as_bps().midpoint(sample.as_bps()))
        });
        self.estimate = Some(estimate);
        Some(estimate)
    }
}

/// Cap_sample of Table 3.1, the sample of a slot in bits per second. `None` if the whole slot was
/// waiting.
fn sample(acked: Bytes, slot: Duration, gaps: &[f32]) -> Option<Bandwidth> {
    let slot = slot.as_secs_f64();
    let mean = slot / gaps.len().max(1) as f64;
    let above = |gap: &f32| (f64::from(*gap) - mean).max(0.0);
    let waiting: f64 = gaps.iter().map(above).sum();
    (slot > waiting).then(|| Bandwidth::from_bps_f64(acked.as_bits_f64() / (slot - waiting)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(100);

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_micros(micros))
    }

    #[test]
    fn a_sample_by_hand() {
        // Gaps 1, 1, 1, 5 ms: mean 2, waiting 5 - 2 = 3. 4 * 1250 bytes = 40 kbit over 8 - 3 = 5
        // ms.
        let gaps = [0.001, 0.001, 0.001, 0.005];
        let rate = sample(Bytes::new(5000), Duration::from_millis(8), &gaps);
        assert_eq!(rate, Some(Bandwidth::from_mbps(8)));
        assert_eq!(sample(Bytes::new(5000), Duration::ZERO, &[0.0; 4]), None);
    }

    /// Round trips of 50 ms: `burst` acknowledgements of 1250 bytes, `gap_us` apart, and silence
    /// until the next round trip. Packets left 50 ms before.
    fn rounds(rce: &mut ResidualCapacity, first: u64, count: u64, burst: u64, gap_us: u64) -> u64 {
        let mut updates = 0;
        for round in first..first + count {
            for index in 0..burst {
                let now = 1_000_000 + round * 50_000 + index * gap_us;
                let sent = at(now - 50_000);
                updates += u64::from(
                    rce.on_ack(at(now), sent, Bytes::new(1250), || TIMEOUT)
                        .is_some(),
                );
            }
        }
        updates
    }

    #[test]
    fn an_even_flow_that_fills_the_link_reads_the_capacity() {
        // 50 packets of 1 ms in 50 ms: 10 Mbit/s throughout.
        let mut rce = ResidualCapacity::default();
        let updates = rounds(&mut rce, 0, 40, 50, 1000);
        assert!(
            (15..=20).contains(&updates),
            "2 s in slots of 100 ms: {updates}"
        );
        assert_eq!(rce.get(), Some(Bandwidth::from_mbps(10)));
    }

    #[test]
    fn waiting_for_the_window_is_left_out() {
        // 25 packets 1 ms apart, 26 ms of silence. Mean gap 2 ms; per round trip the waiting is
        // 26 - 2 = 24 ms: 250 kbit over 26 ms = 9.6 Mbit/s, where the throughput is 5.
        let mut rce = ResidualCapacity::default();
        rounds(&mut rce, 0, 40, 25, 1000);
        let estimate = rce.get().expect("2 s").as_bps_f64() / 1e6;
        assert!((estimate - 9.6).abs() < 0.2, "{estimate}");
    }

    #[test]
    fn a_new_capacity_is_half_learnt_with_each_slot() {
        let mut rce = ResidualCapacity::default();
        rounds(&mut rce, 0, 40, 50, 1000);
        // Twice the capacity for a second: ten slots leave a thousandth of the difference.
        rounds(&mut rce, 40, 22, 100, 500);
        let estimate = rce.get().expect("3 s").as_bps_f64() / 1e6;
        assert!((estimate - 20.0).abs() < 0.2, "{estimate}");
    }

    #[test]
    fn times_that_stand_still_and_huge_sizes_are_no_trouble() {
        let mut rce = ResidualCapacity::default();
        for _ in 0..5000 {
            let _ = rce.on_ack(at(7), at(7), Bytes::new(u64::MAX), || TIMEOUT);
        }
        assert_eq!(rce.get(), None);
    }
}
