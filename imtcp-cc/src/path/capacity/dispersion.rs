//! Capacity from the dispersion of packets that the tight link served without a pause.
//!
//! Two packets that a busy link serves one after the other leave it one serialisation time apart.
//! Each foreign packet between them adds its own serialisation time. So the dispersions per byte
//! pile up at 1 / C, and again further out if foreign packets came between. The least pile that is
//! too big to be chance is the capacity C (packet-pair dispersion as in RFC 5136, section 3.5, and
//! Dovrolis et al., "What do packet dispersion techniques measure?"; but those assume that the
//! pile at 1 / C is the biggest, which is false under heavy even traffic).

mod memory;

use crate::path::ack::EchoGap;
use crate::units::{Bandwidth, Bytes};
use memory::Memory;
use std::ops::Range;
use std::time::Duration;

/// The number of dispersions in memory. At one probe stream per RTT and a busy link this is a few
/// RTTs. The memory must be short enough to notice a new capacity, and long enough to hold a pile
/// under load.
const MEMORY: usize = 512;

/// The longest gap in packets, and the longest from peers that acknowledge seldom. Longer gaps
/// rarely go without foreign packets.
const MOST_PACKETS: u32 = 4;
const MOST_PACKETS_SPARSE: u32 = 16;

/// How many gaps in a row must be too long before the peer counts as one that acknowledges seldom.
const SPARSE_AFTER: u32 = 64;

/// The number of gaps between two checks of whether the echoes fit the capacity.
const CHECKED_GAPS: u32 = 128;

/// The largest factor by which others stretch the time of packets that come at the capacity's own
/// pace. If others take the whole capacity, the factor is two. The rest is tolerance for packets
/// that waited upstream.
const MOST_STRETCH: f64 = 2.2;

/// The number of new dispersions between two looks at the piles. A look searches the whole memory.
const LOOK_EVERY: usize = 32;

/// The fewest dispersions for a first estimate.
const FEWEST: usize = 4;

/// The largest ratio between dispersions of one pile.
const PILE_WIDTH: f64 = 1.02;

/// The least share of all dispersions that makes a pile. If Poisson traffic of full packets takes
/// 80 % of the link, e^-0.8 = 45 % of back-to-back pairs stay together. With the mix of packet
/// sizes that is mostly acknowledgements (340 bytes on average), e^-2.9 = 6 % do. A fiftieth
/// leaves room for heavier loads, and stray echoes do not gather in such numbers in one place.
const PILE_SHARE: f64 = 0.02;

/// A pile is the shadow of a larger one if the larger one is within this ratio and has this many
/// times as many dispersions. A 40-byte packet more or less between two of ours is 3 %, two are
/// 6 %. A true pile under heavy load also has larger ones behind it, but they are three times as
/// large only if on average five foreign packets come between two of ours.
const SHADOW_WIDTH: f64 = 1.10;
const SHADOW_RATIO: usize = 3;

/// The pile of the present capacity stays valid while it has this part of what makes a pile.
const OUTLIVED_DIVISOR: f64 = 4.0;

/// Before any capacity is known, a gap counts as dispersed by the link if the echoes came at least
/// this many times further apart than the packets were sent.
const STRETCH: u32 = 2;

/// Once a capacity is known, packets count only if they were sent at most this far apart, as a
/// percentage of the time that the capacity needs to serve them.
const CLOSE_PERCENT: u32 = 110;

/// The distance of packets that a host sends one after the other, as fast as it can. They would
/// come at the pace of any slower link, so they are evidence against a capacity that is too high,
/// however high it is. Without them nothing could refute a capacity beyond the host's own pace.
const BACK_TO_BACK: Duration = Duration::from_micros(50);

/// The shortest time over which a dispersion is read; on fast links it covers several packets.
/// Hosts resolve times to some microseconds. A host that wakes late finds several packets at once,
/// and their distances are its own pace.
const RESOLUTION: Duration = Duration::from_micros(50);

