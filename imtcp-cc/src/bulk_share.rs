//! What a bulk transfer in the place of this connection would get: its *bulk transfer capacity*
//! (RFC 3148), which is not what is available.
//!
//! What is available is what nobody uses. A flow with a congestion window gets more beside others
//! that give way, and less where losses keep its window small. Which witness is asked depends on
//! what is known:
//!
//! ```text
//! window   sqrt(d w)                            the window is filled: d >= w / 2
//! queue    A                                    the queue gives a share, or a policer a rate
//! bursts   w                                    the window is filled now and then
//! room     A, at most max(w, r)                 more than a tenth of C is idle
//! losses   max(sqrt(w h), A)                    others fill the link
//!          h = C r / (C - d + r)
//! guess    sqrt(w r)                            A or C is not known
//! ```
//!
//! It is never more than C, and never less than d.
//!
//! w is cwnd / srtt, at most C except in a guess. A guess is w alone where the window was filled
//! lately or nothing was lost yet. C is the capacity, A what is available, and d the rate that was
//! delivered lately. r is the rate of a standard flow at the loss event rate of the path (RFC 5348,
//! section 3.1; RFC 9438, section 5.2). Such flows fill what is not ours: they are (C - d) / r, and
//! one more gives h to each.

use crate::estimate::Estimate;
use crate::units::Bandwidth;

/// What tells how much a bulk transfer would get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Basis {
    /// The queue serves flows in turn, and their share was measured ([`crate::Flags::share`]), or a
    /// policer lets a rate through ([`crate::Flags::policed`]).
    Queue,
    /// The congestion window, which is filled most of the time.
    Window,
    /// The congestion window, which is filled now and then.
    Bursts,
    /// What is available, because there is room on the link.
    Room,
    /// The losses of others and ours, because the link is full.
    Losses,
    /// Window and losses. The capacity of the link is not known, or what is available.
    Guess,
}

impl Basis {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Queue,
        Self::Window,
        Self::Bursts,
        Self::Room,
        Self::Losses,
        Self::Guess,
    ];

    /// Its name in figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Window => "window",
            Self::Bursts => "bursts",
            Self::Room => "room",
            Self::Losses => "losses",
            Self::Guess => "guess",
        }
    }

    /// The 95 % interval, as multiples of the rate, before the capacity bounds it. They are a fit:
    /// on 1540 drawn paths, each of which counts as much as any other, these ends have the least
    /// interval score of logarithms, width and 40 times what the truth is off
    /// (`imtcp-sim survey --shares --seeds 1..140`, eleven classes).
    const fn interval(self, is_window_used: bool) -> [f64; 2] {
        match self {
            Self::Queue => [0.12, 1.1],
            Self::Window => [0.57, 3.8],
            Self::Bursts => [0.33, 4.0],
            Self::Room => [0.12, 9.7],
            Self::Losses => [0.33, 10.0],
            Self::Guess if is_window_used => [0.13, 4.2],
            Self::Guess => [0.12, 11.0],
        }
    }
}

/// The rate that a bulk transfer in the place of this connection would have over the next seconds,
/// in bits of IP packets per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BulkShare {
    /// The rate.
    pub rate: Bandwidth,
    /// The lower end of its 95 % interval.
    pub low: Bandwidth,
    /// The upper end of its 95 % interval.
    pub high: Bandwidth,
    /// What tells it.
    pub basis: Basis,
}

/// The window is filled most of the time if what is delivered is at least this share of it.
const FILLED: f64 = 0.5;

/// More than this share of the capacity is idle where there is room.
const ROOM: f64 = 0.1;

/// No flow gets more than the capacity, which is known to about a tenth.
const MOST_OF_CAPACITY: f64 = 1.1;

