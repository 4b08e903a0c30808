//! From acknowledgements to echoes: which packet an acknowledgement echoes, how good the echo is,
//! and the gaps between clean echoes.

use super::base_delay::BaseDelay;
use super::echo::Echo;
use super::gap::{EchoGap, EchoPoint, LinkState};
use super::quality::EchoQuality;
use crate::units::{Bandwidth, Bytes, TimeDelta, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// Most packets remembered at once. A full window of 1 Gbit/s over 250 ms is 26,000 packets; when
/// more are outstanding the oldest are forgotten and their echoes are not used.
const MAX_PACKETS: usize = 32_768;

/// Packets for which there is room from the start.
const INITIAL_PACKETS: usize = 1_024;

/// A packet that a link upstream of the tight one, no slower than it, would hold back by more than
/// this part of a packet's serialisation time is rushed: its send time is not the time at which it
/// reached the tight link.
const RUSH_DIVISOR: u32 = 10;

/// A queue's remaining work may be overestimated by this share of a packet's serialisation time
/// without harm: clocks and the capacity are not better known.
const WORK_TOLERANCE_DIVISOR: u32 = 100;

#[derive(Clone, Copy, Debug)]
struct SentPacket {
    number: u64,
    size: Bytes,
    sent: Timestamp,
    rushed: bool,
    acknowledged: bool,
}

/// What one acknowledgement gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// The gap from the last clean echo to this one, where there is one.
    pub gap: Option<EchoGap>,
    /// Packets that this acknowledgement newly covered.
    pub packets: u32,
}

/// Follows the packets that are out and turns acknowledgements into echoes.
#[derive(Debug)]
pub struct EchoTracker {
    packets: VecDeque<SentPacket>,
    last: Option<EchoPoint>,
    /// Whether that packet was rushed.
    last_rushed: bool,
    /// When a link upstream of the tight one, and as fast, would have passed on all that was sent.
    upstream_free: Timestamp,
    base: BaseDelay,
    /// The longest time in queues, as the least of its negative.
    deepest: BaseDelay,
    /// By how much two echoes came closer together than the tight link serves packets, at most, as
    /// the least of its negative: something after that link pushed them together. Waiting is not
    /// believed up to this.
    jitter: BaseDelay,
}

impl Default for EchoTracker {
    fn default() -> Self {
        Self::new()
    }
}

impl EchoTracker {
    /// Nothing sent yet.
    pub fn new() -> Self {
        Self {
            packets: VecDeque::with_capacity(INITIAL_PACKETS),
            last: None,
            last_rushed: false,
            upstream_free: Timestamp::ZERO,
            base: BaseDelay::new(),
            deepest: BaseDelay::new(),
            jitter: BaseDelay::new(),
        }
    }

    /// A packet with application data or other content that asks for an acknowledgement left.
    /// `size` is on the wire.
    pub fn on_sent(
        &mut self,
        number: u64,
        size: Bytes,
        now: Timestamp,
        capacity: Option<Bandwidth>,
    ) {
        if self
            .packets
            .back()
            .is_some_and(|last| last.number >= number)
        {
            return; // numbers only ever rise; anything else would break the search below
        }
        if self.packets.len() == MAX_PACKETS {
            self.packets.pop_front();
        }
        let serialisation = capacity.map_or(Duration::ZERO, |rate| rate.time_for(size));
        let rushed = self.upstream_free > now + serialisation / RUSH_DIVISOR;
        self.upstream_free = self.upstream_free.max(now) + serialisation;
        self.packets.push_back(SentPacket {
            number,
            size,
            sent: now,
            rushed,
            acknowledged: false,
        });
    }

    /// An acknowledgement came at `arrived` (the receiver's own delay already taken off) whose
    /// largest packet is `largest`; `newly_acked` are the packets it newly covers, ascending.
    /// Calls `sink` with the echo of each.
    pub fn on_ack(
        &mut self,
        arrived: Timestamp,
        largest: u64,
        newly_acked: impl Iterator<Item = u64>,
        capacity: Option<Bandwidth>,
        mut sink: impl FnMut(&Echo),
    ) -> AckOutcome {
        let mut outcome = AckOutcome::default();
        let mut held: Option<SentPacket> = None;
        for number in newly_acked {
            outcome.packets += 1;
            let Some(packet) = self.mark_acknowledged(number) else {
                continue;
            };
            if let Some(earlier) = held.replace(packet) {
                sink(&echo_of(&earlier, arrived, EchoQuality::Aggregated));
            }
        }
        let Some(newest) = held else { return outcome };
        if newest.number != largest {
            // The acknowledgement that would have echoed it was lost or overtaken.
            sink(&echo_of(&newest, arrived, EchoQuality::Reordered));
            return outcome;
        }
        sink(&echo_of(&newest, arrived, EchoQuality::Single));
        let point = EchoPoint {
            number: newest.number,
            size: newest.size,
            sent: newest.sent,
            arrived,
        };
        outcome.gap = self.gap_to(&point, capacity);
        let delay = point.delay(capacity);
        self.base.observe(arrived, delay);
        if let (Some(last), Some(rate)) = (self.last, capacity) {
            let serialisation = TimeDelta::from(rate.time_for(point.size));
            let pushed = serialisation - (point.arrived - last.arrived);
            self.jitter.observe(arrived, (-pushed).min(TimeDelta::ZERO));
        }
        self.deepest
            .observe(arrived, -TimeDelta::from(self.base.excess(delay)));
        self.last = Some(point);
        self.last_rushed = newest.rushed;
        self.forget_before(point.number);
        outcome
    }

