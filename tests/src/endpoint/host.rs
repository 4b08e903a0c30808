//! The machine that one side runs on: when its timers fire, when its datagrams leave, and when those
//! that come are handed over.

use super::alarm::Alarm;
use crate::network::Datagram;
use crate::random::Random;
use crate::scenario;
use crate::scenario::Range;
use imtcp_cc::units::{Bytes, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// One side's machine.
#[derive(Debug)]
pub(super) struct Host {
    settings: scenario::Host,
    random: Random,
    alarm: Alarm,
    /// The last timer that was set, and when it fires.
    timer: Option<(Timestamp, Timestamp)>,
    /// Until when the line is busy.
    busy_until: Timestamp,
    /// What has come and is not handed over.
    inbox: VecDeque<Datagram>,
    hand_over: Option<Timestamp>,
}

impl Host {
    pub(super) fn new(settings: scenario::Host, random: Random) -> Self {
        Self {
            settings,
            random,
            alarm: Alarm::default(),
            timer: None,
            busy_until: Timestamp::ZERO,
            inbox: VecDeque::new(),
            hand_over: None,
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

    /// When a timer fires that is set now. A process that is awake needs none for what is due.
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

    /// When a datagram has left that is sent now.
    pub(super) fn leaves(&mut self, now: Timestamp, size: Bytes) -> Timestamp {
        let Some(rate) = self.settings.line_rate else {
            return now;
        };
        self.busy_until = self.busy_until.max(now) + rate.time_for(size);
        self.busy_until
    }

    /// A datagram comes. Returns when it is handed over, if that has to be scheduled: now, where
    /// nothing waits.
    pub(super) fn receive(&mut self, now: Timestamp, datagram: Datagram) -> Option<Timestamp> {
        self.inbox.push_back(datagram);
        let Some(range) = self.settings.receive_late else {
            return Some(now);
        };
        let most = self.settings.receive_packets;
        if most.is_some_and(|most| self.inbox.len() >= most as usize) {
            self.hand_over = Some(now);
            return Some(now);
        }
        if self.hand_over.is_some() {
            return None;
        }
        let at = now + self.drawn(range);
        self.hand_over = Some(at);
        Some(at)
    }

    /// Whether what has come is handed over now.
    pub(super) fn hands_over(&self, now: Timestamp) -> bool {
        self.hand_over == Some(now)
    }

    /// The next of the datagrams that are handed over; to be called until there is none.
    pub(super) fn handed_over(&mut self) -> Option<Datagram> {
        self.hand_over = None;
        self.inbox.pop_front()
    }

    fn drawn(&mut self, range: Range) -> Duration {
        let ratio = range.to.as_secs_f64() / range.from.as_secs_f64();
        range.from.mul_f64(libm::pow(ratio, self.random.uniform()))
    }
}

fn round_up(at: Timestamp, tick: Duration) -> Timestamp {
    let tick = u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX).max(1);
    Timestamp::from_nanos(at.as_nanos().div_ceil(tick).saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Stamp;
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
            ..scenario::Host::default()
        });
        let at = host.receive(us(0), datagram(0)).expect("to be scheduled");
        assert!((us(100)..=us(200)).contains(&at), "{at}");
        assert_eq!(host.receive(us(50), datagram(1)), None);
        assert!(host.hands_over(at));
        let mut taken = 0;
        while let Some(datagram) = host.handed_over() {
            assert_eq!(datagram.stamp.number, taken);
            taken += 1;
        }
        assert_eq!(taken, 2);
        let _ = host.receive(us(300), datagram(2));
        let _ = host.receive(us(301), datagram(3));
        assert_eq!(host.receive(us(302), datagram(4)), Some(us(302)));
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
