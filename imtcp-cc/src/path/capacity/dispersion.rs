//! Capacity from the dispersion of packets that the tight link served without a pause.
//!
//! Two packets that a busy link serves one after the other leave it one serialisation time apart.
//! Each foreign packet between them adds its own serialisation time. So the dispersions per byte
//! pile up at 1 / C, and again further out if foreign packets came between. The least pile that is
//! too big to be chance is the capacity C (packet-pair dispersion as in RFC 5136, section 3.5, and
//! Dovrolis et al., "What do packet dispersion techniques measure?"; but those assume that the
//! pile at 1 / C is the biggest, which is false under heavy even traffic).

mod blocks;
mod doubt;
mod heap;
mod level;
mod looks;
mod memory;
mod piles;
mod proof;
mod reading;
mod times;

use crate::path::ack::EchoGap;
use crate::path::line::Line;
use crate::units::{Bandwidth, Timestamp, single};
use blocks::{Blocks, Late};
use doubt::Doubt;
use heap::Heap;
use level::{Call, Gone, Level, Seen};
use looks::Looks;
use memory::Memory;
use proof::Proof;
use reading::{Dispersion, Reading};
use times::{Times, nanos_per_byte, ratio};

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

/// A look that finds the capacity within this share of the one before has found nothing new.
const SAME_SHARE: f64 = 0.005;

/// The fewest dispersions for a first estimate.
const FEWEST: usize = 4;

/// Follows the capacity of the tight link. Rates are on the wire (IP layer).
#[derive(Debug)]
pub struct DispersionCapacity {
    memory: Memory,
    looks: Looks,
    capacity: Option<Bandwidth>,
    /// The link of that capacity.
    line: Line,
    level: Level,
    /// How many gaps in a row were too long.
    too_long: u32,
    doubt: Doubt,
    proof: Proof,
    reading: Reading,
    blocks: Blocks,
}

