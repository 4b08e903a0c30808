//! The rate that got through recently. It is the one bound of the available bandwidth that always
//! exists.
//!
//! Whatever an estimator believes, what was just delivered was available.

use crate::estimate::{Estimate, Flags};
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};
use std::time::Duration;

/// The length of a span. Deliveries are added up over spans.
const SPAN: Duration = Duration::from_millis(50);

/// The number of spans in memory: they last as long as the longest averaging window of an
/// estimate.
const SPANS: usize = 80;

/// The shortest time over which the delivered rate is averaged. It holds several frames of a video,
/// or several bursts of acknowledgements.
const SHORTEST_LOOK: Duration = Duration::from_millis(250);

/// The same in round trips. Over a shorter time, acknowledgements that were held up on their way
/// back and then came together would look like a high rate.
const LOOK_ROUND_TRIPS: u32 = 4;

/// Over a longer time than this, no rate is averaged for a lower bound. A bound from so far back
/// says nothing of the present.
const LONGEST_LOOK: Duration = Duration::from_secs(2);

/// A lower bound is of the second around the present. What came in a burst is not what will come in
/// that second, so the least rate of these times counts, as far as they are longer than the first.
const SECOND: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_millis(750),
    Duration::from_secs(1),
];

/// The share of the delivered rate that was available with a probability of 0.975. It is a fit:
/// over drawn paths of constant rate (`survey --estimates fixed`, seeds 1 to 16) the truth of the
/// second around was at least 0.90 of it in that share of the time, on the worst path.
const SURE: f64 = 0.9;

/// Adds up the bytes that acknowledgements cover, on the wire.
#[derive(Debug)]
pub struct Delivered {
    spans: [Bytes; SPANS],
    /// The span that is being filled, counted from the origin.
    present: u64,
    /// The first span with a delivery.
    first: Option<u64>,
    /// The least round trip.
    round_trip: Duration,
}

impl Default for Delivered {
    fn default() -> Self {
        Self {
            spans: [Bytes::ZERO; SPANS],
            present: 0,
            first: None,
            round_trip: Duration::ZERO,
        }
    }
}

impl Delivered {
    /// `bytes` were acknowledged. `round_trip` is the least round trip: a full queue adds to the
    /// others, and would make this bound old.
    #[inline]
    pub fn on_ack(&mut self, now: Timestamp, bytes: Bytes, round_trip: Duration) {
        self.round_trip = round_trip;
        self.advance(now);
        self.first.get_or_insert(self.present);
        self.spans[Self::slot(self.present)] += bytes;
    }

    /// Time goes on, whether or not anything is delivered.
    #[inline]
    fn advance(&mut self, now: Timestamp) {
        let span = Self::span_of(now);
        if span <= self.present {
            return;
        }
        for skipped in (self.present + 1..=span).rev().take(SPANS) {
            self.spans[Self::slot(skipped)] = Bytes::ZERO;
        }
        self.present = span;
    }

    /// The mean rate over the newest complete spans that make up `window`, over one span at least.
    /// `None` if there are not yet so many.
    pub fn over(&self, window: Duration) -> Option<Bandwidth> {
        let wanted = window.as_nanos().div_ceil(SPAN.as_nanos()).max(1);
        let count = u64::try_from(wanted)
            .unwrap_or(u64::MAX)
            .min(SPANS as u64 - 1);
        let oldest = self.present.checked_sub(count)?;
        // Deliveries began somewhere within the first span, so it is not complete.
        if self.first? >= oldest {
            return None;
        }
        let mut bytes = Bytes::ZERO;
        for span in oldest..self.present {
            bytes += self.spans[Self::slot(span)];
        }
        Bandwidth::from_bytes_over(bytes, SPAN * u32::try_from(count).unwrap_or(1))
    }

    /// The mean rate over `window`, or over a longer time if that is too short to tell a rate.
    pub fn recently(&self, window: Duration) -> Option<Bandwidth> {
        self.over(self.look(window))
    }

