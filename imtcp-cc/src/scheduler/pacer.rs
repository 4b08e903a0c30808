//! When packets may leave while no stream is being sent.
//!
//! The pacer gathers packets into short trains without changing their mean rate, which is the
//! [`super::Budget`]'s: inside a train packets follow each other at the tight link's own pace, so that
//! the link stays busy from the first to the last and each gap tells what others sent meanwhile.

use crate::ack::Place;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// Packets at the head of a train, at the tight link's own pace. Of what others send meanwhile a
/// queue of some packets remains, on which the tail can draw: half the head at a load of one half.
const HEAD: u32 = 8;

/// One train of so many is rushed.
const TRAINS_PER_RUSH: u32 = 8;

/// After a packet that waited in vain for a second one, this many go at once.
const SKIP_AFTER_FAILURE: u32 = 16;

/// For the time that acknowledgements need to make room for a packet.
const FULL_PACKET: Bytes = Bytes::new(1500);

/// How a packet may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At once.
    Now,
    /// Not before this time.
    At(Timestamp),
}

/// How the pacer shall space packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacingPlan {
    /// The mean rate.
    pub rate: Bandwidth,
    /// Most packets of a train; 1 spaces all packets evenly.
    pub train_packets: u32,
    /// Packets that go by themselves after each train.
    pub singles: u32,
    /// Packets that a train waits for when the window is what holds them back.
    pub train_fill: u32,
    /// From packet to packet at the head of a train, which builds a short queue at the tight link,
    /// and after it, slow enough to watch the link for long and fast enough to keep the queue.
    pub head_gap: Duration,
    /// See `head_gap`.
    pub tail_gap: Duration,
    /// Takes the place of `head_gap` now and then: faster than the link is thought to be, so that a
    /// higher capacity shows.
    pub rushed_gap: Duration,
    /// The longest that a packet waits for a second one when the application is what is slow.
    pub longest_wait: Duration,
}

/// What waits to be sent, in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Packets that both data and window allow now.
    pub ready: u32,
    /// Whether the window, not the data, sets that limit.
    pub window_limited: bool,
}

/// Spaces packets.
#[derive(Debug, Default)]
pub struct Pacer {
    /// When the newest packet of the present train was to leave. Where timers are late the packets
    /// behind it catch up with the train's own pace, and those that left together are a train at the
    /// pace of the host's own link.
    paced_at: Timestamp,
    /// When the next one is to leave.
    next_at: Timestamp,
    /// Packets that the present train still has to send.
    train_left: u32,
    /// Packets that it has sent.
    train_sent: u32,
    trains: u32,
    /// Packets that still go by themselves.
    singles_left: u32,
    /// Since when a train waits to be filled.
    filling_since: Option<Timestamp>,
    /// Packets that do not wait for a second one.
    skip: u32,
}

impl Pacer {
    /// Ready to send at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// When the next packet may leave, which the mean rate allows from `due` on. May be asked any number
    /// of times. The plan is made only where a train begins or goes on.
    pub fn next(
        &mut self,
        now: Timestamp,
        due: Timestamp,
        plan: impl FnOnce() -> PacingPlan,
        backlog: Backlog,
    ) -> Pace {
        if self.train_left > 0 {
            if self.train_sent == 0 {
                // It was let go at once, and has not left yet: there is no gap before it.
                return Pace::Now;
            }
            self.next_at = self.paced_at + self.gap(&plan());
            return at_or_now(now, self.next_at);
        }
        if now < due {
            return Pace::At(due);
        }
        self.next_at = now;
        if self.singles_left > 0 {
            return Pace::Now;
        }
        let plan = plan();
        if plan.train_packets <= 1 {
            return Pace::Now;
        }
        // Where the window leaves room the mean rate is no bound, and trains that followed each other at
        // once would be sent faster than any of them: pairs at twice the tight link's pace.
        let due = self.paced_at + plan.head_gap;
        if !backlog.window_limited && self.trains > 0 && now < due {
            return Pace::At(due);
        }
        self.start_train(now, &plan, backlog)
    }

    fn gap(&self, plan: &PacingPlan) -> Duration {
        if self.train_sent >= HEAD {
            plan.tail_gap
        } else if self.trains.is_multiple_of(TRAINS_PER_RUSH) {
            plan.rushed_gap
        } else {
            plan.head_gap
        }
    }

