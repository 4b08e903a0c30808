//! One direction of the path: a queue in front of a link of constant rate, a delay behind it, and a
//! receiver that may look only at ticks.
//!
//! Nothing here knows a clock: times are nanoseconds since an origin that the caller has.

use std::collections::VecDeque;

/// A second, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;

/// A link of constant rate with a queue that drops what does not fit (drop-tail).
pub struct Link {
    rate_bps: u64,
    delay_ns: u64,
    queue_bytes: usize,
    queue_packets: usize,
    tick_ns: u64,
    /// When the last packet that was taken will have left.
    free_at_ns: u64,
    /// The fraction of a nanosecond by which that is rounded, in units of 1 ns / `rate_bps`.
    remainder: u64,
    /// Packets that wait for the link: when each will begin to leave, and its size.
    waiting: VecDeque<(u64, usize)>,
    waiting_bytes: usize,
    /// Packets on their way: when each arrives.
    on_the_way: VecDeque<(u64, Vec<u8>)>,
    /// Counts of what has happened so far.
    pub tally: Tally,
}

/// What has happened on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that came out at the other end.
    pub forwarded: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets for which the queue had no room.
    pub dropped: u64,
}

impl Link {
    /// A link of `rate_bps` and `delay_ns`, and a queue of `queue_bytes`. Packets come out at
    /// multiples of `tick_ns`, all together that have arrived since the last one; 1 lets each come
    /// by itself.
    pub fn new(rate_bps: u64, delay_ns: u64, queue_bytes: usize, tick_ns: u64) -> Self {
        Self {
            rate_bps,
            delay_ns,
            queue_bytes,
            queue_packets: usize::MAX,
            tick_ns,
            free_at_ns: 0,
            remainder: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            on_the_way: VecDeque::new(),
            tally: Tally::default(),
        }
    }

    /// The same with a queue that holds so many packets, whatever their size.
    pub fn with_queue_packets(mut self, count: usize) -> Self {
        self.queue_packets = count;
        self
    }

    /// Takes a packet, or drops it.
    pub fn arrive(&mut self, now_ns: u64, packet: Vec<u8>) {
        self.begin_transmissions(now_ns);
        if self.free_at_ns <= now_ns {
            self.free_at_ns = now_ns;
            self.remainder = 0;
        } else if self.waiting_bytes + packet.len() > self.queue_bytes
            || self.waiting.len() >= self.queue_packets
        {
            self.tally.dropped += 1;
            return;
        } else {
            self.waiting.push_back((self.free_at_ns, packet.len()));
            self.waiting_bytes += packet.len();
        }
        let work = packet.len() as u64 * 8 * SECOND_NS + self.remainder;
        self.free_at_ns += work / self.rate_bps;
        self.remainder = work % self.rate_bps;
        let due = (self.free_at_ns + self.delay_ns).next_multiple_of(self.tick_ns);
        self.on_the_way.push_back((due, packet));
    }

    /// The next packet that has arrived by now, and when that was.
    pub fn deliver(&mut self, now_ns: u64) -> Option<(u64, Vec<u8>)> {
        self.on_the_way.front().filter(|(due, _)| *due <= now_ns)?;
        let delivery = self.on_the_way.pop_front()?;
        self.tally.forwarded += 1;
        self.tally.bytes += delivery.1.len() as u64;
        Some(delivery)
    }

    /// When the next packet arrives.
    pub fn next_delivery(&self) -> Option<u64> {
        self.on_the_way.front().map(|(due, _)| *due)
    }

    fn begin_transmissions(&mut self, now_ns: u64) {
        while let Some(&(start, length)) = self.waiting.front()
            && start <= now_ns
        {
            self.waiting.pop_front();
            self.waiting_bytes -= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12 Mbit/s: a packet of 1500 bytes takes a millisecond.
    const RATE: u64 = 12_000_000;
    const MS: u64 = 1_000_000;

    fn packet() -> Vec<u8> {
        vec![0; 1500]
    }

    #[test]
    fn packets_that_come_together_leave_at_the_rate_and_arrive_after_the_delay() {
        let mut link = Link::new(RATE, 20 * MS, 1_000_000, 1);
        for _ in 0..3 {
            link.arrive(5 * MS, packet());
        }
        assert!(link.deliver(26 * MS - 1).is_none());
        for expected in [26, 27, 28] {
            assert_eq!(link.next_delivery(), Some(expected * MS));
            let (due, _) = link.deliver(expected * MS).expect("it is due");
            assert_eq!(due, expected * MS);
        }
        assert_eq!(link.next_delivery(), None);
        assert_eq!(link.tally.bytes, 4500);
    }

    #[test]
    fn the_queue_holds_what_waits_and_not_what_is_being_sent() {
        let mut link = Link::new(RATE, 0, 3000, 1);
        for _ in 0..4 {
            link.arrive(0, packet());
        }
        assert_eq!(link.tally.dropped, 1, "one is being sent, two wait");
        // The second begins to leave, so there is room for one.
        link.arrive(MS, packet());
        link.arrive(MS, packet());
        assert_eq!(link.tally.dropped, 2);
    }

    #[test]
    fn a_queue_of_packets_holds_as_many_small_ones_as_large_ones() {
        let mut link = Link::new(RATE, 0, usize::MAX, 1).with_queue_packets(2);
        for length in [1500, 40, 1500, 40, 1500] {
            link.arrive(0, vec![0; length]);
        }
        assert_eq!(link.tally.dropped, 2, "one is being sent, two wait");
    }

    #[test]
    fn a_rate_without_whole_nanoseconds_is_kept_all_the_same() {
        let rate = 7_000_000;
        let mut link = Link::new(rate, 0, usize::MAX, 1);
        for _ in 0..7000 {
            link.arrive(0, packet());
        }
        // 7000 packets of 12000 bits at 7 Mbit/s: 12 s.
        let last = std::iter::from_fn(|| link.deliver(u64::MAX)).last();
        assert_eq!(last.expect("all were taken").0, 12 * SECOND_NS);
    }

    #[test]
    fn a_receiver_with_ticks_gets_what_came_since_the_last_one() {
        let mut link = Link::new(RATE, 0, 1_000_000, 4 * MS);
        for _ in 0..5 {
            link.arrive(MS, packet());
        }
        assert_eq!(link.next_delivery(), Some(4 * MS));
        let mut at = |tick: u64| std::iter::from_fn(|| link.deliver(tick * MS)).count();
        assert_eq!([at(3), at(4), at(7), at(8)], [0, 3, 0, 2]);
    }
}
