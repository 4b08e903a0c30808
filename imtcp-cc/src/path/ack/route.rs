//! Whether the path has become longer.
//!
//! The least delay of late is that of the path with nothing in its queues. If packets take another
//! route, that is wrong for as long as it is remembered: on a longer one they all seem to wait, as
//! if the link were never idle. A queue that is never empty looks alike, but only at a glance. What
//! stands ahead of a packet there is a matter of what others sent just before, and differs by whole
//! packets. Packets that find no queue take the same time, to a small part of a packet's. So a
//! delay that many packets share, and none is below, is that of empty queues.
//!
//! Flows that are all limited by their windows keep a queue that does not differ at all: who sends
//! a packet for each that leaves finds as many ahead of it as before. Such a queue has grown little
//! by little, and a route becomes longer at once. So what a longer route needs besides is a packet
//! that took far longer than the one before it.

use crate::units::{Nanos, TimeDelta, Timestamp};
use std::time::Duration;

/// Delays are the same if they differ by no more than this part of the time that the link needs for
/// a packet. Of packets that meet a queue, one in eight falls so near to the least at most, since
/// the queue differs by a packet or more.
const SAME_DIVISOR: u64 = 16;

/// So many packets, and this part of all, have to have the least delay. If one in eight has it by
/// chance, that happens once in 10,000 times with 8 packets, and 3 times with 16 or 32.
const FEWEST_SAME: u32 = 4;
const SHARE_DIVISOR: u32 = 4;

/// The fewest packets that are looked at together, and the shortest time: a queue that grows
/// steadily by a packet in a second would look like a path without one for less time.
const FEWEST: u32 = 8;
const SHORTEST: Duration = Duration::from_millis(250);

/// After so many packets and twice that time all begins anew but for the jump.
const MOST: u32 = 64;

/// One packet took so much more than the one before it, and a route would be `longer`. A queue may
/// have stood at the packet before, but at most half as long as the route became longer.
fn is_jump(jump: TimeDelta, longer: TimeDelta) -> bool {
    jump + jump >= longer
}

/// Looks at packets that did not leave close behind others, since the last one that was as fast as
/// the path is known to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RouteWatch {
    since: Timestamp,
    seen: u32,
    /// The least delay, and the number of packets that had it.
    least: TimeDelta,
    same: u32,
    /// The delay of the last packet.
    last: Option<TimeDelta>,
    /// The most that one had more than the one before it, and what that one had. It ends with a
    /// packet that is as fast again.
    jump: TimeDelta,
    jumped_from: TimeDelta,
}

impl RouteWatch {
    /// An echo came at `arrived`, of a packet with this delay, which the link serves in
    /// `serialisation`. Returns the delay of empty queues if that was shown to be more than `base`.
    pub(super) fn observe(
        &mut self,
        arrived: Timestamp,
        delay: TimeDelta,
        base: TimeDelta,
        serialisation: Nanos,
    ) -> Option<TimeDelta> {
        self.follow_jump(delay, serialisation);
        if delay <= base + serialisation.signed() {
            self.seen = 0;
            self.jump = TimeDelta::ZERO;
            return None;
        }
        let near = Nanos::new(serialisation.get() / SAME_DIVISOR).signed();
        if self.seen == 0 {
            self.since = arrived;
        }
        if self.seen == 0 || delay < self.least - near {
            (self.least, self.same) = (delay, 0);
        }
        self.seen += 1;
        self.same += u32::from(delay <= self.least + near);
        let Self {
            seen, same, least, ..
        } = *self;
        let lasted = arrived.saturating_since(self.since);
        let has_jumped = is_jump(self.jump, least - base);
        let is_found = has_jumped && same >= FEWEST_SAME + seen / SHARE_DIVISOR;
        let is_enough = seen >= FEWEST && lasted >= SHORTEST;
        if (is_enough && is_found) || (seen >= MOST && lasted >= SHORTEST * 2) {
            self.seen = 0;
        }
        (is_enough && is_found).then_some(least)
    }

    fn follow_jump(&mut self, delay: TimeDelta, serialisation: Nanos) {
        let before = self.last.replace(delay).unwrap_or(delay);
        if delay <= self.jumped_from + serialisation.signed() {
            self.jump = TimeDelta::ZERO;
        }
        if delay - before > self.jump {
            (self.jump, self.jumped_from) = (delay - before, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet takes 1 ms on the link.
    const PACKET: Nanos = Nanos::from_millis(1);

    fn micros(us: i64) -> TimeDelta {
        TimeDelta::from_nanos(us * 1000)
    }

    /// What is found within a second, with a packet each 10 ms, on a path of 20 ms as far as is
    /// known, on which a packet has just taken that. Packet `n` takes `delay_us(n)`.
    fn found(delay_us: impl Fn(i64) -> i64) -> Option<TimeDelta> {
        let mut watch = RouteWatch::default();
        watch.observe(Timestamp::ZERO, micros(20_000), micros(20_000), PACKET);
        (0..100).find_map(|number| {
            let arrived = Timestamp::from_nanos(u64::try_from(number).unwrap_or(0) * 10_000_000);
            let delay = micros(delay_us(number));
            watch.observe(arrived, delay, micros(20_000), PACKET)
        })
    }

    #[test]
    fn a_delay_that_packets_share_is_that_of_empty_queues() {
        assert_eq!(found(|_| 50_000), Some(micros(50_000)));
        // Two of three meet others.
        let busy = |number| 50_000 + (number % 3) * 1700 + number % 3 * number * 13 % 900;
        assert_eq!(found(busy), Some(micros(50_000)));
    }

    #[test]
    fn a_queue_that_is_never_empty_differs_by_packets() {
        assert_eq!(found(|number| 50_000 + number * 379 % 1000), None);
        assert_eq!(found(|number| 50_000 + number * 7919 % 12_000), None);
        // It grows by a packet in a second.
        assert_eq!(found(|number| 50_000 + number * 10), None);
    }

    #[test]
    fn a_queue_that_grew_little_by_little_is_none_even_if_it_stands() {
        // It grows by three packets at a time to 30, and stays as long as it is then.
        assert_eq!(found(|number| 20_000 + 3000 * (number + 1).min(10)), None);
        // A packet met a queue of ten when the route became longer by 30.
        let queued = |number| if number == 0 { 30_000 } else { 50_000 };
        assert_eq!(found(queued), Some(micros(50_000)));
        // A burst of others meets a queue that stands, and is gone soon.
        let burst = |number: i64| match number {
            0..10 => 20_000 + 3000 * (number + 1),
            10 => 80_000,
            _ => 50_000,
        };
        assert_eq!(found(burst), None);
    }

    #[test]
    fn the_first_packet_of_all_has_not_jumped() {
        let mut watch = RouteWatch::default();
        let found = (0..100).find_map(|number| {
            let arrived = Timestamp::from_nanos(number * 10_000_000);
            watch.observe(arrived, micros(50_000), micros(20_000), PACKET)
        });
        assert_eq!(found, None);
    }

    #[test]
    fn the_path_as_it_is_known_is_no_news() {
        assert_eq!(found(|_| 20_000), None);
        assert_eq!(found(|_| 20_900), None, "less than a packet more");
    }
}
