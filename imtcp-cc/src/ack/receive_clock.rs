//! The peer's clock, from the receive times in its acknowledgements
//! (draft-ietf-quic-receive-ts-02).
//!
//! The peer's times have an origin that nobody else knows; here they are moved so that the first
//! packet keeps the time of its acknowledgement. All that is used of them are differences.
//!
//! A peer can say what it likes. What can be checked is: packets arrive after they left, in the
//! order in which they left but for some, and acknowledgements come after what they speak of by
//! about the same time, give or take a round trip. Times are used once they have passed for a
//! while; who fails again and again is no longer listened to.

use crate::units::{TimeDelta, Timestamp};
use std::time::Duration;

/// Lapses that are forgiven, each for this many acknowledgements that are in order: a host may be
/// suspended, and its clock set.
const LAPSES: u32 = 3;
const FORGIVEN_AFTER: u32 = 1000;

/// Room for a host that is late.
const LATENESS: Duration = Duration::from_millis(10);

/// Clocks drift apart by no more than this share of the time: ten times what cheap oscillators do.
const DRIFT_DIVISOR: u32 = 2_000;

/// Receive times that are looked at together, and the share of them that may be out of order.
const BLOCK: u32 = 64;
const DISORDER_DIVISOR: u32 = 8;

/// Blocks that have to pass before times are used.
const PROBATION: u32 = 2;

/// Where the peer's clock stands against ours.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    ours: Timestamp,
    theirs: Duration,
    /// The usual time from a packet's arrival to its acknowledgement, beyond the first one's.
    usual: TimeDelta,
    /// The last acknowledgement.
    last: Timestamp,
}

/// Reads the peer's receive times.
#[derive(Debug, Default)]
pub struct ReceiveClock {
    anchor: Option<Anchor>,
    /// The latest receive time so far.
    latest: Duration,
    /// In the present block: receive times, and those out of order.
    times: u32,
    disordered: u32,
    /// Blocks that have passed since the last lapse.
    passed: u32,
    trusted: bool,
    in_order: u32,
    lapses: u32,
    distrusted: bool,
}

/// What an acknowledgement's receive times are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// None are given, or none believed yet, or none any more.
    None,
    /// They begin a new reckoning: differences to what came before mean nothing.
    Restarted,
    /// They go on.
    Continued,
}

impl ReceiveClock {
    /// An acknowledgement came at `arrived` (the delay that the peer says it added taken off),
    /// whose newest packet with a time arrived at `theirs`. `round_trip` is its round trip time.
    pub fn on_ack(
        &mut self,
        arrived: Timestamp,
        theirs: Option<Duration>,
        round_trip: Duration,
    ) -> Reading {
        let Some(theirs) = theirs.filter(|_| !self.distrusted) else {
            return Reading::None;
        };
        let Some(anchor) = &mut self.anchor else {
            self.start(arrived, theirs);
            return Reading::None;
        };
        let late = (arrived - anchor.ours) - signed_difference(theirs, anchor.theirs);
        let off = late - anchor.usual;
        if off.abs() > round_trip * 2 + LATENESS {
            self.lapse();
            self.start(arrived, theirs);
            return Reading::None;
        }
        let drift = TimeDelta::from(arrived.saturating_since(anchor.last) / DRIFT_DIVISOR);
        anchor.usual += off.max(-drift).min(drift);
        anchor.last = arrived;
        self.in_order += 1;
        if self.in_order == FORGIVEN_AFTER {
            self.in_order = 0;
            self.lapses = self.lapses.saturating_sub(1);
        }
        match (self.trusted, self.passed >= PROBATION) {
            (true, _) => Reading::Continued,
            (false, true) => {
                self.trusted = true;
                Reading::Restarted
            }
            (false, false) => Reading::None,
        }
    }

    /// When a packet arrived that left at `sent`, on our clock but for a constant; `None` if it is
    /// out of order, or cannot be. Ask in the order of packet numbers.
    pub fn arrival(&mut self, sent: Timestamp, theirs: Duration) -> Option<Timestamp> {
        let anchor = self.anchor?;
        let since = signed_difference(theirs, anchor.theirs);
        let arrival = shifted(anchor.ours, since);
        let is_in_order = theirs >= self.latest && arrival >= sent;
        self.count(is_in_order);
        if !is_in_order {
            return None;
        }
        self.latest = theirs;
        Some(arrival)
    }

