//! The Residual Capacity Estimator (RCE 3, Table 3.1). The library itself uses it, and this is
//! that one, as an observer.

use super::{Estimator, bytes_of};
use imtcp_cc::transport::Acked;
use imtcp_cc::units::Bandwidth;
use imtcp_cc::unstable::ResidualCapacity;

/// Follows the capacity of the bottleneck, less what evenly spread traffic takes of it.
///
/// ```text
/// waiting  = sum of (gap - mean gap) over the gaps above the mean
/// sample   = bits acked / (slot time - waiting)
/// estimate = (sample + estimate) / 2
/// ```
///
/// A slot is one retransmission timeout, srtt + 4 rttvar (RFC 6298 without its least value).
#[derive(Debug, Default)]
pub struct Rce(ResidualCapacity);

impl Estimator for Rce {
    fn on_acked(&mut self, acked: &Acked<'_>) {
        let Some(newest) = acked.packets.iter().map(|packet| packet.sent).max() else {
            return;
        };
        let rtt = &acked.info.rtt;
        let timeout = || rtt.smoothed.saturating_add(rtt.variation.saturating_mul(4));
        let _ = self.0.on_ack(acked.now, newest, bytes_of(acked), timeout);
    }

    fn estimate(&self) -> Option<Bandwidth> {
        self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::testing::{acknowledge, mbps, packet};

    /// Slots of 100 ms: smoothed 50 ms and four times 12.5 ms. In each round trip of 50 ms packets
    /// come back after gaps of 1, 1, 1 and 47 ms, in which the window let nothing out.
    fn waiting_for_the_window(rounds: u64) -> Rce {
        let mut rce = Rce::default();
        for round in 0..rounds {
            for index in 0..4 {
                let now = 1_000_000 + round * 50_000 + index * 1000;
                let sent = packet(round * 4 + index, now - 50_000);
                acknowledge(&mut rce, now, &[sent]);
            }
        }
        rce
    }

    #[test]
    fn the_table_by_hand() {
        // Each slot has eight gaps, (1, 1, 1, 47) ms twice: mean 12.5 ms, waiting 2 * 34.5 = 69 of
        // 100 ms. 8 packets of 10^4 bits over 31 ms are 2.581 Mbit/s, where the use is 0.8.
        let estimate = mbps(waiting_for_the_window(40).estimate());
        assert!((estimate - 80.0 / 31.0).abs() < 0.01, "{estimate}");
    }

    #[test]
    fn each_slot_counts_half() {
        // A full link of 10 Mbit/s, then one of 20: after four slots of 100 ms a sixteenth of the
        // difference is missing, and none before the first whole slot.
        let mut rce = Rce::default();
        let mut number = 0;
        let mut run = |rce: &mut Rce, from_us: u64, until_us: u64, gap_us: u64| {
            let mut now = from_us;
            while now < until_us {
                acknowledge(rce, now, &[packet(number, now - 50_000)]);
                number += 1;
                now += gap_us;
            }
        };
        run(&mut rce, 1_000_000, 2_000_000, 1000);
        assert_eq!(mbps(rce.estimate()), 10.0);
        run(&mut rce, 2_000_000, 2_560_000, 500);
        let estimate = mbps(rce.estimate());
        assert!((19.0..20.0).contains(&estimate), "{estimate}");
    }
}
