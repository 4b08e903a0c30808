//! The slope of congestion avoidance: k_bw and its bounds (PT II-B), as plain arithmetic.
//!
//! As in the paper, a packet is the unit: a full datagram. A packet converts between the layers:
//! the same packet has M bytes of UDP payload in the window, M less overhead of goodput in the
//! promise, and M plus headers in the available bandwidth and the capacity.

/// The position within a control slot when an acknowledgement comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Position {
    /// g_i srtt_i s: the number of packets that the control slot has to deliver.
    pub(super) due: f64,
    /// a_j: the number of packets that count already. The paper counts packets sent since the slot
    /// began; docs/ALGORITHM.md says why packets acknowledged and in flight count here.
    pub(super) counted: f64,
    /// cwnd: the congestion window, in packets.
    pub(super) window: f64,
    /// s: the length of the control slot, in round trips.
    pub(super) length: u32,
    /// n_j: the number of round trips since the slot began, from 0.
    pub(super) round: u32,
}

/// k_bw of PT (2): the packets per round trip by which the window must grow so that the control
/// slot delivers what is due:
///
/// ```text
/// k = 2 (g srtt s - a_j - (s - n_j - 1) cwnd) / ((s - n_j - 1) (s - n_j))
/// ```
///
/// `None` in the slot's last round trip, because packets sent then are acknowledged in the next
/// slot.
pub(super) fn k_bw(at: &Position) -> Option<f64> {
    let after = at.length.checked_sub(at.round)?;
    let rounds = f64::from(after.checked_sub(1).filter(|rounds| *rounds > 0)?);
    let need = at.due - at.counted - rounds * at.window;
    Some(2.0 * need / (rounds * f64::from(after)))
}

/// The rates of a path, in packets per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PathRates {
    /// A, the available bandwidth, in packets per second.
    pub(super) available: f64,
    /// P, the physical bandwidth, in packets per second.
    pub(super) capacity: f64,
    /// The largest share of P that may be reached by taking from others; 0 to 1.
    pub(super) ceiling: f64,
}

impl PathRates {
    /// The rates while the capacity is not known, as with a peer that acknowledges in groups and
    /// tells no receive times. What is delivered is a lower bound of it and says nothing of how
    /// much more there is. It may be doubled, as a slow start may.
    pub(super) fn without_capacity(delivered: f64) -> Self {
        Self {
            available: delivered,
            capacity: SPARE * delivered,
            ceiling: 1.0,
        }
    }

    /// The largest rate that may be reached by taking from others: the ceiling's share of the
    /// capacity, but never less than what is available without taking. With a ceiling of 1 this is
    /// the paper's P.
    pub(super) fn reach(&self) -> f64 {
        self.available
            .max(self.ceiling * self.capacity)
            .min(self.capacity.max(self.available))
    }
}

/// Whether the control slots of this evaluation slot met their targets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Standing {
    /// Each slot reached its target: PT (3) holds.
    OnTarget,
    /// One slot did not reach its target: PT (4) holds, with g_i - tput_{i-1} in packets per
    /// second.
    Behind { lacking: f64 },
}

/// k_max of PT (3) and (4): what fits into the path within a round trip of `srtt` seconds.
///
/// ```text
/// k_max = A srtt - cwnd                                   while every target was reached
/// k_max = min(A + (g_i - tput_{i-1}), P') srtt - cwnd     once one was not
/// ```
///
/// P' is [`PathRates::reach`], the paper's P under the ceiling.
pub(super) fn k_max(path: &PathRates, standing: Standing, window: f64, srtt: f64) -> f64 {
    let rate = match standing {
        Standing::OnTarget => path.available,
        Standing::Behind { lacking } => (path.available + lacking.max(0.0)).min(path.reach()),
    };
    rate * srtt - window
}

/// k of Reno's own slope.
pub(super) const RENO: f64 = 1.0;

/// k for a source that uses all it can get. Below its target the window climbs by k_bw, at least by
/// `least` and at most by k_max. With a Reno window and `least` of 1 this is PT II-B.2. From the
/// target on the window follows its own law.
pub(super) fn at_least(k_bw: f64, k_max: f64, window: f64, least: f64) -> f64 {
    if k_bw > 0.0 {
        k_bw.min(upper(k_max, window))
            .max(least.min(window))
            .max(0.0)
    } else {
        0.0
    }
}

