//! `DualPI2`, after the pseudo-code of RFC 9332, appendix A: senders that take many marks for
//! little (ECT(1) and CE) have a short queue of their own, and a PI controller couples it to the
//! classic queue, so that both kinds of senders get about the same rate.

use super::{Fifo, Waiting};
use crate::network::Ecn;
use imtcp_cc::units::{Bytes, Timestamp};
use std::time::Duration;

/// The longest usual round trip, which the gains below are made for.
const LONGEST_ROUND_TRIP: Duration = Duration::from_millis(100);
/// By how much marks of the short queue are more frequent: the base probability times this, and its
/// square in the classic queue.
const COUPLING: f64 = 2.0;
/// From this delay on the short queue marks by itself, and at the second always.
const RAMP: [Duration; 2] = [Duration::from_micros(800), Duration::from_micros(1200)];
/// Where the classic probability is this high, marks are not enough.
const OVERLOAD: f64 = 1.0 / (COUPLING * COUPLING);
/// In a hundred bytes so many are for the classic queue, while both have packets.
const CLASSIC_SHARE: i64 = 10;
/// A queue of one packet is never too long.
const LARGEST_PACKET: Bytes = Bytes::new(1500);

/// `DualPI2`'s setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualPi2Settings {
    /// The delay of the classic queue that is aimed at.
    pub target: Duration,
}

impl Default for DualPi2Settings {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
        }
    }
}

#[derive(Debug)]
pub(super) struct DualPi2 {
    settings: DualPi2Settings,
    classic: Fifo,
    short: Fifo,
    /// The base probability.
    base: f64,
    old_delay_s: f64,
    next_update: Timestamp,
    /// Marks and drops are spread evenly: they come when these pass 1.
    classic_count: f64,
    short_count: f64,
    short_drop_count: f64,
    /// Above zero it is the classic queue's turn.
    credit: i64,
}

impl DualPi2 {
    pub(super) fn new(settings: DualPi2Settings) -> Self {
        Self {
            settings,
            classic: Fifo::default(),
            short: Fifo::default(),
            base: 0.0,
            old_delay_s: 0.0,
            next_update: Timestamp::ZERO + settings.period(),
            classic_count: 0.0,
            short_count: 0.0,
            short_drop_count: 0.0,
            credit: 0,
        }
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.classic.bytes + self.short.bytes
    }

    pub(super) fn packets(&self) -> usize {
        self.classic.waiting.len() + self.short.waiting.len()
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.catch_up(waiting.came);
        match waiting.packet.ecn {
            Ecn::Ect1 | Ecn::Experienced => self.short.push(waiting),
            Ecn::NotCapable | Ecn::Ect0 => self.classic.push(waiting),
        }
    }

    pub(super) fn pop(&mut self, now: Timestamp, drop: &mut dyn FnMut(Waiting)) -> Option<Waiting> {
        self.catch_up(now);
        while self.packets() > 0 {
            let (popped, is_dropped) = match self.is_short_next() {
                true => self.pop_short(now)?,
                false => self.pop_classic()?,
            };
            if is_dropped {
                drop(popped);
                continue;
            }
            return Some(popped);
        }
        None
    }

    /// Whether the short queue is served next. While both have packets the classic one gets its
    /// share.
    fn is_short_next(&mut self) -> bool {
        let short = self.short.waiting.front().map(|head| head.packet.size);
        let classic = self.classic.waiting.front().map(|head| head.packet.size);
        let bytes = |size: Bytes| i64::try_from(size.get()).unwrap_or(i64::MAX);
        match (short, classic) {
            (Some(_), None) => true,
            (Some(size), Some(_)) if self.credit <= 0 => {
                self.credit += CLASSIC_SHARE * bytes(size);
                true
            }
            (Some(_), Some(size)) => {
                self.credit -= (100 - CLASSIC_SHARE) * bytes(size);
                false
            }
            (None, _) => {
                self.credit = 0;
                false
            }
        }
    }

