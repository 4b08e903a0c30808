//! A harness with one sender and one link, without a transport and without a network. It asks the
//! core everything that a transport asks. It loses packets, reorders or loses acknowledgements, and
//! writes any pattern of data. The simulator in `tests/` does the same with real quiche.
#![allow(dead_code, reason = "each program that has it uses a part")]

pub mod promised;
mod random;
mod record;

use imtcp_cc::transport::{
    AckInfo, Acked, AckedPacket, LossInfo, Release, RoundTrip, SendRequest, SentPacket,
};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use imtcp_cc::{ImTcp, Phase};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

pub use random::Random;
pub use record::{Climb, Tally};

pub const DATAGRAM: u64 = 1200;
pub const HEADERS: u64 = 28;

/// The longest time for which the receiver delays an acknowledgement.
const ACK_DELAY: Duration = Duration::from_millis(25);

/// The link and the receiver.
#[derive(Clone, Debug)]
pub struct Path {
    pub capacity: Bandwidth,
    /// The delay of each direction.
    pub delay: Duration,
    pub queue: Duration,
    /// The rate of the cross traffic, which is Poisson traffic of 1200-byte packets.
    pub cross: Bandwidth,
    pub loss: f64,
    pub ack_loss: f64,
    /// One packet in this many is acknowledged.
    pub ack_every: u32,
}

/// What the receiver says of a packet that arrived at this time: the delay of its acknowledgement,
/// and the time of arrival.
pub type Says = fn(&mut Random, Timestamp) -> (Duration, Option<Duration>);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Data(u64),
    Acknowledgement { number: u64 },
    Wake,
    ProbeTimer(u64),
}

pub struct Run {
    pub core: ImTcp,
    pub tally: Tally,
    pub now: Timestamp,
    pub path: Path,
    random: Random,
    events: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    order: u64,
    outstanding: BTreeMap<u64, (u64, Timestamp)>,
    /// The time at which each packet arrived.
    received: BTreeMap<u64, Timestamp>,
    /// What the receiver says of each packet. If it is not set, it adds no delay and no time.
    pub says: Option<Says>,
    queued: u64,
    retransmission: bool,
    next_number: u64,
    link_free: u64,
    next_cross: Timestamp,
    unacked: u32,
    smoothed: Duration,
    variation: Duration,
    least: Duration,
    held_since: Option<Timestamp>,
    probes: u32,
    /// The release time for which a wake-up is set.
    armed: Option<Timestamp>,
    /// A counter of allocations, or of what they hold. If it is set, the tally separates the core's
    /// from those of the run.
    pub allocations: Option<fn() -> i64>,
    /// The moves of the window; they are recorded if this is set.
    pub climbs: Option<Vec<Climb>>,
    /// Whether the transport takes no more data from the application than the window has room for,
    /// as quiche does.
    pub takes_what_fits: bool,
}

impl Run {
    pub fn new(core: ImTcp, path: Path, seed: u64) -> Self {
        Self {
            core,
            tally: Tally::default(),
            now: Timestamp::ZERO,
            path,
            random: Random(seed),
            events: BinaryHeap::new(),
            order: 0,
            outstanding: BTreeMap::new(),
            received: BTreeMap::new(),
            says: None,
            queued: 0,
            retransmission: false,
            next_number: 0,
            link_free: 0,
            next_cross: Timestamp::ZERO,
            unacked: 0,
            smoothed: Duration::ZERO,
            variation: Duration::ZERO,
            least: Duration::MAX,
            held_since: None,
            probes: 0,
            armed: None,
            allocations: None,
            climbs: None,
            takes_what_fits: false,
        }
    }

    /// Calls the core. All calls but plain questions pass here.
    fn call<T>(&mut self, call: impl FnOnce(&mut ImTcp) -> T) -> T {
        let Some(counter) = self.allocations else {
            return call(&mut self.core);
        };
        let before = counter();
        let answer = call(&mut self.core);
        self.tally.allocations += counter() - before;
        self.tally.calls += 1;
        answer
    }

    fn at(&mut self, nanos: u64, what: Happening) {
        self.order += 1;
        self.events.push(Reverse((nanos, self.order, what)));
    }

    /// The application writes `bytes` at `at`.
    pub fn write_at(&mut self, at: Duration, bytes: u64) {
        self.at(
            Timestamp::from_origin(at).as_nanos(),
            Happening::Data(bytes),
        );
    }

    pub fn is_idle(&self) -> bool {
        self.queued == 0 && self.outstanding.is_empty()
    }

    pub fn bytes_in_flight(&self) -> u64 {
        self.outstanding.values().map(|(size, _)| size).sum()
    }

