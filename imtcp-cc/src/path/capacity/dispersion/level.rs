//! Whether the link still has the capacity that it had.
//!
//! While it has, a share of the dispersions falls into the capacity's pile. If none does any more,
//! for longer than chance explains, the pile is gone: the link has become slower. If several are
//! shorter, it has become faster.

use super::piles::WIDTH;
use crate::units::{Timestamp, single};

/// The fewest dispersions in a row that show a slower link.
const FEWEST_LONGER: usize = 8;

/// Dispersions longer than the pile's by less than this factor hold an acknowledgement of others,
/// not a slower link.
const LONGER: f64 = 1.1;

/// A new pile holds at least this part of the share that the old one held. Traffic of others
/// scatters dispersions, and a slower link does not.
const AS_DENSE: f64 = 0.8;

/// Dispersions longer by these factors may hold one full packet of others each, or two. Another
/// flow whose packets come between ours for a while makes such a pile.
const FOREIGN_PACKETS: [(f64, f64); 2] = [(1.75, 2.2), (2.6, 3.2)];

/// How many of them are looked at.
const NEWEST: usize = 32;
const _: () = assert!(
    NEWEST <= super::memory::FEW,
    "`Memory::newest` has no more room"
);

/// The probability that a pile stays away by chance for as long as shows a slower link, and that as
/// many rushed dispersions are shorter by chance as show a faster one.
const CHANCE: f64 = 1e-4;

/// So many dispersions shorter than the pile's call for a look at once.
const SHORTER: usize = 4;

/// So many more rushed dispersions shorter than the pile's than others are a faster link, if they
/// are seldom shorter by chance, and the most that are needed where they often are. Echoes of a
/// host that wakes late scatter.
const RUSHED: usize = 4;
const MOST_RUSHED: usize = 16;

/// A capacity counts as known, and not as learnt better, if so many dispersions were in its pile.
const KNOWN: u32 = 32;

/// The most dispersions that count. Older ones count half.
const MOST: u32 = 512;

/// What a dispersion calls for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Call {
    /// Nothing.
    None,
    /// The pile may be gone.
    MayBeGone(Gone),
    /// There may be a pile of shorter dispersions.
    MayBeExceeded,
    /// There is one: most rushed packets come closer together than the link has served them
    /// ([`Level::rushed`]).
    Exceeded,
}

/// All of the newest dispersions are longer than the pile's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gone {
    /// How many of them to look at.
    pub(super) newest: usize,
    /// The share of them that a new pile has at least.
    pub(super) share: f64,
}

impl Gone {
    /// Whether a pile that is longer by `ratio` can be told from packets of others.
    pub(super) fn is_told(&self, ratio: f64) -> bool {
        let is_foreign = |(low, high): &(f64, f64)| (*low..*high).contains(&ratio);
        self.newest >= NEWEST || !FOREIGN_PACKETS.iter().any(is_foreign)
    }
}

/// A dispersion, as it is seen from the capacity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// What it is of the capacity's own.
    pub(super) ratio: f64,
    /// When its packets left.
    pub(super) sent: Timestamp,
    /// The same in nanoseconds per byte, if they left clearly faster than the link has served
    /// packets before.
    pub(super) rushed: Option<f64>,
}

/// Follows the pile of the present capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Level {
    /// The dispersions since the capacity is known, without those of `longer`, and those of them in
    /// the capacity's pile.
    seen: u32,
    held: u32,
    /// How many dispersions in a row were longer, up to now, and when the first of them left.
    longer: usize,
    longer_since: Timestamp,
    /// How many were shorter since the last look, and when the first of them left.
    shorter: usize,
    shorter_since: Timestamp,
    /// The rushed dispersions since the capacity is known, and those of them that were shorter.
    rushed_seen: u32,
    rushed_short: u32,
    /// How many more rushed dispersions were shorter than were not, how many would be a faster
    /// link, the latest of those in nanoseconds per byte, and when the first of them left.
    rushed: usize,
    rushed_needed: usize,
    shorter_rushed: [f32; RUSHED],
    rushed_since: Timestamp,
}

