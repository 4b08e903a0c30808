//! The packets that are on their way, and the round-trip times that they tell.

use crate::measurement::record::{Arrival, PacketRecord};
use crate::path::ack::EchoQuality;
use crate::units::{Bytes, Timestamp};
use std::time::Duration;

/// A later packet is back for this long: then an earlier one is lost. It is a quarter of a round
/// trip, and at least this.
const LEAST_DISORDER: Duration = Duration::from_millis(10);

/// Beside the longest round trip that was seen, so much may go by before a packet is lost.
const LEAST_PATIENCE: Duration = Duration::from_millis(100);

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    /// When it leaves, counted from the start of its batch, in nanoseconds.
    pub offset_ns: u64,
    /// Its size on the wire.
    pub size: Bytes,
}

/// What the replies say about the time on the path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrips {
    shortest: Option<Duration>,
    longest: Duration,
    smoothed: Duration,
    samples: u32,
    waited_s: f64,
    longest_wait: Duration,
}

impl RoundTrips {
    fn add(&mut self, sample: Duration) {
        let shortest = self.shortest.map_or(sample, |s| s.min(sample));
        self.shortest = Some(shortest);
        self.longest = self.longest.max(sample);
        self.smoothed = match self.samples {
            0 => sample,
            _ => (self.smoothed * 7 + sample) / 8, // RFC 9002, section 5.3
        };
        self.samples = self.samples.saturating_add(1);
        let wait = sample.saturating_sub(shortest);
        self.waited_s += wait.as_secs_f64();
        self.longest_wait = self.longest_wait.max(wait);
    }

    /// The shortest round trip, which waited in no queue if any packet did not.
    pub fn shortest(&self) -> Option<Duration> {
        self.shortest
    }

    /// The smoothed round trip.
    pub fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// The mean and the longest time that the packets waited beyond the shortest round trip.
    pub fn waits(&self) -> (Duration, Duration) {
        let mean = self.waited_s / f64::from(self.samples.max(1));
        (Duration::from_secs_f64(mean.max(0.0)), self.longest_wait)
    }

    /// After this time without a reply a packet is lost.
    fn patience(&self, most: Duration) -> Duration {
        match self.shortest {
            None => most,
            Some(_) => (self.longest * 2)
                .max(self.longest + LEAST_PATIENCE)
                .min(most),
        }
    }

    fn disorder(&self) -> Duration {
        (self.smoothed / 4).max(LEAST_DISORDER)
    }
}

/// Packets that were planned together. Their replies are awaited before the next batch is planned.
#[derive(Debug, Default)]
pub(super) struct Batch {
    start: Timestamp,
    probes: Vec<Probe>,
    /// By how much the packets to come leave later than planned, because one was late.
    late: Duration,
    first_id: u64,
    packets: Vec<PacketRecord>,
    open: usize,
    /// The last packet of which the reply is here, and when the first such reply came.
    newest: Option<(usize, Timestamp)>,
}

impl Batch {
    /// A batch of `probes`, of which the first leaves at `start` under the number `first_id`.
    pub fn new(start: Timestamp, first_id: u64, probes: Vec<Probe>) -> Self {
        Self {
            start,
            packets: Vec::with_capacity(probes.len()),
            probes,
            first_id,
            ..Self::default()
        }
    }

    /// The packet that leaves next, and when. `None` if all have left.
    pub fn upcoming(&self) -> Option<(Timestamp, Bytes)> {
        let probe = self.probes.get(self.packets.len())?;
        let at = self.start + Duration::from_nanos(probe.offset_ns) + self.late;
        Some((at, probe.size))
    }

    /// The time planned between the next packet and the one behind it.
    fn next_gap(&self) -> Duration {
        let at = |i: usize| self.probes.get(i).map(|probe| probe.offset_ns);
        let next = self.packets.len();
        let gap = at(next + 1).zip(at(next)).map(|(b, a)| b.saturating_sub(a));
        Duration::from_nanos(gap.unwrap_or(0))
    }

    /// The bytes that have not left yet.
    pub fn bytes_to_come(&self) -> Bytes {
        let rest = self.probes.get(self.packets.len()..).unwrap_or_default();
        rest.iter().fold(Bytes::ZERO, |sum, probe| sum + probe.size)
    }

