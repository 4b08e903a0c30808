//! When packets would leave if nothing were measured: at the mean rate that the window law asks for
//! (RFC 9002, section 7.7).
//!
//! A host wakes late. What a late timer cost is made up for, in a burst that is as long as timers
//! of this host have been late, so that the mean rate survives any of them.

use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// Time that may be made up for on any host: the tick of tokio's timer.
const LEAST_CREDIT: Duration = Duration::from_millis(1);

/// And on the latest: more than that is a pause, not a late timer.
const MOST_CREDIT: Duration = Duration::from_millis(10);

/// Timers whose lateness is remembered.
const REMEMBERED: usize = 16;

/// No packet waits longer than this for the mean rate: a rate that low is no rate.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// By how much timers of this host are late.
#[derive(Debug, Default)]
pub struct Lateness {
    /// When the caller was told to ask again, until it does.
    told: Option<Timestamp>,
    /// By how much the last timers were late.
    last: [Duration; REMEMBERED],
    timers: usize,
    /// The most of them. It is asked for several times a packet.
    most: Duration,
    /// Half of them are later.
    median: Duration,
}

impl Lateness {
    /// Time that may be made up for: as much as the last timers were late.
    pub fn credit(&self) -> Duration {
        self.most.clamp(LEAST_CREDIT, MOST_CREDIT)
    }

    /// By how much a timer of this host is usually late.
    pub fn usual(&self) -> Duration {
        self.median
    }

    /// The caller asks. If it was told to ask at a time that has come, that timer has run out.
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

    /// The caller was told to ask again at `due`, or need not (`None`).
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

    /// A packet left that might have left at `since`; up to `credit` before it is made up for.
    pub fn on_sent(&mut self, since: Timestamp, credit: Duration, size: Bytes, rate: Bandwidth) {
        let from = self.due.max(since - credit);
        self.due = from + rate.time_for(size).min(MAX_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1250);

    /// 1 ms a packet.
    const RATE: Bandwidth = Bandwidth::from_mbps(10);

    fn at_micros(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    /// Packets that leave in a second on a host that wakes at multiples of `tick` alone.
    fn sent_in_a_second(tick_us: u64) -> u64 {
        let (mut budget, mut lateness) = (Budget::default(), Lateness::default());
        let mut sent = 0;
        // Far from the origin, where no credit could be had of the time before it.
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
                // The first ticks teach it how late they are.
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
        // A few late ones are made up for, and are not what is usual.
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
}
