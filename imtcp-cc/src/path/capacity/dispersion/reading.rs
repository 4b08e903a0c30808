//! How dispersions are read from the gaps between echoes, and over what time.
//!
//! Hosts resolve times to some microseconds. A host that wakes late finds several packets at once,
//! and their distances are its own pace. So a dispersion is read over a least time, and over as
//! many gaps as that takes. Where dispersions turn out to be nothing that a link makes, that time
//! is doubled: what a host adds stays the same, and becomes a smaller share.

use super::{Times, nanos_per_byte};
use crate::path::ack::EchoGap;
use crate::units::{Bytes, Nanos, Timestamp};

/// The shortest time over which a dispersion is read at first, and the longest that it may become.
/// On drawn paths with real sockets longer times made the estimate silent for less time, and wrong
/// more often (docs/ALGORITHM.md).
const RESOLUTION: Nanos = Nanos::new(50_000);
const LONGEST: Nanos = Nanos::new(200_000);

/// A longer time helps if gaps that fill the longest one alone are at most this part of all time.
/// Where they are more, echoes come in aggregates, or the link takes that long for a packet.
const FILLED_DIVISOR: u32 = 2;

/// Before any capacity is known, a gap counts as dispersed by the link if the echoes came at least
/// this many times further apart than the packets were sent, whatever the peer waited.
const STRETCH: u32 = 2;

/// Packets that were sent this close together, or closer, as a percentage of the time that the
/// link needs for them, would come closer together than before if the link had become faster.
const RUSHED_PERCENT: u32 = 92;

/// Packets that came further apart than this percentage of the time in which they left were
/// stretched by a link.
const STRETCHED_PERCENT: u32 = 110;

/// Echoes that come closer together than this percentage of the time in which the packets left were
/// pushed together on their way.
const PUSHED_PERCENT: u32 = 98;

/// The time that the link took for packets which it served one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispersion {
    pub(super) nanos_per_byte: f64,
    /// The packet before them, and the last of them.
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) bytes: Bytes,
    pub(super) time: Nanos,
    /// The time in which they left.
    pub(super) sent_time: Nanos,
    /// When the packet before them left.
    pub(super) sent: Timestamp,
    /// Whether they left clearly faster than the link has served packets before. False where their
    /// echoes came closer together than that, because no link does it.
    pub(super) is_rushed: bool,
    /// Whether they came clearly further apart than they left.
    pub(super) is_stretched: bool,
}

/// Collects gaps that follow each other until they are long enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    least: Nanos,
    /// The time of all gaps that a busy link made, and of those that fill [`LONGEST`] alone.
    all: Nanos,
    filling: Nanos,
    run: Run,
}

/// Gaps that follow each other.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// The number of the packet that ends the run.
    end: Option<u64>,
    /// The packet before the run, and when it left.
    first: u64,
    from: Timestamp,
    bytes: Bytes,
    sent: Nanos,
    arrived: Nanos,
    /// The same less what the peer says it waited.
    unheld: Nanos,
    /// The time that the link needs for them at the present capacity; zero while it is not known.
    served: Nanos,
}

impl Default for Reading {
    fn default() -> Self {
        Self::over(RESOLUTION)
    }
}

impl Reading {
    /// Reads dispersions over this time at least.
    pub(super) fn over(least: Nanos) -> Self {
        Self {
            least,
            all: Nanos::ZERO,
            filling: Nanos::ZERO,
            run: Run::default(),
        }
    }

    /// Begins again with twice the time. `None` if that would not help.
    pub(super) fn over_twice_the_time(&self) -> Option<Self> {
        let least = self.least.times(2);
        let helps = self.all > Nanos::ZERO && self.filling.times(FILLED_DIVISOR) <= self.all;
        (helps && least <= LONGEST).then(|| Self::over(least))
    }

    /// Whether dispersions are read over a longer time than at first.
    pub(super) fn is_longer(&self) -> bool {
        self.least > RESOLUTION
    }

    /// Whether the peer's own delay, and not the link, made this gap.
    #[inline]
    pub(super) fn is_of_peer(&self, gap: &EchoGap) -> bool {
        gap.is_held_by_peer(self.least.min(LONGEST))
    }

    /// The dispersion that this gap completes.
    ///
    /// Sooner or later foreign packets come between packets that were sent further apart than the
    /// link serves them. Such packets are no evidence against a capacity that other packets have
    /// shown.
    #[inline]
    pub(super) fn read(&mut self, gap: &EchoGap, times: &Times) -> Option<Dispersion> {
        let is_known = times.served.is_some();
        if is_known {
            let is_busy = gap.link.is_busy();
            if times.is_close || is_busy {
                self.weigh(times.arrival);
            }
            if !(times.is_close && is_busy) {
                self.run = Run::default();
                return None;
            }
        }
        let run = self.run.with(gap, times);
        if !run.is_long(self.least) {
            self.run = run;
            return None;
        }
        self.run = Run::default();
        let tells = is_known || run.unheld > run.sent.times(STRETCH);
        tells.then(|| run.dispersion())
    }

    #[inline]
    fn weigh(&mut self, arrival: Nanos) {
        self.all = self.all + arrival;
        if arrival > LONGEST {
            self.filling = self.filling + arrival;
        }
    }
}

