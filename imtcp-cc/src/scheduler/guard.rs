//! Bounds what measuring may cost a transfer, whatever the estimators say.
//!
//! The guard knows the time at which each packet could have left without measuring. At that time
//! data and window allow the packet, and the [`Budget`] of the mean rate does too. Two rules say
//! for how long measuring may hold the packet back after that time:
//!
//! - The packet waits for one `allowance` at most. The packets behind it keep their own times, so
//!   one delay never adds to the next.
//! - While the window limits the transfer, or data comes because older data was acknowledged, a
//!   packet may wait only if the account of held data is not overdrawn. Held data is not in flight.
//!   It costs throughput in proportion to its size and to the time that it is held, divided by all
//!   that is under way.
//!
//! Neither rule uses a measurement. So no estimate, however wrong, can stall a transfer.

use super::closed_loop::ClosedLoop;
use super::{Budget, Lateness};
use crate::transport::Release;
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};
use std::time::Duration;

/// Where holding data back costs throughput, the data held back is on average at most what is under
/// way divided by this number.
const HELD_DIVISOR: u64 = 200;

/// The largest balance of the account, in measurements. A measurement costs its bytes times one
/// allowance.
const MOST_MEASUREMENTS: u64 = 2;

/// Packets that were held back catch up at this multiple of the mean rate. If they all left at
/// once, the burst could overflow a queue, and without measuring there would be no such burst.
const CATCH_UP: f64 = 2.0;

/// What waits to leave, and for how long measuring may hold it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The bytes of UDP payload that data and window would let leave now.
    pub ready: Bytes,
    /// The number of packets that these bytes fill. A packet that the window would cut short does
    /// not count.
    pub packets: u32,
    /// What is in flight or waits to leave, in bytes of UDP payload.
    pub under_way: Bytes,
    /// Whether the window limits the transfer.
    pub window_limited: bool,
    /// The longest time for which measuring may hold a packet back.
    pub allowance: Duration,
    /// The size of all packets of one measurement, in bytes of UDP payload.
    pub measurement: Bytes,
}

/// The average rate at which packets leave, and the bursts that it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanRate {
    /// The average rate, in bits of UDP payload per second.
    pub rate: Bandwidth,
    /// The largest burst that may leave at once on any host, as the time that it takes at `rate`.
    pub burst: Duration,
    /// The largest burst that the queue of the path holds, as the time that it takes at `rate`.
    /// `None` if that is not known, or if packets do not come to a full window.
    pub room: Option<Duration>,
}

/// Bounds what measuring does to the times at which packets leave.
#[derive(Debug, Default)]
pub struct Guard {
    lateness: Lateness,
    budget: Budget,
    /// Spaces the packets that were held back, so that they do not leave all at once.
    catch_up: Budget,
    /// The largest burst, as [`MeanRate::burst`] was when the last packet left.
    burst: Duration,
    /// The time from packet to packet at the mean rate, as it was when the last packet left.
    spacing: Duration,
    /// The time at which the packet at the head of the queue could have left without measuring.
    since: Option<Timestamp>,
    /// Whether more than one packet was ready at the last question.
    more: bool,
    closed_loop: ClosedLoop,
    account: Account,
}

impl Guard {
    /// A guard of a path on which nothing was sent yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The earliest time at which the next packet may leave: when the mean rate allows it, or a
    /// little later if packets before it were held back. The packet may leave earlier by the usual
    /// lateness of this host's timers. A timer for a shorter wait would not be worth its wake-up.
    pub fn due(&self) -> Timestamp {
        self.budget.due().max(self.catch_up.due()) - self.lateness.usual()
    }

    /// The largest delay that packets may catch up after a late timer.
    pub fn credit(&self) -> Duration {
        self.lateness.credit()
    }

    /// By how much a timer of this host is usually late.
    pub fn usual_lateness(&self) -> Duration {
        self.lateness.usual()
    }

    /// Whether a measurement may begin. Where holding data back costs throughput, the account must
    /// hold enough for the whole measurement.
    pub fn may_measure(&self, window_limited: bool) -> bool {
        !self.costs(window_limited) || self.account.balance >= self.account.most / 2
    }

    /// Whether holding data back costs throughput, and not only the time of that data.
    #[inline]
    fn costs(&self, window_limited: bool) -> bool {
        window_limited || self.closed_loop.is_closed()
    }

