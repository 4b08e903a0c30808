//! The peer's clock, from the receive times in its acknowledgements (draft-ietf-quic-receive-ts-02).
//!
//! The peer's times have an origin that nobody else knows; here they are moved so that the first packet
//! keeps the time of its acknowledgement. All that is used of them are differences.
//!
//! A peer can say what it likes. What can be checked is: packets arrive after they left, in the order in
//! which they left but for some, and acknowledgements come after what they speak of by about the same
//! time, give or take a round trip. Who breaks that again and again is no longer listened to.

use crate::units::{TimeDelta, Timestamp};
use std::time::Duration;

/// Lapses that are forgiven, each for this many acknowledgements that are in order: a host may be
/// suspended, and its clock set.
const LAPSES: u32 = 3;
const FORGIVEN_AFTER: u32 = 1000;

/// Room for a host that is late.
const LATENESS: Duration = Duration::from_millis(10);

/// The share by which the usual time from arrival to acknowledgement follows each new one: clocks drift
/// apart by some tens of microseconds a second.
const FOLLOW: i64 = 64;

/// Where the peer's clock stands against ours.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    ours: Timestamp,
    theirs: Duration,
    /// The usual time from a packet's arrival to its acknowledgement, beyond the first one's.
    usual: TimeDelta,
}

/// Reads the peer's receive times.
#[derive(Debug, Default)]
pub struct ReceiveClock {
    anchor: Option<Anchor>,
    /// The latest receive time so far.
    latest: Duration,
    in_order: u32,
    lapses: u32,
    distrusted: bool,
}

/// What an acknowledgement's receive times are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// None are given, or none believed.
    None,
    /// They begin a new reckoning: differences to earlier ones mean nothing.
    Restarted,
    /// They go on.
    Continued,
}

impl ReceiveClock {
    /// An acknowledgement came at `arrived` (the delay that the peer says it added taken off), whose
    /// newest packet with a time arrived at `theirs`. `round_trip` is its round trip time.
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
            return Reading::Restarted;
        };
        let late = (arrived - anchor.ours) - signed_difference(theirs, anchor.theirs);
        let off = late - anchor.usual;
        if off.abs() > round_trip * 2 + LATENESS {
            self.lapse();
            self.start(arrived, theirs);
            return if self.distrusted {
                Reading::None
            } else {
                Reading::Restarted
            };
        }
        anchor.usual += TimeDelta::from_nanos(off.as_nanos() / FOLLOW);
        self.in_order += 1;
        if self.in_order == FORGIVEN_AFTER {
            self.in_order = 0;
            self.lapses = self.lapses.saturating_sub(1);
        }
        Reading::Continued
    }

    /// When a packet arrived that left at `sent`, on our clock but for a constant; `None` if it is out
    /// of order, or cannot be. Ask in the order of packet numbers.
    pub fn arrival(&mut self, sent: Timestamp, theirs: Duration) -> Option<Timestamp> {
        let anchor = self.anchor?;
        let since = signed_difference(theirs, anchor.theirs);
        let arrival = shifted(anchor.ours, since);
        if theirs < self.latest || arrival < sent {
            return None;
        }
        self.latest = theirs;
        Some(arrival)
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
        });
        self.latest = Duration::ZERO;
    }

    fn lapse(&mut self) {
        self.in_order = 0;
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

    #[test]
    fn differences_are_the_peer_s_own() {
        let mut clock = ReceiveClock::default();
        let theirs = |ms: u32| Duration::from_secs(7) + MS * ms;
        assert_eq!(
            clock.on_ack(at(20), Some(theirs(0)), 20 * MS),
            Reading::Restarted
        );
        // The second acknowledgement is 5 ms late; the packets were 1 ms apart.
        assert_eq!(
            clock.on_ack(at(26), Some(theirs(1)), 26 * MS),
            Reading::Continued
        );
        let first = clock.arrival(at(0), theirs(0)).unwrap();
        let second = clock.arrival(at(1), theirs(1)).unwrap();
        assert_eq!(second - first, TimeDelta::from(MS));
        assert_eq!(clock.arrival(at(2), theirs(0)), None, "out of order");
        assert_eq!(clock.arrival(at(99), theirs(2)), None, "before it left");
    }

    #[test]
    fn who_lies_is_not_listened_to() {
        for lie in [
            |i: u32| MS * (100_000 - i * 10), // backwards
            |i: u32| MS * i * 1000,           // a hundred times too fast
            |i: u32| Duration::MAX / (i + 1),
            |_: u32| Duration::ZERO,
        ] {
            let mut clock = ReceiveClock::default();
            let mut continued = 0;
            for i in 0..1000 {
                let reading = clock.on_ack(at(20 + i * 10), Some(lie(i)), 20 * MS);
                continued += u32::from(reading == Reading::Continued);
            }
            assert!(clock.is_distrusted());
            assert!(continued < 50, "{continued}");
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
