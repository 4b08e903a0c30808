//! Decides when packets leave while no probe stream is being sent.
//!
//! The pacer gathers packets into short trains. The mean rate stays that of the [`super::Budget`].
//! Inside a train, packets follow each other at the pace of the tight link. The link then stays
//! busy from the first packet to the last, and each gap shows how much others sent meanwhile.

use super::Place;
use super::rush::Rush;
use crate::units::Timestamp;
use std::time::Duration;

/// The number of packets at the head of a train. They alone are rushed in some trains: a whole
/// train would leave a queue at the tight link.
const HEAD: u32 = 8;

/// If a packet waited for a second one and none came, the next packets do not wait; this is their
/// number. If no second packet ever comes, fewer than one packet in twenty waits, and the 95th
/// percentile of the packets' age stays the same.
const SKIP_AFTER_FAILURE: u32 = 32;

/// How a packet may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At once.
    Now,
    /// Not before this time.
    At(Timestamp),
}

/// The distances at which the pacer releases packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacingPlan {
    /// The largest number of packets of a train; with 1 all packets are spaced evenly.
    pub train_packets: u32,
    /// The time that the tight link needs for a packet, as far as its capacity is known.
    pub pace: Duration,
    /// The gap between two packets of a train. It is as long as the tight link needs for one, so a
    /// burst is over as early as without trains; where that link is always busy, it is shorter.
    pub gap: Duration,
    /// The gap that replaces `gap` at the head of rushed trains ([`super::rush`]). It is shorter
    /// than the known capacity allows, so a higher capacity becomes visible.
    pub rushed_gap: Duration,
    /// The longest time that a packet waits for a second one.
    pub longest_wait: Duration,
}

impl PacingPlan {
    /// All packets are spaced evenly, without trains.
    pub const EVEN: Self = Self {
        train_packets: 1,
        pace: Duration::ZERO,
        gap: Duration::ZERO,
        rushed_gap: Duration::ZERO,
        longest_wait: Duration::ZERO,
    };
}

/// Spaces the packets that belong to no stream.
#[derive(Debug)]
pub struct Pacer {
    /// When the newest packet of the present train was due. If a timer was late, the packets behind
    /// this one catch up with the train's plan. Overdue packets leave together, and are then a
    /// train at the pace of the host's own link.
    paced_at: Timestamp,
    /// When the next packet of the train is due.
    next_at: Timestamp,
    /// The number of packets of the present train that have not left yet.
    train_left: u32,
    /// The number of packets of the present train that have left.
    train_sent: u32,
    /// Whether the packets of the present train leave at a distance from each other.
    is_spaced: bool,
    /// Whether there was a train before.
    has_begun: bool,
    rush: Rush,
    /// Whether data has been waiting ever since an earlier packet left.
    goes_on: bool,
    /// The time from which on a packet has waited for a second one.
    filling_since: Option<Timestamp>,
    /// The number of coming packets that do not wait for a second one.
    skip: u32,
}

impl Default for Pacer {
    fn default() -> Self {
        Self {
            paced_at: Timestamp::ZERO,
            next_at: Timestamp::ZERO,
            train_left: 0,
            train_sent: 0,
            is_spaced: false,
            has_begun: false,
            rush: Rush::default(),
            goes_on: false,
            filling_since: None,
            // The application has not shown yet that it brings packets in pairs.
            skip: SKIP_AFTER_FAILURE,
        }
    }
}