    fn start_train(&mut self, now: Timestamp, plan: &PacingPlan, backlog: Backlog) -> Pace {
        if backlog.ready < plan.train_fill {
            let longest = self.filling_time(plan, backlog);
            let since = *self.filling_since.get_or_insert(now);
            if now < since + longest {
                return Pace::At(since + longest);
            }
        }
        if !backlog.window_limited {
            self.learn_from_wait(backlog.ready);
        }
        self.filling_since = None;
        self.train_left = plan.train_packets.min(backlog.ready.max(1));
        self.singles_left = plan.singles;
        self.train_sent = 0;
        self.trains = self.trains.wrapping_add(1);
        Pace::Now
    }

    /// How long a train may wait to be filled.
    fn filling_time(&self, plan: &PacingPlan, backlog: Backlog) -> Duration {
        if backlog.window_limited {
            // Acknowledgements will bring the rest, in about the time the mean rate needs for it.
            return plan
                .rate
                .time_for(FULL_PACKET.times(u64::from(plan.train_fill)));
        }
        // The application may bring a second packet, if it has shown that it does.
        if backlog.ready == 1 && self.skip == 0 {
            plan.longest_wait
        } else {
            Duration::ZERO
        }
    }

    /// A wait for the application that brought nothing is not tried again for some packets.
    fn learn_from_wait(&mut self, ready: u32) {
        if ready > 1 {
            self.skip = 0;
        } else if self.filling_since.is_some() && self.skip == 0 {
            self.skip = SKIP_AFTER_FAILURE;
        } else {
            self.skip = self.skip.saturating_sub(1);
        }
    }

    /// Where in its train the packet is that may leave now.
    pub fn place(&self) -> Place {
        match (self.train_sent, self.train_left) {
            (_, 0) => Place::Other,
            (0, left @ 2..) => Place::Opening(left),
            (1, _) => Place::Second,
            (sent, left) if left == 1 || sent + 1 == HEAD => Place::Closing,
            _ => Place::Other,
        }
    }

    /// A packet left. Lateness of up to `credit` is made up for.
    pub fn on_sent(&mut self, now: Timestamp, credit: Duration) {
        self.paced_at = if self.train_sent == 0 {
            now
        } else {
            self.next_at.min(now).max(now - credit)
        };
        if self.train_left == 0 {
            self.singles_left = self.singles_left.saturating_sub(1);
        }
        self.train_left = self.train_left.saturating_sub(1);
        self.train_sent = self.train_sent.saturating_add(1);
    }

    /// Nothing is left to send: what remains of a train is given up.
    pub fn on_drained(&mut self) {
        self.train_left = 0;
        self.filling_since = None;
    }
}

fn at_or_now(now: Timestamp, due: Timestamp) -> Pace {
    if now < due { Pace::At(due) } else { Pace::Now }
}

#[cfg(test)]
mod tests {
    use super::super::Budget;
    use super::*;
    use crate::units::Bytes;

    const CREDIT: Duration = Duration::from_millis(1);

    const PACKET: Bytes = Bytes::new(1250);

