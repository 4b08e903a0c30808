//! Cprobe (R. L. Carter, M. E. Crovella: *Measuring bottleneck link speed in packet-switched
//! networks*, Performance Evaluation 27-28, 1996), of the bursts that a connection sends anyway.

use super::Estimator;
use imtcp_cc::transport::{Acked, AckedPacket};
use imtcp_cc::units::{Bandwidth, Timestamp};
use imtcp_cc::unstable::{Arrival, EchoQuality, PacketRecord, cprobe_rate};

/// The most packets of a train: as many as RFC 9002, section 7.2, lets out at first.
const LONGEST: usize = 10;

/// The fewest packets of a train.
const SHORTEST: usize = 5;

/// The echoes of a train take at least this many times as long as its departures. Otherwise the
/// sender and not the path set the rate.
const SPREAD: u32 = 2;

/// A packet that left later than this part of a round trip after the first one is of another train.
const ROUND_TRIP_DIVISOR: u32 = 4;

/// The rate at which the echoes of the last train came, bits / dispersion. Its trains are packets
/// that happened to leave together.
///
/// The arithmetic is that of the library (`measurement/cprobe.rs`), which sends such a train itself
/// at the beginning.
#[derive(Debug, Default)]
pub struct Cprobe {
    train: Vec<PacketRecord>,
    estimate: Option<Bandwidth>,
}

impl Cprobe {
    fn add(&mut self, packet: &AckedPacket, came: Timestamp, quality: EchoQuality) {
        self.train.push(PacketRecord {
            echo: Some(Arrival { at: came, quality }),
            ..PacketRecord::sent(packet.number, packet.size, packet.sent)
        });
    }

    fn end(&mut self) {
        if self.train.len() >= SHORTEST {
            self.estimate = rate(&self.train).or(self.estimate);
        }
        self.train.clear();
    }
}

impl Estimator for Cprobe {
    fn on_acked(&mut self, acked: &Acked<'_>) {
        let newest = acked.packets.last().map(|packet| packet.number);
        for packet in acked.packets {
            let begun = self.train.first().map(|first| first.sent);
            let apart = begun.map(|begun| packet.sent.saturating_since(begun));
            let longest = acked.info.rtt.smoothed / ROUND_TRIP_DIVISOR;
            if apart.is_some_and(|apart| apart > longest) || self.train.len() >= LONGEST {
                self.end();
            }
            let quality = match newest == Some(packet.number) {
                true => EchoQuality::Single,
                false => EchoQuality::Aggregated,
            };
            self.add(packet, acked.now, quality);
        }
    }

    fn estimate(&self) -> Option<Bandwidth> {
        self.estimate
    }
}

fn rate(train: &[PacketRecord]) -> Option<Bandwidth> {
    let [first, .., last] = train else {
        return None;
    };
    let arrival = |packet: &PacketRecord| packet.echo.map(|echo| echo.at);
    let departures = (last.sent - first.sent).to_duration()?;
    let echoes = (arrival(last)? - arrival(first)?).to_duration()?;
    if departures.saturating_mul(SPREAD) > echoes {
        return None;
    }
    cprobe_rate(train)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::testing::{acknowledge, mbps, packet};

    /// Ten packets leave together, and their echoes come `gap` us apart.
    fn train(cprobe: &mut Cprobe, round: u64, gap: u64) {
        for index in 0..10 {
            let sent = packet(round * 10 + index, round * 50_000);
            let came = round * 50_000 + 20_000 + index * gap;
            acknowledge(cprobe, came, &[sent]);
        }
    }

    #[test]
    fn a_burst_spread_by_the_link_tells_its_rate() {
        let mut cprobe = Cprobe::default();
        train(&mut cprobe, 0, 1000);
        assert_eq!(cprobe.estimate(), None, "the train may go on");
        train(&mut cprobe, 1, 2000);
        // Nine packets of 10^4 bits in 9 ms.
        assert_eq!(mbps(cprobe.estimate()), 10.0);
        train(&mut cprobe, 2, 1000);
        assert_eq!(mbps(cprobe.estimate()), 5.0);
    }

    #[test]
    fn packets_that_left_as_slowly_as_they_came_are_no_train() {
        let mut cprobe = Cprobe::default();
        for number in 0..100 {
            let sent = packet(number, number * 1000);
            acknowledge(&mut cprobe, number * 1000 + 20_000, &[sent]);
        }
        assert_eq!(cprobe.estimate(), None);
    }
}
