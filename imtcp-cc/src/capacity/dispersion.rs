//! Capacity from the dispersion of packets that the tight link served without a pause.
//!
//! Two packets that a busy link serves one after the other leave it one serialisation time apart;
//! each foreign packet between them adds its own. So the dispersions per byte pile up at 1 / C, and
//! again further out where foreign packets came between: the least pile that is too big to be
//! chance is the capacity (packet-pair dispersion as in RFC 5136, section 3.5, and Dovrolis et al.,
//! "What do packet dispersion techniques measure?", without their assumption that the pile at 1 / C
//! is the biggest: under heavy even traffic it is not).

use crate::ack::EchoGap;
use crate::units::{Bandwidth, Bytes};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// Dispersions remembered. At one probe stream per RTT and a busy link this is a few RTTs; the
/// memory must be short enough to notice a new capacity and long enough to hold a pile under load.
const MEMORY: usize = 512;

/// Longer gaps rarely go without foreign packets; they are taken only from peers that acknowledge
/// no more often.
const MOST_PACKETS: u32 = 4;
const MOST_PACKETS_SPARSE: u32 = 16;

/// Gaps in a row that are too long make a peer that acknowledges seldom.
const SPARSE_AFTER: u32 = 64;

/// Own bytes per look at whether the echoes fit the capacity, in packets of a gap each.
const CHECKED_GAPS: u32 = 128;

/// Packets that come at the capacity's own pace are stretched to twice the time by others that take
/// the whole of it. More cannot be; some room for what has waited upstream.
const MOST_STRETCH: f64 = 2.2;

/// New dispersions between two looks at the piles: a look sorts the memory.
const LOOK_EVERY: usize = 32;

/// Fewest dispersions that can make a first estimate.
const FEWEST: usize = 4;

/// Dispersions within this ratio of each other are one pile.
const PILE_WIDTH: f64 = 1.02;

/// Least share of all dispersions that makes a pile. With 80 % of the link taken by Poisson traffic
/// of full packets, e^-0.8 = 45 % of back-to-back pairs stay together; with the mix of packet sizes
/// that is mostly acknowledgements (340 bytes on average) e^-2.9 = 6 % do. A fiftieth leaves room
/// for heavier loads and is beyond what stray echoes gather in one place.
const PILE_SHARE: f64 = 0.02;

/// A pile is taken for the shadow of another within this ratio if that has this many times as many:
/// a 40-byte packet more or less between two of ours is 3 %, two are 6 %. A true pile under heavy
/// load has bigger ones behind it too, but three times as big only where five foreign packets on
/// average come between two of ours.
const SHADOW_WIDTH: f64 = 1.10;
const SHADOW_RATIO: usize = 3;

/// A pile that was the capacity stays so while it has this part of what makes a pile.
const OUTLIVED_DIVISOR: f64 = 4.0;

/// A first gap counts as dispersed by the link, before any capacity is known, if the echoes came at
/// least this many times further apart than the packets were sent.
const STRETCH: u32 = 2;

/// Once a capacity is known, only packets count that were sent at most this much further apart than
/// it serves them, in per cent.
const CLOSE_PERCENT: u32 = 110;

/// Packets that a host sends one after the other, as fast as it can, are this close together. They
/// came at the pace of any slower link, so they speak against a capacity that is too high, whatever
/// it is: one beyond the host's own pace would otherwise be out of reach of all evidence.
const BACK_TO_BACK: Duration = Duration::from_micros(50);

/// Dispersions are read over this time at least, and so over several packets where the link is
/// fast. Hosts tell times apart by some microseconds, and one that wakes late finds several packets
/// at once: what is between those is its own pace.
const RESOLUTION: Duration = Duration::from_micros(50);

