//! Policers: they drop what exceeds a rate, and queue nothing.
//!
//! Gaps show the line of a policer, and say that all of it is free. Losses say otherwise. They have
//! two marks together: packets are lost only in round trips of a high rate, as they are not by
//! chance, and what gets through in these has not waited, as it has in a queue that is full.
//!
//! When a policer drops, its bucket is empty. So from one such moment to another as much has got
//! through as it lets through in that time, unless the bucket was full in between.

use crate::chance::Sample;
use crate::estimate::{Estimate, Flags};
use crate::loss_run::LossRun;
use crate::transport::Acked;
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// The number of round trips in memory.
const ROUNDS: usize = 256;

/// The fewest packets of a round. Of fewer the rate is a matter of where the round begins.
const FEWEST_PACKETS: u32 = 8;

/// The longest time that a round counts. A bucket of megabytes takes tens of seconds to be emptied
/// by a window that grows slowly.
const KEPT: Duration = Duration::from_secs(60);

/// The fewest rounds with losses that make a policer.
const FEWEST_LOSSY: usize = 4;

/// The share of the rounds with losses in which nothing waited.
const WITHOUT_QUEUE: f64 = 0.75;

/// So long a packet may wait where there is no queue: hosts and lines are late by as much. On long
/// paths it is this part of a round trip, if a packet of [`DATAGRAM`] takes as long at the rate of
/// the policer. A queue that overflows holds at least one.
const LEAST_WAIT: Nanos = Nanos::new(1_000_000);
const WAIT_DIVISOR: u64 = 16;
const DATAGRAM: Bytes = Bytes::new(1500);

/// Rounds at less than this share of the policer's rate are slow ones, if the round before was one
/// too. A policer drops none of their packets.
const SLOW: f64 = 0.9;

/// If more than this share is lost and nothing waited, something drops packets that may be a
/// policer, and how much it lets through is not known. By chance so much is lost on few paths; BBR
/// tolerates no more (BBR.LossThresh of draft-ietf-ccwg-bbr).
const DOUBTFUL: f64 = 0.02;

/// An estimate that is this many times what gets through is refuted. Between the losses of a
/// sawtooth without a queue, what gets through is as little as three quarters of what is available.
const REFUTED: f64 = 1.5;

/// The interval reaches by these shares of the rate down and up. While a small bucket is full, less
/// is sent than it would let through: a sawtooth of CUBIC, of 0.7 to 1, carries 0.85 on average.
const BELOW: f64 = 0.05;
const ABOVE: f64 = 0.15;

/// Packets that left within a round trip, and what became of them.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    first: u64,
    start: Timestamp,
    end: Timestamp,
    sent: u32,
    lost: u32,
    /// Losses of packets next to one another count once here.
    bursts: u32,
    /// What was acknowledged, in bytes on the wire.
    acked: Bytes,
    acked_packets: u32,
    /// The longest time above the least round trip. `None` if no packet was the largest of an
    /// acknowledgement: whether the others waited on the way or for the receiver is not known.
    wait: Option<Nanos>,
}

impl Round {
    fn is_settled(&self) -> bool {
        self.lost + self.acked_packets >= self.sent
    }

    /// What was sent, in bits per second.
    fn offered(&self) -> f64 {
        let span = self.end.saturating_since(self.start).as_secs_f64();
        let share = f64::from(self.sent) / f64::from(self.acked_packets.max(1));
        self.acked.as_bits_f64() * share / span.max(1e-6)
    }
}

/// Watches rounds for the marks of a policer.
#[derive(Debug, Default)]
pub(super) struct Policed {
    rounds: VecDeque<Round>,
    round_trip: Nanos,
    lost: LossRun,
    /// What the rounds showed when the last one of them began.
    found: Option<Found>,
    /// Whether so much was lost while nothing waited that the link says little.
    is_doubtful: bool,
}

/// The rate after the bucket, in bits per second, and the time of the first loss that shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Found {
    rate: f64,
    since: Timestamp,
}

