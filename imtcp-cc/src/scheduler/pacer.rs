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
    /// The gap between two packets of a train. It is as long as the tight link needs for one, so a
    /// burst is over as early as without trains.
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
            self.rush.on_train(now, plan.gap);
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
mod tests {
    use super::super::{Budget, Lateness};
    use super::*;
    use crate::units::{Bandwidth, Bytes};

    const CREDIT: Duration = Duration::from_millis(1);

    const PACKET: Bytes = Bytes::new(1250);

    fn at_micros(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    /// A packet takes 1 ms at this rate.
    const RATE: Bandwidth = Bandwidth::from_mbps(10);

    fn plan(train_packets: u32) -> PacingPlan {
        PacingPlan {
            train_packets,
            gap: Duration::from_micros(100),
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
            rushed_gap: plan(2).gap,
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

    /// A train that follows a stream at once would leave faster than the link serves it, to its
    /// end.
    #[test]
    fn a_train_keeps_its_gap_to_the_stream_before_it() {
        let (mut pacer, begun) = (Pacer::new(), at_micros(10_000));
        for packet in 0..4 {
            let now = begun + plan(4).gap * packet;
            assert_eq!(pacer.next(now, now, || plan(4), PLENTY), Pace::Now);
            pacer.on_sent(now, CREDIT);
        }
        let last = begun + Duration::from_millis(400);
        for before_us in [340, 230, 110] {
            pacer.on_sent(last - Duration::from_micros(before_us), CREDIT);
        }
        pacer.on_sent(last, CREDIT);
        let first = Pace::At(last + plan(4).gap);
        assert_eq!(pacer.next(last, last, || plan(4), PLENTY), first);
    }

    #[test]
    fn a_long_train_keeps_its_pace_to_the_end() {
        let times = departures(10, 10, PLENTY);
        assert_eq!(times, [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
    }

    #[test]
    fn asking_again_before_the_packet_leaves_gives_the_same_answer() {
        let (now, later) = (at_micros(10_000), at_micros(10_010));
        let mut pacer = Pacer::new();
        pacer.on_sent(now - Duration::from_micros(50), CREDIT);
        assert_eq!(pacer.next(now, now, || plan(4), PLENTY), Pace::Now);
        // A train has begun, and its first packet keeps no gap to the packet before it.
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
        // A train of four packets, 100 us apart, at a mean rate of 10 Mbit/s: all four leave with
        // one tick.
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
    fn the_last_packet_of_a_burst_does_not_wait() {
        let mut pacer = Pacer::new();
        let mut now = at_micros(10_000);
        for ready in (1..=9).rev() {
            if let Pace::At(due) = pacer.next(now, now, || plan(4), ready) {
                now = due;
            }
            assert_eq!(pacer.next(now, now, || plan(4), ready), Pace::Now);
            pacer.on_sent(now, CREDIT);
        }
        assert_eq!(now, at_micros(10_000 + 8 * 100));
    }

    #[test]
    fn a_short_train_leaves_when_the_data_ends() {
        assert_eq!(departures(4, 2, 2), [0, 100]);
    }
}