    fn deepest(&self) -> Duration {
        self.deepest.get().map_or(Duration::MAX, magnitude)
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.packets
            .binary_search_by_key(&number, |packet| packet.number)
            .ok()
    }

    fn mark_acknowledged(&mut self, number: u64) -> Option<SentPacket> {
        let index = self.position(number)?;
        let packet = &mut self.packets[index];
        packet.acknowledged = true;
        Some(*packet)
    }

    /// Everything before the newest clean echo is done with: an echo that comes later is out of
    /// order and belongs to no gap.
    fn forget_before(&mut self, number: u64) {
        while self
            .packets
            .front()
            .is_some_and(|packet| packet.number <= number)
        {
            self.packets.pop_front();
        }
    }

    /// The gap from the last point.
    ///
    /// A packet between the two that is not acknowledged is missing. From a long queue it most
    /// likely was dropped there, and never crossed the link; otherwise nobody can tell where it was
    /// lost, or whether it is only late, and there is no gap.
    fn gap_to(&self, to: &EchoPoint, capacity: Option<Bandwidth>) -> Option<EchoGap> {
        let from = self.last?;
        let mut bytes = Bytes::ZERO;
        let mut packets = 0u32;
        let jitter = self.jitter.get().map_or(Duration::ZERO, magnitude);
        let waiting = self
            .base
            .excess(from.delay(capacity))
            .saturating_sub(jitter);
        let long_queue = waiting >= self.deepest() / 2;
        let mut work = QueueWork::after(&from, waiting, capacity);
        let mut spaced = false;
        for packet in self
            .packets
            .iter()
            .take_while(|packet| packet.number <= to.number)
        {
            if !packet.acknowledged {
                if !long_queue {
                    return None;
                }
                continue;
            }
            work.arrive(packet.sent, packet.size);
            spaced = !packet.rushed;
            bytes += packet.size;
            packets += 1;
        }
        (packets > 0).then(|| EchoGap {
            from,
            to: *to,
            bytes,
            packets,
            link: work.verdict(spaced && !self.last_rushed),
        })
    }
}

/// A maximum kept as the least of its negative.
fn magnitude(negative: TimeDelta) -> Duration {
    negative.abs()
}

/// Follows the least work that the tight link's queue can hold while packets reach it, counting
/// only what is known: the waiting time of the last echoed packet, and our own packets since.
struct QueueWork {
    capacity: Option<Bandwidth>,
    /// When the queue would run empty if nobody else sent, on the sender's clock.
    empty_at: Timestamp,
    busy: bool,
    /// The same if the last echoed packet had not waited.
    bare_empty_at: Timestamp,
    bare_busy: bool,
}

impl QueueWork {
    fn after(from: &EchoPoint, waiting: Duration, capacity: Option<Bandwidth>) -> Self {
        let serialisation = capacity.map_or(Duration::ZERO, |rate| rate.time_for(from.size));
        Self {
            capacity,
            empty_at: from.sent + waiting + serialisation,
            busy: capacity.is_some(),
            bare_empty_at: from.sent + serialisation,
            bare_busy: capacity.is_some(),
        }
    }

    fn arrive(&mut self, sent: Timestamp, size: Bytes) {
        let Some(capacity) = self.capacity else {
            return;
        };
        let serialisation = capacity.time_for(size);
        let tolerance = serialisation / WORK_TOLERANCE_DIVISOR;
        self.busy &= sent <= self.empty_at + tolerance;
        self.empty_at = self.empty_at.max(sent) + serialisation;
        self.bare_busy &= sent <= self.bare_empty_at + tolerance;
        self.bare_empty_at = self.bare_empty_at.max(sent) + serialisation;
    }

    fn verdict(&self, spaced: bool) -> LinkState {
        match (self.busy, spaced, self.bare_busy) {
            (false, ..) => LinkState::Unknown,
            (true, false, _) => LinkState::BusyRushed,
            (true, true, true) => LinkState::BusySpaced,
            (true, true, false) => LinkState::BusyQueued,
        }
    }
}

fn echo_of(packet: &SentPacket, arrived: Timestamp, quality: EchoQuality) -> Echo {
    Echo {
        packet_number: packet.number,
        size: packet.size,
        sent: packet.sent,
        arrived,
        quality,
    }
}
