//! CoDel, after the pseudo-code of RFC 8289, section 5: packets are dropped from the head as long
//! as each has waited too long for a whole interval. Packets whose sender takes marks are marked at
//! the same times, and go on.

use super::{Fifo, Waiting};
use imtcp_cc::units::{Bytes, Timestamp};
use std::time::Duration;

/// A queue of one packet is never too long.
const LARGEST_PACKET: Bytes = Bytes::new(1500);

/// CoDel's two settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDelSettings {
    /// How long packets may wait for ever.
    pub target: Duration,
    /// How long they may wait longer than that, about the longest usual round trip.
    pub interval: Duration,
}

impl Default for CoDelSettings {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
        }
    }
}

#[derive(Debug)]
pub(super) struct CoDel {
    settings: CoDelSettings,
    /// When packets will have waited too long for an interval.
    first_above: Option<Timestamp>,
    drop_next: Timestamp,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl CoDel {
    pub(super) fn new(settings: CoDelSettings) -> Self {
        Self {
            settings,
            first_above: None,
            drop_next: Timestamp::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// The RFC's `deque`.
    pub(super) fn pop(
        &mut self,
        fifo: &mut Fifo,
        now: Timestamp,
        drop: &mut dyn FnMut(Waiting),
    ) -> Option<Waiting> {
        let (mut packet, mut may_drop) = self.take(fifo, now);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                if packet.as_mut().is_some_and(Waiting::mark) {
                    self.drop_next = self.control_law(self.drop_next);
                    break;
                }
                packet.into_iter().for_each(&mut *drop);
                (packet, may_drop) = self.take(fifo, now);
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next = self.control_law(self.drop_next);
                }
            }
        } else if may_drop {
            if !packet.as_mut().is_some_and(Waiting::mark) {
                packet.into_iter().for_each(&mut *drop);
                (packet, _) = self.take(fifo, now);
            }
            self.dropping = true;
            // The rate of dropping is taken up where it was if that is not long ago.
            let delta = self.count.saturating_sub(self.last_count);
            let recently = now.saturating_since(self.drop_next) < self.settings.interval * 16;
            self.count = if delta > 1 && recently { delta } else { 1 };
            self.drop_next = self.control_law(now);
            self.last_count = self.count;
        }
        packet
    }

    /// The RFC's `dodequeue`: the packet at the head, and whether it may be dropped.
    fn take(&mut self, fifo: &mut Fifo, now: Timestamp) -> (Option<Waiting>, bool) {
        let Some(packet) = fifo.pop() else {
            self.first_above = None;
            return (None, false);
        };
        let waited = now.saturating_since(packet.came);
        if waited < self.settings.target || fifo.bytes <= LARGEST_PACKET {
            self.first_above = None;
            return (Some(packet), false);
        }
        let at = *self.first_above.get_or_insert(now + self.settings.interval);
        (Some(packet), now >= at)
    }

    fn control_law(&self, at: Timestamp) -> Timestamp {
        let root = libm::sqrt(f64::from(self.count.max(1)));
        at + self.settings.interval.div_f64(root)
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{capable, ms, waiting};
    use super::*;
    use crate::network::Ecn;

    /// How many are dropped if a packet is taken at each of these times, in ms.
    fn dropped(at_ms: &[f64]) -> Vec<u32> {
        let mut fifo = Fifo::default();
        (0..100).for_each(|_| fifo.push(waiting(0, 0.0)));
        let mut codel = CoDel::new(CoDelSettings::default());
        let one = |at: &f64| {
            let mut count = 0;
            let packet = codel.pop(&mut fifo, ms(*at), &mut |_| count += 1);
            assert!(packet.is_some());
            count
        };
        at_ms.iter().map(one).collect()
    }

    #[test]
    fn it_drops_after_an_interval_and_then_more_and_more_often() {
        // Above the target since 10 ms, so the first drop is due at 110 ms. The next ones are due
        // at 210, at 210 + 100 / sqrt 2 = 280.7, and at 280.7 + 100 / sqrt 3 = 338.4 ms.
        let at = [10.0, 109.9, 110.0, 209.9, 210.0, 280.6, 280.8, 338.4, 338.5];
        assert_eq!(dropped(&at), [0, 0, 1, 0, 1, 0, 1, 0, 1]);
        // Two that were due are dropped at once.
        assert_eq!(dropped(&[10.0, 110.0, 281.0]), [0, 1, 2]);
    }

    #[test]
    fn what_takes_marks_is_marked_at_the_same_times_and_goes_on() {
        let mut fifo = Fifo::default();
        (0..100).for_each(|_| fifo.push(capable(0, 0.0, Ecn::Ect0)));
        let mut codel = CoDel::new(CoDelSettings::default());
        let at = [10.0, 109.9, 110.0, 209.9, 210.0, 280.6, 280.8, 338.4, 338.5];
        let marked = at.map(|at| {
            let popped = codel.pop(&mut fifo, ms(at), &mut |_| panic!("dropped"));
            popped.map(|popped| popped.packet.ecn == Ecn::Experienced)
        });
        let [no, yes] = [Some(false), Some(true)];
        assert_eq!(marked, [no, no, yes, no, yes, no, yes, no, yes]);
        assert_eq!(fifo.waiting.len(), 91);
    }

    #[test]
    fn short_waits_end_it_and_what_follows_soon_goes_on_at_that_rate() {
        let mut fifo = Fifo::default();
        let mut codel = CoDel::new(CoDelSettings::default());
        let mut drops = 0;
        let mut at = |fifo: &mut Fifo, ms_now: f64| {
            let mut now = 0;
            let _ = codel.pop(fifo, ms(ms_now), &mut |_| now += 1);
            drops += now;
            now
        };
        (0..100).for_each(|_| fifo.push(waiting(0, 0.0)));
        for ms_now in [10.0, 110.0, 210.0, 281.0, 339.0] {
            let _ = at(&mut fifo, ms_now);
        }
        // Four drops so far: count is 4, and 1 when dropping began. Now packets wait for 1 ms.
        fifo = Fifo::default();
        (0..50).for_each(|_| fifo.push(waiting(0, 349.0)));
        assert_eq!(at(&mut fifo, 350.0), 0);
        // Above the target again from 360 ms on: the first drop at 460, and the next one not 100
        // but 100 / sqrt 3 ms later.
        assert_eq!([360.0, 459.0, 460.0].map(|t| at(&mut fifo, t)), [0, 0, 1]);
        assert_eq!([517.0, 518.0].map(|t| at(&mut fifo, t)), [0, 1]);
        assert_eq!(drops, 6);
    }

    #[test]
    fn a_single_packet_is_never_too_much() {
        let mut fifo = Fifo::default();
        let mut codel = CoDel::new(CoDelSettings::default());
        for index in 0..20 {
            let at = 100.0 * f64::from(index);
            fifo.push(waiting(0, at));
            let popped = codel.pop(&mut fifo, ms(at + 50.0), &mut |_| panic!("dropped"));
            assert!(popped.is_some());
        }
    }
}
