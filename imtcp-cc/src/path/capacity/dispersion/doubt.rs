//! Whether the echoes can be those of a link of the present capacity.
//!
//! Whatever others send, such a link does three things. It takes no more than about twice the time
//! for packets that come at its own pace. It brings no packets closer together than it serves
//! them, however far apart they left. And of the dispersions that are not its own, most are longer.
//! Echoes that do otherwise have a time that something else gave them, or the capacity is another
//! one.

use super::Times;
use crate::units::Nanos;

/// The number of gaps between two checks.
const CHECKED_GAPS: u32 = 128;

/// The fewest gaps of packets that left close together. While there are fewer than a check needs,
/// they have to exceed the bound by as much more.
const FEWEST_CLOSE: u32 = 16;

/// The largest factor by which others stretch the time of packets that come at the capacity's own
/// pace. If others take the whole capacity, the factor is two. The rest is tolerance for packets
/// that waited upstream.
const MOST_STRETCH: f64 = 2.2;

/// The distance of packets that a host sends one after the other, as fast as it can. They would
/// come at the pace of any slower link, so they are evidence against a capacity that is too high,
/// however high it is. Without them nothing could refute a capacity beyond the host's own pace.
const BACK_TO_BACK: Nanos = Nanos::new(50_000);

/// Echoes that come closer together than this part of the time that the link needs were pressed
/// together. A faster link behind it, with a queue of its own, brings packets closer together as
/// well. On drawn paths of several links a half would leave 52 % of the time with a value, and a
/// quarter leaves 55 (docs/ALGORITHM.md).
const PRESSED_DIVISOR: u32 = 4;

/// Packets that are parted by one full packet of others pile up where a link of half the capacity
/// would bring them. Packets that waited together then come in less than this part of the time that
/// such a link needs.
const PARTED_DIVISOR: u32 = 2;

/// Fewer of them may be chance.
const FEWEST_HALVED: u32 = 4;

/// The share of pressed gaps from which on the echoes' time is not the data's own. It is the share
/// that is left out of the jitter of echoes, too ([`crate::path::ack::TimingJudge::jitter`]).
const PRESSED_SHARE: f64 = 0.05;

/// Collects what speaks against the present capacity.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubt {
    /// Gaps of packets that were sent as fast as the capacity serves them, or faster, or back to
    /// back.
    close: u32,
    /// The time that a link of that capacity, without other traffic, needs for them.
    expected_s: f64,
    arrived_s: f64,
    /// All gaps, those of them that were pressed together, and those that a link of twice the
    /// capacity would have made.
    gaps: u32,
    pressed: u32,
    halved: u32,
    /// Those of them of which the packets left at the capacity's pace.
    paced: u32,
    /// Whether the capacity's dispersions do not stand out.
    is_spread: bool,
}

impl Doubt {
    /// Takes a gap of `packets` packets.
    #[inline]
    pub(super) fn on_gap(&mut self, packets: u32, times: &Times) {
        let Some(served) = times.served else {
            return;
        };
        self.gaps += 1;
        let is_pressed = times.arrival.times(PRESSED_DIVISOR) < served;
        self.pressed += u32::from(is_pressed);
        self.halved += u32::from(!is_pressed && times.arrival.times(PARTED_DIVISOR) < served);
        self.paced += u32::from(times.is_close);
        if times.is_close || times.sent <= BACK_TO_BACK.times(packets) {
            self.close += 1;
            self.expected_s += served.max(times.sent).as_secs_f64();
            self.arrived_s += times.arrival.as_secs_f64();
        }
    }

    /// The capacity was read from dispersions of which most of those around are shorter.
    pub(super) fn on_spread(&mut self) {
        self.is_spread = true;
    }

    /// Whether a link of the present capacity cannot have made these echoes. If dispersions are
    /// read over a longer time than a gap (`is_long`), gaps that were pressed together say nothing
    /// against them, and nothing against the capacity of most dispersions (`is_of_most`). `None`
    /// until there are enough gaps again.
    #[inline]
    pub(super) fn verdict(
        &mut self,
        is_long: bool,
        is_of_most: impl FnOnce() -> bool,
    ) -> Option<bool> {
        if self.close < FEWEST_CLOSE && self.gaps < CHECKED_GAPS && !self.is_spread {
            return None;
        }
        if self.is_spread
            || self.is_stretched()
            || self.is_parted(is_long)
            || (self.is_pressed(is_long) && !is_of_most())
        {
            *self = Self::default();
            return Some(true);
        }
        if self.gaps >= CHECKED_GAPS {
            (self.gaps, self.pressed, self.halved, self.paced) = (0, 0, 0, 0);
        }
        (self.close >= CHECKED_GAPS).then(|| {
            (self.close, self.expected_s, self.arrived_s) = (0, 0.0, 0.0);
            false
        })
    }

