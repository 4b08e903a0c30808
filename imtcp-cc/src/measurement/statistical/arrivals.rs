//! What arrives, added up over short spans of time: our own bits, whether packets waited, and what
//! packets found that came after a stretch without any of ours.

use super::noise::Waits;
use super::pauses::Pauses;
use super::stretches::{LARGEST, Stretches};
use crate::path::ack::EchoGap;
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// The length of a span.
pub(super) const SPAN: Duration = Duration::from_millis(50);

/// The number of spans in memory: as long as the longest averaging window.
const MOST: usize = 80;

/// An acknowledgement of so many packets at most tells how the first of them found the link after a
/// pause. Many clients acknowledge every second packet.
const MOST_ENDING: u32 = 2;

/// The luckiest packet is sought in so many spans.
const LUCK: usize = 40;

/// Echoes that come closer together than this share of the time that the link needs were pushed
/// together on their way.
const PUSHED_SHARE: f64 = 0.5;

/// The tight link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// In bits per second.
    capacity: f64,
    /// The time that it needs for a full packet of ours, in seconds, and for the largest of others.
    pub(super) packet_s: f64,
    pub(super) largest_s: f64,
}

impl Link {
    /// A link of this capacity, on which full packets are `packet` bytes long.
    pub(super) fn new(capacity: Bandwidth, packet: Bytes) -> Self {
        let capacity = capacity.as_bps_f64().max(1.0);
        Self {
            capacity,
            packet_s: packet.as_bits_f64() / capacity,
            largest_s: LARGEST.as_bits_f64() / capacity,
        }
    }
}

/// Sums over gaps whose later packet arrived in one span.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    index: u64,
    pub(super) gaps: u32,
    pub(super) packets: u32,
    pub(super) bits: f64,
    pub(super) arrived_s: f64,
    /// The time in which packets of ours certainly waited.
    pub(super) waiting_s: f64,
    /// The part of it in gaps whose length says how fast packets are served, what arrived in that
    /// part, and over which time it had been sent.
    pub(super) serving_s: f64,
    pub(super) serving_bits: f64,
    pub(super) serving_sent_s: f64,
    pub(super) serving_packets: u32,
    /// How many gaps were pushed together.
    pub(super) pushed: u32,
    /// The stretches in which none of our packets was served or waited, and those of them that
    /// were pauses.
    pub(super) away_s: f64,
    pub(super) paused_s: f64,
    /// Those of them that were ended by a packet of which the wait is known.
    pub(super) ended: Stretches,
    /// The shortest wait of those packets, in seconds.
    least_wait_s: Option<f64>,
}

impl Span {
    pub(super) fn add(&mut self, other: &Self) {
        self.gaps += other.gaps;
        self.packets += other.packets;
        self.bits += other.bits;
        self.arrived_s += other.arrived_s;
        self.waiting_s += other.waiting_s;
        self.serving_s += other.serving_s;
        self.serving_bits += other.serving_bits;
        self.serving_sent_s += other.serving_sent_s;
        self.serving_packets += other.serving_packets;
        self.pushed += other.pushed;
        self.away_s += other.away_s;
        self.paused_s += other.paused_s;
        self.ended.add(&other.ended);
    }

    /// What the link did in the gap. The luckiest packet of late waited for `least_s`.
    #[inline]
    fn take_link(
        &mut self,
        gap: &EchoGap,
        arrived_s: f64,
        (link, pauses, waits): (&Link, &mut Pauses, &mut Waits),
        least_s: f64,
    ) {
        let served_s = gap.bytes.as_bits_f64() / link.capacity;
        self.pushed += u32::from(arrived_s < PUSHED_SHARE * served_s);
        let one_s = served_s / f64::from(gap.packets.max(1));
        let waited_s = gap.waited.as_secs_f64();
        // Packets between the two waited for each other, at least.
        let away_s = (arrived_s - served_s.max(waited_s + one_s)).max(0.0);
        self.away_s += away_s;
        let is_pause = Pauses::is_pause(away_s);
        if is_pause {
            self.paused_s += away_s;
        }
        if is_pause && gap.packets <= MOST_ENDING {
            // The second of two packets waited for the first.
            let ahead_s = one_s * f64::from(gap.packets.saturating_sub(1));
            pauses.end((waited_s - ahead_s).max(0.0), link.packet_s);
        }
        if (gap.packets != 1 && !gap.is_alone) || away_s <= 0.0 {
            return;
        }
        if !is_pause {
            let longer_s = waited_s - least_s.min(waited_s);
            self.ended.take(away_s, longer_s, link);
        }
        waits.add(waited_s);
        let least = self
            .least_wait_s
            .map_or(waited_s, |least| least.min(waited_s));
        self.least_wait_s = Some(least);
    }
}

