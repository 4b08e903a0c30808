//! The peer's clock, from the receive times in its acknowledgements
//! (draft-ietf-quic-receive-ts-02).
//!
//! The peer's times have an origin that nobody else knows. Here they are moved so that the first
//! packet keeps the time of its acknowledgement. Only differences between them are used.
//!
//! A peer can claim any time. Three things can be checked: packets arrive after they left; they
//! arrive in the order in which they left, with few exceptions; and an acknowledgement comes after
//! the arrival of its packet by about the same time, give or take a round trip. Times are used
//! once they have passed these checks for a while. A peer that fails again and again is ignored
//! from then on.

use super::skew::Skew;
use crate::units::{TimeDelta, Timestamp};
use std::time::Duration;

/// How many lapses are forgiven, and how many acknowledgements in order make up for one. A host
/// may be suspended, or its clock may be set.
const LAPSES: u32 = 3;
const FORGIVEN_AFTER: u32 = 1000;

/// The tolerance for a host that is late.
const LATENESS: Duration = Duration::from_millis(10);

/// The largest drift of two clocks as a share of the time: ten times that of cheap oscillators.
const DRIFT_DIVISOR: u32 = 2_000;

/// How many receive times are checked together, and the share of them that may be out of order.
const BLOCK: u32 = 64;
const DISORDER_DIVISOR: u32 = 8;

/// How many blocks have to pass before times are used.
const PROBATION: u32 = 2;

/// A peer that has told no time in so many acknowledgements tells none any more.
const UNTOLD: u32 = 64;

/// The relation of the peer's clock to ours.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    ours: Timestamp,
    theirs: Duration,
    /// The usual time from a packet's arrival to its acknowledgement, beyond that of the first
    /// packet.
    usual: TimeDelta,
    /// The time of the last acknowledgement.
    last: Timestamp,
    /// A time by the peer's clock, and what it is by ours. From there on ours is longer by `drift`,
    /// a share of the time.
    base: (Duration, Timestamp),
    drift: f64,
}

impl Anchor {
    /// What the peer's time is by our clock, except for a constant.
    fn ours_of(&self, theirs: Duration) -> Timestamp {
        let (base, ours) = self.base;
        let since = signed_difference(theirs, base);
        if self.drift == 0.0 {
            return shifted(ours, since);
        }
        let drifted = libm::round(since.as_nanos_f64() * self.drift);
        #[expect(clippy::cast_possible_truncation, reason = "floats saturate")]
        let drifted = TimeDelta::from_nanos(drifted as i64);
        shifted(ours, since + drifted)
    }

    /// Another drift holds from this time of the peer on.
    fn drift_from(&mut self, theirs: Duration, drift: f64) {
        self.base = (theirs, self.ours_of(theirs));
        self.drift = drift;
    }
}

/// Reads the peer's receive times.
#[derive(Debug, Default)]
pub struct ReceiveClock {
    anchor: Option<Anchor>,
    skew: Skew,
    /// The latest receive time so far.
    latest: Duration,
    /// The receive times in the present block, and those of them out of order.
    times: u32,
    disordered: u32,
    /// The blocks that have passed since the last lapse.
    passed: u32,
    trusted: bool,
    /// The newest acknowledgements, in a row, that had no time.
    untold: u32,
    in_order: u32,
    lapses: u32,
    distrusted: bool,
}

/// How an acknowledgement's receive times can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// There are none, or they are not believed yet, or they are no longer believed.
    None,
    /// They begin a new reckoning. Differences to earlier times mean nothing.
    Restarted,
    /// They continue the reckoning.
    Continued,
}

impl ReceiveClock {
    /// An acknowledgement came at `arrived`, from which the delay that the peer says it added is
    /// taken off. By the peer's clock its newest packet with a time arrived at `theirs`.
    /// `round_trip` is its round trip time.
    #[inline]
    pub fn on_ack(
        &mut self,
        arrived: Timestamp,
        theirs: Option<Duration>,
        round_trip: Duration,
    ) -> Reading {
        let Some(theirs) = theirs.filter(|_| !self.distrusted) else {
            self.untold = self.untold.saturating_add(1);
            if self.untold == UNTOLD {
                self.cease();
            }
            return Reading::None;
        };
        self.untold = 0;
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
        let most = 1.0 / f64::from(DRIFT_DIVISOR);
        if let Some(drift) = self.skew.on_ack(arrived, late, most) {
            anchor.drift_from(theirs, drift);
        }
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

    /// When the packet that left at `sent` arrived, by our clock except for a constant. `None` if
    /// the time is out of order or impossible. Ask in the order of packet numbers.
    pub fn arrival(&mut self, sent: Timestamp, theirs: Duration) -> Option<Timestamp> {
        let arrival = self.anchor?.ours_of(theirs);
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
    #[cfg(any(test, feature = "unstable"))]
    pub fn is_distrusted(&self) -> bool {
        self.distrusted
    }

    fn start(&mut self, ours: Timestamp, theirs: Duration) {
        self.anchor = Some(Anchor {
            ours,
            theirs,
            usual: TimeDelta::ZERO,
            last: ours,
            base: (theirs, ours),
            drift: 0.0,
        });
        self.skew = Skew::default();
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
            // Whatever the latest time was, the next acknowledgement begins anew.
            self.lapse();
        } else {
            self.passed = self.passed.saturating_add(1);
        }
        (self.times, self.disordered) = (0, 0);
    }

    /// Times are not used until they have passed the checks anew.
    fn cease(&mut self) {
        self.in_order = 0;
        self.passed = 0;
        self.trusted = false;
        self.anchor = None;
    }

    fn lapse(&mut self) {
        self.cease();
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
    fn a_peer_that_tells_no_times_any_more_is_not_waited_for() {
        let mut clock = trusted();
        let mut tell = |i: u32, theirs| {
            clock.on_ack(at(20 + i), theirs, 20 * MS);
            clock.is_trusted()
        };
        assert!((129..192).all(|i| tell(i, None)));
        assert!(!tell(192, None));
        assert!((193..1000).all(|i| !tell(i, None)));
        assert!(!clock.is_distrusted());
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
        // 100 us a second, either way, for 1000 s.
        for drift_ns in [1000, -1000] {
            let mut clock = ReceiveClock::default();
            let mut last = None;
            for i in 0..100_000u32 {
                let left = at(i * 10);
                let since = i64::from(i) * (10_000_000 + drift_ns);
                let theirs = Duration::from_nanos(u64::try_from(since).expect("it goes forward"));
                clock.on_ack(left + 20 * MS, Some(theirs), 20 * MS);
                let arrival = clock.arrival(left, theirs).expect("possible and in order");
                last = Some(arrival - left);
            }
            assert!(clock.is_trusted() && clock.lapses == 0);
            // Until the drift is known, 4 ms of it have come together.
            let off = last.expect("a time").magnitude().as_secs_f64() - 0.02;
            assert!(off.abs() < 0.005, "{off}");
        }
    }
}