    fn at_micros(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    /// 10 Mbit/s: 1 ms a packet.
    fn plan(train_packets: u32) -> PacingPlan {
        PacingPlan {
            rate: Bandwidth::from_mbps(10),
            train_packets,
            train_fill: train_packets,
            singles: 0,
            head_gap: Duration::from_micros(100),
            tail_gap: Duration::from_micros(200),
            rushed_gap: Duration::from_micros(85),
            longest_wait: Duration::from_micros(500),
        }
    }

    /// Sends `count` packets as early as pacer and mean rate let them go, on a host that wakes at
    /// multiples of `tick` microseconds.
    fn departures_on(tick: u64, train: u32, count: usize, backlog: Backlog) -> Vec<u64> {
        let (mut pacer, mut budget) = (Pacer::new(), Budget::default());
        let mut now = at_micros(10_000);
        let mut times = Vec::new();
        while times.len() < count {
            budget.on_question(now);
            match pacer.next(now, budget.due(), || plan(train), backlog) {
                Pace::At(later) => {
                    budget.on_answer(Some(later));
                    now = at_micros((later.as_nanos() / 1000).div_ceil(tick) * tick);
                }
                Pace::Now => {
                    times.push((now.as_nanos() / 1000) - 10_000);
                    pacer.on_sent(now, budget.credit());
                    budget.on_sent(now, PACKET, plan(train).rate);
                }
            }
        }
        times
    }

    fn departures(train: u32, count: usize, backlog: Backlog) -> Vec<u64> {
        departures_on(1, train, count, backlog)
    }

    const PLENTY: Backlog = Backlog {
        ready: 100,
        window_limited: true,
    };

    #[test]
    fn packets_keep_the_rate_after_the_credit_is_used() {
        assert_eq!(departures(1, 5, PLENTY), [0, 0, 1000, 2000, 3000]);
    }

    #[test]
    fn trains_keep_the_same_mean_rate() {
        let times = departures(4, 12, PLENTY);
        assert_eq!(
            times,
            [
                0, 100, 200, 300, 3000, 3100, 3200, 3300, 7000, 7100, 7200, 7300
            ]
        );
    }

    #[test]
    fn a_burst_that_the_window_has_room_for_is_sent_at_the_pace_of_its_trains() {
        let burst = Backlog {
            ready: 100,
            window_limited: false,
        };
        let fast = PacingPlan {
            rate: Bandwidth::from_mbps(10_000),
            rushed_gap: plan(2).head_gap,
            ..plan(2)
        };
        let mut pacer = Pacer::new();
        let mut now = at_micros(10_000);
        for packet in 0..20 {
            if let Pace::At(due) = pacer.next(now, now, || fast, burst) {
                now = due;
            }
            assert_eq!(now, at_micros(10_000 + 100 * packet), "packet {packet}");
            assert_eq!(pacer.next(now, now, || fast, burst), Pace::Now);
            pacer.on_sent(now, CREDIT);
        }
    }

    #[test]
    fn a_long_train_slows_down_after_its_head() {
        let times = departures(10, 10, PLENTY);
        assert_eq!(times, [0, 100, 200, 300, 400, 500, 600, 700, 900, 1100]);
    }

    #[test]
    fn asking_again_before_the_packet_leaves_gives_the_same_answer() {
        let (now, later) = (at_micros(10_000), at_micros(10_010));
        let mut pacer = Pacer::new();
        pacer.on_sent(now - Duration::from_micros(50), CREDIT);
        assert_eq!(pacer.next(now, now, || plan(4), PLENTY), Pace::Now);
        // A train has begun; the gap to the packet before it is no business of its first one.
        assert_eq!(pacer.next(now, now, || plan(4), PLENTY), Pace::Now);
        assert_eq!(pacer.next(later, now, || plan(4), PLENTY), Pace::Now);
        pacer.on_sent(later, CREDIT);
        let second = Pace::At(later + Duration::from_micros(100));
        assert_eq!(pacer.next(later, now, || plan(4), PLENTY), second);
    }

    #[test]
    fn trains_keep_the_mean_rate_and_catch_up_within_them_where_timers_tick() {
        for tick in [1000, 4000] {
            let times = departures_on(tick, 32, 1000, PLENTY);
            let last = times.last().copied().unwrap_or_default();
            assert!(
                (950_000..=1_000_000).contains(&last),
                "1000 packets of 1 ms took {last} us with ticks of {tick} us"
            );
        }
        // A train of four at 10 Mbit/s in all: its packets 100 us apart leave with one tick.
        assert_eq!(
            departures_on(1000, 4, 8, PLENTY),
            [0, 1000, 1000, 1000, 3000, 4000, 4000, 4000]
        );
    }

    #[test]
    fn a_single_packet_waits_for_a_second_and_after_a_failure_does_not() {
        let single = Backlog {
            ready: 1,
            window_limited: false,
        };
        // The second follows at the tight link's pace, on the credit of the time that the first waited.
        assert_eq!(departures(4, 3, single), [500, 600, 1500]);
    }

    #[test]
    fn a_short_train_leaves_when_the_data_ends_and_waits_when_the_window_does() {
        let data = Backlog {
            ready: 2,
            window_limited: false,
        };
        assert_eq!(departures(4, 2, data), [0, 100]);
        let window = Backlog {
            ready: 2,
            window_limited: true,
        };
        // 4 packets of 1500 bytes take 4.8 ms at the mean rate; then it goes short.
        assert_eq!(departures(4, 2, window), [4800, 4900]);
    }
}