/// Follows the capacity of the tight link. Rates are on the wire (IP layer).
#[derive(Debug)]
pub struct DispersionCapacity {
    /// Nanoseconds per byte, oldest first.
    dispersions: VecDeque<f64>,
    /// The same in ascending order. Sorting them for each look would be most of what an
    /// acknowledgement costs.
    sorted: Vec<f64>,
    unseen: usize,
    capacity: Option<Bandwidth>,
    /// Gaps in a row that were too long.
    too_long: u32,
    stretch: Stretch,
    run: Run,
}

/// Gaps that follow each other, until they are long enough to be read.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// The packet that ends it.
    end: Option<u64>,
    bytes: Bytes,
    sent: Duration,
    arrived: Duration,
}

/// Gaps that were sent as fast as the capacity serves, or faster, or back to back.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    gaps: u32,
    /// The time that a link of that capacity, with nobody else on it, needs for them.
    expected_s: f64,
    arrived_s: f64,
}

impl Default for DispersionCapacity {
    fn default() -> Self {
        Self::new()
    }
}

impl DispersionCapacity {
    /// Nothing known.
    pub fn new() -> Self {
        Self {
            dispersions: VecDeque::with_capacity(MEMORY),
            sorted: Vec::with_capacity(MEMORY),
            unseen: 0,
            capacity: None,
            too_long: 0,
            stretch: Stretch::default(),
            run: Run::default(),
        }
    }

    /// The capacity, once known.
    pub fn get(&self) -> Option<Bandwidth> {
        self.capacity
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        self.dispersions.clear();
        self.sorted.clear();
        self.unseen = 0;
        self.capacity = None;
        self.stretch = Stretch::default();
        self.run = Run::default();
    }

    /// Whether the packets that came at the capacity's pace took longer than any traffic of others
    /// explains: then it is not the capacity, and echoes came closer than the data had. `None`
    /// until there are enough of them again.
    pub fn is_contradicted(&mut self) -> Option<bool> {
        self.capacity
            .filter(|_| self.stretch.gaps >= CHECKED_GAPS)?;
        let Stretch {
            expected_s,
            arrived_s,
            ..
        } = std::mem::take(&mut self.stretch);
        Some(arrived_s > MOST_STRETCH * expected_s)
    }

    fn stretch(&mut self, gap: &EchoGap, arrival: Duration) {
        let Some(capacity) = self.capacity else {
            return;
        };
        let (served, sent) = (capacity.time_for(gap.bytes), gap.sent_gap());
        let together = BACK_TO_BACK * gap.packets;
        if sent <= (served * CLOSE_PERCENT / 100).max(together) {
            self.stretch.gaps += 1;
            self.stretch.expected_s += served.max(sent).as_secs_f64();
            self.stretch.arrived_s += arrival.as_secs_f64();
        }
    }

    /// Takes a gap between clean echoes. Returns the capacity if it changed.
    pub fn on_gap(&mut self, gap: &EchoGap) -> Option<Bandwidth> {
        let arrival = gap.seen_gap()?;
        if self.is_too_long(gap.packets) {
            return None;
        }
        self.stretch(gap, arrival);
        let nanos_per_byte = self.read(gap, arrival)?;
        self.remember(nanos_per_byte);
        self.unseen += 1;
        let due = if self.capacity.is_none() {
            1
        } else {
            LOOK_EVERY
        };
        if self.unseen < due || self.dispersions.len() < FEWEST {
            return None;
        }
        self.unseen = 0;
        let capacity = self.least_pile()?;
        (self.capacity.replace(capacity) != Some(capacity)).then_some(capacity)
    }

    fn remember(&mut self, nanos_per_byte: f64) {
        if self.dispersions.len() == MEMORY
            && let Some(oldest) = self.dispersions.pop_front()
        {
            self.sorted.remove(self.first_from(oldest));
        }
        self.dispersions.push_back(nanos_per_byte);
        let place = self.first_from(nanos_per_byte);
        self.sorted.insert(place, nanos_per_byte);
    }

