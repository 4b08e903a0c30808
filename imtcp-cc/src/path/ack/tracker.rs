//! From acknowledgements to echoes: which packet an acknowledgement echoes, how good the echo is,
//! and the gaps between clean echoes.

use super::echo::Echo;
use super::gap::{EchoGap, EchoPoint, LinkState};
use super::outstanding::{Outstanding, SentPacket};
use super::quality::EchoQuality;
use super::timing::{EchoTiming, TimingJudge};
use super::waiting::Waiting;
use super::work::QueueWork;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// Room for the gaps of one acknowledgement that tells the arrival of this many packets.
const MOST_GAPS: usize = 128;

/// The shortest gap in jitters, if echoes are read coarsely. The remaining error cancels in the
/// sums over gaps that follow each other.
const COARSE_JITTERS: u32 = 2;

/// What one acknowledgement gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// The number of packets that this acknowledgement newly covered.
    pub packets: u32,
    /// The bytes of these packets on the wire.
    pub bytes: Bytes,
    /// The last clean echo of this acknowledgement.
    pub echo: Option<EchoPoint>,
}

/// A point from which a gap can be read, and whether its packet was rushed.
#[derive(Clone, Copy, Debug)]
struct Reading {
    point: EchoPoint,
    rushed: bool,
}

/// Follows the outstanding packets and turns acknowledgements into echoes.
#[derive(Debug)]
pub struct EchoTracker {
    packets: Outstanding,
    /// The gaps that the last acknowledgement completed.
    gaps: Vec<EchoGap>,
    judge: TimingJudge,
    /// The newest clean echo, as it came.
    newest: Option<EchoPoint>,
    /// The clump to which echoes still come, if they are read coarsely: its newest packet, at the
    /// time of its first echo. At that time the whole clump arrived.
    clump: Option<Reading>,
    /// The point at which the next gap begins.
    last: Option<Reading>,
    /// Whether the capacity is only a lower bound.
    bound: bool,
    waiting: Waiting,
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
            gaps: Vec::with_capacity(MOST_GAPS),
            judge: TimingJudge::default(),
            newest: None,
            clump: None,
            last: None,
            bound: false,
            waiting: Waiting::default(),
        }
    }

    /// A packet with application data or other content that asks for an acknowledgement left.
    /// `size` is its size on the wire.
    pub fn on_sent(
        &mut self,
        number: u64,
        size: Bytes,
        now: Timestamp,
        capacity: Option<Bandwidth>,
    ) {
        self.packets.add(number, size, now, capacity);
    }

    /// An acknowledgement came whose largest packet is `largest`. `newly_acked` are the packets
    /// that it newly covers, in ascending order, each with the time of its arrival if the peer
    /// gave it. `arrived` is when the acknowledgement came, less the receiver's own delay; `None`
    /// if it is no echo of any packet. Calls `sink` with the echo of each packet. The gaps are
    /// then in [`EchoTracker::gaps`].
    pub fn on_ack(
        &mut self,
        arrived: Option<Timestamp>,
        now: Timestamp,
        largest: u64,
        newly_acked: impl Iterator<Item = (u64, Option<Timestamp>)>,
        capacity: Option<Bandwidth>,
        mut sink: impl FnMut(&Echo),
    ) -> AckOutcome {
        self.gaps.clear();
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
                outcome.echo = Some(self.take(&packet, (at, at), 1, capacity));
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
                outcome.echo = Some(self.take(&newest, (at, now), outcome.packets, capacity));
            }
            None => sink(&echo_of(&newest, now, EchoQuality::Aggregated)),
        }
        outcome
    }

    /// The gaps that the last acknowledgement completed.
    pub fn gaps(&self) -> &[EchoGap] {
        &self.gaps
    }

    /// Echoes come by another clock from now on, so earlier echoes are forgotten.
    pub fn restart(&mut self) {
        self.newest = None;
        self.clump = None;
        self.last = None;
        self.judge = TimingJudge::default();
        self.waiting = Waiting::default();
    }

    /// Takes a clean echo and reads the gap that it completes.
    fn take(
        &mut self,
        packet: &SentPacket,
        (arrived, came): (Timestamp, Timestamp),
        covered: u32,
        capacity: Option<Bandwidth>,
    ) -> EchoPoint {
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
        let read = self.read(reading, covered, capacity);
        self.newest = Some(point);
        if let Some(read) = read {
            if let Some(gap) = self.gap_to(&read, capacity) {
                self.gaps.push(gap);
            }
            self.settle(read, capacity);
        }
        point
    }

    /// What sets the time of echoes. If it is not the data, echoes are read coarsely.
    pub fn timing(&self) -> EchoTiming {
        self.judge.timing()
    }

    /// The largest error of the difference between two echoes' times, for 95 % of them.
    pub fn jitter(&self) -> Duration {
        self.judge.jitter()
    }

    /// Tells whether the capacity that comes with acknowledgements is only a lower bound.
    pub fn set_bound(&mut self, bound: bool) {
        self.bound = bound;
    }

    /// The echoes contradict themselves. They are no longer read finely, and not at all if their
    /// times are off by more than `readable`.
    pub fn distrust(&mut self, now: Timestamp, readable: Duration) {
        self.judge.distrust(now, readable);
    }

    /// Judges again whether distrusted echoes can be read coarsely: they can if they are off by no
    /// more than `readable`.
    pub fn reconsider(&mut self, readable: Duration) {
        self.judge.reconsider(readable);
    }

    /// The reading that this echo completes, if it completes one.
    fn read(
        &mut self,
        echo: Reading,
        packets: u32,
        capacity: Option<Bandwidth>,
    ) -> Option<Reading> {
        let Some(newest) = self.newest else {
            return Some(echo);
        };
        let arrival = echo.point.arrived - newest.arrived;
        let departure = echo.point.sent - newest.sent;
        let served = capacity.map(|rate| rate.time_for(echo.point.size.times(packets.into())));
        self.judge
            .on_echo(echo.point.arrived, arrival, departure, packets, served);
        if !self.judge.is_coarse() {
            self.clump = None;
            return Some(echo);
        }
        if let Some(clump) = &mut self.clump
            && TimingJudge::is_clump(arrival, departure)
        {
            let EchoPoint { arrived, came, .. } = clump.point;
            *clump = echo;
            (clump.point.arrived, clump.point.came) = (arrived, came);
            return None;
        }
        let complete = self.clump.replace(echo)?;
        let least = self.judge.jitter() * COARSE_JITTERS;
        let far = self.last.is_none_or(|last| {
            complete.point.arrived.saturating_since(last.point.arrived) >= least
        });
        far.then_some(complete)
    }

    /// Ends a gap here and begins the next.
    fn settle(&mut self, read: Reading, capacity: Option<Bandwidth>) {
        let last = self.last.map(|last| last.point);
        self.waiting.observe(&read.point, last.as_ref(), capacity);
        self.last = Some(read);
        // An echo that comes later for such a packet is out of order and belongs to no gap.
        self.packets.forget_up_to(read.point.number);
    }

    /// The part of a packet's waiting time that is beyond doubt.
    fn waited(&self, point: &EchoPoint, serialisation: Option<Duration>) -> Duration {
        let doubt = if self.judge.is_coarse() {
            self.judge.jitter()
        } else {
            Duration::ZERO
        };
        self.waiting.of(point, serialisation, doubt)
    }

    /// The gap from the last point.
    ///
    /// A packet between the two points may be missing because it was not acknowledged. If the
    /// queue was long, the packet was most likely dropped there and never crossed the link.
    /// Otherwise nobody can tell where it was lost, or whether it is only late, and there is no
    /// gap.
    fn gap_to(&self, to: &Reading, capacity: Option<Bandwidth>) -> Option<EchoGap> {
        let last = self.last?;
        let (from, to) = (last.point, to.point);
        let mut bytes = Bytes::ZERO;
        let mut packets = 0u32;
        let serialisation = capacity.map(|rate| rate.time_for(from.size));
        let waiting = self.waited(&from, serialisation);
        let long_queue = waiting >= self.waiting.longest() / 2;
        let mut work = QueueWork::after(&from, waiting, capacity, serialisation);
        let mut spaced = false;
        for packet in self.packets.up_to(to.number) {
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
            to,
            bytes,
            packets,
            waited: self.waited(&to, capacity.map(|rate| rate.time_for(to.size))),
            link: match self.judge.timing() {
                EchoTiming::Own => work.verdict(spaced && !last.rushed),
                EchoTiming::Clumped if self.bound => {
                    self.verdict_from_waiting(&from, &to, capacity)
                }
                EchoTiming::Clumped => work.verdict(spaced && !last.rushed),
                EchoTiming::Foreign => LinkState::Unknown,
            },
        })
    }

    /// Without a capacity nobody knows how long a queue lasts. If the packets at both ends waited,
    /// those between more likely waited than not.
    fn verdict_from_waiting(
        &self,
        from: &EchoPoint,
        to: &EchoPoint,
        capacity: Option<Bandwidth>,
    ) -> LinkState {
        let waited = |point: &EchoPoint| {
            let serialisation = capacity.map(|rate| rate.time_for(point.size));
            !self.waited(point, serialisation).is_zero()
        };
        if waited(from) && waited(to) {
            LinkState::BusyQueued
        } else {
            LinkState::Unknown
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
