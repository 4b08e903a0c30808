//! What measuring may cost a transfer, in one place and whatever an estimator believes.
//!
//! The guard knows when each packet could have left without measuring: data and window were there,
//! and so was the [`Budget`] of the mean rate. Measuring may hold a packet back from then on
//!
//! - for one `allowance` at most, and the packets behind it keep their own times: a packet that was
//!   held back does not push the next one back any further;
//! - and, while the window is the limit, only while the account of held data is not overdrawn. Data
//!   that is held back is not in flight, which costs throughput in proportion to its size, to the
//!   time that it is held back, and to the window.
//!
//! Nothing of this comes from a measurement, so no estimate can be wrong enough to stall a
//! transfer.

use super::{Budget, Lateness};
use crate::transport::Release;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// While the window limits, data held back is at most this part of what is in flight, on average.
const HELD_DIVISOR: u64 = 200;

/// The account holds at most what so many measurements cost, if each of their packets is held back
/// for one allowance.
const MOST_MEASUREMENTS: u64 = 2;

/// What was held back catches up at so many times the mean rate: all at once it would be a burst
/// that the transfer would not have without measuring, and lose what bursts lose.
const CATCH_UP: f64 = 2.0;

/// What is to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Bytes that data and window would let leave now, and the packets that they make: one that the
    /// window would cut short is none.
    pub ready: Bytes,
    /// See `ready`.
    pub packets: u32,
    /// The congestion window.
    pub window: Bytes,
    /// Whether the window is what limits them.
    pub window_limited: bool,
    /// For how long measuring may hold a packet back.
    pub allowance: Duration,
    /// The packets of one measurement, in bytes.
    pub measurement: Bytes,
}

/// How packets leave on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanRate {
    /// The rate.
    pub rate: Bandwidth,
    /// What may leave at once on any host, as time at that rate.
    pub burst: Duration,
}

/// Bounds what measuring does to the times at which packets leave.
#[derive(Debug, Default)]
pub struct Guard {
    lateness: Lateness,
    budget: Budget,
    /// Keeps what was held back from leaving all at once.
    catch_up: Budget,
    /// As the mean rate was when the last packet left: what may leave at once, and the time from
    /// packet to packet.
    burst: Duration,
    spacing: Duration,
    /// Since when the packet at the head of the queue could have left without measuring.
    since: Option<Timestamp>,
    /// More than one packet was ready at the last question.
    more: bool,
    account: Account,
}

impl Guard {
    /// Nothing sent yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// When the next packet may leave at the soonest: when the mean rate allows it, or a little
    /// later if others were held back before it. A timer that waits for less than timers of this
    /// host are usually late is not worth its wake-up: the packet leaves that much earlier instead.
    pub fn due(&self) -> Timestamp {
        self.budget.due().max(self.catch_up.due()) - self.lateness.usual()
    }

    /// Time that may be made up for after a late timer.
    pub fn credit(&self) -> Duration {
        self.lateness.credit()
    }

    /// By how much a timer of this host is usually late.
    pub fn usual_lateness(&self) -> Duration {
        self.lateness.usual()
    }

    /// Whether a measurement may begin while the window is the limit: the account has enough for
    /// the whole of it.
    pub fn may_measure(&self) -> bool {
        self.account.balance >= self.account.most / 2
    }

    /// How long a timer waits beyond the time at which the mean rate lets the next packet go. Where
    /// timers are usually late by more than the time from packet to packet they cannot space
    /// packets: each of them lets several go. So it may as well wait once more for as long as it is
    /// late, which halves the wake-ups. A whole burst at a time would save more, but a token bucket
    /// lets it pass faster than its rate: one estimate in ten was then 70 % too high.
    fn gathering(&self) -> Duration {
        if self.spacing < self.lateness.usual() {
            self.burst.min(self.lateness.usual())
        } else {
            Duration::ZERO
        }
    }

    fn may_hold(&self) -> bool {
        self.account.balance > 0
    }

    /// The caller asks whether the next packet may leave; data and window would let it.
    pub fn on_question(&mut self, now: Timestamp, held: &Held) {
        self.lateness.on_question(now);
        self.account.advance(now, held);
        self.since.get_or_insert(now.max(self.budget.due()));
        self.more = held.packets > 1;
    }

    /// Nothing could leave now, whatever measuring wants.
    pub fn on_nothing_ready(&mut self, now: Timestamp) {
        self.lateness.on_question(now);
        self.since = None;
        self.account.release();
    }