    /// Whether the packets that came at the capacity's pace took longer than any traffic of others
    /// explains.
    fn is_stretched(&self) -> bool {
        let done = f64::from(self.close.min(CHECKED_GAPS)) / f64::from(CHECKED_GAPS);
        self.close >= FEWEST_CLOSE && self.arrived_s * done > MOST_STRETCH * self.expected_s
    }

    /// Whether more gaps are those of a link of twice the capacity than could show this one.
    fn is_parted(&self, is_long: bool) -> bool {
        let most = self.halved >= FEWEST_HALVED && self.halved > self.paced;
        !is_long && self.gaps >= CHECKED_GAPS && most
    }

    fn is_pressed(&self, is_long: bool) -> bool {
        let share = f64::from(self.pressed) / f64::from(self.gaps.max(1));
        !is_long && self.gaps >= CHECKED_GAPS && share > PRESSED_SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the link needs for a packet.
    const SERVED: Nanos = Nanos::from_millis(1);

    fn gap(sent_us: u64, arrival_us: u64) -> Times {
        Times {
            sent: Nanos::new(sent_us * 1000),
            arrival: Nanos::new(arrival_us * 1000),
            unheld: Nanos::new(arrival_us * 1000),
            served: Some(SERVED),
            is_close: sent_us <= 1100,
        }
    }

    /// The first verdict on these gaps, and after how many of them.
    fn first_verdict(gaps: impl Iterator<Item = Times>, is_long: bool) -> Option<(usize, bool)> {
        let mut doubt = Doubt::default();
        (1..).zip(gaps).find_map(|(count, times)| {
            doubt.on_gap(1, &times);
            doubt
                .verdict(is_long, || false)
                .map(|verdict| (count, verdict))
        })
    }

    #[test]
    fn packets_of_a_link_that_others_fill_are_believed() {
        let gaps = std::iter::repeat_n(gap(1000, 2000), 1000);
        assert_eq!(first_verdict(gaps, false), Some((128, false)));
    }

    #[test]
    fn the_longer_packets_took_the_sooner_the_capacity_is_refuted() {
        let after =
            |arrival_us| first_verdict(std::iter::repeat_n(gap(10, arrival_us), 200), false);
        assert_eq!(after(2300), Some((123, true)));
        assert_eq!(after(4400), Some((65, true)));
        assert_eq!(after(100_000), Some((16, true)));
    }

    #[test]
    fn aggregates_of_two_are_refuted_where_nobody_is_long() {
        // Packets that leave apart come in pairs.
        let pairs = || [gap(4000, 30), gap(4000, 8000)].into_iter().cycle();
        assert_eq!(first_verdict(pairs(), false), Some((128, true)));
        assert_eq!(first_verdict(pairs().take(1000), true), None);
        let few = (0..1000).map(|at| gap(4000, if at % 25 == 0 { 30 } else { 4000 }));
        assert_eq!(first_verdict(few, false), None);
    }

    #[test]
    fn a_few_that_were_pressed_together_do_not_refute_the_capacity_of_most() {
        let is_ever_refuted = |is_of_most: bool| {
            let mut doubt = Doubt::default();
            (0..1000u64).any(|at| {
                doubt.on_gap(1, &gap(1000, if at % 10 == 0 { 30 } else { 1000 }));
                doubt.verdict(false, || is_of_most) == Some(true)
            })
        };
        assert!(!is_ever_refuted(true));
        assert!(is_ever_refuted(false));
    }

    #[test]
    fn pairs_that_others_part_show_no_capacity_where_most_packets_leave_apart() {
        // Packets leave 4 ms apart, and one in 25 follows another that had to wait.
        let waiting = |at: u64| gap(4000, if at.is_multiple_of(25) { 450 } else { 4000 });
        let lone = (0..1000).map(waiting);
        assert_eq!(first_verdict(lone, false), Some((128, true)));
        // As many that leave at the capacity's pace, and come at it, speak for it.
        let shown = |at| {
            if at % 25 == 1 {
                gap(1000, 1000)
            } else {
                waiting(at)
            }
        };
        assert_eq!(first_verdict((0..1000).map(shown), false), None);
        // Gaps say nothing against dispersions that are read over a longer time.
        assert_eq!(first_verdict((0..1000).map(waiting), true), None);
    }

    #[test]
    fn a_capacity_that_does_not_stand_out_is_refuted_at_once() {
        let mut doubt = Doubt::default();
        doubt.on_spread();
        assert_eq!(doubt.verdict(true, || false), Some(true));
        assert_eq!(doubt.verdict(true, || false), None);
    }
}