impl Level {
    /// Takes a dispersion.
    #[inline]
    pub(super) fn on_dispersion(&mut self, seen: &Seen) -> Call {
        let Seen { ratio, sent, .. } = *seen;
        if let Some(nanos_per_byte) = seen.rushed
            && self.on_rushed(ratio * WIDTH < 1.0, nanos_per_byte, sent)
        {
            return Call::Exceeded;
        }
        if ratio > LONGER {
            if self.longer == 0 {
                self.longer_since = sent;
            }
            self.longer += 1;
            return self.judge_longer();
        }
        self.see(1 + u32::try_from(self.longer).unwrap_or(MOST).min(MOST));
        self.longer = 0;
        if ratio * WIDTH >= 1.0 {
            self.held += u32::from(ratio <= WIDTH);
            return Call::None;
        }
        if self.shorter == 0 {
            self.shorter_since = sent;
        }
        self.shorter += 1;
        if self.shorter == SHORTER {
            Call::MayBeExceeded
        } else {
            Call::None
        }
    }

    /// Packets were sent faster than the link has served them before. While it has its capacity,
    /// they come as far apart as ever. True if it is faster.
    fn on_rushed(&mut self, is_shorter: bool, nanos_per_byte: f64, sent: Timestamp) -> bool {
        if is_shorter && self.rushed == 0 {
            self.rushed_since = sent;
            self.rushed_needed = self.needed_rushed();
        }
        self.rushed_seen += 1;
        self.rushed_short += u32::from(is_shorter);
        if self.rushed_seen >= MOST {
            (self.rushed_seen, self.rushed_short) = (self.rushed_seen / 2, self.rushed_short / 2);
        }
        if !is_shorter {
            self.rushed = self.rushed.saturating_sub(1);
            return false;
        }
        self.shorter_rushed.rotate_left(1);
        self.shorter_rushed[RUSHED - 1] = single(nanos_per_byte);
        self.rushed = (self.rushed + 1) % self.rushed_needed;
        self.rushed == 0
    }

    /// How many more have to be shorter than are not. If a share p is shorter by chance, a walk of
    /// steps up with this share, and down with the rest, gets n steps up with the probability
    /// (p / (1 - p))^n.
    fn needed_rushed(&self) -> usize {
        let others = self.rushed_seen - self.rushed_short;
        let odds = f64::from(self.rushed_short) / f64::from(others.max(1));
        let step = libm::log(odds);
        (RUSHED..MOST_RUSHED)
            .find(|count| *count as f64 * step < libm::log(CHANCE))
            .unwrap_or(MOST_RUSHED)
    }

    fn see(&mut self, new: u32) {
        self.seen += new;
        while self.seen >= MOST {
            (self.seen, self.held) = (self.seen / 2, self.held / 2);
        }
    }

    /// The dispersions were looked at.
    pub(super) fn on_look(&mut self) {
        self.shorter = 0;
    }

    /// Since when the link is faster, if its capacity was known before.
    pub(super) fn faster_since(&self) -> Option<Timestamp> {
        (self.shorter > 0 && self.held >= KNOWN).then_some(self.shorter_since)
    }

    /// Rushed dispersions that were shorter, in ascending order, and since when they are.
    pub(super) fn rushed(&self) -> ([f32; RUSHED], Timestamp) {
        let mut rushed = self.shorter_rushed;
        rushed.sort_unstable_by(f32::total_cmp);
        (rushed, self.rushed_since)
    }

    /// Since when the link is slower.
    pub(super) fn slower_since(&self) -> Timestamp {
        self.longer_since
    }