    /// What becomes of the answer that measuring wants.
    pub fn bound(&mut self, now: Timestamp, wanted: Release, held: &Held) -> Release {
        let since = self.since.unwrap_or(now);
        let overdrawn = held.window_limited && !self.may_hold();
        let allowance = if overdrawn {
            Duration::ZERO
        } else {
            held.allowance
        };
        let deadline = since + allowance;
        let answer = match wanted {
            Release::Now => Release::Now,
            _ if deadline <= now => Release::Now,
            // The mean rate holds it back, and no measurement does.
            Release::At(due) if due == self.due() => {
                Release::At(due.min(deadline) + self.gathering())
            }
            Release::At(due) => Release::At(due.min(deadline)),
            Release::Hold => Release::At(deadline),
        };
        self.account.hold(match answer {
            Release::Now => Bytes::ZERO,
            _ if since <= now => held.ready,
            _ => Bytes::ZERO,
        });
        let told = match answer {
            Release::At(due) => Some(due),
            _ => None,
        };
        self.lateness.on_answer(told);
        answer
    }

    /// A packet left that did not ask: a probe after a timeout, or frames of the transport's own.
    pub fn on_unasked(&mut self, now: Timestamp, size: Bytes, mean: MeanRate) {
        self.spend(now, now, size, mean);
    }

    /// A packet left that had been let go.
    pub fn on_sent(&mut self, now: Timestamp, size: Bytes, mean: MeanRate) {
        let since = self.since.take().unwrap_or(now).min(now);
        self.spend(since, now, size, mean);
        if self.more {
            self.since = Some(since.max(self.budget.due()));
        }
    }

    /// A packet left at `now` that might have left at `since`.
    fn spend(&mut self, since: Timestamp, now: Timestamp, size: Bytes, mean: MeanRate) {
        let MeanRate { rate, burst } = mean;
        (self.burst, self.spacing) = (burst, rate.time_for(size));
        let credit = self.credit().max(burst);
        self.budget.on_sent(since, credit, size, rate);
        self.catch_up
            .on_sent(now, credit, size, rate.scaled(CATCH_UP));
    }
}

/// What holding data back has cost of late against what it may cost, in bytes times nanoseconds.
#[derive(Debug, Default)]
struct Account {
    balance: i128,
    /// The greatest balance there may be.
    most: i128,
    held: Bytes,
    at: Timestamp,
}

impl Account {
    /// Time has passed since the last look.
    fn advance(&mut self, now: Timestamp, held: &Held) {
        let nanos = i128::from(now.as_nanos()) - i128::from(self.at.as_nanos());
        self.at = now;
        if held.window_limited {
            self.balance -= i128::from(self.held.get()) * nanos;
        }
        let income = i128::from(held.window.get() / HELD_DIVISOR);
        let allowance = i128::try_from(held.allowance.as_nanos()).unwrap_or(i128::MAX);
        let measurements = held.measurement.times(MOST_MEASUREMENTS);
        self.most = i128::from(measurements.get()).saturating_mul(allowance);
        self.balance = self
            .balance
            .saturating_add(income * nanos.max(0))
            .clamp(-self.most, self.most);
    }

    fn hold(&mut self, held: Bytes) {
        self.held = held;
    }

    fn release(&mut self) {
        self.held = Bytes::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1250);

    /// 1 ms a packet.
    const EVEN: MeanRate = MeanRate {
        rate: Bandwidth::from_mbps(10),
        burst: Duration::ZERO,
    };

    const ALLOWANCE: Duration = Duration::from_millis(10);