impl Run {
    /// This run and the gap after it, or the gap alone if it does not follow.
    fn with(mut self, gap: &EchoGap, times: &Times) -> Self {
        if self.end != Some(gap.from.number) {
            self = Self {
                first: gap.from.number,
                from: gap.from.sent,
                ..Self::default()
            };
        }
        self.end = Some(gap.to.number);
        self.bytes += gap.bytes;
        self.sent = self.sent + times.sent;
        self.arrived = self.arrived + times.arrival;
        self.unheld = self.unheld + times.unheld;
        self.served = self.served + times.served.unwrap_or_default();
        self
    }

    /// Whether the run is long enough to be read over `least`. If the arrivals alone decided that,
    /// those that came late by chance would be read alone, and those that came early together with
    /// the next: where a packet takes about as long, most dispersions would be too long. So what
    /// the link needs decides, if that is known, unless it is far from what was seen.
    fn is_long(&self, least: Nanos) -> bool {
        if self.served == Nanos::ZERO {
            return self.arrived >= least;
        }
        if self.served < least {
            return self.arrived >= least.times(2);
        }
        self.arrived >= least || self.arrived.times(2) >= self.served
    }

    fn dispersion(&self) -> Dispersion {
        Dispersion {
            nanos_per_byte: nanos_per_byte(self.arrived, self.bytes),
            first: self.first,
            last: self.end.unwrap_or_default(),
            bytes: self.bytes,
            time: self.arrived,
            sent_time: self.sent,
            sent: self.from,
            is_stretched: self.arrived.times(100) > self.sent.times(STRETCHED_PERCENT),
            is_rushed: self.sent.times(100) < self.served.times(RUSHED_PERCENT)
                && self.arrived.times(100) >= self.sent.times(PUSHED_PERCENT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::ack::{EchoPoint, LinkState};
    use std::time::Duration;

    const PACKET: Bytes = Bytes::new(1250);

    /// Feeds packets that left back to back, as their echoes came, in microseconds after the one
    /// before, to a link that is taken for one of `served_us` for each. Returns the dispersions in
    /// microseconds for a packet.
    fn read(reading: &mut Reading, served_us: u64, arrivals_us: &[u64]) -> Vec<u64> {
        let us = |us: u64| Nanos::new(us * 1000);
        let point = |number: u64, at_us: u64| EchoPoint {
            number,
            size: PACKET,
            sent: Timestamp::ZERO,
            arrived: Timestamp::from_origin(Duration::from_micros(at_us)),
            came: Timestamp::from_origin(Duration::from_micros(at_us)),
        };
        let mut at = 0;
        let found = (0..).zip(arrivals_us).filter_map(|(number, arrival)| {
            let from = point(number, at);
            at += arrival;
            let gap = EchoGap {
                from,
                to: point(number + 1, at),
                bytes: PACKET,
                packets: 1,
                waited: Nanos::ZERO,
                is_alone: false,
                link: LinkState::BusyQueued,
            };
            let times = Times {
                sent: Nanos::ZERO,
                arrival: us(*arrival),
                unheld: us(*arrival),
                served: Some(us(served_us)),
                is_close: true,
            };
            reading.read(&gap, &times)
        });
        let for_packet = |it: Dispersion| (it.nanos_per_byte * PACKET.as_f64() / 1e3).round();
        #[expect(clippy::cast_possible_truncation, reason = "microseconds")]
        #[expect(clippy::cast_sign_loss, reason = "times are positive")]
        found.map(|it| for_packet(it) as u64).collect()
    }

    #[test]
    fn a_host_that_is_late_adds_less_to_a_dispersion_the_longer_it_is_read() {
        // A packet takes 80 us, and every second echo is 15 us late.
        let late = [95, 65].repeat(8);
        let mut reading = Reading::default();
        assert_eq!(read(&mut reading, 80, &late), late);
        let mut twice = reading.over_twice_the_time().expect("gaps are brief");
        assert!(twice.is_longer());
        assert_eq!(read(&mut twice, 80, &late)[..3], [80, 80, 80]);
        let mut most = twice.over_twice_the_time().expect("gaps are brief");
        assert_eq!(read(&mut most, 80, &late)[..3], [85, 75, 85]);
        assert!(most.over_twice_the_time().is_none(), "it is the longest");
    }

    #[test]
    fn what_the_link_needs_decides_how_many_packets_are_read_together() {
        // A packet takes 55 us, and every second echo is 10 us late.
        let late = [65, 45].repeat(8);
        assert_eq!(read(&mut Reading::default(), 55, &late), late);
        // Packets that came much closer together than that are not read alone.
        let pressed = [20, 90].repeat(8);
        assert_eq!(read(&mut Reading::default(), 55, &pressed), [55; 8]);
        // Where it needs less than was thought, what came decides.
        assert_eq!(read(&mut Reading::default(), 20, &[110, 40, 70]), [110, 55]);
    }

    #[test]
    fn a_longer_time_helps_neither_slow_links_nor_aggregates() {
        assert!(
            Reading::default().over_twice_the_time().is_none(),
            "nothing is known"
        );
        for arrivals in [[1000, 1000, 1000], [20, 20, 4000]] {
            let mut reading = Reading::default();
            read(&mut reading, 80, &arrivals.repeat(20));
            assert!(reading.over_twice_the_time().is_none(), "{arrivals:?}");
        }
    }
}
