//! The packet pair (S. Keshav: *A control-theoretic approach to flow control*, SIGCOMM 1991), of
//! the packets that a connection sends anyway.

use super::Estimator;
use imtcp_cc::transport::{Acked, AckedPacket};
use imtcp_cc::units::{Bandwidth, Timestamp};
use std::collections::VecDeque;

/// Two packets are a pair if the gap between them grew by at least this factor on their way: then
/// the path and not the sender made the gap.
const GROWTH: u32 = 2;

/// The number of pairs of which the median is taken.
const PAIRS: usize = 31;

/// The size of the second packet over the gap between the acknowledgements, C = M / (R_2 - R_1),
/// for two packets that left close together.
///
/// Keshav smooths the samples. Here the median of the last 31 is taken instead: a few pairs with
/// packets of others between them, or whose acknowledgements were pressed together, do not move it.
#[derive(Debug, Default)]
pub struct PacketPair {
    last: Option<(AckedPacket, Timestamp)>,
    samples: VecDeque<Bandwidth>,
}

impl PacketPair {
    fn sample(&self, packet: &AckedPacket, now: Timestamp) -> Option<Bandwidth> {
        let (earlier, came) = self.last?;
        // quiche leaves out a number now and then.
        if !(1..=2).contains(&packet.number.checked_sub(earlier.number)?) {
            return None;
        }
        let sent = (packet.sent - earlier.sent).to_duration()?;
        let back = (now - came).to_duration()?;
        if sent.saturating_mul(GROWTH) > back {
            return None;
        }
        Bandwidth::from_bytes_over(packet.size, back)
    }
}

impl Estimator for PacketPair {
    fn on_acked(&mut self, acked: &Acked<'_>) {
        // An acknowledgement is the newest packet's own; nobody knows when the others arrived.
        let [packet] = acked.packets else {
            self.last = acked.packets.last().map(|packet| (*packet, acked.now));
            return;
        };
        if let Some(sample) = self.sample(packet, acked.now) {
            if self.samples.len() == PAIRS {
                self.samples.pop_front();
            }
            self.samples.push_back(sample);
        }
        self.last = Some((*packet, acked.now));
    }

    fn estimate(&self) -> Option<Bandwidth> {
        let mut sorted: Vec<Bandwidth> = self.samples.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::testing::{acknowledge, mbps, packet};

    #[test]
    fn the_gap_of_a_pair_is_the_links_time_for_a_packet() {
        // Two packets leave together and come back 1 ms apart: 10^4 bits in 1 ms.
        let mut pairs = PacketPair::default();
        acknowledge(&mut pairs, 50_000, &[packet(0, 0)]);
        assert_eq!(pairs.estimate(), None);
        acknowledge(&mut pairs, 51_000, &[packet(1, 10)]);
        assert_eq!(mbps(pairs.estimate()), 10.0);
    }

    #[test]
    fn packets_that_the_sender_spaced_are_no_pair() {
        let mut pairs = PacketPair::default();
        for number in 0..20 {
            acknowledge(
                &mut pairs,
                50_000 + number * 1000,
                &[packet(number, number * 900)],
            );
        }
        assert_eq!(pairs.estimate(), None);
    }

    #[test]
    fn the_median_leaves_out_the_few_with_other_packets_between() {
        let mut pairs = PacketPair::default();
        for pair in 0..40 {
            let gap = if pair % 4 == 0 { 3000 } else { 1000 };
            let (at, number) = (pair * 20_000, pair * 3);
            acknowledge(&mut pairs, 50_000 + at, &[packet(number, at)]);
            acknowledge(&mut pairs, 50_000 + at + gap, &[packet(number + 1, at)]);
        }
        assert_eq!(mbps(pairs.estimate()), 10.0);
    }

    #[test]
    fn the_time_of_several_acknowledged_together_is_that_of_the_newest() {
        let mut pairs = PacketPair::default();
        acknowledge(&mut pairs, 50_000, &[packet(0, 0), packet(1, 0)]);
        acknowledge(&mut pairs, 52_000, &[packet(2, 0)]);
        assert_eq!(mbps(pairs.estimate()), 5.0);
    }
}
