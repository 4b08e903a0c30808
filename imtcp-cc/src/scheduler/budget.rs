//! The times at which packets would leave if nothing were measured. They follow from the mean rate
//! that the window law asks for (RFC 9002, section 7.7).
//!
//! Timers of a host are late. After a late timer the delayed packets leave in a burst, so the mean
//! rate stays the same. The burst makes up for at most the lateness that timers of this host have
//! shown.

use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};
use std::time::Duration;

/// The lateness that packets may catch up on any host: the tick of tokio's timer.
const LEAST_CREDIT: Duration = Duration::from_millis(1);

/// The largest lateness that packets may catch up. A longer delay is a pause and not a late timer.
const MOST_CREDIT: Duration = Duration::from_millis(10);

/// The number of timers whose lateness is remembered.
const REMEMBERED: usize = 16;

/// The longest time that the mean rate asks for after a packet.
const MAX_PAUSE: Nanos = Nanos::from_millis(1000);

/// Measures how late the timers of this host are.
#[derive(Debug, Default)]
pub struct Lateness {
    /// The time at which the caller was told to ask again, until it asks.
    told: Option<Timestamp>,
    /// The lateness of the last timers.
    last: [Duration; REMEMBERED],
    timers: usize,
    /// The largest of them. It is kept because it is read several times per packet.
    most: Duration,
    /// The median of them.
    median: Duration,
}

impl Lateness {
    /// The lateness that packets may catch up: the largest of the last timers, within the bounds
    /// for any host.
    pub fn credit(&self) -> Duration {
        self.most.clamp(LEAST_CREDIT, MOST_CREDIT)
    }

    /// The usual lateness of a timer of this host: the median of the last timers. It is no longer
    /// than what can be caught up.
    pub fn usual(&self) -> Duration {
        self.median.min(MOST_CREDIT)
    }

    /// The caller asks whether a packet may leave. If the time has come at which it was told to
    /// ask, a timer has woken it.
    #[inline]
    pub fn on_question(&mut self, now: Timestamp) {
        let Some(told) = self.told.filter(|told| *told <= now) else {
            return;
        };
        self.told = None;
        self.last[self.timers % REMEMBERED] = now.saturating_since(told);
        self.timers = self.timers.wrapping_add(1);
        let mut sorted = self.last;
        sorted.sort_unstable();
        self.most = sorted[REMEMBERED - 1];
        self.median = sorted[REMEMBERED / 2];
    }

    /// The caller was told to ask again at `due`; `None` if it was given no time.
    pub fn on_answer(&mut self, due: Option<Timestamp>) {
        self.told = due;
    }
}

/// Spaces packets at a mean rate.
#[derive(Debug, Default)]
pub struct Budget {
    /// When the mean rate allows the next packet.
    due: Timestamp,
}

impl Budget {
    /// When the mean rate allows the next packet.
    pub fn due(&self) -> Timestamp {
        self.due
    }

    /// A packet left that could have left at `since`. The next packet is due one packet's time
    /// after this packet's own due time, or after `since - credit` if that is later. So packets
    /// catch up at most `credit`.
    #[inline]
    pub fn on_sent(&mut self, since: Timestamp, credit: Duration, size: Bytes, rate: Bandwidth) {
        let from = self.due.max(since - credit);
        self.due = from.after(rate.nanos_for(size).min(MAX_PAUSE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1250);

    /// A packet takes 1 ms at this rate.
    const RATE: Bandwidth = Bandwidth::from_mbps(10);

    fn at_micros(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    /// The number of packets that leave in a second, on a host that wakes only at multiples of
    /// `tick_us` microseconds.
    fn sent_in_a_second(tick_us: u64) -> u64 {
        let (mut budget, mut lateness) = (Budget::default(), Lateness::default());
        let mut sent = 0;
        // The run starts far from the origin, because no credit reaches back beyond the origin.
        for wake in 1..=1_000_000 / tick_us {
            let now = at_micros(1_000_000 + wake * tick_us);
            lateness.on_question(now);
            while budget.due() <= now {
                budget.on_sent(now, lateness.credit(), PACKET, RATE);
                sent += 1;
            }
            lateness.on_answer(Some(budget.due()));
        }
        sent
    }

    #[test]
    fn late_timers_do_not_slow_the_mean_rate_down() {
        for tick_us in [10, 1_000, 1_300, 4_000, 7_900] {
            let sent = sent_in_a_second(tick_us);
            assert!(
                // The lateness is learnt during the first ticks.
                (980..=1012).contains(&sent),
                "ticks of {tick_us} us: {sent} packets"
            );
        }
    }

    #[test]
    fn what_is_usual_is_what_half_of_the_timers_exceed() {
        let mut lateness = Lateness::default();
        let mut now = at_micros(1_000_000);
        let mut timers = |count: usize, late_us: u64| {
            for _ in 0..count {
                lateness.on_answer(Some(now));
                now = now + Duration::from_micros(late_us);
                lateness.on_question(now);
            }
            (lateness.usual(), lateness.credit())
        };
        let (micros, millis) = (Duration::from_micros, Duration::from_millis);
        assert_eq!(timers(16, 50), (micros(50), millis(1)));
        // A few late timers raise the credit and leave the usual lateness as it is.
        assert_eq!(timers(6, 4_000), (micros(50), millis(4)));
        assert_eq!(timers(4, 4_000), (millis(4), millis(4)));
        assert_eq!(timers(16, 20), (micros(20), millis(1)), "all is forgotten");
    }

    #[test]
    fn a_question_before_its_time_tells_nothing_of_timers() {
        let mut lateness = Lateness::default();
        for ms in 1..=40 {
            lateness.on_answer(Some(at_micros(ms * 10_000 + 9_000)));
            lateness.on_question(at_micros(ms * 10_000 + 8_000));
        }
        assert_eq!(lateness.usual(), Duration::ZERO);
    }

    #[test]
    fn a_pause_is_not_made_up_for() {
        let mut budget = Budget::default();
        budget.on_sent(at_micros(1_000_000), LEAST_CREDIT, PACKET, RATE);
        let later = at_micros(5_000_000);
        let burst = (0..100)
            .take_while(|_| {
                let passes = budget.due() <= later;
                budget.on_sent(later, LEAST_CREDIT, PACKET, RATE);
                passes
            })
            .count();
        assert_eq!(burst, 2, "one, and a millisecond's worth");
    }

    #[test]
    fn a_pause_counts_as_the_latest_timer_that_is_made_up_for() {
        let mut lateness = Lateness::default();
        for second in 1..=16 {
            // The window is full when the timer runs out, and nobody asks for half a second.
            lateness.on_answer(Some(at_micros(second * 1_000_000)));
            lateness.on_question(at_micros(second * 1_000_000 + 500_000));
        }
        assert_eq!(lateness.usual(), MOST_CREDIT);
    }
}
