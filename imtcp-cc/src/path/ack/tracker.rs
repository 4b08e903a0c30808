//! From acknowledgements to echoes: which packet an acknowledgement echoes, how good the echo is,
//! and the gaps between clean echoes.

use super::clump::{Clumps, Reading};
use super::echo::Echo;
use super::gap::{EchoGap, EchoPoint, LinkState};
use super::outstanding::{Outstanding, SentPacket};
use super::quality::EchoQuality;
use super::timing::{EchoPair, EchoTiming, TimingJudge};
use super::waiting::Waiting;
use super::work::QueueWork;
use crate::path::line::Line;
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};
use std::time::Duration;

/// Room from the start for the gaps of one acknowledgement that tells the arrival of this many
/// packets.
const USUAL_GAPS: usize = 32;

/// What one acknowledgement gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// The number of packets that this acknowledgement newly covered.
    pub packets: u32,
    /// The bytes of these packets on the wire.
    pub bytes: Bytes,
    /// The last clean echo of this acknowledgement: when its packet left, and when it came.
    pub echo: Option<(Timestamp, Timestamp)>,
}

/// Follows the outstanding packets and turns acknowledgements into echoes.
#[derive(Debug)]
pub struct EchoTracker {
    packets: Outstanding,
    /// The gaps that the last acknowledgement completed.
    gaps: Vec<EchoGap>,
    judge: TimingJudge,
    /// The tight link, as fast as it was said to be last.
    line: Line,
    /// When the newest clean echo came, and when its packet had left.
    newest: Option<(Timestamp, Timestamp)>,
    clumps: Clumps,
    /// The point at which the next gap begins.
    last: Option<Reading>,
    /// Whether the capacity is only a lower bound.
    bound: bool,
    waiting: Waiting,
    /// The size of the largest packet.
    largest: Bytes,
    /// Whether the last acknowledgement showed that the path has become longer.
    is_longer: bool,
}

impl Default for EchoTracker {
    fn default() -> Self {
        Self::new()
    }
}

impl EchoTracker {
    /// A tracker of a path on which nothing was sent yet.
    pub fn new() -> Self {
        Self {
            packets: Outstanding::new(),
            gaps: Vec::new(),
            judge: TimingJudge::default(),
            line: Line::default(),
            newest: None,
            clumps: Clumps::default(),
            last: None,
            bound: false,
            waiting: Waiting::default(),
            largest: Bytes::ZERO,
            is_longer: false,
        }
    }

    /// Makes room once and for all: an acknowledgement must not allocate.
    pub(crate) fn reserve(&mut self) {
        self.gaps.reserve_exact(USUAL_GAPS);
    }

    /// The link has had this capacity for some time already.
    pub fn on_changed_link(&mut self, capacity: Bandwidth) {
        self.line.set_capacity(Some(capacity));
        self.mend();
    }

    fn mend(&mut self) {
        if let Some(saved) = self.line.mend(self.largest) {
            self.waiting.on_faster_link(saved);
        }
    }

    /// The link is this fast. Whether that has changed, or is only known better, is not always
    /// told. A lower bound that rises does so in many small steps.
    #[inline]
    fn set_capacity(&mut self, capacity: Option<Bandwidth>) {
        self.line.set_capacity(capacity);
        if self.line.is_far_faster() {
            self.mend();
        }
    }

    /// A packet with application data or other content that asks for an acknowledgement left.
    /// `size` is its size on the wire.
    #[inline]
    pub fn on_sent(
        &mut self,
        number: u64,
        size: Bytes,
        now: Timestamp,
        capacity: Option<Bandwidth>,
    ) {
        self.set_capacity(capacity);
        self.largest = self.largest.max(size);
        let serialisation = self.line.time_for(size).unwrap_or_default();
        self.packets.add(number, size, now, serialisation);
    }

