//! Packet pairs: the differences that trends and arrival rates are made of.

use super::record::PacketRecord;
use crate::path::ack::EchoCadence;
use crate::units::{Bandwidth, Bytes, TimeDelta};

/// Two times that differ by no more than this may be equal: a pair has four times, and each is
/// rounded to whole nanoseconds by up to half of one.
pub const ROUNDING: TimeDelta = TimeDelta::from_nanos(2);

/// Two packets of a stream whose echoes both carry their own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The gap between the departures in nanoseconds, S_j - S_(j-1).
    pub send_gap: TimeDelta,
    /// The gap between the echoes in nanoseconds, R_j - R_(j-1); negative if the echoes changed
    /// places.
    pub echo_gap: TimeDelta,
    /// The bytes that left in the send gap (M): the second packet, and with
    /// [`EchoCadence::EverySecond`] also the packet between.
    pub size: Bytes,
}

impl Pair {
    /// The rise of the delay in nanoseconds, D_j - D_(j-1) of IM 3.2.3. A rise that rounding could
    /// have made counts as zero.
    pub fn delay_rise(&self) -> TimeDelta {
        let rise = self.echo_gap - self.send_gap;
        if rise.abs() <= ROUNDING.abs() {
            TimeDelta::ZERO
        } else {
            rise
        }
    }

    /// The send rate, M / (S_j - S_(j-1)) of IM 3.2.5. `None` if the packets did not leave one
    /// after the other.
    pub fn send_rate(&self) -> Option<Bandwidth> {
        Bandwidth::from_bytes_over(self.size, self.send_gap.to_duration()?)
    }

    /// The arrival rate, M / (R_j - R_(j-1)) of IM 3.2.5. `None` if the echoes came together or
    /// changed places.
    pub fn arrival_rate(&self) -> Option<Bandwidth> {
        Bandwidth::from_bytes_over(self.size, self.echo_gap.to_duration()?)
    }
}

/// The pairs of a stream, in order. A pair is left out if the time of either echo is not its own,
/// or if a packet between was lost.
///
/// For [`EchoCadence::EverySecond`] the paper takes the even packets. In fact the packets
/// outstanding before the stream decide which half is acknowledged. So the half with more times is
/// taken, and the even half if both have as many.
pub fn pairs(packets: &[PacketRecord], cadence: EchoCadence) -> impl Iterator<Item = Pair> + '_ {
    let step = cadence.step();
    (first(packets, cadence)..packets.len().saturating_sub(step))
        .step_by(step)
        .filter_map(move |at| pair(&packets[at..=at + step]))
}

/// How many pairs a stream of `packets` packets has if no echo is missing.
pub const fn most_pairs(packets: usize, cadence: EchoCadence) -> usize {
    packets.saturating_sub(1) / cadence.step()
}

fn first(packets: &[PacketRecord], cadence: EchoCadence) -> usize {
    let timed = |start: usize| {
        packets
            .iter()
            .skip(start)
            .step_by(2)
            .filter(|packet| packet.timed_arrival().is_some())
            .count()
    };
    match cadence {
        EchoCadence::EveryPacket => 0,
        // Index 1 is packet 2 of the paper's count.
        EchoCadence::EverySecond => usize::from(timed(1) >= timed(0)),
    }
}