    fn judge_longer(&self) -> Call {
        // Looked at one by one at first, and then now and then.
        let is_due = self.longer < NEWEST || self.longer.is_multiple_of(8);
        let share = f64::from(self.held) / f64::from(self.seen + 2);
        let is_gone = self.longer as f64 * libm::log(1.0 - share) < libm::log(CHANCE);
        if is_due && self.longer >= FEWEST_LONGER && is_gone {
            Call::MayBeGone(Gone {
                newest: self.longer.min(NEWEST),
                share: AS_DENSE * share,
            })
        } else {
            Call::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    fn seen(ratio: f64, sent: Timestamp) -> Seen {
        Seen {
            ratio,
            sent,
            rushed: None,
        }
    }

    /// Which of these rushed dispersions, one a millisecond, shows a faster link.
    fn exceeded_by(ratios: impl IntoIterator<Item = f64>) -> Option<(u64, Level)> {
        let mut level = Level::default();
        (0..).zip(ratios).find_map(|(ms, ratio)| {
            let rushed = Seen {
                rushed: Some(ratio),
                ..seen(ratio, at(ms))
            };
            let call = level.on_dispersion(&rushed);
            (call == Call::Exceeded).then_some((ms, level))
        })
    }

    #[test]
    fn where_echoes_scatter_more_of_them_are_needed() {
        // Three in ten come a little sooner, by chance four or five of them together.
        let scattered = [0.97, 1.0, 1.02, 0.97, 1.03, 1.0, 0.97, 1.0, 1.01, 1.02];
        let by_chance = || scattered.repeat(20).into_iter().chain([0.97; 5]);
        assert_eq!(exceeded_by(by_chance()), None);
        let (ms, _) = exceeded_by(by_chance().chain([0.8; 20])).unwrap();
        assert!((206..216).contains(&ms), "{ms}");
        // Where they do not, four are.
        let (ms, _) = exceeded_by([1.0; 200].into_iter().chain([0.97; 5])).unwrap();
        assert_eq!(ms, 203);
    }

    #[test]
    fn rushed_packets_that_come_as_they_left_are_a_faster_link() {
        let ratios = [1.0, 1.3, 0.85, 0.85, 1.2, 0.85, 0.85, 0.85];
        let (ms, level) = exceeded_by(ratios).unwrap();
        assert_eq!((ms, level.rushed()), (7, ([0.85; 4], at(2))));
        // Echoes that are pushed together now and then are none.
        assert_eq!(exceeded_by([0.85, 1.0, 1.0].repeat(100)), None);
    }

    /// What is called for, one dispersion a millisecond, and when.
    fn first_call(ratios: impl Iterator<Item = f64>) -> Option<(u64, Call, Level)> {
        let mut level = Level::default();
        (0..).zip(ratios).find_map(|(ms, ratio)| {
            let call = level.on_dispersion(&seen(ratio, at(ms)));
            (call != Call::None).then_some((ms, call, level))
        })
    }

    #[test]
    fn a_pile_that_was_all_there_is_is_missed_after_eight() {
        let ratios = [1.0; 50].into_iter().chain([2.5; 50]);
        let (ms, call, level) = first_call(ratios).unwrap();
        assert_eq!(ms, 57);
        assert!(matches!(call, Call::MayBeGone(gone) if gone.newest == 8 && gone.share > 0.7));
        assert_eq!(level.slower_since(), at(50));
    }

    #[test]
    fn a_pile_under_load_is_missed_later() {
        // One of five stays together: (1 - 0.2)^42 is 1e-4.
        let ratios = (0..400).map(|at| if at % 5 == 0 { 1.0 } else { 1.7 });
        let (ms, call, _) = first_call(ratios.chain([2.5; 100])).unwrap();
        assert!((436..446).contains(&ms), "{ms}");
        assert!(matches!(call, Call::MayBeGone(gone) if gone.newest == 32 && gone.share < 0.2));
    }

    #[test]
    fn a_pile_that_is_missed_for_long_is_called_for_all_the_time() {
        let mut level = Level::default();
        for at_ms in 0..300 {
            let ratio = if at_ms % 10 < 3 { 1.0 } else { 1.7 };
            level.on_dispersion(&seen(ratio, at(at_ms)));
        }
        let mut called = 330;
        for at_ms in 300..2000 {
            if let Call::MayBeGone(gone) = level.on_dispersion(&seen(2.5, at(at_ms))) {
                assert!((0.2..0.25).contains(&gone.share), "{at_ms} ms: {gone:?}");
                called = at_ms;
            }
            assert!(at_ms < called + 8, "not since {called} ms");
        }
    }

    #[test]
    fn acknowledgements_of_others_are_no_slower_link() {
        let ratios = [1.0; 50].into_iter().chain([1.03; 450]);
        assert_eq!(first_call(ratios), None);
    }

    #[test]
    fn what_a_packet_of_others_explains_takes_longer() {
        let gone = |newest| Gone { newest, share: 0.8 };
        assert!(gone(8).is_told(1.5) && gone(8).is_told(4.0));
        assert!(!gone(31).is_told(2.0) && !gone(31).is_told(3.0));
        assert!(gone(32).is_told(2.0));
    }

    #[test]
    fn a_faster_link_shows_after_four() {
        let ratios = [1.0; 50].into_iter().chain([0.6; 50]);
        let (ms, call, level) = first_call(ratios).unwrap();
        assert_eq!((ms, call), (53, Call::MayBeExceeded));
        assert_eq!(level.faster_since(), Some(at(50)));
        // Without a known capacity it is only learnt better.
        let (_, _, level) = first_call([1.0; 20].into_iter().chain([0.6; 50])).unwrap();
        assert_eq!(level.faster_since(), None);
    }
}
