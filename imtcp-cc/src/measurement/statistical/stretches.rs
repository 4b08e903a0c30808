//! Stretches without packets of ours, by what the packet that ended each of them found.
//!
//! A packet that waited found the link busy. How short a wait is none depends on who sends. Waits
//! at other links and late hosts are short, so half of a packet's time counts as none. Beside
//! traffic that is even this is wrong: nobody waits there for more than what is left of one packet
//! of others. Such traffic shows itself: none of the waits is longer, many are as long as one
//! packet, and below that all are as frequent.

use super::NORMAL_95;
use super::arrivals::Link;
use crate::units::Bytes;

/// A packet that waited longer than the luckiest one by less than what the link needs for so many
/// full packets found the link idle. A link that has become a little slower looks like so short a
/// wait, and one delay that was read too short makes all the others look like a wait. With a whole
/// packet, whoever came while one full packet of others was being served found the link idle, too.
/// With a quarter, short waits at other links count as waits at the tight one (docs/ALGORITHM.md).
const IDLE_PACKETS: f64 = 0.5;

/// Hosts and links that sleep while nothing comes take time to wake up, up to so many seconds as a
/// rule. If at least this share of the packets that waited did not wait for longer, they waited for
/// nobody. Others with a window of several packets make longer waits (docs/ALGORITHM.md).
pub(super) const WAKING_S: f64 = 150e-6;
const WOKEN: f64 = 0.5;

/// The same as [`IDLE_PACKETS`] beside even traffic.
const STILL_PACKETS: f64 = 1.0 / 16.0;

/// The largest packet of others, which is that of Ethernet, with a twentieth of tolerance, and most
/// of it.
pub(super) const LARGEST: Bytes = Bytes::new(1575);
const MOST_OF_LARGEST: f64 = 0.75;

/// Others are even if, of so many packets that waited, nearly none had to wait for more than one of
/// theirs, and some of them for nearly all of one. Random traffic of a fifth of the link makes one
/// in nine wait for more than one (M/D/1). Late hosts, and links that are faster, make short waits.
const FEWEST_WAITED: f64 = 40.0;
const MOST_LONGER: f64 = 0.03;
const LEAST_WHOLE: f64 = 0.05;

/// A good part of all has to find the link idle, or packets keep step with those of others. And
/// waits that are a little longer than none may not be common, or hosts make them.
const LEAST_STILL: f64 = 0.25;
const MOST_NEARLY: f64 = 0.25;

/// Sums over stretches, in seconds. A stretch weighs as much as it is long.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stretches {
    all: f64,
    squares: f64,
    /// Those ended by a packet that found the link idle.
    idle: f64,
    /// Those, and those ended by a packet that may have waited for somebody to wake up.
    woken: f64,
    /// The same beside even traffic, and with twice that tolerance.
    still: f64,
    nearly: f64,
    /// Those ended by a packet that waited for most of a packet of others at most, and for one.
    most: f64,
    single: f64,
}

impl Stretches {
    /// The packet that ended a stretch of `away_s` waited `longer_s` longer than the luckiest.
    #[inline]
    pub(super) fn take(&mut self, away_s: f64, longer_s: f64, link: &Link) {
        let up_to = |most_s: f64| if longer_s <= most_s { away_s } else { 0.0 };
        self.all += away_s;
        self.squares += away_s * away_s;
        self.idle += up_to(IDLE_PACKETS * link.packet_s);
        self.woken += up_to((IDLE_PACKETS * link.packet_s).max(WAKING_S));
        self.still += up_to(STILL_PACKETS * link.packet_s);
        self.nearly += up_to(2.0 * STILL_PACKETS * link.packet_s);
        self.most += up_to(MOST_OF_LARGEST * link.largest_s);
        self.single += up_to(link.largest_s);
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.squares += other.squares;
        self.idle += other.idle;
        self.woken += other.woken;
        self.still += other.still;
        self.nearly += other.nearly;
        self.most += other.most;
        self.single += other.single;
    }

    /// How many stretches of the same length tell as much.
    fn count(&self) -> f64 {
        self.all * self.all / self.squares
    }

    /// The share that was idle, between the ends of its 95 % interval.
    pub(super) fn idle(&self) -> Option<[f64; 3]> {
        let short = self.woken - self.idle;
        let waited = self.all - self.idle;
        let idle = if short >= WOKEN * waited {
            self.woken
        } else {
            self.idle
        };
        (self.all > 0.0).then(|| wilson(idle / self.all, self.count()))
    }

    /// Whether hardly anybody waited for more than one packet of others.
    pub(super) fn are_beside_single(&self) -> bool {
        let waited = self.all - self.still;
        self.all - self.single <= MOST_LONGER * waited
    }

    /// Whether packets waited as even traffic of others makes them wait.
    pub(super) fn are_beside_even(&self) -> bool {
        let waited = self.all - self.still;
        waited > 0.0
            && waited * self.all >= FEWEST_WAITED * self.squares
            && self.are_beside_single()
            && self.single - self.most >= LEAST_WHOLE * waited
            && self.still >= LEAST_STILL * self.all
            && self.nearly - self.still <= MOST_NEARLY * waited
    }