/// Follows the capacity of the tight link. Rates are on the wire (IP layer).
#[derive(Debug)]
pub struct DispersionCapacity {
    memory: Memory,
    unseen: usize,
    capacity: Option<Bandwidth>,
    /// How many gaps in a row were too long.
    too_long: u32,
    stretch: Stretch,
    run: Run,
}

/// Gaps that follow each other. They are collected until they are long enough to be read.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// The number of the packet that ends the run.
    end: Option<u64>,
    bytes: Bytes,
    sent: Duration,
    arrived: Duration,
}

/// Gaps of packets that were sent as fast as the capacity serves them, or faster, or back to back.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    gaps: u32,
    /// The time that a link of that capacity, without other traffic, needs for them.
    expected_s: f64,
    arrived_s: f64,
}

impl Default for DispersionCapacity {
    fn default() -> Self {
        Self::new()
    }
}

impl DispersionCapacity {
    /// An estimator that knows nothing yet.
    pub fn new() -> Self {
        Self {
            memory: Memory::new(),
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
        self.memory.clear();
        self.unseen = 0;
        self.capacity = None;
        self.stretch = Stretch::default();
        self.run = Run::default();
    }

    /// Whether the packets that came at the capacity's pace took longer than any traffic of others
    /// explains. Then it is not the capacity, and echoes came closer together than the data.
    /// `None` until there are enough such packets again.
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

    fn stretch(&mut self, packets: u32, times: &Times) {
        let Some(served) = times.served else {
            return;
        };
        if times.is_close || times.sent <= BACK_TO_BACK * packets {
            self.stretch.gaps += 1;
            self.stretch.expected_s += served.max(times.sent).as_secs_f64();
            self.stretch.arrived_s += times.arrival.as_secs_f64();
        }
    }

    /// Takes a gap between clean echoes. Returns the capacity if it changed.
    pub fn on_gap(&mut self, gap: &EchoGap) -> Option<Bandwidth> {
        let arrival = gap.seen_gap()?;
        if self.is_too_long(gap.packets) {
            return None;
        }
        let times = Times::of(gap, arrival, self.capacity);
        self.stretch(gap.packets, &times);
        let nanos_per_byte = self.read(gap, &times)?;
        self.memory.push(nanos_per_byte);
        self.unseen += 1;
        let due = if self.capacity.is_none() {
            1
        } else {
            LOOK_EVERY
        };
        if self.unseen < due || self.memory.len() < FEWEST {
            return None;
        }
        self.unseen = 0;
        self.memory.sort();
        let capacity = self.least_pile()?;
        (self.capacity.replace(capacity) != Some(capacity)).then_some(capacity)
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
    /// Sooner or later foreign packets come between packets that were sent further apart than the
    /// link serves them. Such packets are no evidence against a capacity that other packets have
    /// shown.
    fn read(&mut self, gap: &EchoGap, times: &Times) -> Option<f64> {
        if self.capacity.is_some() && !(times.is_close && gap.link.is_busy()) {
            self.run = Run::default();
            return None;
        }
        let mut run = self.run;
        if run.end != Some(gap.from.number) {
            run = Run::default();
        }
        run.end = Some(gap.to.number);
        run.bytes += gap.bytes;
        run.sent += times.sent;
        run.arrived += times.arrival;
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
        let sorted = self.memory.sorted();
        let needed = (sorted.len() as f64 * PILE_SHARE).max(FEWEST as f64 / 2.0);
        let is_enough = |count: usize| count as f64 >= needed;
        let fewest = (1..=sorted.len()).find(|count| is_enough(*count))?;
        let is_pile = |ends: &[f64]| ends[fewest - 1] <= ends[0] * PILE_WIDTH;
        let start = sorted.windows(fewest).position(is_pile)?;
        let pile = self.dominant_near(start..start + pile_length(&sorted[start..]));
        let found = Bandwidth::from_bps_f64(8.0e9 / median(&sorted[pile]));
        Some(self.unless_outlived(found, needed))
    }

    /// The pile that counts for `pile`. Echoes that were pushed together on their way make a pile
    /// as well, a little before the true one and much smaller. If there is a far larger pile close
    /// behind this one, that pile counts.
    fn dominant_near(&self, pile: Range<usize>) -> Range<usize> {
        let sorted = self.memory.sorted();
        let reach = sorted[pile.start] * SHADOW_WIDTH;
        let mut best = pile.clone();
        for (start, least) in sorted.iter().enumerate().skip(pile.start) {
            if *least > reach {
                break;
            }
            // Only a pile that is larger than the best one so far is of interest.
            let (most, known) = (least * PILE_WIDTH, start + best.len());
            let rest = sorted.get(known..).unwrap_or_default().iter();
            let more = rest.take_while(|other| **other <= most).count();
            if more > 0 {
                best = start..known + more;
            }
        }
        if best.len() > SHADOW_RATIO * pile.len() {
            best
        } else {
            pile
        }
    }

    /// The present capacity, while enough of its pile is left; otherwise `found`. A pile under
    /// load grows and shrinks by chance, so a pile further out replaces the present one only when
    /// that one is gone for good.
    fn unless_outlived(&self, found: Bandwidth, needed: f64) -> Bandwidth {
        let Some(present) = self.capacity.filter(|present| *present > found) else {
            return found;
        };
        let nanos_per_byte = 8.0e9 / present.as_bps_f64();
        let low = nanos_per_byte / PILE_WIDTH;
        let high = nanos_per_byte * PILE_WIDTH;
        let sorted = self.memory.sorted();
        let (below, upto) = (
            sorted.partition_point(|n| *n < low),
            sorted.partition_point(|n| *n <= high),
        );
        let near = upto - below;
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

/// How many of these dispersions, in ascending order, make a pile with the first.
fn pile_length(sorted: &[f64]) -> usize {
    let Some(first) = sorted.first() else {
        return 0;
    };
    let most = first * PILE_WIDTH;
    sorted.partition_point(|other| *other <= most)
}

/// What the times of a gap say.
struct Times {
    sent: Duration,
    arrival: Duration,
    /// How long the link needs for the bytes at the present capacity.
    served: Option<Duration>,
    /// Whether the packets left about as fast as the link serves them, or faster.
    is_close: bool,
}

impl Times {
    fn of(gap: &EchoGap, arrival: Duration, capacity: Option<Bandwidth>) -> Self {
        let sent = gap.sent_gap();
        let served = capacity.map(|capacity| capacity.time_for(gap.bytes));
        Self {
            sent,
            arrival,
            served,
            is_close: served.is_some_and(|served| sent <= served * CLOSE_PERCENT / 100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_pile_that_counts_is_the_one_of_a_plain_search(
            values in proptest::collection::vec(100u32..160, 1..MEMORY),
        ) {
            let mut capacity = DispersionCapacity::new();
            values.iter().for_each(|value| capacity.memory.push(f64::from(*value)));
            capacity.memory.sort();
            let sorted = capacity.memory.sorted();
            let extent = |start: usize| {
                let alike = |other: &&f64| **other <= sorted[start] * PILE_WIDTH;
                sorted[start..].iter().filter(alike).count()
            };
            for start in 0..sorted.len() {
                let pile = start..start + extent(start);
                let mut best = pile.clone();
                let near = (start..sorted.len())
                    .take_while(|other| sorted[*other] <= sorted[start] * SHADOW_WIDTH);
                for other in near {
                    if extent(other) > best.len() {
                        best = other..other + extent(other);
                    }
                }
                let expected = if best.len() > SHADOW_RATIO * pile.len() {
                    best
                } else {
                    pile.clone()
                };
                prop_assert_eq!(capacity.dominant_near(pile), expected);
            }
        }
    }
}
