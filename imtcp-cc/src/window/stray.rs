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
//! packets without a gap. Nothing waits around it either, and a smaller window loses as many
//! milliseconds. In congestion avoidance such a run counts as one loss, while runs are rare.

use crate::chance::Sample;
use crate::loss_run::LossRun;
use crate::loss_share::LossShare;
use crate::units::Bytes;
use std::time::Duration;

/// A packet that waited for more than this part of the least round trip found a queue. The least
/// queue of use is a tenth of a bandwidth-delay product, and this is a third of it.
const LEAST_QUEUE_DIVISOR: u32 = 32;

/// A packet that waited for longer than this found a queue, on a long path as well. It is half of
/// the delay above which a queue is managed by default (CoDel, RFC 8289, section 4.4).
const LONGEST_WAIT: Duration = Duration::from_micros(2500);

/// The largest share of losses that may be none of congestion, as BBR has it (BBR.LossThresh of
/// draft-ietf-ccwg-bbr).
const MOST_SHARE: f64 = 0.02;

/// The number of packets over which that share is an average. If three in two hundred are lost by
/// chance, the average then hardly ever exceeds the largest share: that is two and a half standard
/// deviations off, sqrt(0.015 / 4000) each.
const PACKETS: f64 = 2000.0;

/// The largest share of packets that may be lost in runs, each packet counted. quiche's CUBIC takes
/// no notice of an event that loses fewer packets than a fifth of the window; this is half of that,
/// over the same packets as the share of losses.
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
    }

    /// For how long the newest acknowledged packet waited.
    pub(super) fn waited(&self) -> Duration {
        self.round_trip.saturating_sub(self.least)
    }

    /// The packet with this number was declared lost.
    pub(super) fn on_lost(&mut self, number: u64) {
        let begins = self.lost.begins_with(number);
        if !self.found_queue() {
            self.in_runs.on_lost();
            if begins {
                self.share.on_lost();
            }
        }
        self.since.losses += 1.0;
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

    /// Packets were just declared lost in slow start. True if no queue took them. A window that
    /// doubles soon overflows a queue of a few packets, so the share counts from the first packet.
    /// Nothing is known before one got through.
    pub(super) fn is_stray_in_slow_start(&self) -> bool {
        let Sample { packets, losses } = self.since;
        packets > 0.0 && !self.found_queue() && losses <= 1.0 + MOST_SHARE * packets
    }

    /// Packets were just declared lost in congestion avoidance. True if no queue took them.
    pub(super) fn is_stray(&mut self, window: Bytes) -> bool {
        if self.found_queue() {
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
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_millis(32);
    const WINDOW: Bytes = Bytes::new(100_000);

    /// Passes packets at a window, and loses one of each `every`. True if the last loss was stray.
    fn pass(
        losses: &mut StrayLosses,
        every: u32,
        round_trip: Duration,
        least: Duration,
        window: Bytes,
    ) -> bool {
        let mut is_stray = false;
        for packet in 1..=5000 {
            if packet % every == 0 {
                losses.on_lost(packet.into());
                is_stray = losses.is_stray(window);
            } else {
                losses.on_acked(1.0, round_trip, least, Some(window));
            }
        }
        is_stray
    }

    /// Whether one of each `every` packets is stray when it is lost, at this round trip.
    fn are_stray(every: u32, round_trip_ms: f64, least: Duration) -> bool {
        let round_trip = Duration::from_secs_f64(round_trip_ms / 1e3);
        let mut losses = StrayLosses::default();
        pass(&mut losses, every, round_trip, least, WINDOW)
    }

    /// The same at what was once too large a window, after one of half the size in which one of
    /// each `every_before` was lost.
    fn are_stray_after(every_before: u32, every: u32) -> bool {
        let mut losses = StrayLosses::default();
        losses.on_reduction(WINDOW);
        pass(
            &mut losses,
            every_before,
            LEAST,
            LEAST,
            Bytes::new(WINDOW.get() / 2),
        );
        pass(&mut losses, every, LEAST, LEAST, WINDOW)
    }

    #[test]
    fn a_loss_among_packets_that_did_not_wait_is_stray() {
        assert!(are_stray(100, 32.9, LEAST));
        assert!(
            !are_stray(100, 33.1, LEAST),
            "more than a thirty-second part"
        );
        let long = Duration::from_millis(300);
        assert!(are_stray(100, 302.4, long));
        assert!(
            !are_stray(100, 302.6, long),
            "as long as a managed queue allows"
        );
    }

    #[test]
    fn slow_start_goes_on_while_few_are_lost() {
        let lose = |packets: u32, lost: u32, waited| {
            let mut losses = StrayLosses::default();
            losses.on_acked(packets.into(), LEAST + waited, LEAST, None);
            for number in 0..lost {
                losses.on_lost(number.into());
            }
            losses
        };
        let is_stray = |losses: StrayLosses| losses.is_stray_in_slow_start();
        assert!(is_stray(lose(10, 1, Duration::ZERO)));
        assert!(!is_stray(lose(10, 1, LEAST / 16)), "it waited");
        assert!(!is_stray(lose(49, 2, Duration::ZERO)));
        assert!(is_stray(lose(50, 2, Duration::ZERO)));
        let mut spurious = lose(49, 2, Duration::ZERO);
        spurious.on_spurious(0);
        assert!(is_stray(spurious));
        let mut again = lose(500, 0, Duration::ZERO);
        again.on_reduction(WINDOW);
        again.on_lost(7);
        again.on_lost(8);
        assert!(!is_stray(again), "what was before the reduction is over");
    }

    #[test]
    fn where_much_is_lost_no_loss_is_stray() {
        assert!(are_stray(60, 32.0, LEAST));
        assert!(!are_stray(40, 32.0, LEAST));
    }

    #[test]
    fn losses_that_a_queue_took_are_settled() {
        let mut losses = StrayLosses::default();
        pass(&mut losses, 4, LEAST * 2, LEAST, WINDOW);
        assert!(pass(&mut losses, 100, LEAST, LEAST, WINDOW));
        let last = |waits| {
            let mut losses = StrayLosses::default();
            pass(&mut losses, 40, LEAST, LEAST, WINDOW);
            losses.on_acked(1.0, LEAST + waits, LEAST, Some(WINDOW));
            (0..40).for_each(|nth| losses.on_spurious(nth * 2));
            losses.on_acked(1.0, LEAST, LEAST, Some(WINDOW));
            losses.is_stray(WINDOW)
        };
        assert!(last(Duration::ZERO));
        assert!(!last(LEAST), "they were in no share");
    }

    #[test]
    fn what_a_smaller_window_does_not_lose_is_no_chance() {
        assert!(are_stray_after(100, 100));
        assert!(are_stray_after(300, 100), "a third is not far less");
        assert!(!are_stray_after(5000, 100), "a policer");
    }

    /// Passes packets of which `run` at a time are lost, and then `gap` get through. True if the
    /// last run was stray.
    fn are_runs_stray(run: u64, gap: u32) -> bool {
        let mut losses = StrayLosses::default();
        let mut is_stray = false;
        for from in (0..200).map(|nth| nth * 10_000) {
            losses.on_acked(gap.into(), LEAST, LEAST, Some(WINDOW));
            (from..from + run).for_each(|number| losses.on_lost(number));
            is_stray = losses.is_stray(WINDOW);
        }
        is_stray
    }

    #[test]
    fn a_run_without_a_gap_is_one_loss_while_runs_are_rare() {
        assert!(are_runs_stray(150, 3000), "a host that slept");
        assert!(!are_runs_stray(150, 1000), "one in eight");
        assert!(!are_runs_stray(250, 5000), "more than a fifth of a window");
        assert!(!are_runs_stray(3, 40), "too often, though few");
    }

    #[test]
    fn a_run_that_waited_is_congestion() {
        let mut losses = StrayLosses::default();
        losses.on_acked(3000.0, LEAST * 2, LEAST, Some(WINDOW));
        (0..20).for_each(|number| losses.on_lost(number));
        assert!(!losses.is_stray(WINDOW));
    }
}