    /// The next packet leaves. Returns its number.
    ///
    /// A packet that is late by more than half of the next gap delays those behind it: to catch up
    /// would be a burst that nobody has planned.
    pub fn on_send(&mut self, size: Bytes, now: Timestamp) -> u64 {
        if let Some((at, _)) = self.upcoming() {
            let late = now.saturating_since(at);
            if late * 2 > self.next_gap() {
                self.late += late;
            }
        }
        let id = self.first_id + self.packets.len() as u64;
        self.packets.push(PacketRecord::sent(id, size, now));
        self.open += 1;
        id
    }

    /// A better time at which packet `id` left.
    pub fn on_sent(&mut self, id: u64, at: Timestamp) {
        if let Some(packet) = self.find(id).and_then(|i| self.packets.get_mut(i)) {
            packet.sent = at;
        }
    }

    /// The reply to packet `id` was received at `at`. Returns whether it is the first word on one
    /// of these packets.
    pub fn on_reply(&mut self, id: u64, at: Timestamp, trips: &mut RoundTrips) -> bool {
        let Some(index) = self.find(id) else {
            return false;
        };
        let disordered = self.newest.is_some_and(|(newest, _)| index < newest);
        let packet = &mut self.packets[index];
        if packet.echo.is_some() || at < packet.sent {
            return false;
        }
        let quality = if disordered {
            EchoQuality::Reordered
        } else {
            EchoQuality::Single
        };
        packet.echo = Some(Arrival { at, quality });
        trips.add(at.saturating_since(packet.sent));
        self.open -= 1;
        if !disordered {
            self.newest = Some((index, at));
        }
        true
    }

    /// Packet `id` is lost. Returns whether that is the first word on one of these packets.
    pub fn on_lost(&mut self, id: u64, at: Timestamp) -> bool {
        self.settle(id, at, EchoQuality::Lost)
    }

    /// Packet `id` arrived at an unknown time. Returns whether that is the first word on one of
    /// these packets.
    pub fn on_arrived(&mut self, id: u64, at: Timestamp) -> bool {
        self.settle(id, at, EchoQuality::Aggregated)
    }

    fn settle(&mut self, id: u64, at: Timestamp, quality: EchoQuality) -> bool {
        let index = self.find(id);
        let Some(packet) = index.and_then(|i| self.packets.get_mut(i)) else {
            return false;
        };
        if packet.echo.is_some() {
            return false;
        }
        packet.echo = Some(Arrival { at, quality });
        self.open -= 1;
        true
    }

    /// Takes packets for lost whose time is over. Returns how many.
    pub fn expire(&mut self, now: Timestamp, trips: &RoundTrips, most: Duration) -> u32 {
        let mut lost = 0;
        if self.open == 0 {
            return lost;
        }
        for index in 0..self.packets.len() {
            if self.packets[index].echo.is_none() && self.deadline_of(index, trips, most) <= now {
                self.on_lost(self.packets[index].number, now);
                lost += 1;
            }
        }
        lost
    }

    /// When the next packet is taken for lost. `None` if none is awaited.
    pub fn deadline(&self, trips: &RoundTrips, most: Duration) -> Option<Timestamp> {
        let awaited = (0..self.packets.len()).filter(|i| self.packets[*i].echo.is_none());
        awaited.map(|i| self.deadline_of(i, trips, most)).min()
    }

    fn deadline_of(&self, index: usize, trips: &RoundTrips, most: Duration) -> Timestamp {
        let late = self.packets[index].sent + trips.patience(most);
        match self.newest {
            Some((newest, came)) if index < newest => late.min(came + trips.disorder()),
            _ => late,
        }
    }

    /// Whether all packets left, and each is back or lost.
    pub fn is_settled(&self) -> bool {
        self.open == 0 && self.packets.len() == self.probes.len()
    }

    /// The packets that left, in that order.
    pub fn packets(&self) -> &[PacketRecord] {
        &self.packets
    }

    /// How many packets are back.
    pub fn replies(&self) -> usize {
        let back = |packet: &&PacketRecord| packet.has_arrived();
        self.packets.iter().filter(back).count()
    }

    fn find(&self, id: u64) -> Option<usize> {
        let index = usize::try_from(id.checked_sub(self.first_id)?).ok()?;
        (index < self.packets.len()).then_some(index)
    }
}