    /// Whether the peer's times are used now.
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// Whether the peer's times are ignored for good.
    pub fn is_distrusted(&self) -> bool {
        self.distrusted
    }

    fn start(&mut self, ours: Timestamp, theirs: Duration) {
        self.anchor = Some(Anchor {
            ours,
            theirs,
            usual: TimeDelta::ZERO,
            last: ours,
        });
        self.latest = Duration::ZERO;
        (self.times, self.disordered) = (0, 0);
    }

    fn count(&mut self, is_in_order: bool) {
        self.times += 1;
        self.disordered += u32::from(!is_in_order);
        if self.times < BLOCK {
            return;
        }
        if self.disordered * DISORDER_DIVISOR > BLOCK {
            self.lapse();
            // Wherever the latest time led: the next acknowledgement begins anew.
            self.anchor = None;
        } else {
            self.passed = self.passed.saturating_add(1);
        }
        (self.times, self.disordered) = (0, 0);
    }

    fn lapse(&mut self) {
        self.in_order = 0;
        self.passed = 0;
        self.trusted = false;
        self.lapses += 1;
        self.distrusted = self.lapses > LAPSES;
    }
}

fn signed_difference(a: Duration, b: Duration) -> TimeDelta {
    if a >= b {
        TimeDelta::from(a - b)
    } else {
        -TimeDelta::from(b - a)
    }
}

fn shifted(at: Timestamp, by: TimeDelta) -> Timestamp {
    match by.to_duration() {
        Some(forward) => at + forward,
        None => at - by.abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u32) -> Timestamp {
        Timestamp::from_origin(MS * ms)
    }

    fn theirs(ms: u32) -> Duration {
        Duration::from_secs(7) + MS * ms
    }

    /// A clock whose peer has told 128 times in order, one every millisecond from 0 on.
    fn trusted() -> ReceiveClock {
        let mut clock = ReceiveClock::default();
        for i in 0..128 {
            let reading = clock.on_ack(at(20 + i), Some(theirs(i)), 20 * MS);
            assert_eq!(reading, Reading::None);
            clock.arrival(at(i), theirs(i));
        }
        let reading = clock.on_ack(at(148), Some(theirs(128)), 20 * MS);
        assert_eq!(reading, Reading::Restarted);
        clock
    }

    #[test]
    fn differences_are_the_peer_s_own() {
        let mut clock = trusted();
        // This acknowledgement is 5 ms late; the packets were 1 ms apart.
        let reading = clock.on_ack(at(154), Some(theirs(129)), 25 * MS);
        assert_eq!(reading, Reading::Continued);
        let first = clock.arrival(at(128), theirs(128)).unwrap();
        let second = clock.arrival(at(129), theirs(129)).unwrap();
        assert_eq!(second - first, TimeDelta::from(MS));
        assert_eq!(clock.arrival(at(130), theirs(128)), None, "out of order");
        assert_eq!(clock.arrival(at(999), theirs(130)), None, "before it left");
    }

    #[test]
    fn times_out_of_order_are_soon_ignored() {
        let mut clock = trusted();
        for i in 129..1000 {
            let time = theirs(i + 7 * (i % 3));
            clock.on_ack(at(20 + i), Some(time), 20 * MS);
            clock.arrival(at(i), time);
        }
        assert!(clock.is_distrusted());
    }

    #[test]
    fn who_lies_is_not_listened_to() {
        for lie in [
            |i: u32| MS * (100_000 - i * 10), // backwards
            |i: u32| MS * i * 1000,           // a hundred times too fast
            |i: u32| MS * i,                  // ten times too slow
            |i: u32| Duration::MAX / (i + 1),
            |_: u32| Duration::ZERO,
        ] {
            let mut clock = ReceiveClock::default();
            for i in 0..1000 {
                let reading = clock.on_ack(at(20 + i * 10), Some(lie(i)), 20 * MS);
                assert_eq!(reading, Reading::None);
                clock.arrival(at(i * 10), lie(i));
            }
            assert!(clock.is_distrusted());
        }
    }

    #[test]
    fn a_clock_that_drifts_is_followed() {
        let mut clock = ReceiveClock::default();
        for i in 0..100_000u32 {
            // 100 us a second, for 1000 s.
            let theirs = MS * i * 10 + Duration::from_micros(u64::from(i));
            clock.on_ack(at(20 + i * 10), Some(theirs), 20 * MS);
        }
        assert!(!clock.is_distrusted());
    }
}