    fn at_ms(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    fn backlog(window_limited: bool) -> Held {
        Held {
            ready: PACKET.times(100),
            packets: 100,
            window: PACKET.times(100),
            window_limited,
            allowance: ALLOWANCE,
            measurement: PACKET.times(20),
        }
    }

    /// Sends for a second what the guard lets go while measuring wants `wanted`; the times in ms.
    fn departures(wanted: Release, held: &Held) -> Vec<u64> {
        let mut guard = Guard::new();
        let mut times = Vec::new();
        for ms in 1000..2000 {
            loop {
                guard.on_question(at_ms(ms), held);
                if guard.bound(at_ms(ms), wanted, held) != Release::Now {
                    break;
                }
                guard.on_sent(at_ms(ms), PACKET, EVEN);
                times.push(ms);
            }
        }
        times
    }

    /// Timers and packets of a second on a host whose timers are late by this much.
    fn timers_and_packets(late_ms: u64) -> (usize, usize) {
        let mean = MeanRate {
            burst: Duration::from_millis(10),
            ..EVEN
        };
        let held = backlog(false);
        let mut guard = Guard::new();
        let (mut timers, mut packets) = (0, 0);
        let mut now = at_ms(1000);
        while now < at_ms(2000) {
            guard.on_question(now, &held);
            if guard.due() <= now {
                guard.on_sent(now, PACKET, mean);
                packets += 1;
            } else if let Release::At(due) = guard.bound(now, Release::At(guard.due()), &held) {
                timers += 1;
                now = due + Duration::from_millis(late_ms);
            }
        }
        (timers, packets)
    }

    #[test]
    fn timers_that_are_late_by_packets_are_few_and_lose_none() {
        let (timers, packets) = timers_and_packets(0);
        assert!((990..=1010).contains(&timers), "{timers}");
        assert!((990..=1011).contains(&packets), "{packets}");
        // One for each packet that it is late by would be 250.
        let (timers, packets) = timers_and_packets(3);
        assert!((130..=160).contains(&timers), "{timers}");
        assert!((980..=1020).contains(&packets), "{packets}");
    }

    #[test]
    fn a_measurement_that_never_lets_go_delays_each_packet_by_the_allowance_and_no_more() {
        let times = departures(Release::Hold, &backlog(false));
        assert_eq!(times[0], 1010);
        // One a millisecond ever after, though nothing was ever let go.
        assert!((988..=992).contains(&times.len()), "{}", times.len());
        let far = Release::At(at_ms(1_000_000));
        assert_eq!(departures(far, &backlog(false)), times);
    }

    #[test]
    fn a_full_window_is_hardly_ever_held_back() {
        let times = departures(Release::Hold, &backlog(true));
        assert!(times.len() >= 985, "{}", times.len());
        let late = times
            .windows(2)
            .filter(|pair| pair[1] - pair[0] > 1)
            .count();
        assert!(late < 20, "held back {late} times");
    }

    #[test]
    fn what_was_held_back_catches_up_without_a_burst() {
        let (mut guard, held) = (Guard::new(), backlog(false));
        let mut times = Vec::new();
        for us in (1_000_000..1_030_000).step_by(100) {
            let now = Timestamp::from_nanos(us * 1000);
            loop {
                guard.on_question(now, &held);
                // Held back for 8 ms, and then as soon as may be.
                let wanted = match now.max(guard.due()).max(at_ms(1008)) {
                    due if due > now => Release::At(due),
                    _ => Release::Now,
                };
                if guard.bound(now, wanted, &held) != Release::Now {
                    break;
                }
                guard.on_sent(now, PACKET, EVEN);
                times.push(us - 1_000_000);
            }
        }
        let burst = times.iter().filter(|us| **us == 8_000).count();
        assert!(
            burst <= 3,
            "{burst} packets at once: a timer's credit, no more"
        );
        // 1 a ms from 0 on, but for the eight that were late and came after by twice that pace.
        assert!((29..=31).contains(&times.len()), "{times:?}");
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_mean_rate_stays() {
        let held = Held {
            packets: 5,
            ..backlog(false)
        };
        let mean = MeanRate {
            burst: Duration::from_millis(5),
            ..EVEN
        };
        let mut guard = Guard::new();
        let mut sent = Vec::new();
        // An application brings more than the mean rate lets go, at 7 ms each time.
        for ms in (1000..2000).step_by(7) {
            for _ in 0..10 {
                guard.on_question(at_ms(ms), &held);
                if guard.due() <= at_ms(ms) {
                    let answer = guard.bound(at_ms(ms), Release::Now, &held);
                    assert_eq!(answer, Release::Now);
                    guard.on_sent(at_ms(ms), PACKET, mean);
                    sent.push(ms);
                }
            }
        }
        let together = |at: u64| sent.iter().filter(|ms| **ms == at).count();
        assert!((5..=8).contains(&together(1350)), "{}", together(1350));
        assert!((690..=1010).contains(&sent.len()), "{}", sent.len());
    }

    #[test]
    fn what_was_held_back_does_not_push_the_next_back() {
        let mut guard = Guard::new();
        let held = backlog(false);
        guard.on_question(at_ms(1000), &held);
        let answer = guard.bound(at_ms(1000), Release::At(at_ms(1006)), &held);
        assert_eq!(answer, Release::At(at_ms(1006)));
        guard.on_question(at_ms(1006), &held);
        assert_eq!(guard.bound(at_ms(1006), Release::Now, &held), Release::Now);
        guard.on_sent(at_ms(1006), PACKET, EVEN);
        // It might have left at 1000, and the next one no later than a packet's time after it.
        guard.on_question(at_ms(1006), &held);
        let answer = guard.bound(at_ms(1006), Release::Hold, &held);
        assert_eq!(answer, Release::At(at_ms(1010)));
    }
}
