//! What is free on the path while a connection starts.
//!
//! The estimators average over a tenth of a second or more. In slow start the window doubles twice
//! in that time. This reading rests on few gaps instead, and may be wrong by a fifth or so. The
//! window takes it as a reason to look, and not as the truth ([`crate::control::Enough`]).

use crate::path::ack::EchoGap;
use crate::units::Bandwidth;

/// The fewest packets that make a reading of the others' traffic. Of Poisson traffic that takes two
/// fifths of the link, about as many packets pass in the same time, so the reading is off by a
/// fifth of that traffic.
const FEWEST_PACKETS: u32 = 24;

/// From this number of packets on, older gaps count half.
const MOST_PACKETS: u32 = 96;

/// Follows the others' traffic in gaps in which the link was busy.
#[derive(Debug, Default)]
pub(super) struct StartReading {
    packets: u32,
    own_bits: f64,
    sent_s: f64,
    arrived_s: f64,
}

impl StartReading {
    /// Two echoes followed each other.
    #[inline]
    pub(super) fn on_gap(&mut self, gap: &EchoGap) {
        let Some(arrived) = gap.seen_gap().filter(|_| gap.link.is_busy()) else {
            return;
        };
        if self.packets >= MOST_PACKETS {
            self.packets /= 2;
            self.own_bits /= 2.0;
            self.sent_s /= 2.0;
            self.arrived_s /= 2.0;
        }
        self.packets += gap.packets;
        self.own_bits += gap.bytes.as_bits_f64();
        self.sent_s += gap.sent_gap().as_secs_f64();
        self.arrived_s += arrived.as_secs_f64();
    }

    /// What others leave of the capacity. While the link was never busy for long, nothing speaks
    /// of others, and it is the whole capacity.
    pub(super) fn free(&self, capacity: Bandwidth) -> Bandwidth {
        if self.packets < FEWEST_PACKETS || self.sent_s <= 0.0 {
            return capacity;
        }
        // The link sent its capacity all the time. What was not ours came from others, in the time
        // in which our packets came to the link's queue.
        let others = capacity.as_bps_f64() * self.arrived_s - self.own_bits;
        let free = capacity.as_bps_f64() - (others / self.sent_s).max(0.0);
        Bandwidth::from_bps_f64(free.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::ack::{EchoPoint, LinkState};
    use crate::units::{Bytes, Timestamp};
    use std::time::Duration;

    const CAPACITY: Bandwidth = Bandwidth::from_mbps(50);

    /// A packet of 1250 bytes, which the link serves in 0.2 ms.
    fn gap(sent_us: u64, arrived_us: u64, link: LinkState) -> EchoGap {
        let point = |number, sent_us: u64, arrived_us: u64| EchoPoint {
            number,
            size: Bytes::new(1250),
            sent: Timestamp::from_nanos(sent_us * 1000),
            arrived: Timestamp::from_nanos(arrived_us * 1000),
            came: Timestamp::from_nanos(arrived_us * 1000),
        };
        EchoGap {
            from: point(0, 0, 20_000),
            to: point(1, sent_us, 20_000 + arrived_us),
            bytes: Bytes::new(1250),
            packets: 1,
            waited: Duration::ZERO.into(),
            is_alone: false,
            link,
        }
    }

    #[test]
    fn without_busy_gaps_the_whole_capacity_is_free() {
        let mut reading = StartReading::default();
        for _ in 0..1000 {
            reading.on_gap(&gap(900, 900, LinkState::Unknown));
        }
        assert_eq!(reading.free(CAPACITY), CAPACITY);
    }

    #[test]
    fn others_that_take_two_fifths_leave_three_fifths_after_24_packets() {
        // In 0.25 ms others bring 20 Mbit/s * 0.25 ms = 5000 bit, which take 0.1 ms. With our own
        // packet that is 0.3 ms.
        let mut reading = StartReading::default();
        for packet in 1..=2 * MOST_PACKETS {
            reading.on_gap(&gap(250, 300, LinkState::BusyQueued));
            let expected = if packet < FEWEST_PACKETS { 50.0 } else { 30.0 };
            let read = reading.free(CAPACITY).as_bps_f64() / 1e6;
            assert!((read - expected).abs() < 1e-6, "{packet}: {read}");
        }
    }

    #[test]
    fn a_reading_follows_what_others_do() {
        let mut reading = StartReading::default();
        for _ in 0..MOST_PACKETS {
            reading.on_gap(&gap(200, 200, LinkState::BusyRushed));
        }
        for _ in 0..4 * MOST_PACKETS {
            reading.on_gap(&gap(250, 300, LinkState::BusyQueued));
        }
        let read = reading.free(CAPACITY).as_bps_f64() / 1e6;
        assert!((30.0..32.0).contains(&read), "{read}");
    }
}
