//! What packets found that ended pauses of ours.
//!
//! A video comes in chunks, with seconds between them. Rivals with a congestion window make room
//! for a chunk and take the link back as soon as it is over, so what a chunk meets says little of
//! the pause that follows. The packet that ends the pause tells: if it had to wait, the link was
//! busy without us. One packet is one sample, and a second holds none of them or one. So pauses
//! are remembered.

use super::stretches::{WAKING_S, wilson};
use crate::units::Bandwidth;

/// A stretch without packets of ours that is at least this long is a pause, in seconds. Shorter
/// ones come often enough to be counted in a second.
const PAUSE_S: f64 = 0.2;

/// The number of pauses in memory.
const MOST: u32 = 8;

/// A packet that waited for less than what the link needs for so many full packets found the link
/// idle, or a single packet of others. So did one that waited for somebody to wake up.
const IDLE_PACKETS: f64 = 1.0;

/// The latest pauses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pauses {
    /// A bit for each, which is set where the link was idle.
    idle: u8,
    count: u32,
}

impl Pauses {
    /// Whether so long a stretch is a pause.
    #[inline]
    pub(super) fn is_pause(away_s: f64) -> bool {
        away_s >= PAUSE_S
    }

    /// A packet ended a pause, after it had waited for so long. The link needs `packet_s` for a
    /// full one.
    pub(super) fn end(&mut self, waited_s: f64, packet_s: f64) {
        let most_s = WAKING_S.max(IDLE_PACKETS * packet_s);
        self.idle = self.idle << 1 | u8::from(waited_s <= most_s);
        self.count = (self.count + 1).min(MOST);
    }

    /// The share of pauses that ended on an idle link, between the ends of its 95 % interval;
    /// `None` without pauses.
    pub(super) fn idle(&self) -> Option<[f64; 3]> {
        let count = f64::from(self.count);
        (self.count > 0).then(|| wilson(f64::from(self.idle.count_ones()) / count, count))
    }

    /// What was available in pauses at least, of a link of this capacity; `None` if nothing speaks
    /// against a pause being like the time before it.
    pub(super) fn least(&self, capacity: Bandwidth) -> Option<Bandwidth> {
        let [low, share, _] = self.idle()?;
        (share < 1.0).then(|| capacity.scaled(low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: Bandwidth = Bandwidth::from_mbps(10);
    const PACKET_S: f64 = 0.001;

    /// Pauses that ended with waits of so many milliseconds.
    fn after(waits_ms: impl IntoIterator<Item = f64>) -> Pauses {
        let mut pauses = Pauses::default();
        for wait in waits_ms {
            pauses.end(wait / 1e3, PACKET_S);
        }
        pauses
    }

    #[test]
    fn nothing_speaks_against_pauses_that_all_ended_on_an_idle_link() {
        assert_eq!(Pauses::default().least(CAPACITY), None);
        // A packet of others may be on the link.
        assert_eq!(after([0.0, 0.7, 0.0, 1.0]).least(CAPACITY), None);
    }

    #[test]
    fn a_pause_that_ended_with_waking_up_ended_on_an_idle_link() {
        let mut pauses = Pauses::default();
        pauses.end(140e-6, 12e-6);
        assert_eq!(pauses.least(Bandwidth::from_mbps(1000)), None);
        pauses.end(300e-6, 12e-6);
        assert!(pauses.least(Bandwidth::from_mbps(1000)).is_some());
    }

    #[test]
    fn where_each_pause_ended_on_a_busy_link_nothing_is_idle() {
        let busy = after([3.0; 8]);
        let [low, share, high] = busy.idle().expect("eight pauses");
        assert!(low == 0.0 && share == 0.0 && high < 0.35, "{high}");
        assert_eq!(busy.least(CAPACITY), Some(Bandwidth::ZERO));
        // A single pause may have been any.
        let [_, _, high] = after([3.0]).idle().expect("a pause");
        assert!(high > 0.75, "{high}");
    }

    #[test]
    fn one_pause_in_four_on_a_busy_link_lowers_what_is_idle_at_least() {
        let some = after([0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 3.0, 0.0]);
        let least = some.least(CAPACITY).expect("two were busy").as_bps_f64() / 1e6;
        assert!((3.0..5.0).contains(&least), "{least}");
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let waits = [3.0; 20].into_iter().chain([0.0; MOST as usize]);
        assert_eq!(after(waits).least(CAPACITY), None);
    }
}
