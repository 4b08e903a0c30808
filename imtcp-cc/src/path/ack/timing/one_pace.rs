//! One pace: acknowledgements of single packets come all alike, and more slowly than the link
//! brings the packets.
//!
//! A way back that is much narrower than the way there cannot carry an acknowledgement for each
//! packet of a train. Traffic of others makes gaps longer as well, but not by the same time each
//! time, and some packets stay together: those come as the link serves them.

use super::EchoPair;
use super::beat;
use crate::units::Nanos;

/// So many of the latest gaps are compared. In a beat so many of them are within this percentage of
/// their median.
const LATEST: u32 = 16;
const ALIKE: usize = 12;
const WIDTH_PERCENT: u64 = 3;

/// Packets left and came at a pace if that took up to a tenth more time.
const PERCENT_OF_PACE: u32 = 110;

/// What comes in less than this percentage of a beat comes sooner.
const PERCENT_OF_BEAT: u32 = 90;

/// In a beat at least so many times as many gaps are longer as are not.
const RATIO: u32 = 16;

/// From this many gaps on each counts half.
const REMEMBERED: u32 = 256;

/// Follows the gaps of single packets that left as fast as the link serves them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnePace {
    /// What the link needs for such a packet, as it was known last.
    served: Nanos,
    /// The gaps that were as long as that, or shorter, and the longer ones.
    short: u32,
    long: u32,
    /// The latest of the longer ones, at the place of their number.
    latest: [Nanos; LATEST as usize],
    next: usize,
    /// The beat, once one was heard. Short is then what comes sooner.
    beat: Option<Nanos>,
}

impl OnePace {
    #[inline]
    pub(super) fn on_echo(&mut self, echo: &EchoPair) {
        if echo.packets != 1 {
            return;
        }
        // After a beat nobody knows the link's pace any more.
        let Some(pace) = self.beat.or(echo.served) else {
            return;
        };
        if echo.departure > percent(pace, PERCENT_OF_PACE).signed() {
            return;
        }
        if self.beat.is_none() && !are_alike(pace, self.served) {
            *self = Self {
                served: pace,
                ..Self::default()
            };
        }
        let most = match self.beat {
            Some(beat) => percent(beat, PERCENT_OF_BEAT),
            None => percent(pace, PERCENT_OF_PACE),
        };
        match echo.arrival.to_nanos() {
            Some(arrival) if arrival > most => self.take_long(arrival),
            _ => self.short += 1,
        }
        if self.short + self.long > REMEMBERED {
            (self.short, self.long) = (self.short / 2, self.long / 2);
        }
    }

    fn take_long(&mut self, arrival: Nanos) {
        self.long += 1;
        self.latest[self.next] = arrival;
        self.next = (self.next + 1) % self.latest.len();
    }

    /// A block of echoes is complete.
    pub(super) fn on_block(&mut self) {
        let is_long = self.long >= LATEST && self.short * RATIO <= self.long;
        match self.beat {
            Some(_) if self.short * RATIO > self.long => *self = Self::default(),
            None if is_long => self.beat = self.alike(),
            _ => {}
        }
    }

    /// Whether the echoes of single packets come at a pace of their own.
    pub(super) fn is_a_beat(&self) -> bool {
        self.beat.is_some()
    }

    /// What most of the latest gaps are like.
    fn alike(&self) -> Option<Nanos> {
        let (median, count) = beat::alike(self.latest, WIDTH_PERCENT);
        (count >= ALIKE).then_some(median)
    }
}

fn percent(time: Nanos, percent: u32) -> Nanos {
    Nanos::new(time.times(percent).get() / 100)
}

/// Whether two paces differ by no more than a tenth.
fn are_alike(one: Nanos, other: Nanos) -> bool {
    let (less, more) = (one.min(other), one.max(other));
    more <= percent(less, PERCENT_OF_PACE)
}

#[cfg(test)]
mod tests {
    use super::super::BLOCK;
    use super::*;
    use crate::units::{Bytes, TimeDelta};

    /// What the link needs for a packet, in microseconds.
    const SERVED_US: u64 = 100;

    /// The echo of a single packet that left and came so many microseconds after the one before.
    fn echo(left_us: i64, came_us: i64, served_us: u64) -> EchoPair {
        EchoPair {
            arrival: TimeDelta::from_nanos(came_us * 1000),
            departure: TimeDelta::from_nanos(left_us * 1000),
            packets: 1,
            bytes: Bytes::new(1250),
            served: Some(Nanos::new(served_us * 1000)),
        }
    }

    /// Feeds a block of echoes.
    fn feed(pace: &mut OnePace, echoes: &[EchoPair]) {
        let block = echoes.iter().cycle().take(BLOCK);
        block.for_each(|echo| pace.on_echo(echo));
        pace.on_block();
    }

    fn is_a_beat(echoes: &[EchoPair]) -> bool {
        let mut pace = OnePace::default();
        (0..10).for_each(|_| feed(&mut pace, echoes));
        pace.is_a_beat()
    }

    /// Packets that left at the link's pace and came so far apart.
    fn came(apart_us: &[i64]) -> Vec<EchoPair> {
        let left = |came_us: &i64| echo(100, *came_us, SERVED_US);
        apart_us.iter().map(left).collect()
    }

    #[test]
    fn acknowledgements_that_the_way_back_holds_up_are_a_beat() {
        assert!(is_a_beat(&came(&[120])));
        assert!(is_a_beat(&came(&[120, 122, 119, 150])), "most are alike");
        // Others left apart, or several together: they say nothing.
        let apart = echo(5000, 5000, SERVED_US);
        let together = EchoPair {
            packets: 2,
            ..echo(0, 100, SERVED_US)
        };
        assert!(is_a_beat(&[came(&[120]), vec![apart, together]].concat()));
    }

    #[test]
    fn packets_that_came_as_the_link_serves_them_are_no_beat() {
        assert!(!is_a_beat(&came(&[100])));
        assert!(!is_a_beat(&came(&[105])));
        assert!(!is_a_beat(&came(&[120, 120, 120, 120, 100])), "one in five");
        assert!(!is_a_beat(&came(&[115, 125, 135, 145])), "not alike");
        assert!(!is_a_beat(&[echo(150, 150, SERVED_US)]), "as they left");
    }

    #[test]
    fn another_capacity_is_asked_anew() {
        let mut pace = OnePace::default();
        for _ in 0..10 {
            // A link that becomes slower again and again, before a block is over.
            for served_us in [100, 130, 160, 190] {
                let slower = [echo(100, 200, served_us); 15];
                slower.iter().for_each(|echo| pace.on_echo(echo));
            }
            pace.on_block();
        }
        assert!(!pace.is_a_beat());
    }

    #[test]
    fn a_beat_lasts_without_a_capacity_and_until_something_comes_sooner() {
        let mut pace = OnePace::default();
        let unknown = EchoPair {
            served: None,
            ..echo(100, 120, SERVED_US)
        };
        feed(&mut pace, &came(&[120]));
        (0..10).for_each(|_| feed(&mut pace, &[unknown]));
        assert!(pace.is_a_beat());
        feed(&mut pace, &came(&[100]));
        assert!(!pace.is_a_beat());
    }

    #[test]
    fn times_at_the_end_of_their_range_are_no_beat() {
        let longest = EchoPair {
            arrival: TimeDelta::from_nanos(i64::MAX),
            served: Some(Nanos::new(u64::MAX)),
            ..echo(0, 0, SERVED_US)
        };
        let pair = [longest, echo(0, 100, SERVED_US)];
        assert!(!is_a_beat(&[longest]) && !is_a_beat(&pair));
    }
}
