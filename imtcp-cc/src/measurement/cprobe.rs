//! The first, rough value (IM 3.2.1): Cprobe (Carter and Crovella, Measuring Bottleneck Link
//! Speed in Packet-Switched Networks, Performance Evaluation 27-28, 1996).

use super::record::PacketRecord;
use crate::units::{Bandwidth, Bytes};

/// The rate at which the echoes of a train of back-to-back packets came in: bits / dispersion, in
/// bits per second.
///
/// The dispersion runs from the first echo that has its own time to the last. The bits are those
/// of the packets that arrived after the first one: the first packet's own bits came in before its
/// echo. `None` without two such echoes, or if they came together.
///
/// `packets` are in the order in which they left.
pub fn rate(packets: &[PacketRecord]) -> Option<Bandwidth> {
    let timed = |packet: &PacketRecord| packet.timed_arrival();
    let first = packets.iter().position(|p| timed(p).is_some())?;
    let last = packets.iter().rposition(|p| timed(p).is_some())?;
    let start = timed(&packets[first])?;
    let end = timed(&packets[last])?;
    let bits = packets[first..=last]
        .iter()
        .skip(1)
        .filter(|packet| packet.has_arrived())
        .fold(Bytes::ZERO, |sum, packet| sum + packet.size);
    Bandwidth::from_bytes_over(bits, (end - start).to_duration()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::record::Arrival;
    use crate::path::ack::EchoQuality::{self, Aggregated, Lost, Single};
    use crate::units::Timestamp;

    fn train(echoes: &[(u64, EchoQuality)]) -> Vec<PacketRecord> {
        (0..)
            .zip(echoes)
            .map(|(number, &(micros, quality))| PacketRecord {
                echo: Some(Arrival {
                    at: Timestamp::from_nanos(micros * 1_000),
                    quality,
                }),
                ..PacketRecord::sent(number, Bytes::new(1250), Timestamp::ZERO)
            })
            .collect()
    }

    #[test]
    fn five_packets_spread_over_four_gaps() {
        // 4 * 10^4 bits in 4 * 250 us: 40 Mbit/s.
        let echoes = [5000, 5250, 5500, 5750, 6000].map(|at| (at, Single));
        assert_eq!(rate(&train(&echoes)), Some(Bandwidth::from_mbps(40)));
    }

    #[test]
    fn a_packet_that_arrived_counts_and_a_lost_one_does_not() {
        let mut echoes = [5000, 5250, 5500, 5750, 6000].map(|at| (at, Single));
        echoes[1].1 = Aggregated;
        assert_eq!(rate(&train(&echoes)), Some(Bandwidth::from_mbps(40)));
        echoes[1].1 = Lost;
        assert_eq!(rate(&train(&echoes)), Some(Bandwidth::from_mbps(30)));
    }

    #[test]
    fn no_dispersion_is_no_rate() {
        assert_eq!(rate(&train(&[(5000, Single), (5000, Single)])), None);
        assert_eq!(rate(&train(&[(5001, Single), (5000, Single)])), None);
        assert_eq!(rate(&train(&[(5000, Single), (5001, Lost)])), None);
        assert_eq!(rate(&[]), None);
    }
}