/// The window of a source that wants no more than a rate, as a multiple of the window that the
/// rate needs. The packets of such a source leave at the rate, so the window bounds nothing while
/// no packet is lost. After a loss the window is halved (RFC 9002, section 7.3.2), and half of
/// this one still carries the rate. The same factor bounds how much faster than the rate the
/// source sends to make up for what it lacks.
pub(super) const SPARE: f64 = 2.0;

/// The least window that is enough for a source that wants no more than a rate, in packets. After
/// half of it is taken, a loss is still found by the packets behind it (kPacketThreshold of RFC
/// 9002, section 6.1.1), and not by a timeout. The rate stays the bound.
const LEAST_ENOUGH: f64 = 8.0;

/// The same, in groups of packets that come with one acknowledgement. A window that holds no group
/// is acknowledged after a timeout only. A peer may not inflate the window without a bound. So a
/// group counts as [`LARGEST_GROUP`] packets at most, or as what leaves in [`LONGEST_HELD_S`] if
/// that is more. A timer of 68 ms held 66 packets back, and drawn clients wait for up to 100 ms.
const GROUPS: f64 = 2.0;
const LARGEST_GROUP: f64 = 32.0;
const LONGEST_HELD_S: f64 = 0.25;

/// The window to which a source that wants `rate` packets per second and no more is steered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Enough {
    /// The window, in packets.
    pub(super) window: f64,
    /// The slope towards that window from below, in packets per round trip.
    pub(super) climb: f64,
}

impl Enough {
    /// Computes window and slope. `spare` is the window as a multiple of what the rate needs, and
    /// `group` the number of packets that come with one acknowledgement. If
    /// the path can carry the rate without more being taken than allowed, the slope reaches the
    /// window within a control slot of `length` round trips. That is how far the path usually
    /// goes without a loss. Otherwise the slope is Reno's. A faster climb does no harm here,
    /// because only the window rises, and not the rate of sending.
    pub(super) fn of(
        rate: f64,
        path: Option<&PathRates>,
        window: f64,
        srtt: f64,
        length: u32,
        spare: f64,
        group: f64,
    ) -> Self {
        let group = group.min(LARGEST_GROUP.max(rate * LONGEST_HELD_S));
        let least = LEAST_ENOUGH.max(GROUPS * group);
        let enough = (spare * rate * srtt).max(least);
        let fits = path.is_some_and(|path| rate <= path.reach());
        let planned = (enough - window) / f64::from(length.max(1));
        Self {
            window: enough,
            climb: if fits { planned.max(RENO) } else { RENO },
        }
    }
}

/// k for a source that wants the rate and no more. It leads to the window that is enough and not
/// beyond it: up by what the slot lacks or as planned, and down by at most half a window per round
/// trip.
pub(super) fn exactly(k_bw: f64, k_max: f64, window: f64, enough: &Enough) -> f64 {
    let missing = (enough.window - window).max(-window / 2.0);
    let fastest = k_bw.min(upper(k_max, window)).max(enough.climb);
    missing.min(fastest).min(window.max(RENO))
}

/// The rate at which a source that wants no more than `bw` may send: the target of the control
/// slot, but between half of `bw` and twice `bw`. Neither a shortfall nor an excess is then made
/// up for in a burst or a pause.
pub(super) fn pace(target: f64, bw: f64) -> f64 {
    target.clamp(bw / SPARE, SPARE * bw)
}

