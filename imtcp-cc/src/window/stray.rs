//! Losses that are no congestion.
//!
//! A queue that is full, or that is managed, drops packets while others wait in it. So the packets
//! around a lost one have waited. If they have not, something else took it, such as a radio or a
//! bad line, and a smaller window would be of no use to anybody. That holds in slow start, too.
//! Where more is lost than chance takes on a usable path, each loss counts, because there may be a
//! queue of a few packets. So it does where a smaller window loses far less, because a policer
//! drops what is beyond its rate.
//!
//! A host that sleeps for a moment loses what arrives meanwhile, and so does a radio: a run of
//! packets without a gap. A smaller window loses as many milliseconds. A run counts as one loss,
//! while runs are rare, in two cases:
//!
//! - Nothing waits around it but what the host then works off, and that is far less than what
//!   waited on the path when its queue was full. This holds in congestion avoidance.
//! - It lasts, and the queue is not quite full. A burst can meet a full queue, and be lost as a
//!   whole. Over a longer time a full queue takes some of the packets, because others leave it.
//!   What is lost within a round trip of such a run is of the same trouble.

mod fresh;

pub(super) use fresh::LossEvent;

use crate::chance::Sample;
use crate::loss_run::LossRun;
use crate::loss_share::LossShare;
use crate::units::{Bytes, Timestamp};
use fresh::Fresh;
use std::time::Duration;

/// A packet that waited for more than this part of the least round trip found a queue. The least
/// queue of use is a tenth of a bandwidth-delay product, and this is a third of it.
const LEAST_QUEUE_DIVISOR: u32 = 32;

/// A packet that waited for longer than this found a queue, on a long path as well. A managed queue
/// drops nothing that waited for less than 5 ms by default (CoDel, RFC 8289, section 4.4), and the
/// packets after a dropped one wait a little less.
const LONGEST_WAIT: Duration = Duration::from_millis(4);

/// A run of packets met a full queue if those around it waited for more than this part of what
/// others waited lately. A queue that drops whole runs is full, and then all wait alike.
const FULL_DIVISOR: u32 = 2;

/// Or for more than this part of the least round trip, in case that others waited for something
/// else than a queue. It is four times as much as for a lone packet.
const LEAST_FULL_DIVISOR: u32 = LEAST_QUEUE_DIVISOR / 4;

/// A run that lasted met a full queue only if the packets around it waited for more than three
/// quarters of what others waited lately, and for more than an eighth of the least round trip
/// ([`LEAST_FULL_DIVISOR`]). What a host works off adds to either wait.
const NEARLY_FULL: (u32, u32) = (3, 4);

/// The largest share of losses that may be none of congestion, as BBR has it (BBR.LossThresh of
/// draft-ietf-ccwg-bbr).
const MOST_SHARE: f64 = 0.02;

/// The number of packets over which that share is an average. If three in two hundred are lost by
/// chance, the average then hardly ever exceeds the largest share: that is two and a half standard
/// deviations off, sqrt(0.015 / 4000) each.
const PACKETS: f64 = 2000.0;

/// The largest share of packets that may be lost in runs, each packet counted. quiche's CUBIC takes
/// no notice of an event that loses fewer packets than a fifth of the window; this is half of that,
/// over a window or over the packets of the share of losses, whichever are more.
const MOST_IN_RUNS: f64 = 0.1;

/// A window of less than this share of another one is smaller than it.
const SMALLER: f64 = 0.9;

/// Tells losses that are no congestion.
#[derive(Clone, Copy, Debug)]
pub(super) struct StrayLosses {
    /// The share of losses where nothing waited, each run counted once. Others reduce the window,
    /// so they are settled.
    share: LossShare,
    lost: LossRun,
    spurious: LossRun,
    /// The same, each packet counted.
    in_runs: LossShare,
    /// What got through and what was lost since the last reduction, each packet by itself.
    since: Sample,
    below: Below,
    /// What was declared lost and is not judged yet.
    fresh: Fresh,
    /// Whether a queue took what was lost last.
    queue_took: bool,
    /// Whether what was lost last is of a run that lasted.
    lasted: bool,
    /// Until when losses are of the last run that lasted.
    trouble_until: Timestamp,
    /// The longest that an acknowledged packet waited, since the last reduction and between the
    /// two before.
    deepest: [Duration; 2],
    /// The round trip of the newest acknowledged packet, and the least one.
    round_trip: Duration,
    least: Duration,
}

impl Default for StrayLosses {
    fn default() -> Self {
        Self {
            share: LossShare::over(PACKETS),
            lost: LossRun::default(),
            spurious: LossRun::default(),
            in_runs: LossShare::over(PACKETS),
            since: Sample::default(),
            below: Below::default(),
            fresh: Fresh::default(),
            queue_took: false,
            lasted: false,
            trouble_until: Timestamp::ZERO,
            deepest: [Duration::ZERO; 2],
            round_trip: Duration::ZERO,
            least: Duration::ZERO,
        }
    }
}