impl Pacer {
    /// A pacer that releases the first packet at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// When the next packet may leave. The mean rate allows it from `due` on, and data and window
    /// allow `ready` packets. It may be asked any number of times. `plan` is called only if a train
    /// begins or goes on.
    #[inline]
    pub fn next(
        &mut self,
        now: Timestamp,
        due: Timestamp,
        plan: impl FnOnce() -> PacingPlan,
        ready: u32,
    ) -> Pace {
        if self.train_left > 0 {
            if self.train_sent == 0 {
                // The first packet of the train was released and has not left yet. No gap
                // precedes it.
                return Pace::Now;
            }
            self.next_at = self.paced_at + self.gap(&plan());
            return at_or_now(now, self.next_at);
        }
        if now < due {
            return Pace::At(due);
        }
        self.next_at = now;
        let plan = plan();
        if plan.train_packets <= 1 {
            return Pace::Now;
        }
        // The window has room, so the mean rate does not bound a burst. If trains followed each
        // other at once, the burst would be faster than each train: pairs would leave at twice the
        // pace of the tight link.
        let due = self.paced_at + plan.gap;
        if self.has_begun && now < due {
            return Pace::At(due);
        }
        self.start_train(now, &plan, ready)
    }

    fn gap(&self, plan: &PacingPlan) -> Duration {
        if self.train_sent >= HEAD {
            return plan.gap;
        }
        self.rush.gap(plan)
    }

    fn start_train(&mut self, now: Timestamp, plan: &PacingPlan, ready: u32) -> Pace {
        // A single packet waits for a second one if the application has brought pairs before. The
        // last packet of a burst does not: whoever waits for the burst would wait for nothing.
        if ready == 1 && self.skip == 0 && !self.goes_on && !plan.longest_wait.is_zero() {
            let since = *self.filling_since.get_or_insert(now);
            let latest = since + plan.longest_wait;
            if now < latest {
                return Pace::At(latest);
            }
        }
        self.learn_from_wait(ready);
        self.filling_since = None;
        self.train_left = plan.train_packets.min(ready.max(1));
        self.train_sent = 0;
        self.is_spaced = !plan.gap.is_zero();
        self.has_begun = true;
        // A single packet has no gap.
        if self.train_left > 1 {
            self.rush.on_train(now, plan.pace);
        }
        Pace::Now
    }

    /// Learns whether waiting for a second packet is worthwhile. After a wait in vain some packets
    /// do not wait.
    fn learn_from_wait(&mut self, ready: u32) {
        if ready > 1 {
            self.skip = 0;
        } else if self.filling_since.is_some() && self.skip == 0 {
            self.skip = SKIP_AFTER_FAILURE;
        } else {
            self.skip = self.skip.saturating_sub(1);
        }
    }

    /// Whether a train has begun, and packets of it have not left.
    pub fn is_in_train(&self) -> bool {
        self.train_left > 0
    }

    /// The place in its train of the packet that may leave now.
    pub fn place(&self) -> Place {
        match (self.train_sent, self.train_left) {
            (_, 0) => Place::Other,
            (0, left @ 2..) => Place::Opening(left),
            (1, _) => Place::Second,
            (sent, left) if left == 1 || sent + 1 == HEAD => Place::Closing,
            _ => Place::Other,
        }
    }

    /// When the next packet of the train under way is due, as of the latest question; `None` if no
    /// packet of it has left, or if all leave together.
    pub fn due_in_train(&self) -> Option<Timestamp> {
        let is_under_way = self.train_left > 0 && self.train_sent > 0;
        (is_under_way && self.is_spaced).then_some(self.next_at)
    }

    /// A packet left. If it was late by up to `credit`, the next packets catch up.
    #[inline]
    pub fn on_sent(&mut self, now: Timestamp, credit: Duration) {
        self.goes_on = true;
        let is_of_train = self.train_sent > 0 && self.train_left > 0;
        self.paced_at = if is_of_train {
            self.next_at.min(now).max(now - credit)
        } else {
            now
        };
        self.train_left = self.train_left.saturating_sub(1);
        self.train_sent = self.train_sent.saturating_add(1);
    }

    /// Nothing is left to send. The rest of the train is given up.
    pub fn on_drained(&mut self) {
        self.train_left = 0;
        self.filling_since = None;
        self.goes_on = false;
    }
}

fn at_or_now(now: Timestamp, due: Timestamp) -> Pace {
    if now < due { Pace::At(due) } else { Pace::Now }
}

#[cfg(test)]
mod tests;
