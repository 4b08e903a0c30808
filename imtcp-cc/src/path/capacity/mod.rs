//! The rate that the tight link could carry if it were ours alone.
//!
//! The value has two sources. If echoes come at the data's own time, it comes from dispersions of
//! packets ([`DispersionCapacity`]). Otherwise, or if there are no dispersions, it is the most
//! that was delivered ([`SustainedRate`]), which is a lower bound of the capacity.

mod dispersion;
mod rce;
mod sustained;

use dispersion::{DispersionCapacity, NewCapacity};
pub use rce::ResidualCapacity;
use sustained::SustainedRate;

use crate::path::ack::EchoGap;
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};

/// If delivery exceeds a capacity from dispersions by more than this factor, that capacity is
/// wrong.
const EXCEEDED: f64 = 1.25;

/// How many contradictions in a row show that echoes have a time of their own. One capacity may be
/// wrong by chance: a first pile is two gaps, and two echoes that waited behind another flow's
/// handshake on the way back can make it.
const MOST_CONTRADICTIONS: u32 = 2;

/// What a gap changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapacityNews {
    /// The capacity, if it changed.
    pub changed: Option<Bandwidth>,
    /// Since when the link has had it, on the sender's clock of departures. `None` if the link has
    /// not changed, and its capacity is only known better.
    pub since: Option<Timestamp>,
    /// Whether no capacity fits the dispersions, because others would have to send more than the
    /// link carries.
    pub contradiction: bool,
}

/// The capacity of the tight link, in IP-layer bits per second (C).
#[derive(Debug, Default)]
pub struct Capacity {
    dispersion: DispersionCapacity,
    sustained: SustainedRate,
    current: Option<Bandwidth>,
    coarse: bool,
    /// Whether nothing but delivery speaks for the present value.
    bound: bool,
    /// How many capacities in a row were contradicted.
    contradictions: u32,
}

impl Capacity {
    /// A capacity of which nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything, but keeps the allocated memory.
    pub fn forget(&mut self) {
        self.dispersion.forget();
        self.sustained = SustainedRate::default();
        self.current = None;
        self.contradictions = 0;
    }

    /// The capacity, once known.
    pub fn get(&self) -> Option<Bandwidth> {
        self.current
    }

    /// Whether the value is only a lower bound: the most that was delivered.
    pub fn is_bound(&self) -> bool {
        self.current.is_some() && self.bound
    }

    /// `packets` packets with `bytes` on the wire were delivered. The newest left at `sent`, and
    /// its acknowledgement came at `came`.
    #[inline]
    pub fn on_delivered(
        &mut self,
        (sent, came): (Timestamp, Timestamp),
        bytes: Bytes,
        packets: u32,
        jitter: Nanos,
    ) -> Option<Bandwidth> {
        let before = self.sustained.get();
        self.sustained
            .on_delivered(sent, came, bytes, packets, jitter);
        // Most deliveries change nothing.
        (self.sustained.get() != before)
            .then(|| self.update())
            .flatten()
    }

    /// Takes a gap between echoes. `coarse` says whether echoes are read coarsely.
    #[inline]
    pub fn on_gap(&mut self, gap: &EchoGap, coarse: bool) -> CapacityNews {
        let before = (self.coarse, self.dispersion.get());
        self.coarse = coarse;
        let mut since = None;
        if coarse {
            self.dispersion.forget();
        } else if let Some(new) = self.dispersion.on_gap(gap) {
            since = self.on_change(&new);
        }
        match self.dispersion.is_contradicted().filter(|_| !coarse) {
            Some(true) if self.dispersion.read_blocks() || self.dispersion.read_longer() => {}
            Some(true) => {
                self.dispersion.forget();
                self.contradictions += 1;
            }
            Some(false) => self.contradictions = 0,
            None => {}
        }
        let contradiction = self.contradictions >= MOST_CONTRADICTIONS;
        if contradiction {
            self.contradictions = 0;
        }
        // Most gaps change nothing.
        let is_news = since.is_some() || before != (coarse, self.dispersion.get());
        CapacityNews {
            changed: is_news.then(|| self.update()).flatten(),
            since,
            contradiction,
        }
    }