    /// An acknowledgement came whose largest packet is `largest`. `newly_acked` are the packets
    /// that it newly covers, in ascending order, each with the time of its arrival if the peer
    /// gave it. `arrived` is when the acknowledgement came, less the receiver's own delay; `None`
    /// if it is no echo of any packet. Calls `sink` with the echo of each packet. The gaps are
    /// then in [`EchoTracker::gaps`].
    #[inline]
    pub fn on_ack(
        &mut self,
        arrived: Option<Timestamp>,
        now: Timestamp,
        largest: u64,
        newly_acked: impl Iterator<Item = (u64, Option<Timestamp>)>,
        capacity: Option<Bandwidth>,
        mut sink: impl FnMut(&Echo),
    ) -> AckOutcome {
        self.set_capacity(capacity);
        self.gaps.clear();
        self.is_longer = false;
        let mut outcome = AckOutcome::default();
        let mut held: Option<SentPacket> = None;
        for (number, timed) in newly_acked {
            outcome.packets += 1;
            let Some(packet) = self.packets.acknowledge(number) else {
                continue;
            };
            outcome.bytes += packet.size;
            if let Some(at) = timed {
                sink(&echo_of(&packet, at, EchoQuality::Single));
                self.take(&packet, (at, at), (1, packet.size));
                outcome.echo = Some((packet.sent, at));
            } else if let Some(earlier) = held.replace(packet) {
                sink(&echo_of(&earlier, now, EchoQuality::Aggregated));
            }
        }
        let Some(newest) = held else { return outcome };
        match arrived {
            // The acknowledgement that would have echoed this packet was lost or overtaken.
            Some(at) if newest.number != largest => {
                sink(&echo_of(&newest, at, EchoQuality::Reordered));
            }
            Some(at) => {
                sink(&echo_of(&newest, at, EchoQuality::Single));
                self.take(&newest, (at, now), (outcome.packets, outcome.bytes));
                outcome.echo = Some((newest.sent, now));
            }
            None => sink(&echo_of(&newest, now, EchoQuality::Aggregated)),
        }
        outcome
    }

    /// The gaps that the last acknowledgement completed.
    pub fn gaps(&self) -> &[EchoGap] {
        &self.gaps
    }

    /// Whether the last acknowledgement showed that the path has become longer. What gaps said of
    /// waiting since it became so is wrong.
    pub fn is_longer(&self) -> bool {
        self.is_longer
    }

    /// Echoes come by another clock from now on, so earlier echoes are forgotten.
    pub fn restart(&mut self) {
        self.newest = None;
        self.clumps = Clumps::default();
        self.last = None;
        self.judge = TimingJudge::default();
        self.waiting = Waiting::default();
    }

    /// Takes a clean echo, whose acknowledgement `covered` this many packets and bytes, and reads
    /// the gap that it completes.
    #[inline]
    fn take(
        &mut self,
        packet: &SentPacket,
        (arrived, came): (Timestamp, Timestamp),
        covered: (u32, Bytes),
    ) {
        let point = EchoPoint {
            number: packet.number,
            size: packet.size,
            sent: packet.sent,
            arrived,
            came,
        };
        let reading = Reading {
            point,
            rushed: packet.rushed,
        };
        if self.judge_time(&point, covered) {
            self.settle(reading);
        } else if let Some(read) = self.read_coarsely(reading) {
            self.settle(read);
        }
        self.newest = Some((arrived, packet.sent));
    }

    /// What sets the time of echoes. If it is not the data, echoes are read coarsely.
    pub fn timing(&self) -> EchoTiming {
        self.judge.timing()
    }

    /// The largest error of the difference between two echoes' times, for 95 % of them.
    pub(crate) fn jitter(&self) -> Nanos {
        self.judge.jitter()
    }

    /// Tells whether the capacity that comes with acknowledgements is only a lower bound.
    pub fn set_bound(&mut self, bound: bool) {
        self.bound = bound;
    }

    /// The echoes contradict themselves. They are no longer read finely, and not at all if their
    /// times are off by more than `readable`.
    pub fn distrust(&mut self, now: Timestamp, readable: Duration) {
        self.judge.distrust(now, readable.into());
    }

    /// Judges again whether distrusted echoes can be read coarsely: they can if they are off by no
    /// more than `readable`.
    pub fn reconsider(&mut self, readable: Duration) {
        self.judge.reconsider(readable.into());
    }

    /// Judges the time of an echo. True if it is read finely: then it completes a reading.
    #[inline]
    fn judge_time(&mut self, echo: &EchoPoint, (packets, bytes): (u32, Bytes)) -> bool {
        let Some((arrived, sent)) = self.newest else {
            return true;
        };
        let served = match packets {
            1 => self.line.time_for(echo.size),
            _ => self.line.time_for_any(bytes),
        };
        let pair = EchoPair {
            arrival: echo.arrived - arrived,
            departure: echo.sent - sent,
            packets,
            bytes,
            served,
        };
        self.judge.on_echo(echo.arrived, &pair);
        let is_fine = !self.judge.is_coarse();
        if is_fine {
            self.clumps = Clumps::default();
        }
        is_fine
    }