    /// Where in the order the first is that is no less.
    fn first_from(&self, nanos_per_byte: f64) -> usize {
        self.sorted
            .partition_point(|other| other.total_cmp(&nanos_per_byte).is_lt())
    }

    fn is_too_long(&mut self, packets: u32) -> bool {
        if packets <= MOST_PACKETS {
            self.too_long = 0;
            return false;
        }
        self.too_long = self.too_long.saturating_add(1);
        self.too_long <= SPARSE_AFTER || packets > MOST_PACKETS_SPARSE
    }

    /// The dispersion of the run that this gap completes, in nanoseconds per byte.
    ///
    /// Packets that were sent further apart than the link serves them have foreign packets between
    /// them sooner or later, and then say nothing against a capacity that others have shown.
    fn read(&mut self, gap: &EchoGap, arrival: Duration) -> Option<f64> {
        let close = self.capacity.is_none_or(|capacity| {
            let served = capacity.time_for(gap.bytes);
            gap.link.is_busy() && gap.sent_gap() <= served * CLOSE_PERCENT / 100
        });
        if !close {
            self.run = Run::default();
            return None;
        }
        let mut run = self.run;
        if run.end != Some(gap.from.number) {
            run = Run::default();
        }
        run.end = Some(gap.to.number);
        run.bytes += gap.bytes;
        run.sent += gap.sent_gap();
        run.arrived += arrival;
        if run.arrived < RESOLUTION {
            self.run = run;
            return None;
        }
        self.run = Run::default();
        let tells = self.capacity.is_some() || run.arrived > run.sent * STRETCH;
        tells.then(|| run.arrived.as_nanos() as f64 / run.bytes.as_f64().max(1.0))
    }

    /// The rate of the least pile that is big enough.
    fn least_pile(&self) -> Option<Bandwidth> {
        let sorted = &self.sorted;
        let needed = (sorted.len() as f64 * PILE_SHARE).max(FEWEST as f64 / 2.0);
        let mut end = 0;
        for start in 0..sorted.len() {
            while end < sorted.len() && sorted[end] <= sorted[start] * PILE_WIDTH {
                end += 1;
            }
            if (end - start) as f64 >= needed {
                let pile = self.dominant_near(start..end);
                let found = Bandwidth::from_bps_f64(8.0e9 / median(&sorted[pile]));
                return Some(self.unless_outlived(found, needed));
            }
        }
        None
    }

    /// Echoes that were pushed together on their way make piles as well, a little before the true
    /// one, and much smaller. If a pile close behind dwarfs this one, it is that.
    fn dominant_near(&self, pile: Range<usize>) -> Range<usize> {
        let sorted = &self.sorted;
        let reach = sorted[pile.start] * SHADOW_WIDTH;
        let mut best = pile.clone();
        let mut end = pile.end;
        for start in pile.start..sorted.len() {
            if sorted[start] > reach {
                break;
            }
            while end < sorted.len() && sorted[end] <= sorted[start] * PILE_WIDTH {
                end += 1;
            }
            if end - start > best.len() {
                best = start..end;
            }
        }
        if best.len() > SHADOW_RATIO * pile.len() {
            best
        } else {
            pile
        }
    }

    /// A pile further out replaces the present one only when that is gone for good: under load it
    /// grows and shrinks by chance.
    fn unless_outlived(&self, found: Bandwidth, needed: f64) -> Bandwidth {
        let Some(present) = self.capacity.filter(|present| *present > found) else {
            return found;
        };
        let nanos_per_byte = 8.0e9 / present.as_bps_f64();
        let low = nanos_per_byte / PILE_WIDTH;
        let high = nanos_per_byte * PILE_WIDTH;
        let near = self
            .sorted
            .iter()
            .filter(|n| (low..=high).contains(*n))
            .count();
        if near as f64 * OUTLIVED_DIVISOR >= needed {
            present
        } else {
            found
        }
    }
}

fn median(pile: &[f64]) -> f64 {
    pile[pile.len() / 2]
}
