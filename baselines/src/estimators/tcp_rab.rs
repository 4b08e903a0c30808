//! The estimator of TCP-Rab (X. Tang, Z. Liu, M. Zhu: *TCP-Rab: a receiver advertisement based TCP
//! protocol*, Journal of Zhejiang University Science 5(11), 2004): the receiver measures the rate
//! at which packets arrive.
//!
//! Only its abstract and what IM 2 says of it were at hand. The length of a span and the smoothing
//! are therefore of this project.

use super::{Estimator, finite};
use imtcp_cc::transport::Acked;
use imtcp_cc::units::{Bandwidth, Bytes};
use std::time::Duration;

/// What a new span counts. It is the weight of TCP's own smoothed round trip (RFC 6298, section 2).
const WEIGHT: f64 = 1.0 / 8.0;

/// The fewest packets of a span.
const FEWEST: u32 = 3;

/// The rate of arrivals by the receiver's clock, so the way back of acknowledgements adds no noise:
///
/// ```text
/// sample   = bits that arrived after the first packet of a span / time from it to the last
/// estimate = 7/8 estimate + 1/8 sample
/// ```
///
/// A span lasts a round trip. It works at a receiver ([`TcpRab::on_arrival`]), or at a sender whose
/// peer tells receive times (draft-ietf-quic-receive-ts-02). Without these times there is no
/// estimate.
#[derive(Debug, Default)]
pub struct TcpRab {
    span: Option<Span>,
    estimate: Option<f64>,
}

#[derive(Debug)]
struct Span {
    began: Duration,
    newest: Duration,
    bytes: Bytes,
    packets: u32,
}

impl TcpRab {
    /// A packet arrived at a time by the receiver's clock, whose origin does not matter.
    pub fn on_arrival(&mut self, at: Duration, size: Bytes, round_trip: Duration) {
        let Some(span) = &mut self.span else {
            self.begin(at);
            return;
        };
        if at < span.began {
            // It was overtaken by the first packet of the span, so it is of the last one.
            return;
        }
        span.newest = span.newest.max(at);
        span.bytes += size;
        span.packets = span.packets.saturating_add(1);
        let length = span.newest.saturating_sub(span.began);
        if length < round_trip || length.is_zero() || span.packets < FEWEST {
            return;
        }
        let sample = span.bytes.as_bits_f64() / length.as_secs_f64();
        let newest = span.newest;
        self.estimate = Some(match self.estimate {
            None => sample,
            Some(before) => before + WEIGHT * (sample - before),
        });
        self.begin(newest);
    }

    fn begin(&mut self, at: Duration) {
        self.span = Some(Span {
            began: at,
            newest: at,
            bytes: Bytes::ZERO,
            packets: 0,
        });
    }
}

impl Estimator for TcpRab {
    fn on_acked(&mut self, acked: &Acked<'_>) {
        for packet in acked.packets {
            if let Some(at) = packet.received {
                self.on_arrival(at, packet.size, acked.info.rtt.smoothed);
            }
        }
    }

    fn estimate(&self) -> Option<Bandwidth> {
        self.estimate.and_then(finite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::testing::{PACKET, ROUND_TRIP, acknowledge, mbps, packet};

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_rate_of_arrivals_by_hand() {
        let mut rab = TcpRab::default();
        // 51 packets 1 ms apart: 50 of them in 50 ms.
        for ms in 0..=50 {
            assert_eq!(rab.estimate(), None);
            rab.on_arrival(MS * ms, PACKET, ROUND_TRIP);
        }
        assert!((mbps(rab.estimate()) - 10.0).abs() < 1e-9);
        // Twice as fast for a round trip: an eighth of the difference.
        for half_ms in 101..=200 {
            rab.on_arrival(MS * half_ms / 2, PACKET, ROUND_TRIP);
        }
        assert!((mbps(rab.estimate()) - 11.25).abs() < 1e-9);
    }

    #[test]
    fn acknowledgements_that_come_together_are_no_trouble_and_none_without_times() {
        let mut with = TcpRab::default();
        let mut without = TcpRab::default();
        let mut waiting = Vec::new();
        for number in 0..200 {
            let mut sent = packet(number, number * 1000);
            without.on_acked_alone(number * 1000 + 50_000, sent);
            sent.received = Some(MS * u32::try_from(number).expect("small"));
            waiting.push(sent);
            // They wait on their way back, and come as one.
            if waiting.len() == 40 {
                acknowledge(&mut with, number * 1000 + 50_000, &waiting);
                waiting.clear();
            }
        }
        assert!((mbps(with.estimate()) - 10.0).abs() < 1e-9);
        assert_eq!(without.estimate(), None);
    }

    impl TcpRab {
        fn on_acked_alone(&mut self, now: u64, packet: imtcp_cc::transport::AckedPacket) {
            acknowledge(self, now, &[packet]);
        }
    }
}