    /// The reading that this echo completes where echoes are read coarsely, if it completes one.
    fn read_coarsely(&mut self, echo: Reading) -> Option<Reading> {
        let complete = self.clumps.take(echo, self.newest)?;
        let jitter = self.judge.jitter();
        let is_far = self.last.is_none_or(|last| complete.is_far(&last, jitter));
        is_far.then_some(complete)
    }

    /// Ends a gap here and begins the next.
    #[inline]
    fn settle(&mut self, read: Reading) {
        let point = &read.point;
        let serialisation = self.line.time_for(point.size);
        let delay = point.delay_beyond(serialisation);
        if let Some(last) = self.last {
            let waited = self.waiting.of(delay, self.doubt());
            self.end_gap(&last, point, waited);
            if let Some(serialisation) = serialisation {
                let last = last.point.arrived;
                self.waiting
                    .observe_distance(point.arrived, last, serialisation);
            }
        } else {
            // An echo that comes later for such a packet is out of order and belongs to no gap.
            while self.packets.take_up_to(point.number).is_some() {}
        }
        self.waiting.observe(point.arrived, delay);
        if let Some(serialisation) =
            serialisation.filter(|_| !read.rushed && !self.judge.is_coarse())
        {
            self.is_longer |= self
                .waiting
                .observe_route(point.arrived, delay, serialisation);
        }
        self.last = Some(read);
    }

    /// The part of a waiting time that is not beyond doubt.
    fn doubt(&self) -> Nanos {
        match self.judge.is_coarse() {
            true => self.judge.jitter(),
            false => Nanos::ZERO,
        }
    }

    /// Ends the gap between two points, and forgets its packets. The later point's packet `waited`.
    ///
    /// A packet between the two points may be missing because it was not acknowledged. If the
    /// queue was long, the packet was most likely dropped there and never crossed the link.
    /// Otherwise nobody can tell where it was lost, or whether it is only late, and there is no
    /// gap.
    #[inline]
    fn end_gap(&mut self, last: &Reading, to: &EchoPoint, waited: Nanos) {
        let from = last.point;
        let serialisation = self.line.time_for(from.size);
        let delay = from.delay_beyond(serialisation);
        let waiting = self.waiting.of(delay, self.doubt());
        // A queue that holds not even one packet drops none.
        let least = serialisation.unwrap_or(Nanos::new(1)).get();
        let long_queue = waiting.get() >= least.max(self.waiting.longest().get() / 2);
        let mut work = QueueWork::after(&from, waiting, serialisation);
        let mut bytes = Bytes::ZERO;
        let mut packets = 0u32;
        let mut spaced = false;
        let mut is_alone = false;
        let mut is_whole = !self.packets.has_forgotten_after(from.number);
        while let Some(packet) = self.packets.take_up_to(to.number) {
            if !packet.acknowledged {
                is_whole &= long_queue;
                continue;
            }
            if let Some(serialisation) = self.line.time_for(packet.size) {
                is_alone = work.has_passed(packet.sent);
                work.arrive(packet.sent, serialisation);
            }
            spaced = !packet.rushed;
            bytes += packet.size;
            packets += 1;
        }
        if packets == 0 || !is_whole {
            return;
        }
        let link = match self.judge.timing() {
            EchoTiming::Clumped if self.bound => self.verdict_from_waiting(waiting, waited),
            EchoTiming::Own | EchoTiming::Clumped => work.verdict(spaced && !last.rushed),
            EchoTiming::Foreign => LinkState::Unknown,
        };
        self.gaps.push(EchoGap {
            from,
            to: *to,
            bytes,
            packets,
            waited,
            is_alone,
            link,
        });
    }

    /// Without a capacity nobody knows how long a queue lasts. If the packets at both ends waited,
    /// those between more likely waited than not.
    fn verdict_from_waiting(&self, from: Nanos, to: Nanos) -> LinkState {
        if from == Nanos::ZERO || to == Nanos::ZERO {
            LinkState::Unknown
        } else {
            LinkState::BusyQueued
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

#[cfg(test)]
mod tests;