impl StrayLosses {
    /// So many packets were acknowledged. The round trip of the newest is told, and the least one.
    /// The window is told in congestion avoidance.
    #[inline]
    pub(super) fn on_acked(
        &mut self,
        packets: f64,
        round_trip: Duration,
        least: Duration,
        window: Option<Bytes>,
    ) {
        self.share.on_acked(packets);
        self.in_runs.on_acked(packets);
        self.since.packets += packets;
        if let Some(window) = window {
            self.below.on_acked(packets, window);
        }
        (self.round_trip, self.least) = (round_trip, least);
        self.deepest[0] = self.deepest[0].max(self.waited());
    }

    /// For how long the newest acknowledged packet waited.
    pub(super) fn waited(&self) -> Duration {
        self.round_trip.saturating_sub(self.least)
    }

    /// The packet with this number was declared lost.
    pub(super) fn on_lost(&mut self, number: u64) {
        self.fresh.on_lost(number, &mut self.lost);
    }

    /// All packets that an acknowledgement declared lost have been told.
    pub(super) fn on_loss(&mut self, event: &LossEvent) {
        let fresh = std::mem::take(&mut self.fresh);
        let has_lasted = fresh.lasted(event);
        // Without a new run, the rest of the last one is told.
        if fresh.runs > 0 {
            self.lasted = has_lasted || event.now < self.trouble_until;
        }
        self.since.losses += f64::from(fresh.packets);
        let is_run = self.lasted || (fresh.is_of_runs() && !event.is_slow_start);
        self.queue_took = self.found_queue() && (!is_run || self.found_full_queue());
        if self.queue_took {
            return;
        }
        if has_lasted {
            self.trouble_until = event.now + event.smoothed_rtt;
        }
        self.in_runs.average_over(event.window.max(PACKETS));
        (0..fresh.packets).for_each(|_| self.in_runs.on_lost());
        (0..fresh.runs).for_each(|_| self.share.on_lost());
    }

    /// A packet that had been declared lost was acknowledged after all. If nothing waits now, it
    /// was in the share most likely.
    pub(super) fn on_spurious(&mut self, number: u64) {
        let begins = self.spurious.begins_with(number);
        if !self.found_queue() {
            self.in_runs.on_spurious();
            if begins {
                self.share.on_spurious();
            }
        }
        self.since.losses = (self.since.losses - 1.0).max(0.0);
    }

    /// Whether the newest acknowledged packet found a queue. A packet is declared lost when later
    /// ones are acknowledged, so the newest acknowledged packet left shortly after it.
    fn found_queue(&self) -> bool {
        self.waited() > (self.least / LEAST_QUEUE_DIVISOR).min(LONGEST_WAIT)
    }

    /// Whether it found a queue that may have been full.
    fn found_full_queue(&self) -> bool {
        let deepest = self.deepest[0].max(self.deepest[1]);
        let part_of_least = self.least / LEAST_FULL_DIVISOR;
        match self.lasted {
            true => self.waited() > part_of_least.max(deepest * NEARLY_FULL.0 / NEARLY_FULL.1),
            false => self.waited() > part_of_least.min(deepest / FULL_DIVISOR),
        }
    }

    /// Packets were just declared lost in slow start. True if no queue took them. A window that
    /// doubles soon overflows a queue of a few packets, so the share counts from the first packet.
    /// Nothing is known before one got through.
    pub(super) fn is_stray_in_slow_start(&self) -> bool {
        let Sample { packets, losses } = self.since;
        let most = if self.lasted {
            MOST_IN_RUNS
        } else {
            MOST_SHARE
        };
        packets > 0.0 && !self.queue_took && losses <= 1.0 + most * packets
    }

    /// Packets were just declared lost in congestion avoidance. True if no queue took them.
    pub(super) fn is_stray(&mut self, window: Bytes) -> bool {
        if self.queue_took {
            return false;
        }
        self.below.on_loss(window);
        self.share.get() <= MOST_SHARE
            && self.in_runs.get() <= MOST_IN_RUNS
            && !self.below.is_spared()
    }

    /// The window was reduced from this size.
    pub(super) fn on_reduction(&mut self, window: Bytes) {
        self.since = Sample::default();
        self.below.on_reduction(window);
        self.deepest = [Duration::ZERO, self.deepest[0]];
    }
}

/// How often packets are lost that did not wait: while the window is smaller than it was at the
/// last reduction, and from there on. Chance takes as many from a smaller window. A policer takes
/// none.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    /// The window before the last reduction.
    limit: Bytes,
    smaller: Sample,
    larger: Sample,
}

impl Below {
    /// What was seen about the window before counts half, and so on.
    fn on_reduction(&mut self, window: Bytes) {
        self.limit = window;
        self.smaller = self.smaller.scaled(0.5);
        self.larger = self.larger.scaled(0.5);
    }

    fn side(&mut self, window: Bytes) -> &mut Sample {
        match window.as_f64() < SMALLER * self.limit.as_f64() {
            true => &mut self.smaller,
            false => &mut self.larger,
        }
    }

    #[inline]
    fn on_acked(&mut self, packets: f64, window: Bytes) {
        self.side(window).packets += packets;
    }

    fn on_loss(&mut self, window: Bytes) {
        self.side(window).losses += 1.0;
    }

    fn is_spared(&self) -> bool {
        self.smaller.is_spared(&self.larger)
    }
}

#[cfg(test)]
mod tests;
