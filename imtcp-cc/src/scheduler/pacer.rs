//! When packets may leave while no stream is being sent.
//!
//! The pacer gathers packets into short trains without changing their mean rate, which is the
//! [`super::Budget`]'s: inside a train packets follow each other at the tight link's own pace, so
//! that the link stays busy from the first to the last and each gap tells what others sent
//! meanwhile.

use super::Place;
use crate::units::Timestamp;
use std::time::Duration;

/// Packets at the head of a train, at the tight link's own pace. Of what others send meanwhile a
/// queue of some packets remains, on which the tail can draw: half the head at a load of one half.
const HEAD: u32 = 8;

/// One train of so many is rushed.
const TRAINS_PER_RUSH: u32 = 8;

/// After a packet that waited in vain for a second one, this many go at once: where no second one
/// ever comes, fewer than one in twenty waits, and the 95th percentile of their age is no higher.
const SKIP_AFTER_FAILURE: u32 = 32;

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
    /// Most packets of a train; 1 spaces all packets evenly.
    pub train_packets: u32,
    /// From packet to packet at the head of a train, which builds a short queue at the tight link,
    /// and after it, slow enough to watch the link for long and fast enough to keep the queue.
    pub head_gap: Duration,
    /// See `head_gap`.
    pub tail_gap: Duration,
    /// Takes the place of `head_gap` now and then: faster than the link is thought to be, so that a
    /// higher capacity shows.
    pub rushed_gap: Duration,
    /// The longest that a packet waits for a second one.
    pub longest_wait: Duration,
}

impl PacingPlan {
    /// No trains.
    pub const EVEN: Self = Self {
        train_packets: 1,
        head_gap: Duration::ZERO,
        tail_gap: Duration::ZERO,
        rushed_gap: Duration::ZERO,
        longest_wait: Duration::ZERO,
    };
}

/// Spaces packets.
#[derive(Debug)]
pub struct Pacer {
    /// When the newest packet of the present train was to leave. Where timers are late the packets
    /// behind it catch up with the train's own pace, and those that left together are a train at
    /// the pace of the host's own link.
    paced_at: Timestamp,
    /// When the next one is to leave.
    next_at: Timestamp,
    /// Packets that the present train still has to send.
    train_left: u32,
    /// Packets that it has sent.
    train_sent: u32,
    trains: u32,
    /// Since when a packet waits for a second one.
    filling_since: Option<Timestamp>,
    /// Packets that do not wait for a second one.
    skip: u32,
}

impl Default for Pacer {
    fn default() -> Self {
        Self {
            paced_at: Timestamp::ZERO,
            next_at: Timestamp::ZERO,
            train_left: 0,
            train_sent: 0,
            trains: 0,
            filling_since: None,
            // The application has not shown yet that it brings a second one.
            skip: SKIP_AFTER_FAILURE,
        }
    }
}