/// A capacity that was just found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewCapacity {
    /// The value.
    pub capacity: Bandwidth,
    /// Since when the link has had it, on the sender's clock of departures. `None` if the link has
    /// not changed, and its capacity is only known better.
    pub since: Option<Timestamp>,
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
            looks: Looks::default(),
            capacity: None,
            line: Line::default(),
            level: Level::default(),
            too_long: 0,
            doubt: Doubt::default(),
            proof: Proof::default(),
            reading: Reading::default(),
            blocks: Blocks::default(),
        }
    }

    /// The capacity, once known.
    pub fn get(&self) -> Option<Bandwidth> {
        self.capacity.filter(|_| self.proof.is_told())
    }

    /// The capacity, or the one that is followed until it is proved or refuted.
    pub fn supposed(&self) -> Option<Bandwidth> {
        self.capacity
    }

    /// The share by which the capacity may be wrong.
    pub fn doubt(&self) -> f64 {
        if self.proof.is_of_heap() {
            heap::DOUBT
        } else {
            0.0
        }
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        self.begin_anew(Reading::default());
    }

    /// Forgets everything, and reads dispersions over twice the time from now on. Returns false,
    /// and does nothing, where a longer time would not help.
    pub fn read_longer(&mut self) -> bool {
        let Some(reading) = self.reading.over_twice_the_time() else {
            return false;
        };
        self.begin_anew(reading);
        true
    }

    /// Takes what blocks of dispersions show in place of a refuted capacity. Returns false, and
    /// does nothing, if they do not show that something late made the dispersions.
    pub fn read_blocks(&mut self) -> bool {
        let late = self.blocks.on_refuted();
        late.and_then(|late| self.correct(&late)).is_some()
    }

    /// Takes the middle of most dispersions in place of a refuted capacity: of one that what spread
    /// them made, or of a few by chance. Returns false, and does nothing, if it may have been more.
    pub fn read_most(&mut self) -> bool {
        if self.proof.is_of_heap() {
            return false;
        }
        let heap = Heap::of(self.memory.in_order());
        let Some((refuted, heap)) = self.capacity.zip(heap) else {
            return false;
        };
        let is_few = || piles::size(self.memory.sorted(), refuted) < proof::ENOUGH as usize;
        if !(heap.is_near(refuted) || is_few()) {
            return false;
        }
        self.start_anew(heap.middle, MEMORY);
        self.proof.on_heap();
        true
    }

    fn begin_anew(&mut self, reading: Reading) {
        self.memory.clear();
        self.looks = Looks::default();
        self.capacity = None;
        self.level = Level::default();
        self.doubt = Doubt::default();
        self.proof = self.proof.without_capacity();
        self.reading = reading;
        self.blocks = Blocks::default();
    }

    /// Whether a link of the present capacity cannot have made these echoes. `None` until there are
    /// enough of them again.
    #[inline]
    pub fn is_contradicted(&mut self) -> Option<bool> {
        let capacity = self.capacity?;
        let memory = &mut self.memory;
        let verdict = self.doubt.verdict(self.reading.is_longer(), || {
            let heap = Heap::of(memory.in_order());
            heap.is_some_and(|heap| heap.has(capacity))
        });
        if let Some(is_refuted) = verdict {
            self.proof.on_verdict(is_refuted);
        }
        verdict
    }

    /// Takes a gap between clean echoes. Returns the capacity if it changed.
    #[inline]
    pub fn on_gap(&mut self, gap: &EchoGap) -> Option<NewCapacity> {
        let arrival = gap.seen_gap()?;
        if self.is_too_long(gap.packets) || self.reading.is_of_peer(gap) || gap.is_shortened() {
            return None;
        }
        self.line.set_capacity(self.capacity);
        let times = Times::of(gap, arrival, self.line.time_for(gap.bytes));
        self.doubt.on_gap(gap.packets, &times);
        self.blocks.on_gap(gap.bytes, &times);
        let dispersion = self.reading.read(gap, &times)?;
        if let Some(capacity) = self.capacity
            && let Some(late) = self.blocks.on_dispersion(&dispersion, capacity)
        {
            let capacity = self.correct(&late)?;
            return self.told(NewCapacity {
                capacity,
                since: None,
            });
        }
        self.memory.push(single(dispersion.nanos_per_byte));
        let is_due = self.looks.on_dispersion();
        let call = self.call(&dispersion);
        if let Call::MayBeGone(gone) = call
            && let Some(slower) = self.slower(&gone)
        {
            return self.told(slower);
        }
        if let Call::Exceeded = call
            && let Some(faster) = self.faster()
        {
            return self.told(faster);
        }
        let is_due = is_due || self.capacity.is_none() || call == Call::MayBeExceeded;
        if !is_due || self.memory.len() < FEWEST {
            return None;
        }
        self.look()
    }

    #[inline]
    fn call(&mut self, dispersion: &Dispersion) -> Call {
        let Some(capacity) = self.capacity else {
            return Call::None;
        };
        let ratio = ratio(dispersion.nanos_per_byte, capacity);
        if dispersion.is_stretched {
            self.proof.on_dispersion(ratio, self.reading.is_longer());
        }
        let seen = Seen {
            ratio,
            sent: dispersion.sent,
            rushed: dispersion.is_rushed.then_some(dispersion.nanos_per_byte),
        };
        self.level.on_dispersion(&seen)
    }

    /// The capacity of a link that has become slower, if the newest dispersions, all of them longer
    /// than before, are a new pile.
    fn slower(&mut self, gone: &Gone) -> Option<NewCapacity> {
        let before = self.capacity?;
        let found = piles::fullest(self.memory.newest(gone.newest), gone.share)?;
        if !gone.is_told(before.as_bps_f64() / found.as_bps_f64()) {
            return None;
        }
        let since = self.level.slower_since();
        self.start_anew(found, gone.newest);
        Some(NewCapacity {
            capacity: found,
            since: Some(since),
        })
    }

    /// The capacity of a link that has become faster, if rushed dispersions are a new pile. All
    /// others came at the pace at which they were sent, and say nothing.
    fn faster(&mut self) -> Option<NewCapacity> {
        let before = self.capacity?;
        let (rushed, since) = self.level.rushed();
        let found = piles::fullest(&rushed, 0.0)?;
        if found <= before.scaled(piles::WIDTH) {
            return None;
        }
        self.memory.clear();
        for dispersion in rushed {
            self.memory.push(dispersion);
        }
        self.start_anew(found, rushed.len());
        Some(NewCapacity {
            capacity: found,
            since: Some(since),
        })
    }

    /// What was taken for the capacity was the time of something late. Blocks show the link, and
    /// dispersions are read over the time of a block from now on. `None`, and nothing is done, if
    /// the blocks make no pile.
    fn correct(&mut self, late: &Late) -> Option<Bandwidth> {
        let capacity = piles::capacity(late.blocks(), None)?;
        self.memory.clear();
        for block in late.blocks() {
            self.memory.push(*block);
        }
        self.start_anew(capacity, late.blocks().len());
        self.reading = Reading::over(late.time);
        Some(capacity)
    }

    /// The link has another capacity than before. Only the newest dispersions are of it.
    fn start_anew(&mut self, capacity: Bandwidth, newest: usize) {
        self.memory.keep_newest(newest);
        self.looks = Looks::default();
        self.doubt = Doubt::default();
        self.level = Level::default();
        self.blocks = Blocks::default();
        self.capacity = Some(capacity);
        self.proof.on_pile(0);
    }

    /// What changed, if it is told.
    fn told(&self, new: NewCapacity) -> Option<NewCapacity> {
        self.proof.is_told().then_some(new)
    }

    /// What the dispersions in memory show while the capacity is that of a heap: what is left of
    /// it, or a pile that stands out again.
    fn heap_or_pile(&mut self) -> Option<Bandwidth> {
        let sorted = self.memory.sorted();
        let stands_out =
            |pile: &Bandwidth| !piles::is_spread(sorted, *pile) && proof::stands_out(sorted, *pile);
        let pile = piles::capacity(sorted, None).filter(stands_out);
        if let Some(pile) = pile {
            self.proof.on_pile(piles::size(sorted, pile));
            return Some(pile);
        }
        let before = self.capacity?;
        let Some(heap) = Heap::left(before, sorted) else {
            self.doubt.on_spread();
            return None;
        };
        Some(if heap.has(before) {
            before
        } else {
            heap.middle
        })
    }

    /// Looks at all dispersions in memory.
    fn look(&mut self) -> Option<NewCapacity> {
        self.memory.sort();
        let is_of_heap = self.proof.is_of_heap();
        // Half of a heap is shorter than its middle, and says nothing of a faster link.
        let (found, since) = if is_of_heap {
            (self.heap_or_pile(), None)
        } else {
            let found = piles::capacity(self.memory.sorted(), self.capacity);
            (found, self.level.faster_since())
        };
        self.level.on_look();
        let is_same = |before: Bandwidth, found: Bandwidth| {
            let (before, found) = (before.as_bps_f64(), found.as_bps_f64());
            (found - before).abs() <= SAME_SHARE * before
        };
        let seen = self.capacity.zip(found);
        self.looks
            .on_look(seen.is_some_and(|(before, found)| is_same(before, found)));
        let found = found?;
        if !is_of_heap && piles::is_spread(self.memory.sorted(), found) {
            self.doubt.on_spread();
            return None;
        }
        let before = self.capacity.replace(found);
        if !is_of_heap && before.is_none_or(|before| !is_same(before, found)) {
            let sorted = self.memory.sorted();
            self.proof.on_other_pile(before, found, sorted);
        }
        self.proof.weigh(self.reading.is_longer());
        if before == Some(found) {
            return None;
        }
        let is_above = |a: Bandwidth, b: Bandwidth| a > b.scaled(piles::WIDTH);
        let is_faster = before.is_some_and(|before| is_above(found, before));
        if is_faster || before.is_some_and(|before| is_above(before, found)) {
            self.level = Level::default();
        }
        self.told(NewCapacity {
            capacity: found,
            since: since.filter(|_| is_faster),
        })
    }

    #[inline]
    fn is_too_long(&mut self, packets: u32) -> bool {
        if packets <= MOST_PACKETS {
            self.too_long = 0;
            return false;
        }
        self.too_long = self.too_long.saturating_add(1);
        self.too_long <= SPARSE_AFTER || packets > MOST_PACKETS_SPARSE
    }
}
