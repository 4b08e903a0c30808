//! Acknowledgements by hand.

use super::Estimator;
use imtcp_cc::transport::{AckInfo, Acked, AckedPacket, RoundTrip, SentPacket};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// A packet of 1250 bytes is 10^4 bits: 1 ms at 10 Mbit/s.
pub const PACKET: Bytes = Bytes::new(1250);

/// The round trip that transports tell in these tests.
pub const ROUND_TRIP: Duration = Duration::from_millis(50);

pub fn us(micros: u64) -> Timestamp {
    Timestamp::from_nanos(micros * 1000)
}

/// A packet that left at a time, in microseconds.
pub fn packet(number: u64, sent_us: u64) -> AckedPacket {
    AckedPacket {
        number,
        size: PACKET,
        sent: us(sent_us),
        received: None,
    }
}

/// Feeds an acknowledgement that came at a time, in microseconds.
pub fn acknowledge(estimator: &mut dyn Estimator, now_us: u64, packets: &[AckedPacket]) {
    let info = AckInfo {
        largest: packets.last().map_or(0, |packet| packet.number),
        ack_delay: Duration::ZERO,
        rtt: RoundTrip {
            latest: ROUND_TRIP,
            min: ROUND_TRIP,
            smoothed: ROUND_TRIP,
            variation: Duration::from_micros(12_500),
        },
        bytes_in_flight: Bytes::ZERO,
    };
    estimator.on_acked(&Acked {
        now: us(now_us),
        info,
        packets,
    });
}

/// A packet leaves at a time, in microseconds.
pub fn send(estimator: &mut dyn Estimator, now_us: u64, number: u64) {
    let sent = SentPacket {
        number,
        size: PACKET,
        released: true,
        bytes_in_flight: PACKET,
    };
    estimator.on_sent(us(now_us), &sent);
}

pub fn mbps(estimate: Option<Bandwidth>) -> f64 {
    estimate.map_or(f64::NAN, |rate| rate.as_bps_f64() / 1e6)
}

/// DFT's Fig. 1, over and over: packets of 10^4 bits, four in T = 9 ms, three of them 1 ms after
/// the one before. The gaps are 1, 1, 1 and 6 ms. L / T is 1.111 Mbit/s.
pub fn packet_timing(times: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..times).flat_map(|period| {
        [0, 1, 2, 3].map(|index| (period * 4 + index, (period * 9 + index) * 1000))
    })
}