    /// The packet at the head of the short queue, and whether it is to be dropped.
    fn pop_short(&mut self, now: Timestamp) -> Option<(Waiting, bool)> {
        let delay = self.short.delay(now);
        let mut popped = self.short.pop()?;
        let coupled = COUPLING * self.base;
        let own = match self.short.bytes < LARGEST_PACKET {
            true => 0.0,
            false => ramp(delay),
        };
        let is_overloaded = coupled >= 1.0;
        if is_overloaded && recurs(&mut self.short_drop_count, self.base * self.base) {
            return Some((popped, true));
        }
        if recurs(&mut self.short_count, own.max(coupled).min(1.0)) {
            popped.mark();
        }
        Some((popped, false))
    }

    /// The same of the classic queue.
    fn pop_classic(&mut self) -> Option<(Waiting, bool)> {
        let mut popped = self.classic.pop()?;
        let probability = self.base * self.base;
        let is_hit = recurs(&mut self.classic_count, probability);
        let is_dropped = is_hit && (probability >= OVERLOAD || !popped.mark());
        Some((popped, is_dropped))
    }

    /// Makes the updates that have been due since the last event. Between events a queue's head
    /// stays, and waits longer and longer.
    fn catch_up(&mut self, now: Timestamp) {
        let period = self.settings.period();
        while self.next_update <= now {
            let at = self.next_update;
            let delay = self.classic.delay(at).max(self.short.delay(at));
            self.update(delay.as_secs_f64());
            self.next_update = at + period;
            let is_at_rest = self.base == 0.0 && self.old_delay_s == 0.0 && self.packets() == 0;
            if is_at_rest {
                let missed = now.saturating_since(self.next_update).as_nanos() / period.as_nanos();
                let missed = u32::try_from(missed).unwrap_or(u32::MAX);
                self.next_update = self.next_update + period.saturating_mul(missed);
            }
        }
    }

    fn update(&mut self, delay_s: f64) {
        let [alpha, beta] = self.settings.gains();
        let target_s = self.settings.target.as_secs_f64();
        let step = alpha * (delay_s - target_s) + beta * (delay_s - self.old_delay_s);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.old_delay_s = delay_s;
    }
}

impl DualPi2Settings {
    /// The time between two updates.
    fn period(self) -> Duration {
        self.target.min(LONGEST_ROUND_TRIP / 3)
    }

    /// Integral and proportional gain per update, each per second of delay.
    fn gains(self) -> [f64; 2] {
        let longest_s = LONGEST_ROUND_TRIP.as_secs_f64();
        let period_s = self.period().as_secs_f64();
        [0.1 * period_s / (longest_s * longest_s), 0.3 / longest_s]
    }
}

/// The short queue's own probability.
fn ramp(delay: Duration) -> f64 {
    let [from, to] = RAMP.map(|at| at.as_secs_f64());
    ((delay.as_secs_f64() - from) / (to - from)).clamp(0.0, 1.0)
}

/// Counts a probability up, and says when it passes 1.
fn recurs(count: &mut f64, probability: f64) -> bool {
    *count += probability;
    let is_hit = *count > 1.0;
    if is_hit {
        *count -= 1.0;
    }
    is_hit
}

#[cfg(test)]
mod tests {
    use super::super::samples::{capable, ms, waiting};
    use super::*;