/// What is known of the path, in bits of IP packets per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// The congestion window per smoothed round trip.
    pub(crate) window: Bandwidth,
    /// Whether the window was filled lately, and nothing but congestion moves it.
    pub(crate) is_window_used: bool,
    /// The capacity that dispersions show.
    pub(crate) capacity: Option<Bandwidth>,
    /// What is available, unless it is a lower bound or too old.
    pub(crate) estimate: Option<Estimate>,
    /// The rate that was delivered lately.
    pub(crate) delivered: Bandwidth,
    /// r; none before the first loss.
    pub(crate) standard: Option<Bandwidth>,
}

impl BulkShare {
    /// What the evidence comes to.
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let (rate, basis) = evidence.weigh();
        let capacity = evidence.capacity.map_or(f64::MAX, Bandwidth::as_bps_f64);
        let rate = rate.min(capacity).max(evidence.delivered.as_bps_f64());
        let [low, high] = basis.interval(evidence.is_window_used);
        let most = (MOST_OF_CAPACITY * capacity).max(rate);
        Self {
            rate: Bandwidth::from_bps_f64(rate),
            low: Bandwidth::from_bps_f64(low * rate),
            high: Bandwidth::from_bps_f64((high * rate).min(most)),
            basis,
        }
    }
}

impl Evidence {
    fn weigh(&self) -> (f64, Basis) {
        let window = self.window.as_bps_f64();
        let delivered = self.delivered.as_bps_f64();
        let standard = self.standard.map(Bandwidth::as_bps_f64);
        let most = self
            .capacity
            .map_or(window, |capacity| window.min(capacity.as_bps_f64()));
        if self.is_window_used && delivered >= FILLED * most {
            return (libm::sqrt(most * delivered), Basis::Window);
        }
        let share = self
            .estimate
            .filter(|it| it.flags.share || it.flags.policed);
        if let Some(share) = share {
            return (share.available.as_bps_f64(), Basis::Queue);
        }
        let Some((estimate, capacity)) = self.estimate.zip(self.capacity) else {
            let other = standard.filter(|_| !self.is_window_used).unwrap_or(window);
            return (libm::sqrt(window * other), Basis::Guess);
        };
        if self.is_window_used {
            return (most, Basis::Bursts);
        }
        let (available, capacity) = (estimate.available.as_bps_f64(), capacity.as_bps_f64());
        let delivered = delivered.min(capacity);
        if available - delivered > ROOM * capacity {
            let bound = standard.map_or(available, |standard| window.max(standard));
            return (available.min(bound), Basis::Room);
        }
        let share = standard.map_or(capacity, |standard| {
            capacity * standard / (capacity - delivered + standard)
        });
        let rate = libm::sqrt(most * share);
        (rate.max(available), Basis::Losses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Flags;
    use crate::units::Timestamp;
    use std::time::Duration;

    const MBPS: fn(u64) -> Bandwidth = Bandwidth::from_mbps;

    fn estimate(available: u64) -> Estimate {
        Estimate {
            at: Timestamp::ZERO,
            available: MBPS(available),
            low: MBPS(available),
            high: MBPS(available),
            window: Duration::from_secs(1),
            flags: Flags::default(),
        }
    }

    /// A source of 2 Mbit/s with a window for 16, on a link of 50 Mbit/s with room for 20.
    fn evidence() -> Evidence {
        Evidence {
            window: MBPS(16),
            is_window_used: false,
            capacity: Some(MBPS(50)),
            estimate: Some(estimate(20)),
            delivered: MBPS(2),
            standard: None,
        }
    }

    fn told(evidence: &Evidence) -> (u64, Basis) {
        let share = BulkShare::of(evidence);
        assert!(share.low < share.rate && share.rate < share.high);
        (share.rate.as_bps() / 1000, share.basis)
    }

    #[test]
    fn where_there_is_room_it_is_what_is_available_unless_losses_allow_less() {
        assert_eq!(told(&evidence()), (20_000, Basis::Room));
        let standard = |mbps| Evidence {
            standard: Some(MBPS(mbps)),
            ..evidence()
        };
        assert_eq!(told(&standard(100)), (20_000, Basis::Room));
        assert_eq!(told(&standard(18)), (18_000, Basis::Room));
        assert_eq!(
            told(&standard(4)),
            (16_000, Basis::Room),
            "the window was reached"
        );
    }

    #[test]
    fn on_a_full_link_flows_like_those_that_are_there_share_it() {
        let full = Evidence {
            estimate: Some(estimate(3)),
            standard: Some(MBPS(48)),
            ..evidence()
        };
        // One flow of 48 Mbit/s fills what we leave: each of two gets 50 * 48 / 96. The window says
        // 16, and the root of the product is between.
        assert_eq!(told(&full), (20_000, Basis::Losses));
        let twelve = Evidence {
            standard: Some(MBPS(4)),
            ..full
        };
        // Twelve of 4 Mbit/s, and we are the thirteenth: 50 / 13 is 3.846.
        assert_eq!(told(&twelve), (7844, Basis::Losses));
        let alone = Evidence {
            window: MBPS(90),
            standard: None,
            ..full
        };
        assert_eq!(told(&alone), (50_000, Basis::Losses), "nothing is lost");
    }

    #[test]
    fn a_filled_window_is_the_share() {
        let filled = Evidence {
            is_window_used: true,
            ..evidence()
        };
        assert_eq!(told(&filled), (16_000, Basis::Bursts));
        let all_the_time = Evidence {
            delivered: MBPS(9),
            ..filled
        };
        assert_eq!(told(&all_the_time), (12_000, Basis::Window));
        let large = Evidence {
            window: MBPS(400),
            ..filled
        };
        assert_eq!(
            told(&large),
            (50_000, Basis::Bursts),
            "no more than the link"
        );
    }

    #[test]
    fn where_the_queue_gives_a_share_it_is_that() {
        let mut fair = estimate(7);
        fair.flags.share = true;
        let queued = Evidence {
            estimate: Some(fair),
            capacity: None,
            is_window_used: true,
            ..evidence()
        };
        assert_eq!(told(&queued), (7000, Basis::Queue));
    }

    #[test]
    fn of_an_unknown_link_window_and_losses_tell() {
        let unknown = Evidence {
            estimate: None,
            ..evidence()
        };
        assert_eq!(told(&unknown), (16_000, Basis::Guess));
        let lossy = Evidence {
            standard: Some(MBPS(4)),
            ..unknown
        };
        assert_eq!(told(&lossy), (8000, Basis::Guess));
        let more_delivered = Evidence {
            delivered: MBPS(11),
            ..lossy
        };
        assert_eq!(
            told(&more_delivered),
            (11_000, Basis::Guess),
            "at least that"
        );
    }

    #[test]
    fn neither_rate_nor_interval_exceeds_the_link() {
        let wide = Evidence {
            window: MBPS(400),
            estimate: None,
            ..evidence()
        };
        let share = BulkShare::of(&wide);
        assert_eq!((share.rate, share.basis), (MBPS(50), Basis::Guess));
        assert_eq!(share.high, MBPS(55), "the capacity is known to a tenth");
        let unknown = BulkShare::of(&Evidence {
            capacity: None,
            ..wide
        });
        assert_eq!((unknown.rate, unknown.high), (MBPS(400), MBPS(4400)));
        // A capacity that is told too low bounds nothing that was delivered.
        let fast = BulkShare::of(&Evidence {
            delivered: MBPS(60),
            ..wide
        });
        assert_eq!((fast.rate, fast.high), (MBPS(60), MBPS(60)));
    }

    #[test]
    fn a_window_that_is_filled_now_and_then_narrows_a_guess() {
        let unknown = Evidence {
            estimate: None,
            capacity: None,
            ..evidence()
        };
        let filled = Evidence {
            is_window_used: true,
            ..unknown
        };
        let [seldom, often] = [unknown, filled].map(|it| BulkShare::of(&it));
        assert_eq!(often.basis, Basis::Guess);
        assert_eq!(seldom.rate, often.rate);
        assert!(often.high < seldom.high && often.low > seldom.low);
    }
}