/// The spans of the recent past, in constant memory.
#[derive(Debug)]
pub(super) struct Arrivals {
    spans: VecDeque<Span>,
    pauses: Pauses,
    waits: Waits,
    /// The shortest wait of the spans before the newest, in seconds.
    least_wait_s: f64,
    newest: Timestamp,
}

impl Arrivals {
    pub(super) fn new() -> Self {
        Self {
            spans: VecDeque::new(),
            pauses: Pauses::default(),
            waits: Waits::default(),
            least_wait_s: f64::INFINITY,
            newest: Timestamp::ZERO,
        }
    }

    /// Forgets what arrived. What others do in pauses stays the same on a link that has changed,
    /// and so does what makes waits noisy.
    pub(super) fn clear(&mut self) {
        self.spans.clear();
        self.least_wait_s = f64::INFINITY;
    }

    /// Forgets what packets found that ended pauses, because they did not wait as it seemed.
    pub(super) fn forget_pauses(&mut self) {
        self.pauses = Pauses::default();
    }

    /// Takes a gap between echoes. Of the wait of a packet that was released in an aggregate, the
    /// jitter is taken off already, and the gap is no shorter than two jitters.
    #[inline]
    pub(super) fn on_gap(&mut self, gap: &EchoGap, link: Option<&Link>) {
        let Some(arrived) = gap.arrival_gap() else {
            return;
        };
        let index = gap.to.arrived.as_nanos() / Nanos::of(SPAN).get();
        if self.spans.back().is_none_or(|newest| newest.index < index) {
            let late = self.spans.iter().rev().take(LUCK);
            let waits = late.filter_map(|span| span.least_wait_s);
            self.least_wait_s = waits.fold(f64::INFINITY, f64::min);
            // Spans without an arrival take no place.
            let is_old = |span: &Span| span.index + MOST as u64 <= index;
            while self.spans.front().is_some_and(is_old) {
                self.spans.pop_front();
            }
            if self.spans.is_empty() {
                self.spans.reserve_exact(MOST);
            }
            self.spans.push_back(Span {
                index,
                ..Span::default()
            });
        }
        let Some(span) = self.spans.back_mut() else {
            return;
        };
        let arrived_s = arrived.as_secs_f64();
        span.gaps += 1;
        span.packets += gap.packets;
        span.bits += gap.bytes.as_bits_f64();
        span.arrived_s += arrived_s;
        if gap.waited >= arrived {
            span.waiting_s += arrived_s;
            if !gap.is_shortened() {
                span.serving_s += arrived_s;
                span.serving_bits += gap.bytes.as_bits_f64();
                span.serving_sent_s += gap.sent_gap().as_secs_f64();
                span.serving_packets += gap.packets;
            }
        }
        if let Some(link) = link {
            let least_s = span.least_wait_s.unwrap_or(f64::INFINITY);
            let least_s = least_s.min(self.least_wait_s);
            let heard = (link, &mut self.pauses, &mut self.waits);
            span.take_link(gap, arrived_s, heard, least_s);
        }
        self.newest = gap.to.arrived;
    }

    /// What packets found that ended pauses.
    pub(super) fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    /// How the waits of packets that met none of our own are related.
    pub(super) fn waits(&self) -> &Waits {
        &self.waits
    }

    /// When the newest packet arrived.
    pub(super) fn newest(&self) -> Timestamp {
        self.newest
    }

    /// The spans in memory, newest first. With each comes the number of spans from its beginning
    /// until the end of the newest.
    pub(super) fn backwards(&self) -> impl Iterator<Item = (u64, &Span)> {
        let newest = self.spans.back().map_or(0, |span| span.index);
        self.spans
            .iter()
            .rev()
            .map(move |span| (newest + 1 - span.index, span))
    }
}