impl Policed {
    /// A packet left.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Timestamp, number: u64) {
        let is_over = |round: &Round| {
            round.sent >= FEWEST_PACKETS
                && now.nanos_since(round.start) >= self.round_trip
                && self.round_trip > Nanos::ZERO
        };
        if let Some(round) = self.rounds.back_mut().filter(|round| !is_over(round)) {
            round.sent += 1;
            round.end = round.end.max(now);
            return;
        }
        if let Some(last) = self.rounds.back_mut() {
            last.end = now;
        }
        if self.rounds.len() == ROUNDS {
            self.rounds.pop_front();
        }
        if !self.rounds.is_empty() {
            // All at once, so that nothing is allocated later. A first round ends with an answer.
            self.rounds.reserve_exact(ROUNDS - self.rounds.len());
        }
        self.rounds.push_back(Round {
            first: number,
            start: now,
            end: now,
            sent: 1,
            ..Round::default()
        });
        self.found = self.look(now);
    }

    /// Packets were acknowledged. `on_wire` is the size of a datagram with its headers.
    #[inline]
    pub(super) fn on_acked(&mut self, acked: &Acked<'_>, on_wire: impl Fn(Bytes) -> Bytes) {
        let rtt = &acked.info.rtt;
        self.round_trip = rtt.smoothed.into();
        let unqueued = Nanos::from(acked.info.ack_delay) + rtt.min.into();
        for packet in acked.packets {
            let Some(round) = self.round_of(packet.number) else {
                continue;
            };
            round.acked += on_wire(packet.size);
            round.acked_packets += 1;
            // The others waited at the receiver, too, until it acknowledged them with this one.
            if packet.number == acked.info.largest {
                let waited = acked.now.nanos_since(packet.sent);
                round.wait = round.wait.max(Some(waited.saturating_sub(unqueued)));
            }
        }
    }

    /// A packet was declared lost.
    pub(super) fn on_lost(&mut self, number: u64) {
        let begins = self.lost.begins_with(number);
        if let Some(round) = self.round_of(number) {
            round.lost += 1;
            round.bursts += u32::from(begins);
        }
    }

    #[inline]
    fn round_of(&mut self, number: u64) -> Option<&mut Round> {
        // What is acknowledged or lost left in one of the last rounds.
        let mut newest_first = self.rounds.iter_mut().rev();
        newest_first.find(|round| round.first <= number)
    }

    /// The estimate, or what the policer lets through if that refutes it. Of a source that sends
    /// less than its window allows, what gets through is what it had to send.
    pub(super) fn bounded(&self, now: Timestamp, estimate: Estimate) -> Estimate {
        let Some(Found { rate, since }) = self.found else {
            return estimate;
        };
        let is_limited = estimate.flags.application_limited;
        if is_limited || estimate.available.as_bps_f64() < REFUTED * rate {
            return estimate;
        }
        let scaled = |factor: f64| Bandwidth::from_bps_f64(factor * rate);
        Estimate {
            available: scaled(1.0),
            low: scaled(1.0 - BELOW),
            high: scaled(1.0 + ABOVE),
            window: now.saturating_since(since),
            flags: Flags {
                policed: true,
                ..estimate.flags
            },
            ..estimate
        }
    }

    /// Whether something drops packets that may be a policer, and how much it lets through is not
    /// known.
    pub(super) fn is_doubtful(&self) -> bool {
        self.is_doubtful && self.found.is_none()
    }

    fn look(&mut self, now: Timestamp) -> Option<Found> {
        let is_old = |round: &Round| now.saturating_since(round.start) > KEPT;
        while self.rounds.front().is_some_and(is_old) {
            self.rounds.pop_front();
        }
        self.is_doubtful = false;
        let is_lossy = |round: &&Round| round.is_settled() && round.lost > 0;
        let first = self.rounds.iter().position(|round| is_lossy(&round))?;
        let last = self.rounds.iter().rposition(|round| is_lossy(&round))?;
        let between = self.rounds.range(first + 1..=last);
        let bits: f64 = between.map(|round| round.acked.as_bits_f64()).sum();
        let since = self.rounds.get(first)?.end;
        let span = self.rounds.get(last)?.end.saturating_since(since);
        let rate = bits / span.as_secs_f64().max(1e-6);
        let longest = longest_wait(rate, self.round_trip);
        let lossy = self.rounds.iter().filter(is_lossy);
        let (mut count, mut unqueued) = (0_usize, 0_usize);
        for wait in lossy.filter_map(|round| round.wait) {
            count += 1;
            unqueued += usize::from(wait <= longest);
        }
        if count < FEWEST_LOSSY || (unqueued as f64) < WITHOUT_QUEUE * count as f64 {
            return None;
        }
        let lost: u32 = self.rounds.iter().map(|round| round.lost).sum();
        let sent: u32 = self.rounds.iter().map(|round| round.sent).sum();
        self.is_doubtful = f64::from(lost) > DOUBTFUL * f64::from(sent);
        let is_policer = last > first && self.spares_slow_rounds(rate, longest);
        is_policer.then_some(Found { rate, since })
    }

    /// Whether rounds below `rate` have far fewer losses than chance would give them. What was lost
    /// in a round in which others waited longer than `longest` was lost in a queue, most likely.
    /// Packets that are lost in a row are one loss here: whatever took the first may have taken
    /// all.
    fn spares_slow_rounds(&self, rate: f64, longest: Nanos) -> bool {
        let (mut slow, mut fast) = (Sample::default(), Sample::default());
        let mut was_slow = false;
        let unqueued =
            |round: &&Round| round.is_settled() && round.wait.is_some_and(|wait| wait <= longest);
        for round in self.rounds.iter().filter(unqueued) {
            let is_slow = round.offered() < SLOW * rate;
            let side = if is_slow && was_slow {
                &mut slow
            } else {
                &mut fast
            };
            side.packets += f64::from(round.sent);
            side.losses += f64::from(round.bursts);
            was_slow = is_slow;
        }
        slow.is_spared(&fast)
    }
}

/// The longest time that a packet waits behind a policer of `rate` bits per second.
fn longest_wait(rate: f64, round_trip: Nanos) -> Nanos {
    let of_path = Nanos::new(round_trip.get() / WAIT_DIVISOR);
    LEAST_WAIT.max(of_path.min(Bandwidth::from_bps_f64(rate).nanos_for(DATAGRAM)))
}

#[cfg(test)]
mod tests;
