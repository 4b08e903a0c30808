//! The machine that one side runs on: when its timers fire, when its datagrams leave, and when
//! those that come are handed over.

use super::alarm::Alarm;
use crate::network::Datagram;
use crate::random::Random;
use crate::scenario;
use crate::scenario::Range;
use imtcp_cc::units::{Bytes, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// So many datagrams are sent before those that have come get their turn.
const BATCH: u32 = 64;

/// One side's machine.
#[derive(Debug)]
pub(super) struct Host {
    settings: scenario::Host,
    random: Random,
    alarm: Alarm,
    /// The last timer that was set, and when it fires.
    timer: Option<(Timestamp, Timestamp)>,
    /// The machine is occupied with sending until then.
    working_until: Timestamp,
    /// Datagrams sent in the present batch.
    sent: u32,
    /// The line is busy until then.
    busy_until: Timestamp,
    /// What has come and is not handed over.
    inbox: VecDeque<Datagram>,
    hand_over: Option<Timestamp>,
    /// The present or the next nap.
    nap: std::ops::Range<Timestamp>,
}

impl Host {
    pub(super) fn new(settings: scenario::Host, random: Random) -> Self {
        Self {
            settings,
            random,
            alarm: Alarm::default(),
            timer: None,
            working_until: Timestamp::ZERO,
            sent: 0,
            busy_until: Timestamp::ZERO,
            inbox: VecDeque::new(),
            hand_over: None,
            nap: Timestamp::ZERO..Timestamp::ZERO,
        }
    }

    /// A process that sleeps is occupied until it wakes.
    fn doze(&mut self, now: Timestamp) {
        let Some(naps) = self.settings.naps else {
            return;
        };
        while self.nap.end <= now {
            let from = self.nap.end + self.drawn(naps.awake);
            self.nap = from..from + self.drawn(naps.asleep);
        }
        if self.nap.contains(&now) {
            self.working_until = self.working_until.max(self.nap.end);
        }
    }

    /// The side has to be woken when `due`. Returns an instant for which no event is scheduled yet.
    pub(super) fn arm(&mut self, now: Timestamp, due: Option<Timestamp>) -> Option<Timestamp> {
        let due = due?;
        let fires = match self.timer {
            Some((set, fires)) if set == due && fires > now => fires,
            _ => self.fires(now, due),
        };
        self.timer = Some((due, fires));
        self.alarm.arm(now, Some(fires))
    }

    /// The time at which a timer fires if it is set now. A process that is awake needs no timer for
    /// what is due.
    fn fires(&mut self, now: Timestamp, due: Timestamp) -> Timestamp {
        let due = match self.settings.timer_tick {
            Some(tick) => round_up(due, tick),
            None => due,
        };
        match self.settings.timer_late {
            Some(range) if due > now => due + self.drawn(range),
            _ => due,
        }
    }

    /// An event that was scheduled for now happens. Says whether it is the timer.
    pub(super) fn timer_fires(&mut self, now: Timestamp) -> bool {
        self.alarm.fires(now)
    }

    /// The time at which a datagram has left if it is sent now.
    pub(super) fn leaves(&mut self, now: Timestamp, size: Bytes) -> Timestamp {
        let Some(rate) = self.settings.line_rate else {
            return now;
        };
        self.busy_until = self.busy_until.max(now) + rate.time_for(size);
        self.busy_until
    }

    /// A datagram comes. Returns the time at which it is handed over, if that has to be scheduled.
    /// That is now where nothing waits. Nobody hands over one that finds no room.
    pub(super) fn receive(&mut self, now: Timestamp, datagram: Datagram) -> Option<Timestamp> {
        let room = self.settings.receive_buffer;
        if room.is_some_and(|room| self.inbox.len() >= room as usize) {
            return None;
        }
        self.doze(now);
        self.inbox.push_back(datagram);
        let most = self.settings.receive_packets;
        let late = self.settings.receive_late;
        let late = late.filter(|_| most.is_none_or(|most| self.inbox.len() < most as usize));
        if self.hand_over.is_some() && late.is_some() {
            return None;
        }
        let late = late.map_or(Duration::ZERO, |range| self.drawn(range));
        let at = (now + late).max(self.working_until);
        self.hand_over = Some(at);
        Some(at)
    }

    /// An event happens while the machine is occupied: it has to happen again at the instant
    /// returned.
    pub(super) fn postpones(&mut self, now: Timestamp) -> Option<Timestamp> {
        self.doze(now);
        let until = Some(self.working_until).filter(|until| *until > now)?;
        self.hand_over = self.hand_over.map(|at| at.max(until));
        self.alarm.postpone(until);
        Some(until)
    }

    /// The machine begins to send; returns when it is free to.
    pub(super) fn begins(&mut self, now: Timestamp) -> Timestamp {
        self.sent = 0;
        self.working_until = self.working_until.max(now);
        self.working_until
    }

    /// A datagram is sent. Returns when the next one may be sent, or `None` if datagrams that have
    /// come get their turn first.
    pub(super) fn sends(&mut self) -> Option<Timestamp> {
        if self.settings.send_takes.is_zero() {
            return Some(self.working_until);
        }
        self.sent += 1;
        self.working_until = self.working_until + self.settings.send_takes;
        (self.sent < BATCH).then_some(self.working_until)
    }

    /// A batch has left, and perhaps not everything with it.
    pub(super) fn has_more_to_send(&self) -> bool {
        self.sent == BATCH
    }

    /// Until when the machine is occupied.
    pub(super) fn working_until(&self) -> Timestamp {
        self.working_until
    }

    /// Whether what has come is handed over now.
    pub(super) fn hands_over(&self, now: Timestamp) -> bool {
        self.hand_over == Some(now)
    }

    /// Takes the datagrams that are handed over now, with the times at which they came.
    pub(super) fn handed_over(&mut self, now: Timestamp, into: &mut Vec<(Timestamp, Datagram)>) {
        self.hand_over = None;
        let mut came = now;
        let work = self.settings.receive_takes.as_nanos() * self.inbox.len() as u128;
        let work = Duration::from_nanos(u64::try_from(work).unwrap_or(u64::MAX));
        self.working_until = self.working_until.max(now) + work;
        while let Some(datagram) = self.inbox.pop_back() {
            into.push((came, datagram));
            if let Some(range) = self.settings.receive_spacing {
                came = came - self.drawn(range);
            }
        }
        into.reverse();
    }

    fn drawn(&mut self, range: Range) -> Duration {
        let width = range.to.saturating_sub(range.from);
        range.from + width.mul_f64(self.random.uniform())
    }
}

fn round_up(at: Timestamp, tick: Duration) -> Timestamp {
    let tick = u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX).max(1);
    Timestamp::from_nanos(at.as_nanos().div_ceil(tick).saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Ecn, Stamp};
    use imtcp_cc::units::Bandwidth;

    fn us(us: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_micros(us))
    }

    fn host(settings: scenario::Host) -> Host {
        Host::new(settings, Random::for_component(1, "host"))
    }

    fn between(from: u64, to: u64) -> Option<Range> {
        let (from, to) = (Duration::from_micros(from), Duration::from_micros(to));
        Some(Range { from, to })
    }

    fn datagram(number: u64) -> Datagram {
        Datagram {
            ecn: Ecn::NotCapable,
            payload: Vec::new(),
            stamp: Stamp {
                number,
                sent: Timestamp::ZERO,
                answers: None,
                read: 0,
            },
        }
    }

    #[test]
    fn ticks_are_never_early_and_an_exact_one_is_in_time() {
        let mut host = host(scenario::Host {
            timer_tick: Some(Duration::from_millis(1)),
            ..scenario::Host::default()
        });
        assert_eq!(host.arm(us(0), Some(us(2001))), Some(us(3000)));
        assert_eq!(host.arm(us(0), Some(us(2000))), Some(us(2000)));
        assert!(host.timer_fires(us(2000)));
        // Due at 2.4 ms and seen at 2.5 ms: it has to wait for the tick all the same.
        assert_eq!(host.arm(us(2500), Some(us(2400))), Some(us(3000)));
    }

    #[test]
    fn a_timer_that_is_asked_for_again_keeps_its_lateness() {
        let mut host = host(scenario::Host {
            timer_late: between(10, 4000),
            ..scenario::Host::default()
        });
        let first = host.arm(us(0), Some(us(500))).expect("it is new");
        assert!((us(510)..=us(4500)).contains(&first), "{first}");
        for now in 1..100 {
            assert_eq!(host.arm(us(now), Some(us(500))), None, "at {now} us");
        }
        assert!(host.timer_fires(first));
        let due = host.arm(first, Some(first)).expect("it is new");
        assert!(due < first + Duration::from_micros(10), "awake already");
    }

    #[test]
    fn what_comes_waits_for_the_first_ones_hand_over_or_for_enough() {
        let mut host = host(scenario::Host {
            receive_late: between(100, 200),
            receive_packets: Some(3),
            receive_spacing: between(4, 4),
            ..scenario::Host::default()
        });
        let at = host.receive(us(0), datagram(0)).expect("to be scheduled");
        assert!((us(100)..=us(200)).contains(&at), "{at}");
        assert_eq!(host.receive(us(50), datagram(1)), None);
        assert!(host.hands_over(at));
        let mut taken = Vec::new();
        host.handed_over(at, &mut taken);
        let taken = taken.into_iter();
        let taken = taken.map(|(came, d)| (d.stamp.number, at.saturating_since(came).as_micros()));
        assert_eq!(taken.collect::<Vec<_>>(), [(0, 4), (1, 0)]);
        let _ = host.receive(us(300), datagram(2));
        let _ = host.receive(us(301), datagram(3));
        assert_eq!(host.receive(us(302), datagram(4)), Some(us(302)));
    }

    #[test]
    fn sending_takes_time_and_what_comes_meanwhile_waits() {
        let mut host = host(scenario::Host {
            send_takes: Duration::from_micros(6),
            ..scenario::Host::default()
        });
        assert_eq!(host.begins(us(100)), us(100));
        assert_eq!([host.sends(), host.sends()], [Some(us(106)), Some(us(112))]);
        assert_eq!(host.postpones(us(105)), Some(us(112)));
        assert_eq!(host.receive(us(108), datagram(0)), Some(us(112)));
        assert_eq!(host.postpones(us(112)), None);
        assert!(host.hands_over(us(112)));
        host.begins(us(112));
        let batch = std::iter::from_fn(|| host.sends()).count();
        assert_eq!(batch, 63, "the sixty-fourth ends the batch");
        assert!(host.has_more_to_send());
    }

    #[test]
    fn what_comes_to_a_process_that_sleeps_waits_and_what_finds_no_room_is_lost() {
        let mut host = host(scenario::Host {
            receive_takes: Duration::from_micros(10),
            receive_buffer: Some(2),
            naps: between(1000, 1000)
                .zip(between(300, 300))
                .map(|(awake, asleep)| scenario::Naps { awake, asleep }),
            ..scenario::Host::default()
        });
        assert_eq!(host.receive(us(900), datagram(0)), Some(us(900)), "awake");
        host.handed_over(us(900), &mut Vec::new());
        let comes = [1000, 1100, 1200].map(|at| host.receive(us(at), datagram(at)));
        assert_eq!(comes, [Some(us(1300)), Some(us(1300)), None]);
        assert_eq!(host.postpones(us(1250)), Some(us(1300)), "a timer");
        assert!(host.hands_over(us(1300)));
        let mut taken = Vec::new();
        host.handed_over(us(1300), &mut taken);
        assert_eq!(taken.len(), 2);
        assert_eq!(
            host.receive(us(1310), datagram(3)),
            Some(us(1320)),
            "at work"
        );
        assert_eq!(
            host.receive(us(2600), datagram(4)),
            Some(us(2600)),
            "awake for 1 ms again"
        );
    }

    #[test]
    fn what_is_sent_together_leaves_back_to_back() {
        let mut host = host(scenario::Host {
            line_rate: Some(Bandwidth::from_mbps(1000)),
            ..scenario::Host::default()
        });
        // 1250 bytes take 10 us.
        let leaves = [0, 0, 5, 100].map(|now| host.leaves(us(now), Bytes::new(1250)));
        assert_eq!(leaves, [10, 20, 30, 110].map(us));
    }
}