impl Pacer {
    /// Ready to send at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// When the next packet may leave, which the mean rate allows from `due` on. May be asked any
    /// number of times. Data and window have `ready` packets. The plan is made only where a train
    /// begins or goes on.
    pub fn next(
        &mut self,
        now: Timestamp,
        due: Timestamp,
        plan: impl FnOnce() -> PacingPlan,
        ready: u32,
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
        let plan = plan();
        if plan.train_packets <= 1 {
            return Pace::Now;
        }
        // The window leaves room, so the mean rate is no bound, and trains that followed each other
        // at once would be sent faster than any of them: pairs at twice the tight link's pace.
        let due = self.paced_at + plan.head_gap;
        if self.trains > 0 && now < due {
            return Pace::At(due);
        }
        self.start_train(now, &plan, ready)
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

    fn start_train(&mut self, now: Timestamp, plan: &PacingPlan, ready: u32) -> Pace {
        // The application may bring a second packet, if it has shown that it does.
        if ready == 1 && self.skip == 0 && !plan.longest_wait.is_zero() {
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
        self.trains = self.trains.wrapping_add(1);
        Pace::Now
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
    use super::super::{Budget, Lateness};
    use super::*;
    use crate::units::{Bandwidth, Bytes};

    const CREDIT: Duration = Duration::from_millis(1);

    const PACKET: Bytes = Bytes::new(1250);

    fn at_micros(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    /// 1 ms a packet.
    const RATE: Bandwidth = Bandwidth::from_mbps(10);

    fn plan(train_packets: u32) -> PacingPlan {
        PacingPlan {
            train_packets,
            head_gap: Duration::from_micros(100),
            tail_gap: Duration::from_micros(200),
            rushed_gap: Duration::from_micros(85),
            longest_wait: Duration::from_micros(500),
        }
    }

    /// Sends `count` packets as early as pacer and mean rate let them go, on a host that wakes at
    /// multiples of `tick` microseconds.
    fn departures_on(tick: u64, train: u32, count: usize, ready: u32) -> Vec<u64> {
        let (mut pacer, mut budget) = (Pacer::new(), Budget::default());
        let mut lateness = Lateness::default();
        let mut now = at_micros(10_000);
        let mut times = Vec::new();
        while times.len() < count {
            lateness.on_question(now);
            match pacer.next(now, budget.due(), || plan(train), ready) {
                Pace::At(later) => {
                    lateness.on_answer(Some(later));
                    now = at_micros((later.as_nanos() / 1000).div_ceil(tick) * tick);
                }
                Pace::Now => {
                    times.push((now.as_nanos() / 1000) - 10_000);
                    pacer.on_sent(now, lateness.credit());
                    budget.on_sent(now, lateness.credit(), PACKET, RATE);
                }
            }
        }
        times
    }

    fn departures(train: u32, count: usize, ready: u32) -> Vec<u64> {
        departures_on(1, train, count, ready)
    }

    const PLENTY: u32 = 100;

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
        let fast = PacingPlan {
            rushed_gap: plan(2).head_gap,
            ..plan(2)
        };
        let mut pacer = Pacer::new();
        let mut now = at_micros(10_000);
        for packet in 0..20 {
            if let Pace::At(due) = pacer.next(now, now, || fast, PLENTY) {
                now = due;
            }
            assert_eq!(now, at_micros(10_000 + 100 * packet), "packet {packet}");
            assert_eq!(pacer.next(now, now, || fast, PLENTY), Pace::Now);
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

    /// How long each of `count` packets waits that come one by one, a second apart.
    fn waits_of_single_packets(pacer: &mut Pacer, count: u64) -> Vec<Duration> {
        let come = (1..=count).map(|second| at_micros(second * 1_000_000));
        let wait = |now: Timestamp| {
            let due = match pacer.next(now, now, || plan(4), 1) {
                Pace::At(due) => due,
                Pace::Now => now,
            };
            assert_eq!(pacer.next(due, due, || plan(4), 1), Pace::Now);
            pacer.on_sent(due, CREDIT);
            pacer.on_drained();
            due.saturating_since(now)
        };
        come.map(wait).collect()
    }

    #[test]
    fn a_single_packet_seldom_waits_for_a_second_that_never_comes() {
        let waits = waits_of_single_packets(&mut Pacer::new(), 200);
        let waited = waits.iter().filter(|wait| !wait.is_zero()).count();
        assert!((2..=10).contains(&waited), "{waited} of 200");
    }

    #[test]
    fn a_single_packet_waits_where_a_second_one_came() {
        let mut pacer = Pacer::new();
        let now = at_micros(10_000);
        assert_eq!(pacer.next(now, now, || plan(4), 2), Pace::Now);
        pacer.on_sent(now, CREDIT);
        pacer.on_drained();
        let waits = waits_of_single_packets(&mut pacer, 2);
        assert_eq!(waits, [plan(4).longest_wait, Duration::ZERO]);
    }

    #[test]
    fn a_short_train_leaves_when_the_data_ends() {
        assert_eq!(departures(4, 2, 2), [0, 100]);
    }
}