    /// The same as [`Stretches::idle`] beside even traffic. A wait that is too short to be told
    /// from none hides others: as many as waited for up to twice as long, and twice as many at
    /// most, because small packets of theirs are hidden altogether.
    pub(super) fn idle_beside_even(&self) -> [f64; 3] {
        let hidden = (self.nearly - self.still) / self.all.max(f64::MIN_POSITIVE);
        let found = self.still / self.all.max(f64::MIN_POSITIVE);
        let [low, share, high] = wilson((found - hidden).max(0.0), self.count());
        [low - hidden, share, high]
    }
}

/// A share of `count` samples between the ends of its 95 % interval (Wilson 1927).
pub(super) fn wilson(share: f64, count: f64) -> [f64; 3] {
    let squares = NORMAL_95 * NORMAL_95;
    let scale = 1.0 + squares / count;
    let middle = share + squares / (2.0 * count);
    let variance = share * (1.0 - share) / count + squares / (4.0 * count * count);
    let half = NORMAL_95 * libm::sqrt(variance.max(0.0));
    let low = ((middle - half) / scale).clamp(0.0, 1.0);
    let high = ((middle + half) / scale).clamp(0.0, 1.0);
    [low, share, high]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bandwidth;

    /// A link that serves a full packet of ours, and the largest of others, in a millisecond.
    fn stretches(waits: impl Iterator<Item = f64>) -> Stretches {
        let link = Link::new(Bandwidth::from_bps_f64(12.6e6), LARGEST);
        let mut stretches = Stretches::default();
        for waited_ms in waits {
            stretches.take(5e-3, waited_ms * 1e-3, &link);
        }
        stretches
    }

    /// Waits of up to `longest` packets, all as frequent, of one in `every` packets.
    fn spread(every: usize, longest: f64) -> impl Iterator<Item = f64> {
        (0..100).map(move |at| match at % every {
            0 => longest * ((at * 37 % 100) as f64 + 0.5) / 100.0,
            _ => 0.0,
        })
    }

    #[test]
    fn who_waits_for_part_of_a_packet_found_even_traffic() {
        let even = stretches(spread(2, 1.0));
        assert!(even.are_beside_even());
        // Half of the time is idle. A short wait is none beside others.
        let [low, share, high] = even.idle_beside_even();
        assert!((share - 0.5).abs() < 0.02, "{share}");
        assert!((0.3..0.45).contains(&low) && (0.55..0.65).contains(&high));
        let [_, share, _] = even.idle().expect("there are some");
        assert!((share - 0.75).abs() < 0.02, "{share}");
    }

    #[test]
    fn even_traffic_shows_itself_where_a_packet_takes_no_longer_than_a_host_to_wake_up() {
        let link = Link::new(Bandwidth::from_mbps(126), LARGEST);
        let mut stretches = Stretches::default();
        for share in spread(2, 1.0) {
            stretches.take(5e-3, share * link.largest_s, &link);
        }
        assert!(link.largest_s < WAKING_S && stretches.are_beside_even());
    }

    #[test]
    fn other_waits_do_not_show_even_traffic() {
        for (why, waits) in [
            ("a queue of several", stretches(spread(2, 2.0))),
            ("a faster link, or a late host", stretches(spread(2, 0.6))),
            ("few", stretches(spread(2, 1.0).take(30))),
            ("in step with others", stretches(spread(1, 1.0))),
            ("nobody waits", stretches(spread(2, 0.0))),
        ] {
            assert!(!waits.are_beside_even(), "{why}");
        }
    }

    #[test]
    fn short_waits_on_a_fast_link_are_those_of_hosts_that_wake_up() {
        // A full packet takes a tenth of a millisecond.
        let link = Link::new(Bandwidth::from_mbps(126), LARGEST);
        let idle = |waits_us: &[f64]| {
            let mut stretches = Stretches::default();
            for waited_us in waits_us {
                stretches.take(5e-3, waited_us * 1e-6, &link);
            }
            let [_, share, _] = stretches.idle().expect("there are some");
            (share * 100.0).round()
        };
        assert_eq!(idle(&[0.0, 20.0, 90.0, 140.0]), 100.0);
        assert_eq!(idle(&[0.0, 20.0, 140.0, 140.0, 300.0]), 80.0);
        // Most of those that waited did so for longer than anybody sleeps.
        assert_eq!(idle(&[0.0, 140.0, 300.0, 300.0]), 25.0);
    }

    #[test]
    fn a_share_of_few_samples_may_be_anything() {
        let [low, share, high] = wilson(0.0, 1.0);
        assert!(low == 0.0 && share == 0.0 && high > 0.75, "{high}");
        // Half of 96 samples: 10 % to either side (1.96 sqrt(0.25 / 96)), drawn to the middle.
        let [low, _, high] = wilson(0.5, 96.0);
        assert!(
            (low - 0.402).abs() < 0.002 && (high - 0.598).abs() < 0.002,
            "{low} {high}"
        );
    }
}
