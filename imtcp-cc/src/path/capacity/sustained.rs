//! A lower bound of the capacity: the most that the path has delivered recently.
//!
//! If echoes have a time of their own ([`crate::path::ack::TimingJudge`]), no dispersion of single
//! packets can be read. The rate of delivery can be read over a time that is long against the
//! echoes' jitter. That rate is at most the capacity. It is close to the capacity whenever the flow
//! itself has pushed the others aside.

use crate::path::sliding_max::SlidingMax;
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};

/// The length of a run in jitters of the echoes. A jitter then changes a run by a sixteenth. It is
/// counted as part of the time, so that it never makes the rate too high.
const JITTERS: u32 = 16;

/// The shortest run.
const SHORTEST_RUN: Nanos = Nanos::new(20_000_000);

/// The fewest packets of a run.
const FEWEST_PACKETS: u32 = 32;

#[derive(Clone, Copy, Debug)]
struct Start {
    sent: Timestamp,
    arrived: Timestamp,
}

/// Follows the greatest rate of delivery, on the wire.
#[derive(Debug, Default)]
pub struct SustainedRate {
    start: Option<Start>,
    bytes: Bytes,
    packets: u32,
    greatest: SlidingMax<Bandwidth>,
    /// The rate of the run before the present one.
    last: Option<Bandwidth>,
}

impl SustainedRate {
    /// `packets` packets with `bytes` on the wire were acknowledged at `arrived`. The newest of
    /// them had left at `sent`.
    #[inline]
    pub fn on_delivered(
        &mut self,
        sent: Timestamp,
        arrived: Timestamp,
        bytes: Bytes,
        packets: u32,
        jitter: Nanos,
    ) {
        self.greatest.advance(arrived);
        let here = Start { sent, arrived };
        let Some(start) = self.start else {
            self.start = Some(here);
            return;
        };
        self.bytes += bytes;
        self.packets += packets;
        if self.packets < FEWEST_PACKETS {
            return;
        }
        // A way back that was blocked brings many acknowledgements at once. They still cannot show
        // more than was sent, in the time in which it was sent (as in BBR's delivery rate).
        let run = arrived
            .nanos_since(start.arrived)
            .max(sent.nanos_since(start.sent));
        if run < SHORTEST_RUN.max(jitter.times(JITTERS)) {
            return;
        }
        // If acknowledgements were held up just before a run began, that run reads too much, and
        // the next run does not. So a rate counts as sustained only if two runs have it.
        let rate = Bandwidth::from_bytes_over(self.bytes, (run + jitter).into());
        let last = std::mem::replace(&mut self.last, rate);
        if let Some(rate) = rate.zip(last).map(|(rate, last)| rate.min(last)) {
            self.greatest.observe(arrived, rate);
        }
        self.start = Some(here);
        self.bytes = Bytes::ZERO;
        self.packets = 0;
    }

    /// The greatest rate within the memory, on the wire.
    pub fn get(&self) -> Option<Bandwidth> {
        self.greatest.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(us: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_micros(us))
    }

    #[test]
    fn clumps_do_not_raise_the_rate() {
        // 1250 bytes a millisecond, 10 Mbit/s, echoed four at a time.
        let mut sustained = SustainedRate::default();
        let jitter = Nanos::new(4_000_000);
        for i in 0..1000u64 {
            let echoed = i.div_ceil(4) * 4000;
            sustained.on_delivered(at(i * 1000), at(echoed), Bytes::new(1250), 1, jitter);
        }
        let rate = sustained.get().unwrap().as_bps_f64() / 1e6;
        assert!((8.5..=10.0).contains(&rate), "{rate}");
    }

    #[test]
    fn a_way_back_that_was_blocked_does_not_either() {
        let mut sustained = SustainedRate::default();
        for i in 0..1000u64 {
            // Nothing comes back between 300 and 500 ms.
            let echoed = if (300..500).contains(&i) { 500 } else { i };
            sustained.on_delivered(
                at(i * 1000),
                at(echoed * 1000),
                Bytes::new(1250),
                1,
                Nanos::ZERO,
            );
        }
        let rate = sustained.get().unwrap().as_bps_f64() / 1e6;
        assert!((9.9..=10.1).contains(&rate), "{rate}");
    }

    #[test]
    fn nor_does_a_host_that_now_and_then_is_late() {
        let mut sustained = SustainedRate::default();
        for i in 0..10_000u64 {
            // Of every 60 ms, acknowledgements of 5 ms come at their end.
            let echoed = if i % 60 < 5 { i - i % 60 + 5 } else { i };
            let (sent, arrived) = (at(i * 1000), at(echoed * 1000));
            for _ in 0..4 {
                let bytes = Bytes::new(1250);
                sustained.on_delivered(sent, arrived, bytes, 1, Nanos::ZERO);
            }
        }
        let rate = sustained.get().unwrap().as_bps_f64() / 1e6;
        assert!((39.0..=42.0).contains(&rate), "{rate}");
    }

    #[test]
    fn a_rate_is_forgotten_after_ten_seconds() {
        let mut sustained = SustainedRate::default();
        let mut now = 0;
        for gap in [100, 1000] {
            for _ in 0..12_000_000 / gap {
                now += gap;
                sustained.on_delivered(at(now), at(now), Bytes::new(1250), 1, Nanos::ZERO);
            }
        }
        let rate = sustained.get().unwrap().as_bps_f64() / 1e6;
        assert!((9.9..=10.1).contains(&rate), "{rate}");
    }
}