fn pair(packets: &[PacketRecord]) -> Option<Pair> {
    let [earlier, rest @ ..] = packets else {
        return None;
    };
    let later = rest.last()?;
    if rest.iter().any(PacketRecord::is_lost) {
        return None;
    }
    Some(Pair {
        send_gap: later.sent - earlier.sent,
        echo_gap: later.timed_arrival()? - earlier.timed_arrival()?,
        size: rest
            .iter()
            .fold(Bytes::ZERO, |sum, packet| sum + packet.size),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::record::Arrival;
    use crate::path::ack::EchoQuality::{self, Aggregated, Lost, Single};
    use crate::units::Timestamp;

    /// Packets of 1250 bytes, one a millisecond, each echoed 10 ms later plus `later` us.
    fn stream(echoes: &[(EchoQuality, u64)]) -> Vec<PacketRecord> {
        (0..)
            .zip(echoes)
            .map(|(number, &(quality, later))| {
                let sent = number * 1_000_000;
                PacketRecord {
                    echo: Some(Arrival {
                        at: Timestamp::from_nanos(sent + 10_000_000 + later * 1_000),
                        quality,
                    }),
                    ..PacketRecord::sent(number, Bytes::new(1250), Timestamp::from_nanos(sent))
                }
            })
            .collect()
    }

    #[test]
    fn a_pair_knows_its_rates_and_its_rise() {
        let packets = stream(&[(Single, 0), (Single, 1000)]);
        let all: Vec<Pair> = pairs(&packets, EchoCadence::EveryPacket).collect();
        // 10^4 bits in 1 ms sent, in 2 ms arrived.
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].send_rate(), Some(Bandwidth::from_mbps(10)));
        assert_eq!(all[0].arrival_rate(), Some(Bandwidth::from_mbps(5)));
        assert_eq!(all[0].delay_rise(), TimeDelta::from_nanos(1_000_000));
    }

    #[test]
    fn a_missing_time_takes_both_its_pairs_away() {
        let packets = stream(&[
            (Single, 0),
            (Single, 1),
            (Aggregated, 2),
            (Single, 3),
            (Single, 4),
        ]);
        assert_eq!(pairs(&packets, EchoCadence::EveryPacket).count(), 2);
    }

    #[test]
    fn every_second_takes_the_half_that_has_times() {
        // Odd packets 1, 3, 5 carry times: pairs (1, 3) and (3, 5), two packets in each.
        let odd = stream(&[
            (Single, 0),
            (Aggregated, 0),
            (Single, 20),
            (Aggregated, 0),
            (Single, 50),
        ]);
        let rises: Vec<i64> = pairs(&odd, EchoCadence::EverySecond)
            .map(|pair| pair.delay_rise().as_nanos())
            .collect();
        assert_eq!(rises, [20_000, 30_000]);
        let sizes: Vec<Bytes> = pairs(&odd, EchoCadence::EverySecond)
            .map(|pair| pair.size)
            .collect();
        assert_eq!(sizes, [Bytes::new(2500), Bytes::new(2500)]);
        // Even packets 2 and 4 do: the paper's D_4 - D_2.
        let even = stream(&[(Aggregated, 0), (Single, 5), (Aggregated, 0), (Single, 12)]);
        let rises: Vec<i64> = pairs(&even, EchoCadence::EverySecond)
            .map(|pair| pair.delay_rise().as_nanos())
            .collect();
        assert_eq!(rises, [7_000]);
    }

    #[test]
    fn a_pair_across_a_lost_packet_is_left_out() {
        let packets = stream(&[(Aggregated, 0), (Single, 0), (Lost, 0), (Single, 0)]);
        assert_eq!(pairs(&packets, EchoCadence::EverySecond).count(), 0);
    }

    #[test]
    fn rounding_is_no_rise() {
        let pair = |echo_gap| Pair {
            send_gap: TimeDelta::from_nanos(100),
            echo_gap: TimeDelta::from_nanos(echo_gap),
            size: Bytes::new(1250),
        };
        assert_eq!(pair(102).delay_rise(), TimeDelta::ZERO);
        assert_eq!(pair(98).delay_rise(), TimeDelta::ZERO);
        assert_eq!(pair(103).delay_rise(), TimeDelta::from_nanos(3));
    }

    #[test]
    fn no_stream_is_too_short() {
        for cadence in [EchoCadence::EveryPacket, EchoCadence::EverySecond] {
            for length in 0..3 {
                let packets = stream(&vec![(Single, 0); length]);
                let expected = most_pairs(length, cadence);
                assert!(pairs(&packets, cadence).count() <= expected);
            }
        }
    }
}