    /// Runs until nothing is left to happen or `end` has come.
    pub fn until(&mut self, end: Duration) {
        let end = Timestamp::from_origin(end).as_nanos();
        while let Some(Reverse((at, _, what))) = self.events.pop() {
            if at > end {
                self.events.push(Reverse((at, 0, what)));
                break;
            }
            self.now = Timestamp::from_nanos(at);
            match what {
                Happening::Data(bytes) => self.queued += bytes,
                Happening::Acknowledgement { number } => self.acknowledge(number),
                Happening::Wake => {}
                Happening::ProbeTimer(sent) => self.probe(sent),
            }
            self.send();
        }
    }

    fn send(&mut self) {
        loop {
            let in_flight = self.bytes_in_flight();
            let window_left = self.core.cwnd().get().saturating_sub(in_flight);
            if self.queued == 0 || window_left < DATAGRAM.min(self.queued) {
                if self.queued == 0 {
                    self.call(ImTcp::on_application_limited);
                }
                self.held_since = None;
                return;
            }
            let taken = if self.takes_what_fits {
                self.queued.min(window_left)
            } else {
                self.queued
            };
            let request = SendRequest {
                queued: Bytes::new(taken),
                retransmission: self.retransmission,
                window_left: Bytes::new(window_left),
                max_datagram: Bytes::new(DATAGRAM),
            };
            let now = self.now;
            match self.call(|core| core.next_release(now, &request)) {
                Release::Now => self.put(DATAGRAM.min(self.queued), true),
                Release::At(due) => {
                    assert!(due > self.now, "a release in the past at {}", self.now);
                    self.hold();
                    if self.armed.replace(due) != Some(due) {
                        self.at(due.as_nanos(), Happening::Wake);
                    }
                    return;
                }
                Release::Hold => {
                    self.hold();
                    assert!(
                        in_flight > 0,
                        "held with nothing in flight: nothing would ever ask again"
                    );
                    return;
                }
            }
        }
    }

    fn hold(&mut self) {
        let since = *self.held_since.get_or_insert(self.now);
        self.tally.longest_hold = self
            .tally
            .longest_hold
            .max(self.now.saturating_since(since));
    }

    fn put(&mut self, size: u64, released: bool) {
        if let Some(since) = self.held_since.take() {
            self.tally.longest_hold = self
                .tally
                .longest_hold
                .max(self.now.saturating_since(since));
        }
        let number = self.next_number;
        self.next_number += 1;
        self.queued -= size;
        self.retransmission = false;
        self.outstanding.insert(number, (size, self.now));
        self.tally.sent += size;
        self.tally.releases.push(self.now);
        let sent = SentPacket {
            number,
            size: Bytes::new(size),
            released,
            bytes_in_flight: Bytes::new(self.bytes_in_flight()),
        };
        let now = self.now;
        self.call(|core| core.on_packet_sent(now, &sent));
        self.cross_link(number, size);
        let timeout =
            (3 * self.smoothed).max(Duration::from_millis(500)) * 2u32.pow(self.probes.min(8));
        let at = (self.now + timeout).as_nanos();
        self.at(at, Happening::ProbeTimer(number));
    }

    /// Sends a packet over the link and schedules its acknowledgement.
    fn cross_link(&mut self, number: u64, size: u64) {
        let arrival = (self.now + self.path.delay / 2).as_nanos();
        let cross_size = Bytes::new(DATAGRAM + HEADERS);
        if !self.path.cross.is_zero() {
            let gap = self.path.cross.time_for(cross_size);
            while self.next_cross.as_nanos() <= arrival {
                let start = self.link_free.max(self.next_cross.as_nanos());
                self.link_free = start + self.serialisation(cross_size);
                let gaps = -(1.0 - self.random.unit()).ln();
                self.next_cross = self.next_cross + gap.mul_f64(gaps);
            }
        }
        let start = self.link_free.max(arrival);
        if start - arrival > u64::try_from(self.path.queue.as_nanos()).expect("short queue") {
            return;
        }
        self.link_free = start + self.serialisation(Bytes::new(size + HEADERS));
        if self.random.chance(self.path.loss) {
            return;
        }
        let arrived = Timestamp::from_nanos(self.link_free) + self.path.delay / 2;
        self.received.insert(number, arrived);
        // One packet in `ack_every` is acknowledged at once, the others after the usual delay. A
        // packet that was acknowledged before is then not reported again.
        self.unacked += 1;
        let mut held = ACK_DELAY;
        if self.unacked >= self.path.ack_every {
            self.unacked = 0;
            held = Duration::ZERO;
        }
        if !self.random.chance(self.path.ack_loss) {
            let back = Timestamp::from_nanos(self.link_free) + self.path.delay * 3 / 2 + held;
            self.at(back.as_nanos(), Happening::Acknowledgement { number });
        }
    }