    fn dual() -> DualPi2 {
        DualPi2::new(DualPi2Settings::default())
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn the_base_probability_follows_the_delay_and_its_trend() {
        // alpha = 0.1 0.015 / 0.1^2 = 0.15 and beta = 0.3 / 0.1 = 3, each per second of delay.
        let mut dual = dual();
        dual.update(0.035);
        near(dual.base, 0.15 * 0.020 + 3.0 * 0.035);
        let before = dual.base;
        dual.update(0.035);
        near(dual.base, before + 0.15 * 0.020);
        dual.update(0.0);
        near(
            dual.base,
            (before + 0.003 - 0.15 * 0.015 - 3.0 * 0.035).max(0.0),
        );
    }

    #[test]
    fn updates_see_how_long_the_head_has_waited() {
        let mut dual = dual();
        dual.push(waiting(0, 0.0));
        let popped = dual.pop(ms(31.0), &mut |_| panic!("dropped"));
        assert!(popped.is_some());
        // At 15 ms the head had waited for 15, at 30 ms for 30.
        near(dual.base, 3.0 * 0.015 + 0.15 * 0.015 + 3.0 * 0.015);
    }

    #[test]
    fn the_classic_queue_drops_and_marks_with_the_square_and_the_short_one_with_the_double() {
        let mut dual = dual();
        (dual.base, dual.next_update) = (0.2, ms(1e6));
        let mut drops = 0;
        let mut marks = [0; 2];
        for _ in 0..1000 {
            dual.push(waiting(0, 0.0));
            dual.push(capable(1, 0.0, Ecn::Ect0));
            let mut taken = 0;
            while dual
                .pop(ms(0.0), &mut |_| drops += 1)
                .is_some_and(|popped| {
                    marks[0] += u32::from(popped.marked);
                    taken += 1;
                    taken < 2
                })
            {}
            dual.push(capable(2, 0.0, Ecn::Ect1));
            let popped = dual.pop(ms(0.0), &mut |_| panic!("dropped"));
            marks[1] += u32::from(popped.is_some_and(|popped| popped.marked));
        }
        // 0.04 of 2000 classic packets, by turns of those that take marks and those that do not.
        assert!((75..=80).contains(&(drops + marks[0])), "{drops} {marks:?}");
        assert!((395..=400).contains(&marks[1]), "{marks:?}");
    }

    #[test]
    fn where_half_is_not_enough_capable_packets_are_dropped_too() {
        let mut dual = dual();
        (dual.base, dual.next_update) = (0.5, ms(1e6));
        let (mut drops, mut marks) = ([0; 2], [0; 2]);
        for (kind, ecn) in [Ecn::Ect0, Ecn::Ect1].into_iter().enumerate() {
            for _ in 0..400 {
                dual.push(capable(0, 0.0, ecn));
                let popped = dual.pop(ms(0.0), &mut |_| drops[kind] += 1);
                marks[kind] += u32::from(popped.is_some_and(|popped| popped.marked));
            }
        }
        // The count of marks begins at 0 and has to pass 1, so the first packet goes without.
        assert_eq!(marks, [0, 400 - drops[1] - 1]);
        // The square of a half, in both queues; what is left of the short one is marked.
        assert!(
            drops.iter().all(|count| (98..=100).contains(count)),
            "{drops:?}"
        );
    }

    #[test]
    fn the_short_queue_marks_along_its_ramp_and_spares_a_single_packet() {
        near(ramp(Duration::from_micros(800)), 0.0);
        near(ramp(Duration::from_micros(900)), 0.25);
        near(ramp(Duration::from_micros(1300)), 1.0);
        let mut dual = dual();
        (0..3).for_each(|_| dual.push(capable(0, 0.0, Ecn::Ect1)));
        let marked = [0; 3].map(|_| {
            let popped = dual.pop(ms(5.0), &mut |_| panic!("dropped"));
            popped.is_some_and(|popped| popped.marked)
        });
        // The count has to pass 1, and nothing waits behind the last one.
        assert_eq!(marked, [false, true, false]);
    }

    #[test]
    fn the_short_queue_comes_first_and_the_classic_one_has_a_tenth() {
        let mut dual = dual();
        dual.next_update = ms(1e6);
        (0..200).for_each(|_| dual.push(waiting(0, 0.0)));
        (0..200).for_each(|_| dual.push(capable(1, 0.0, Ecn::Ect1)));
        let mut classic = 0;
        for _ in 0..100 {
            let popped = dual.pop(ms(0.0), &mut |_| panic!("dropped"));
            classic += u32::from(popped.is_some_and(|it| it.packet.ecn == Ecn::NotCapable));
        }
        assert!((9..=11).contains(&classic), "{classic} of 100");
    }
}