/// The upper bound of k: k_max, but not faster than slow start, and not slower than Reno.
fn upper(k_max: f64, window: f64) -> f64 {
    k_max.min(window).max(RENO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn k_bw_of_a_slot_that_begins() {
        // g = 1000 packets/s, srtt = 0.1 s, s = 16: due 1600. a = 0, cwnd = 50, n = 0.
        // 2 (1600 - 0 - 15 * 50) / (15 * 16) = 2 * 850 / 240 = 7.0833
        let at = Position {
            due: 1600.0,
            counted: 0.0,
            window: 50.0,
            length: 16,
            round: 0,
        };
        let k = k_bw(&at).expect("a slot that begins");
        assert!((k - 1700.0 / 240.0).abs() < 1e-12, "{k}");
        // What that k sends in the 15 round trips: 15 * 50 + k / 2 * 15 * 16 = 750 + 850 = 1600.
        let sent: f64 = (1..=15).map(|round| 50.0 + k * f64::from(round)).sum();
        assert!((sent - 1600.0).abs() < 1e-9, "{sent}");
    }

    #[test]
    fn k_bw_amid_a_slot_and_at_its_end() {
        // n = 10, a = 900, cwnd = 120: 2 (1600 - 900 - 5 * 120) / (5 * 6) = 200 / 30 = 6.6667
        let at = Position {
            due: 1600.0,
            counted: 900.0,
            window: 120.0,
            length: 16,
            round: 10,
        };
        assert!((k_bw(&at).expect("amid") - 200.0 / 30.0).abs() < 1e-12);
        // n = 14: one round trip is left: 2 (1600 - 1400 - 120) / (1 * 2) = 80, the whole rest at
        // once.
        let at = Position {
            counted: 1400.0,
            round: 14,
            ..at
        };
        assert_eq!(k_bw(&at), Some(80.0));
        // n = 15 and later: too late for this slot.
        assert_eq!(k_bw(&Position { round: 15, ..at }), None);
        assert_eq!(k_bw(&Position { round: 40, ..at }), None);
        // More than due is sent already: 2 (1600 - 1700 - 5 * 120) / 30 = -46.667
        let at = Position {
            counted: 1700.0,
            round: 10,
            ..at
        };
        assert!((k_bw(&at).expect("amid") + 1400.0 / 30.0).abs() < 1e-12);
    }

    #[test]
    fn a_window_that_is_just_right_stays() {
        // g srtt = 100 packets a round trip = cwnd, all of it in flight:
        // 2 (1600 - 100 - 15 * 100) / 240 = 0. With the paper's a_j = 0: 200 / 240 = 0.83, 6 % too
        // much.
        let at = Position {
            due: 1600.0,
            counted: 100.0,
            window: 100.0,
            length: 16,
            round: 0,
        };
        assert_eq!(k_bw(&at), Some(0.0));
    }

    const PATH: PathRates = PathRates {
        available: 400.0,
        capacity: 2000.0,
        ceiling: 1.0,
    };

    #[test]
    fn k_max_by_hand() {
        // A = 400/s, srtt = 0.1 s: 40 packets fit. cwnd 25: 15; cwnd 60: -20.
        assert_eq!(k_max(&PATH, Standing::OnTarget, 25.0, 0.1), 15.0);
        assert_eq!(k_max(&PATH, Standing::OnTarget, 60.0, 0.1), -20.0);
        // g_i - tput = 300/s: min(700, 2000) * 0.1 - 25 = 45.
        let behind = Standing::Behind { lacking: 300.0 };
        assert_eq!(k_max(&PATH, behind, 25.0, 0.1), 45.0);
        // 3000/s behind: P bounds it: 2000 * 0.1 - 25 = 175.
        let far_behind = Standing::Behind { lacking: 3000.0 };
        assert_eq!(k_max(&PATH, far_behind, 25.0, 0.1), 175.0);
        // Ceiling of a half: 1000 * 0.1 - 25 = 75. Of a tenth: 200 is below A: 400 * 0.1 - 25 = 15.
        let half = PathRates {
            ceiling: 0.5,
            ..PATH
        };
        assert_eq!(k_max(&half, far_behind, 25.0, 0.1), 75.0);
        let tenth = PathRates {
            ceiling: 0.1,
            ..PATH
        };
        assert_eq!(k_max(&tenth, far_behind, 25.0, 0.1), 15.0);
    }

    #[test]
    fn bounds_by_hand() {
        // At least: between the least and k_max, not faster than doubling.
        assert_eq!(at_least(7.0, 15.0, 50.0, 2.0), 7.0);
        assert_eq!(at_least(20.0, 15.0, 50.0, 2.0), 15.0);
        assert_eq!(at_least(0.5, 15.0, 50.0, 2.0), 2.0);
        assert_eq!(at_least(7.0, -20.0, 50.0, 0.5), 1.0);
        assert_eq!(at_least(80.0, 75.0, 10.0, 2.0), 10.0);
        // On target the window follows its own law, and a window that is large enough does not
        // shrink.
        assert_eq!(at_least(-3.0, 15.0, 50.0, 2.0), 0.0);
        assert_eq!(at_least(0.5, 15.0, 50.0, -9.0), 0.5);
        // N packets would be faster than slow start.
        assert_eq!(at_least(0.5, 15.0, 2.5, 4.0), 2.5);
        // Exactly: falls to what is enough, half a window at a time, and climbs to it as planned,
        // or faster for what lacks.
        let towards = |window| Enough { window, climb: 3.0 };
        assert_eq!(exactly(20.0, 15.0, 50.0, &towards(40.0)), -10.0);
        assert_eq!(exactly(20.0, 15.0, 50.0, &towards(2.0)), -25.0);
        assert_eq!(exactly(-300.0, 15.0, 30.0, &towards(40.0)), 3.0);
        assert_eq!(exactly(-300.0, 15.0, 2.0, &towards(40.0)), 2.0);
        assert_eq!(exactly(20.0, 15.0, 39.5, &towards(40.0)), 0.5);
        assert_eq!(exactly(20.0, 15.0, 50.0, &towards(80.0)), 15.0);
        assert_eq!(exactly(20.0, -15.0, 50.0, &towards(80.0)), 3.0);
    }

    #[test]
    fn the_rate_survives_a_halved_window() {
        // 900 packets/s over 0.1 s are 90 packets: 180 are enough, and half of them carry the rate.
        // From 90 in 16 round trips: 90 / 16 = 5.625.
        let half = PathRates {
            ceiling: 0.5,
            ..PATH
        };
        let enough = |rate, path| Enough::of(rate, path, 90.0, 0.1, 16, SPARE, 1.0);
        let planned = Enough {
            window: 180.0,
            climb: 5.625,
        };
        assert_eq!(enough(900.0, Some(&half)), planned);
        // More than may be taken, or nothing known of the path: like Reno.
        assert_eq!(enough(1100.0, Some(&half)).climb, RENO);
        assert_eq!(enough(900.0, None).climb, RENO);
        // A group has to fit, even after a loss.
        let window = |group| Enough::of(10.0, None, 8.0, 0.1, 16, SPARE, group).window;
        assert_eq!([1.0, 16.0, 1e9].map(window), [8.0, 32.0, 64.0]);
        // A fast promise may have larger ones: what a peer holds back for a quarter of a second.
        let window = |group| Enough::of(800.0, None, 8.0, 0.01, 16, SPARE, group).window;
        assert_eq!([1.0, 60.0, 1e9].map(window), [16.0, 120.0, 400.0]);
        assert_eq!(pace(1200.0, 1000.0), 1200.0);
        assert_eq!(pace(100.0, 1000.0), 500.0);
        assert_eq!(pace(9000.0, 1000.0), 2000.0);
    }

    proptest! {
        #[test]
        fn nothing_climbs_beyond_the_reach_or_faster_than_slow_start(
            available in 0.0..1e6,
            capacity in 0.0..1e6,
            ceiling in 0.01..=1.0,
            lacking in 0.0..1e6,
            window in 2.0..1e5,
            srtt in 1e-4..1.0,
            wanted in -1e9..1e9,
            rate in 0.0..1e6,
            length in 1u32..1000,
        ) {
            let path = PathRates { available, capacity, ceiling };
            for standing in [Standing::OnTarget, Standing::Behind { lacking }] {
                let most = k_max(&path, standing, window, srtt);
                let k = at_least(wanted, most, window, RENO);
                let reach = path.reach() * srtt * (1.0 + 1e-12) + 1e-9;
                prop_assert!(k <= RENO || window + k <= reach);
                prop_assert!((0.0..=window.max(RENO)).contains(&k));
                let enough = Enough::of(rate, Some(&path), window, srtt, length, SPARE, 1.0);
                let most = k_max(&path, standing, window / SPARE, srtt) * SPARE;
                let k = exactly(wanted, most, window, &enough);
                prop_assert!(k <= RENO || window + k <= SPARE * reach, "{k}");
                prop_assert!(k <= window.max(RENO));
                prop_assert!(k >= -window / 2.0);
            }
        }
    }
}