    fn serialisation(&self, size: Bytes) -> u64 {
        let time = self.path.capacity.time_for(size).as_nanos();
        u64::try_from(time).expect("a link that is not slower than a packet in a century")
    }

    fn acknowledge(&mut self, largest: u64) {
        let newly: Vec<(u64, u64, Timestamp)> = self
            .outstanding
            .range(..=largest)
            .filter(|(number, _)| self.received.contains_key(number))
            .map(|(number, (size, sent))| (*number, *size, *sent))
            .collect();
        let Some(newest) = newly.last().copied() else {
            return;
        };
        self.probes = 0;
        for (number, size, _) in &newly {
            self.outstanding.remove(number);
            self.tally.delivered += size;
        }
        let latest = self.now.saturating_since(newest.2);
        self.sample(latest);
        self.declare_lost(newest.0);
        let says = self.says.unwrap_or(|_, _| (Duration::ZERO, None));
        let mut ack_delay = Duration::ZERO;
        let mut acked = Vec::with_capacity(newly.len());
        for (number, size, sent) in newly {
            let received;
            (ack_delay, received) = says(&mut self.random, self.received[&number]);
            acked.push(AckedPacket {
                number,
                size: Bytes::new(size),
                sent,
                received,
            });
        }
        let info = AckInfo {
            largest,
            ack_delay,
            rtt: RoundTrip {
                latest,
                min: self.least,
                smoothed: self.smoothed,
                variation: self.variation,
            },
            bytes_in_flight: Bytes::new(self.bytes_in_flight()),
        };
        let now = self.now;
        let (before, phase) = (self.core.cwnd(), self.core.phase());
        self.call(|core| {
            core.on_ack(&Acked {
                now,
                info,
                packets: &acked,
            });
        });
        if phase != Phase::SlowStart {
            let acked = acked
                .iter()
                .fold(Bytes::ZERO, |sum, packet| sum + packet.size);
            self.watch(before, acked);
        }
    }

    fn watch(&mut self, before: Bytes, acked: Bytes) {
        let Some(climbs) = &mut self.climbs else {
            return;
        };
        let estimate = self.core.estimate();
        climbs.push(Climb {
            before,
            after: self.core.cwnd(),
            acked,
            smoothed: self.smoothed,
            available: estimate.map_or(Bandwidth::ZERO, |e| e.available),
            capacity: self.core.capacity().unwrap_or(Bandwidth::ZERO),
            is_measured: self.core.promise().capacity().is_some()
                && estimate.is_some_and(|estimate| {
                    !estimate.flags.lower_bound && estimate.age(self.now) <= estimate.window * 2
                }),
        });
    }

    fn sample(&mut self, latest: Duration) {
        self.tally.longest_rtt = self.tally.longest_rtt.max(latest);
        self.least = self.least.min(latest);
        if self.smoothed.is_zero() {
            self.smoothed = latest;
            self.variation = latest / 2;
        }
        self.variation = (3 * self.variation + self.smoothed.abs_diff(latest)) / 4;
        self.smoothed = (7 * self.smoothed + latest) / 8;
    }

    fn declare_lost(&mut self, acked: u64) {
        let lost: Vec<u64> = self
            .outstanding
            .range(..acked.saturating_sub(2))
            .map(|(number, _)| *number)
            .collect();
        self.lose(&lost, false);
    }

    fn lose(&mut self, lost: &[u64], persistent_congestion: bool) {
        let (Some(oldest), Some(newest)) = (lost.first(), lost.last()) else {
            return;
        };
        let (oldest_sent, newest_sent) = (self.outstanding[oldest].1, self.outstanding[newest].1);
        for number in lost {
            if let Some((size, _)) = self.outstanding.remove(number) {
                self.tally.lost += size;
                self.queued += size;
                self.retransmission = true;
            }
        }
        let info = LossInfo {
            oldest_sent,
            newest_sent,
            persistent_congestion,
        };
        let now = self.now;
        self.call(|core| core.on_loss(now, &info, lost.iter().copied()));
    }

    /// All packets in flight were lost, or their acknowledgements were.
    fn probe(&mut self, number: u64) {
        let newest = self.outstanding.keys().next_back().copied();
        if !self.outstanding.contains_key(&number) || newest.is_none() {
            return;
        }
        if newest != Some(number) {
            let later = (self.now + Duration::from_millis(500)).as_nanos();
            self.at(later, Happening::ProbeTimer(number));
            return;
        }
        self.probes += 1;
        let lost: Vec<u64> = self.outstanding.keys().copied().collect();
        self.lose(&lost, self.probes > 2);
        self.put(DATAGRAM.min(self.queued), false);
    }
}