    /// What is said of the path by whoever knows nothing else; `None` if nothing was delivered.
    /// Where packets are rare, the mean is over a longer time.
    pub fn bound(&mut self, now: Timestamp) -> Option<Estimate> {
        self.advance(now);
        let mut window = self.look(Duration::ZERO).min(LONGEST_LOOK);
        let mut delivered = self.over(window)?;
        while delivered.is_zero() && window < LONGEST_LOOK {
            window = (window * 2).min(LONGEST_LOOK);
            delivered = self.over(window)?;
        }
        if delivered.is_zero() {
            return None;
        }
        let longer = SECOND.into_iter().filter(|look| *look > window);
        let least = longer.filter_map(|look| self.over(look)).min();
        let sure = least.map_or(delivered, |least| least.min(delivered));
        let sure = sure.scaled(SURE);
        Some(Estimate {
            at: now,
            available: sure,
            low: sure,
            high: Bandwidth::MAX,
            window,
            flags: Flags {
                lower_bound: true,
                ..Flags::default()
            },
        })
    }

    fn look(&self, window: Duration) -> Duration {
        let round_trips = self.round_trip.saturating_mul(LOOK_ROUND_TRIPS);
        window.max(round_trips).max(SHORTEST_LOOK)
    }

    fn span_of(at: Timestamp) -> u64 {
        at.as_nanos() / Nanos::of(SPAN).get()
    }

    fn slot(span: u64) -> usize {
        usize::try_from(span % SPANS as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(20);

    fn at_ms(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    /// 1250 bytes every millisecond, 10 Mbit/s, from `from` until `to`.
    fn deliver(delivered: &mut Delivered, from: u64, to: u64) {
        (from..to).for_each(|ms| delivered.on_ack(at_ms(ms), Bytes::new(1250), RTT));
    }

    #[test]
    fn the_mean_is_over_whole_spans() {
        let mut delivered = Delivered::default();
        deliver(&mut delivered, 1010, 1130);
        assert_eq!(
            delivered.over(Duration::from_millis(100)),
            None,
            "begun inside"
        );
        deliver(&mut delivered, 1130, 2010);
        for ms in [1, 50, 60, 500] {
            let rate = delivered.over(Duration::from_millis(ms));
            assert_eq!(rate, Some(Bandwidth::from_mbps(10)), "over {ms} ms");
        }
    }

    #[test]
    fn a_bound_is_a_little_less_than_what_was_delivered_and_ends_with_it() {
        let mut delivered = Delivered::default();
        assert_eq!(delivered.bound(at_ms(0)), None);
        deliver(&mut delivered, 1000, 2000);
        let bound = delivered.bound(at_ms(2000)).unwrap();
        assert_eq!(bound.low, Bandwidth::from_mbps(9));
        assert_eq!((bound.available, bound.high), (bound.low, Bandwidth::MAX));
        assert!(bound.flags.lower_bound);
        assert!(
            delivered.bound(at_ms(3900)).is_some(),
            "of the last two seconds"
        );
        assert_eq!(delivered.bound(at_ms(4100)), None, "nothing came since");
    }

    #[test]
    fn a_burst_promises_no_second() {
        let mut delivered = Delivered::default();
        // In each second 250 ms of 10 Mbit/s, and 0.1 Mbit/s in the rest.
        for ms in 1000..4250 {
            let rests = ms % 1000 >= 250;
            if !rests || ms % 100 == 0 {
                delivered.on_ack(at_ms(ms), Bytes::new(1250), RTT);
            }
        }
        let bound = delivered.bound(at_ms(4250)).unwrap();
        let second = (10.0 * 0.25 + 0.1 * 0.75) * 0.9;
        let told = bound.low.as_bps_f64() / 1e6;
        assert!((told - second).abs() < 0.1, "{told}, expected {second}");
    }

    #[test]
    fn a_pause_counts_as_time_without_deliveries() {
        let mut delivered = Delivered::default();
        deliver(&mut delivered, 1000, 2000);
        deliver(&mut delivered, 2250, 2251);
        let rate = delivered.over(Duration::from_millis(500));
        assert_eq!(rate, Some(Bandwidth::from_mbps(5)));
        deliver(&mut delivered, 60_000, 60_001);
        assert_eq!(
            delivered.over(Duration::from_secs(4)),
            Some(Bandwidth::ZERO)
        );
    }
}