    /// An acknowledgement came.
    #[inline]
    pub fn on_ack(&mut self, now: Timestamp) {
        self.closed_loop.on_ack(now);
    }

    /// How much longer a timer waits after the mean rate allows the next packet.
    ///
    /// If the usual lateness of timers exceeds the time from packet to packet, timers cannot space
    /// packets, and several packets leave per timer. Then each timer waits longer by the usual
    /// lateness, which halves the number of wake-ups. A timer for a whole burst would save more.
    /// But a token bucket lets such a burst pass faster than its rate, and one estimate in ten was
    /// then 70 % too high.
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

    /// The caller asks whether the next packet may leave. Data and window allow it.
    #[inline]
    pub fn on_question(&mut self, now: Timestamp, held: &Held) {
        self.lateness.on_question(now);
        if self.since.is_none() {
            self.closed_loop.on_ready(now, held.ready);
            self.since = Some(now.max(self.budget.due()));
        }
        self.account
            .advance(now, held, self.costs(held.window_limited));
        self.more = held.packets > 1;
    }

    /// Data or window let no packet leave now, even without measuring.
    pub fn on_nothing_ready(&mut self, now: Timestamp) {
        self.lateness.on_question(now);
        self.on_drained();
    }

    /// Nothing waits any more. What did has left unasked, or its stream was reset, or it takes
    /// another path. So no timer is set for it, and what comes later makes up for none of it.
    pub fn on_drained(&mut self) {
        self.lateness.on_answer(None);
        self.since = None;
        self.account.release();
    }

    /// The answer that measuring wants, cut down to what the guard allows.
    #[inline]
    pub fn bound(&mut self, now: Timestamp, wanted: Release, held: &Held) -> Release {
        let since = self.since.unwrap_or(now);
        let overdrawn = self.costs(held.window_limited) && !self.may_hold();
        let allowance = if overdrawn {
            Duration::ZERO
        } else {
            held.allowance
        };
        let deadline = since + allowance;
        let answer = match wanted {
            Release::Now => Release::Now,
            _ if deadline <= now => Release::Now,
            // The mean rate holds the packet back. No measurement does.
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

    /// A packet left without a question: a probe after a timeout, or frames of the transport's own.
    pub fn on_unasked(&mut self, now: Timestamp, size: Bytes, mean: MeanRate) {
        self.spend(now, now, size, mean);
    }

    /// A packet left that had been released.
    #[inline]
    pub fn on_sent(&mut self, now: Timestamp, size: Bytes, mean: MeanRate) {
        let since = self.since.take().unwrap_or(now).min(now);
        self.spend(since, now, size, mean);
        if self.more {
            self.since = Some(since.max(self.budget.due()));
        }
    }

    /// A packet left at `now` that could have left at `since` without measuring.
    #[inline]
    fn spend(&mut self, since: Timestamp, now: Timestamp, size: Bytes, mean: MeanRate) {
        let MeanRate { rate, burst, .. } = mean;
        (self.burst, self.spacing) = (burst, rate.time_for(size));
        let late = self.credit().max(burst);
        let credit = late.min(mean.room.unwrap_or(late));
        self.budget.on_sent(since, credit, size, rate);
        // It counts from the time at which the packet left, so late timers need all their credit.
        self.catch_up
            .on_sent(now, late, size, rate.scaled(CATCH_UP));
    }
}

/// The account of held data, in bytes times nanoseconds. Time pays in, and holding data back where
/// that costs throughput pays out.
#[derive(Debug, Default)]
struct Account {
    balance: i128,
    /// The largest balance that is allowed. The least one is its negative.
    most: i128,
    /// The bytes that are held back now.
    held: Bytes,
    at: Timestamp,
}

impl Account {
    /// Books the time since the last call.
    #[inline]
    fn advance(&mut self, now: Timestamp, held: &Held, costs: bool) {
        let nanos = i128::from(now.as_nanos()) - i128::from(self.at.as_nanos());
        self.at = now;
        if costs {
            self.balance -= i128::from(self.held.get()) * nanos;
        }
        let income = i128::from(held.under_way.get() / HELD_DIVISOR);
        let allowance = u128::from(Nanos::from(held.allowance).get());
        let measurements = u128::from(held.measurement.times(MOST_MEASUREMENTS).get());
        self.most = i128::try_from(measurements * allowance).unwrap_or(i128::MAX);
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
mod tests;