    /// If the link has become slower, what it delivered before says nothing of it.
    fn on_change(&mut self, new: &NewCapacity) -> Option<Timestamp> {
        let is_slower = self.current.is_some_and(|before| before > new.capacity);
        if new.since.is_some() && is_slower {
            self.sustained = SustainedRate::default();
        }
        new.since
    }

    /// Whether more was delivered than the dispersions say that the link carries.
    #[inline]
    fn is_exceeded(&self) -> bool {
        let told = self.dispersion.supposed().zip(self.sustained.get());
        // Nearly always the first comparison is enough.
        told.is_some_and(|(found, delivered)| {
            delivered > found && delivered > found.scaled(EXCEEDED)
        })
    }

    #[inline]
    fn update(&mut self) -> Option<Bandwidth> {
        if self.is_exceeded() {
            // Packets that left at the pace of a value that is too low would be taken for evidence
            // of the next value.
            self.dispersion.forget();
        }
        let found = self.dispersion.get().filter(|_| !self.coarse);
        self.bound = found.is_none();
        let current = found.or(self.sustained.get());
        let changed = current != self.current;
        self.current = current.or(self.current);
        self.current.filter(|_| changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::ack::{EchoPoint, LinkState};
    use crate::units::Timestamp;
    use std::time::Duration;

    /// A full packet at 20 Mbit/s, and an acknowledgement of 150 bytes.
    const PACKET: Bytes = Bytes::new(1378);
    const SERVED: Duration = Duration::from_nanos(551_200);
    const PRESSED: Duration = Duration::from_nanos(60_000);

    /// Packets that left back to back, echoed `arrival` apart.
    fn gap(arrival: Duration) -> EchoGap {
        let at = |number: u64, arrived: Duration| EchoPoint {
            number,
            size: PACKET,
            sent: Timestamp::ZERO,
            arrived: Timestamp::from_origin(arrived),
            came: Timestamp::from_origin(arrived),
        };
        EchoGap {
            from: at(0, Duration::ZERO),
            to: at(1, arrival),
            bytes: PACKET,
            packets: 1,
            waited: Nanos::ZERO,
            is_alone: false,
            link: LinkState::BusyQueued,
        }
    }

    fn megabits(capacity: &Capacity) -> Option<f64> {
        capacity.get().map(|rate| (rate.as_bps_f64() / 1e6).round())
    }

    /// Feeds gaps until the capacity is dropped; whether that was called a contradiction.
    fn until_dropped(capacity: &mut Capacity, arrival: impl Fn(usize) -> Duration) -> bool {
        for index in 0..1000 {
            let known = capacity.dispersion.get().is_some();
            let news = capacity.on_gap(&gap(arrival(index)), false);
            if known && capacity.dispersion.get().is_none() {
                return news.contradiction;
            }
        }
        panic!("it was not dropped");
    }

    #[test]
    fn a_first_pile_by_chance_is_dropped_and_the_echoes_are_not_blamed() {
        let mut capacity = Capacity::new();
        for arrival in [SERVED, PRESSED, PRESSED, SERVED] {
            let _ = capacity.on_gap(&gap(arrival), false);
        }
        assert_eq!(megabits(&capacity), Some(184.0));
        assert!(!until_dropped(&mut capacity, |_| SERVED));
        for _ in 0..600 {
            assert!(!capacity.on_gap(&gap(SERVED), false).contradiction);
        }
        assert_eq!(megabits(&capacity), Some(20.0));
    }

    #[test]
    fn after_a_refuted_capacity_two_echoes_alike_are_followed_and_six_are_told() {
        let mut capacity = Capacity::new();
        for arrival in [SERVED, PRESSED, PRESSED, SERVED] {
            let _ = capacity.on_gap(&gap(arrival), false);
        }
        assert!(!until_dropped(&mut capacity, |_| SERVED));
        for percent in [60, 100, 150, 100] {
            let _ = capacity.on_gap(&gap(SERVED * percent / 100), false);
        }
        assert!(capacity.dispersion.supposed().is_some());
        for _ in 0..4 {
            assert_eq!(capacity.dispersion.get(), None);
            let _ = capacity.on_gap(&gap(SERVED), false);
        }
        assert_eq!(megabits(&capacity), Some(20.0));
        assert!(capacity.dispersion.get().is_some());
    }

    #[test]
    fn echoes_that_are_always_pressed_together_are_blamed() {
        let mut capacity = Capacity::new();
        let pressed = |index: usize| {
            if index.is_multiple_of(8) {
                PRESSED
            } else {
                SERVED
            }
        };
        assert!(!until_dropped(&mut capacity, pressed));
        assert!(until_dropped(&mut capacity, pressed));
    }

    #[test]
    fn echoes_of_a_fast_link_that_are_late_now_and_then_are_read_over_a_longer_time() {
        let mut capacity = Capacity::new();
        // A packet takes 110 us, and every eighth echo is 90 us late.
        let late = [200, 20, 110, 110, 110, 110, 110, 110];
        for arrival in late.repeat(250) {
            let news = capacity.on_gap(&gap(Duration::from_micros(arrival)), false);
            assert!(!news.contradiction);
        }
        assert_eq!(megabits(&capacity), Some(100.0));
    }

    /// What is told of a link that takes 286 us for a packet, if packets that follow each other
    /// arrive at these times.
    fn told_of_286_us(arrivals_us: impl Iterator<Item = u64>) -> Capacity {
        let mut capacity = Capacity::new();
        let mut before = 0;
        for (number, at) in (0..).zip(arrivals_us) {
            let mut gap = gap(Duration::from_micros(at - before));
            (gap.from.number, gap.to.number) = (number, number + 1);
            before = at;
            assert!(!capacity.on_gap(&gap, false).contradiction);
        }
        capacity
    }

    #[test]
    fn a_link_is_told_from_the_ticks_of_its_echoes() {
        // At ticks of 100 us one packet in seven comes 200 us after the one before: 55 Mbit/s.
        let arrivals = (1..=1000u64).map(|number| (number * 286).next_multiple_of(100));
        let capacity = told_of_286_us(arrivals);
        assert!((38.0..=39.0).contains(&megabits(&capacity).expect("a capacity")));
        assert!(!capacity.is_bound());
    }

    #[test]
    fn packets_that_left_slower_tell_ticks_from_others() {
        // After a few that leave at once packets leave 200 us apart, as a link of 55 Mbit/s would
        // serve them, and after forty of them `slower` leave 290 us apart.
        let told = |slower: u64| {
            let mut capacity = Capacity::new();
            let (mut left, mut served, mut before) = (0, 0, 0);
            for number in 0..3000 {
                let apart = match number {
                    0..10 => 0,
                    _ if number % (40 + slower) < 40 => 200,
                    _ => 290,
                };
                let sent = [left, left + apart].map(Duration::from_micros);
                left += apart;
                served = left.max(served) + 286;
                let arrived = served.next_multiple_of(100);
                let mut gap = gap(Duration::from_micros(arrived - before));
                before = arrived;
                (gap.from.number, gap.to.number) = (number, number + 1);
                [gap.from.sent, gap.to.sent] = sent.map(Timestamp::from_origin);
                let _ = capacity.on_gap(&gap, false);
            }
            megabits(&capacity).expect("a capacity")
        };
        assert!((38.0..=39.0).contains(&told(20)), "{}", told(20));
        assert!((54.0..=56.0).contains(&told(0)), "nothing tells them apart");
    }

    #[test]
    fn a_refuted_capacity_gives_way_to_what_several_dispersions_show() {
        // Echoes that are late by up to 240 us, by chance. Without the blocks the capacity is
        // refuted once and again, and then the echoes are blamed: there are too few of them for
        // what blocks show by themselves.
        let mixed = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let late = |number: u64| mixed(mixed(number) ^ number.rotate_left(17)) * 240 / (1 << 32);
        let arrivals = (1..=400).map(|number| number * 286 + late(number));
        let capacity = told_of_286_us(arrivals);
        assert!((37.0..=40.0).contains(&megabits(&capacity).expect("a capacity")));
        assert!(!capacity.is_bound());
    }

    #[test]
    fn a_faster_link_shows_in_one_train_of_eight() {
        // A frame of four packets at a time, at the known capacity's pace, and rushed now and then.
        let mut capacity = Capacity::new();
        for _ in 0..300 {
            let _ = capacity.on_gap(&gap(SERVED), false);
        }
        let (mut trains, mut number, mut at) = (0, 1000, Timestamp::ZERO);
        while capacity.get().unwrap() < Bandwidth::from_mbps(60) {
            trains += 1;
            assert!(trains < 200, "{:?}", capacity.get());
            let own = capacity.get().unwrap().time_for(PACKET);
            let apart = if trains % 8 == 0 { own * 85 / 100 } else { own };
            for _ in 0..3 {
                let mut paced = gap(apart.max(SERVED / 4));
                (paced.from.number, paced.to.number) = (number, number + 1);
                (paced.from.sent, paced.to.sent) = (at, at + apart);
                assert!(!capacity.on_gap(&paced, false).contradiction);
                (number, at) = (number + 1, at + apart);
            }
            number += 1;
        }
        assert!(!capacity.is_bound());
    }

    #[test]
    fn an_acknowledgement_that_the_peer_held_back_shows_no_link() {
        // A client that acknowledges every second packet, or after 25 ms, and says how long it
        // waited. The packets left together, or so far apart that one in two waited alone.
        for (sent_us, arrival_us) in [(0, 551), (24_000, 24_500), (24_000, 25_200)] {
            let mut capacity = Capacity::new();
            let mut held = gap(Duration::from_micros(arrival_us));
            held.to.sent = Timestamp::from_origin(Duration::from_micros(sent_us));
            held.to.came = held.to.arrived + Duration::from_millis(25);
            for _ in 0..100 {
                let _ = capacity.on_gap(&held, false);
            }
            assert_eq!(capacity.get(), None, "sent {sent_us} us apart");
        }
        // What a peer says of its delay makes no link faster.
        for (percent, told) in [(95, Some(20.0)), (60, None)] {
            let mut capacity = Capacity::new();
            let mut lie = gap(SERVED * percent / 100);
            lie.to.came = Timestamp::from_origin(SERVED);
            for _ in 0..100 {
                let _ = capacity.on_gap(&lie, false);
            }
            assert_eq!(megabits(&capacity), told, "{percent} %");
        }
    }

    #[test]
    fn what_delivery_exceeds_is_forgotten_with_its_idea_of_what_left_close_together() {
        let mut capacity = Capacity::new();
        // Acknowledgements that the peer delayed look like a link of 0.42 Mbit/s.
        for _ in 0..4 {
            let _ = capacity.on_gap(&gap(Duration::from_millis(26)), false);
        }
        assert!(capacity.get().is_some_and(|found| found.as_bps_f64() < 5e5));
        // 10 Mbit/s are delivered.
        let mut at = Timestamp::ZERO;
        for _ in 0..2000 {
            at = at + Duration::from_micros(1_102);
            let _ = capacity.on_delivered((at, at), PACKET, 1, Nanos::ZERO);
        }
        assert!(capacity.is_bound());
        // Packets that left and came at the same pace are no evidence of any link.
        for _ in 0..600 {
            let mut paced = gap(Duration::from_micros(1_102));
            paced.to.sent = Timestamp::from_origin(Duration::from_micros(1_102));
            let _ = capacity.on_gap(&paced, false);
        }
        assert!(capacity.is_bound());
    }
}
