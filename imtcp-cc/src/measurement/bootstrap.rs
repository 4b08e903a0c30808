//! The first rough value: the packets that leave before anything is known are a Cprobe train
//! (IM 3.2.1).

use super::cprobe;
use super::record::{Arrival, PacketRecord};
use crate::path::ack::Echo;
use crate::units::{Bandwidth, Bytes, Timestamp};

/// The longest train: as many packets as RFC 9002, section 7.2, lets out at first.
const LONGEST_TRAIN: usize = 10;

/// The fewest echoes that make a train.
const FEWEST_ECHOES: usize = 3;

/// Follows the first flight of packets, which leaves back to back.
#[derive(Debug)]
pub struct Bootstrap {
    train: Vec<PacketRecord>,
    closed: bool,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            train: Vec::with_capacity(LONGEST_TRAIN),
            closed: false,
        }
    }
}

impl Bootstrap {
    /// A packet with application data left. The packets that leave before the first echo make the
    /// train.
    pub fn on_sent(&mut self, number: u64, size: Bytes, now: Timestamp) {
        if !self.closed && self.train.len() < LONGEST_TRAIN {
            self.train.push(PacketRecord::sent(number, size, now));
        }
    }

    /// An echo came. Returns the train's rate once the whole train is back.
    pub fn on_echo(&mut self, echo: &Echo) -> Option<Bandwidth> {
        self.closed = true;
        let last = self.train.last()?.number;
        if let Some(packet) = self
            .train
            .iter_mut()
            .find(|p| p.number == echo.packet_number)
        {
            packet.echo = Some(Arrival {
                at: echo.arrived,
                quality: echo.quality,
            });
        }
        if echo.packet_number < last {
            return None;
        }
        let echoes = self
            .train
            .iter()
            .filter(|p| p.timed_arrival().is_some())
            .count();
        let rate = cprobe::rate(&self.train).filter(|_| echoes >= FEWEST_ECHOES);
        self.train.clear();
        rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::ack::EchoQuality;

    #[test]
    fn the_first_flight_gives_the_first_rate() {
        let mut bootstrap = Bootstrap::default();
        for number in 0..5 {
            bootstrap.on_sent(number, Bytes::new(1250), Timestamp::ZERO);
        }
        let mut rate = None;
        for number in 0..5 {
            // 250 us a packet: 40 Mbit/s.
            let echo = Echo {
                packet_number: number,
                size: Bytes::new(1250),
                sent: Timestamp::ZERO,
                arrived: Timestamp::from_nanos(20_000_000 + number * 250_000),
                quality: EchoQuality::Single,
            };
            assert_eq!(rate, None);
            rate = bootstrap.on_echo(&echo);
            bootstrap.on_sent(100 + number, Bytes::new(1250), Timestamp::ZERO);
        }
        assert_eq!(rate, Some(Bandwidth::from_mbps(40)));
    }
}
