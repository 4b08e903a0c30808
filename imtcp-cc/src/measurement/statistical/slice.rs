//! The gaps of one slice of time, and what they say of the others' traffic.

use super::sums::{GapSums, OpenSums, Spaced};
use crate::path::ack::{EchoGap, LinkState};
use crate::units::single;

/// The share of a slice that busy gaps must cover. A slice with this share is known, and others
/// are sampled.
const COVERED_SHARE: f64 = 0.9;

/// The fewest gaps of a slice that tell something where packets leave in bunches.
const FEWEST_BUNCHED: u32 = 8;

/// Bunches tell nothing if they left in less than this share of the time that the link takes for
/// them.
const LEAST_SPREAD: f64 = 0.25;

/// One slice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slice {
    pub(super) index: u64,
    /// Gaps in which the link was busy.
    busy: GapSums,
    /// The busy gaps of which no waiting of the earlier packet is needed as a proof.
    pub(super) close: Spaced,
    /// The busy gaps that were busy because the earlier packet had waited.
    pub(super) queued: Spaced,
    /// Parts of gaps in which the link may have been idle.
    open: OpenSums,
}

/// A slice of which only a bound of the others' rate is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Room {
    pub(super) index: u64,
    /// The largest rate of the others, in bits per second.
    pub(super) most: f64,
}

/// What a slice says about the others' traffic, for a given capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SliceView {
    pub(super) index: u64,
    /// Mean rate of the others' traffic, bits per second.
    pub(super) rate: f32,
    /// The time that was seen, in seconds.
    pub(super) seen_s: f32,
    /// The squared scatter of single gaps about the slice's own rate, and its degrees of freedom.
    pub(super) scatter: f32,
    pub(super) freedom: u16,
    /// Whether the slice was seen from end to end.
    pub(super) covered: bool,
    /// By how much the rate may be off, in bits per second, because nobody knows when packets
    /// reached the link.
    pub(super) doubt: f32,
}

impl SliceView {
    pub(super) fn rate(&self) -> f64 {
        self.rate.into()
    }

    pub(super) fn seen_s(&self) -> f64 {
        self.seen_s.into()
    }
}

impl Slice {
    pub(super) fn new(index: u64) -> Self {
        Self {
            index,
            ..Self::default()
        }
    }

    #[inline]
    pub(super) fn add(&mut self, gap: &EchoGap, arrived_s: f64) {
        let [own_bits, sent_s, arrived_s] = [
            gap.bytes.as_bits_f64(),
            gap.sent_gap().as_secs_f64(),
            arrived_s,
        ]
        .map(single);
        self.busy.add(own_bits, sent_s, arrived_s);
        match gap.link {
            LinkState::BusySpaced if sent_s > 0.0 => self.close.add(own_bits, sent_s, arrived_s),
            LinkState::BusyQueued if sent_s > 0.0 => self.queued.add(own_bits, sent_s, arrived_s),
            _ => {}
        }
    }

    /// Takes the part of a gap in which the link may have been idle.
    #[inline]
    pub(super) fn add_open(&mut self, own_bits: f64, arrived_s: f64) {
        self.open.own_bits += single(own_bits);
        self.open.arrived_s += single(arrived_s);
    }

    /// The time in which busy gaps left, in seconds.
    pub(super) fn busy_s(&self) -> f64 {
        self.busy.sent_s()
    }

    /// Both slices as one of twice the length.
    pub(super) fn with(self, next: &Self) -> Self {
        Self {
            index: self.index,
            busy: self.busy.with(&next.busy),
            close: self.close.with(&next.close),
            queued: self.queued.with(&next.queued),
            open: self.open.with(&next.open),
        }
    }

    pub(super) fn is_covered(&self, slice_s: f64) -> bool {
        self.busy.sent_s() >= COVERED_SHARE * slice_s
    }

    /// The bound on what others sent, if nothing else is known.
    pub(super) fn room(&self, capacity: f64) -> Option<Room> {
        let OpenSums {
            own_bits,
            arrived_s,
        } = self.open;
        let (own_bits, arrived_s) = (f64::from(own_bits), f64::from(arrived_s));
        (self.busy.gaps == 0 && arrived_s > 0.0).then(|| Room {
            index: self.index,
            most: (capacity - own_bits / arrived_s).max(0.0),
        })
    }

    /// What the slice says; `None` if nothing was seen. `waiting_counts` admits gaps that the
    /// earlier packet's waiting time proves busy.
    pub(super) fn view(
        &self,
        capacity: f64,
        slice_s: f64,
        waiting_counts: bool,
    ) -> Option<SliceView> {
        if self.is_covered(slice_s) {
            // The slice was seen from end to end. What others sent is divided by the time in which
            // they sent it, the sending gaps: while a queue grows, less of it crosses the link
            // than arrives.
            let rate = self.busy.foreign_bits(capacity) / self.busy.sent_s();
            return Some(SliceView {
                index: self.index,
                rate: single(rate),
                seen_s: self.busy.sent_s,
                scatter: 0.0,
                freedom: 0,
                covered: true,
                doubt: 0.0,
            });
        }
        // The slice was sampled: what others sent, per time at the queue, over the times that were
        // seen.
        let spaced = if waiting_counts {
            self.close.with(&self.queued)
        } else {
            self.close
        };
        (spaced.sums.gaps > 0).then(|| SliceView {
            index: self.index,
            rate: single(spaced.rate(capacity)),
            seen_s: spaced.sums.sent_s,
            scatter: single(spaced.squares(capacity)),
            freedom: u16::try_from(spaced.sums.gaps - 1).unwrap_or(u16::MAX),
            covered: false,
            doubt: 0.0,
        })
    }

    /// What a slice says where packets leave in bunches, because the host's timers are coarse. They
    /// reached the link at the times at which they left, or at the link's own pace if an earlier
    /// link held them back, or at times between.
    pub(super) fn bunched_view(&self, capacity: f64) -> Option<SliceView> {
        let busy = &self.busy;
        let (sent_s, own_s) = (busy.sent_s(), f64::from(busy.own_bits) / capacity);
        if busy.gaps < FEWEST_BUNCHED || sent_s < LEAST_SPREAD * own_s {
            return None;
        }
        let foreign = busy.foreign_bits(capacity);
        let (most, least) = (foreign / sent_s, foreign / own_s.max(sent_s));
        Some(SliceView {
            index: self.index,
            rate: single((most + least) / 2.0),
            seen_s: busy.sent_s,
            scatter: 0.0,
            freedom: 0,
            covered: false,
            doubt: single((most - least).abs() / 2.0),
        })
    }
}
