//! The estimate while our own packets wait all the time.
//!
//! If each packet waits for longer than the time since the packet before it arrived, then the link
//! had one of our packets to serve at every moment. What it gave us in that time is all that the
//! others left. This needs no capacity, and it tells of the time in which packets arrived, which is
//! newer than the time in which they left.

use super::SYSTEMATIC_SHARE;
use super::arrivals::{Arrivals, SPAN, Span};
use crate::estimate::{Estimate, Flags};
use crate::units::{Bandwidth, Timestamp};

/// The most spans that are looked at, the fewest that make an estimate, and the fewest packets in
/// them. Slow links need more spans for so many packets.
const MOST: u64 = 40;
const FEWEST: u64 = 10;
const FEWEST_PACKETS: u32 = 16;

/// The least share of the time between arrivals in which packets of ours certainly waited.
const BUSY_SHARE: f64 = 0.95;

/// The least share of the time of which anything is known. Between are losses.
const KNOWN_SHARE: f64 = 0.8;

/// Half of the 95 % interval in standard deviations of the rates of spans. The present second is
/// half in the future, and neighbouring spans are alike.
const DEVIATIONS: f64 = 1.0;

/// What the link left us, if it was busy with our packets all the time up to the newest arrival.
/// Nothing is newer than `now`.
pub(super) fn estimate(arrivals: &Arrivals, now: Timestamp) -> Option<Estimate> {
    let mut sum = Span::default();
    let mut count = 0;
    let mut length = 0;
    for (reach, span) in arrivals.backwards().take_while(|(reach, _)| *reach <= MOST) {
        length = reach;
        count += 1;
        sum.add(span);
        if length >= FEWEST && sum.packets >= FEWEST_PACKETS {
            break;
        }
    }
    let window = SPAN * u32::try_from(length).ok()?;
    let is_long = length >= FEWEST && sum.packets >= FEWEST_PACKETS;
    let is_known = sum.arrived_s >= KNOWN_SHARE * window.as_secs_f64();
    if !is_long || !is_known || sum.waiting_s < BUSY_SHARE * sum.arrived_s {
        return None;
    }
    let rate = sum.bits / sum.arrived_s;
    let spread = DEVIATIONS * deviation(arrivals, count, rate);
    let packet = sum.bits / f64::from(sum.packets) / sum.arrived_s;
    let systematic = SYSTEMATIC_SHARE * rate;
    let half = libm::sqrt(spread * spread + packet * packet + systematic * systematic);
    Some(Estimate {
        at: arrivals.newest().min(now),
        available: Bandwidth::from_bps_f64(rate),
        low: Bandwidth::from_bps_f64(rate - half),
        high: Bandwidth::from_bps_f64(rate + half),
        window,
        flags: Flags::default(),
    })
}

/// The standard deviation of the rates of the newest `count` spans about `rate`. Each counts by its
/// time.
fn deviation(arrivals: &Arrivals, count: usize, rate: f64) -> f64 {
    let (mut squares, mut time) = (0.0, 0.0);
    let spans = arrivals.backwards().take(count);
    for (_, span) in spans.filter(|(_, span)| span.arrived_s > 0.0) {
        let off = span.bits / span.arrived_s - rate;
        squares += off * off * span.arrived_s;
        time += span.arrived_s;
    }
    if time > 0.0 {
        libm::sqrt(squares / time)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::ack::{EchoGap, EchoPoint, LinkState};
    use crate::units::Bytes;
    use std::time::Duration;

    /// Packets of 1250 bytes that arrive every `every_us`, after `waited`, for `count` packets.
    fn fed(every_us: u64, waited: Duration, count: u64) -> Arrivals {
        let mut arrivals = Arrivals::new();
        let point = |number: u64| EchoPoint {
            number,
            size: Bytes::new(1250),
            sent: Timestamp::from_nanos(number * 1000),
            arrived: Timestamp::from_nanos(number * every_us * 1000),
            came: Timestamp::from_nanos(number * every_us * 1000),
        };
        for number in 1..count {
            let gap = EchoGap {
                from: point(number - 1),
                to: point(number),
                bytes: Bytes::new(1250),
                packets: 1,
                waited: waited.into(),
                is_alone: false,
                link: LinkState::Unknown,
            };
            arrivals.on_gap(&gap, None);
        }
        arrivals
    }

    #[test]
    fn what_gets_through_a_queue_that_is_never_empty_is_what_is_left() {
        let arrivals = fed(1000, Duration::from_millis(5), 1000);
        let estimate = estimate(&arrivals, Timestamp::from_nanos(2_000_000_000)).unwrap();
        assert_eq!(estimate.available, Bandwidth::from_mbps(10));
        assert_eq!(estimate.at, Timestamp::from_nanos(999_000_000));
        assert!(
            estimate.low > Bandwidth::from_bps(9_700_000),
            "{estimate:?}"
        );
        assert!(
            estimate.window <= Duration::from_millis(550),
            "{estimate:?}"
        );
    }

    #[test]
    fn packets_that_do_not_wait_long_enough_tell_nothing() {
        let now = Timestamp::from_nanos(2_000_000_000);
        let short = fed(1000, Duration::from_micros(900), 1000);
        assert_eq!(estimate(&short, now), None);
        let few = fed(1000, Duration::from_millis(5), 300);
        assert_eq!(estimate(&few, now), None);
    }

    #[test]
    fn a_slow_link_is_looked_at_for_longer() {
        // 100 kbit/s: 16 packets take 1.6 s.
        let arrivals = fed(100_000, Duration::from_secs(1), 40);
        let now = Timestamp::from_nanos(4_000_000_000);
        let estimate = estimate(&arrivals, now).unwrap();
        assert!(
            estimate.window >= Duration::from_millis(1500),
            "{estimate:?}"
        );
        let share = estimate.available.as_bps_f64() / 1e5;
        assert!((share - 1.0).abs() < 0.01, "{estimate:?}");
    }
}
