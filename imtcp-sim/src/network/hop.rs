//! One direction of a link: queue, transmitter, loss, pipe.

use super::jitter::Jitter;
use super::{Aggregation, Bucket, BucketSettings, Discipline, Loss, LossModel, Owner, Packet};
use super::{Queue, QueueLimit, Release, Thinning, Waiting, Without};
use crate::profile::{Profile, work_of};
use crate::random::Random;
use crate::truth::{Meter, Transits};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// What a hop is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct HopSettings {
    /// IP-layer rate over time; never zero.
    pub rate: Profile,
    /// Propagation delay.
    pub delay: Duration,
    /// Each packet's delay is drawn from `delay` less this to `delay` plus this. No packet
    /// overtakes another.
    pub jitter: Duration,
    /// Bound of the queue.
    pub queue: QueueLimit,
    /// How the queue is managed.
    pub discipline: Discipline,
    /// Random loss behind the transmitter, if any.
    pub loss: Option<LossModel>,
    /// Of this many acknowledgements of a flow one is kept; 1 keeps all.
    pub keep_every_acknowledgement: u32,
    /// Packets leave in aggregates, as over Wi-Fi; `None` lets each leave by itself.
    pub release: Option<Release>,
    /// A token bucket: `rate` is that of bursts.
    pub bucket: Option<BucketSettings>,
}

impl HopSettings {
    /// What the hop can carry for ever: its rate, or that of its token bucket if that is lower.
    pub fn lasting_rate(&self) -> Profile {
        match self.bucket {
            Some(bucket) => self.rate.capped(bucket.rate),
            None => self.rate.clone(),
        }
    }

    /// The same at an instant.
    pub fn lasting_rate_at(&self, at: Timestamp) -> Bandwidth {
        let rate = self.rate.rate_at(at);
        self.bucket.map_or(rate, |bucket| rate.min(bucket.rate))
    }
}

/// Packets and bytes by fate. At any time `offered` is the sum of all others and of what waits or
/// is being transmitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Came to the hop.
    pub offered: Tally,
    /// Dropped because the queue was full.
    pub overflowed: Tally,
    /// Dropped by the queue's discipline although the queue was not full.
    pub managed: Tally,
    /// Dropped by acknowledgement thinning.
    pub thinned: Tally,
    /// Dropped by a policer, because there were too few tokens.
    pub policed: Tally,
    /// Crossed the link: transmitted to the last bit.
    pub crossed: Tally,
    /// Crossed, and then lost at random.
    pub lost: Tally,
}

/// A count of packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
}

impl Tally {
    pub(super) fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += packet.size.get();
    }
}

/// One direction of a link.
#[derive(Debug)]
pub struct Hop {
    rate: Profile,
    lasting_rate: Profile,
    delay: Duration,
    jitter: Jitter,
    bucket: Option<(Without, Bucket)>,
    queue: Queue,
    loss: Option<Loss>,
    thinning: Thinning,
    aggregation: Option<Aggregation>,
    transmitting: Option<Transmission>,
    /// Packets under way, with their arrival times, which never decrease.
    pipe: VecDeque<(Timestamp, Packet)>,
    meter: Meter,
    transits: Transits,
    counters: Counters,
}

#[derive(Debug)]
struct Transmission {
    packet: Packet,
    came: Timestamp,
    started: Timestamp,
    finishes: Timestamp,
    /// Bit-nanoseconds of the transmitter left over at `finishes`, which is a rounded instant.
    surplus: u64,
}

/// What a finished transmission leads to.
#[derive(Debug, PartialEq, Eq)]
pub struct Finished {
    /// When the next packet, if one waited, will be through.
    pub next_finish: Option<Timestamp>,
    /// When the packet leaves the pipe, if nothing else is ahead of it there.
    pub next_arrival: Option<Timestamp>,
}

impl Hop {
    /// An idle hop. `name` seeds its losses.
    pub fn new(settings: &HopSettings, seed: u64, name: &str) -> Self {
        let random = || Random::for_component(seed, &format!("loss.{name}"));
        let chance = Random::for_component(seed, &format!("queue.{name}"));
        Self {
            rate: settings.rate.clone(),
            lasting_rate: settings.lasting_rate(),
            delay: settings.delay,
            jitter: Jitter::new(settings.jitter, seed, name),
            bucket: settings.bucket.map(|it| (it.without, Bucket::new(it))),
            queue: Queue::new(settings.queue, &settings.discipline, chance),
            loss: settings.loss.map(|model| Loss::new(model, random())),
            thinning: Thinning::new(settings.keep_every_acknowledgement),
            aggregation: settings.release.map(Aggregation::new),
            transmitting: None,
            pipe: VecDeque::new(),
            meter: Meter::default(),
            transits: Transits::default(),
            counters: Counters::default(),
        }
    }

    /// A packet comes to the hop. Returns when its transmission finishes, if it begins at once.
    pub fn offer(&mut self, now: Timestamp, packet: Packet) -> Option<Timestamp> {
        self.counters.offered.add(&packet);
        if self.thinning.drops(&packet) {
            self.counters.thinned.add(&packet);
            return None;
        }
        if let Some((Without::Drop, bucket)) = &mut self.bucket
            && !bucket.take(now, packet.size)
        {
            self.counters.policed.add(&packet);
            return None;
        }
        if self.transmitting.is_none() {
            return Some(self.transmit(now, packet, now, 0));
        }
        self.queue.push(now, packet, &mut self.counters);
        None
    }

    /// The transmission that was due now is finished.
    pub fn finish(&mut self, now: Timestamp) -> Finished {
        let Some(done) = self.transmitting.take() else {
            return Finished {
                next_finish: None,
                next_arrival: None,
            };
        };
        self.account(&done);
        let next = self.queue.pop(now, &mut self.counters);
        Finished {
            next_finish: next
                .map(|Waiting { packet, came }| self.transmit(now, packet, came, done.surplus)),
            next_arrival: self.propagate(now, done.packet),
        }
    }

    /// Takes the packet at the far end of the pipe, and says when the one behind it arrives.
    pub fn arrive(&mut self) -> (Option<Packet>, Option<Timestamp>) {
        let packet = self.pipe.pop_front().map(|(_, packet)| packet);
        (packet, self.pipe.front().map(|(at, _)| *at))
    }

    /// `surplus` is the work already done for this packet before the rounded instant `now`. A
    /// packet that has to wait for tokens is begun when they are there.
    fn transmit(
        &mut self,
        now: Timestamp,
        packet: Packet,
        came: Timestamp,
        surplus: u64,
    ) -> Timestamp {
        let started = match &mut self.bucket {
            Some((Without::Wait, bucket)) => bucket.take_when_there(now, packet.size),
            _ => now,
        };
        let surplus = if started > now { 0 } else { surplus };
        let work = work_of(packet.size).saturating_sub(surplus);
        let never = (Timestamp::from_nanos(u64::MAX), 0);
        let (finishes, surplus) = self.rate.when(started, work).unwrap_or(never);
        self.transmitting = Some(Transmission {
            packet,
            came,
            started,
            finishes,
            surplus,
        });
        finishes
    }

    fn account(&mut self, done: &Transmission) {
        self.counters.crossed.add(&done.packet);
        self.meter.record(
            done.packet.owner,
            &self.rate,
            (done.started, done.finishes),
            work_of(done.packet.size),
        );
        if done.packet.owner == Owner::Cross {
            let behind = done.finishes.saturating_since(done.came);
            self.transits.record(behind + self.delay);
        }
    }

    /// Cross traffic leaves the path here, so that it needs no event at the far end.
    fn propagate(&mut self, now: Timestamp, packet: Packet) -> Option<Timestamp> {
        let leaves = match &mut self.aggregation {
            Some(aggregation) => aggregation.leaves(now),
            None => now,
        };
        if self.loss.as_mut().is_some_and(Loss::strikes) {
            self.counters.lost.add(&packet);
            return None;
        }
        if packet.owner == Owner::Cross {
            return None;
        }
        let at = self.jitter.arrives(leaves, self.delay);
        self.pipe.push_back((at, packet));
        (self.pipe.len() == 1).then_some(at)
    }

    /// What the hop can carry for ever, over time: see [`HopSettings::lasting_rate`].
    pub fn lasting_rate(&self) -> &Profile {
        &self.lasting_rate
    }

    /// When a packet first found too few tokens, if the hop has a token bucket.
    pub fn bucket_spent(&self) -> Option<Timestamp> {
        self.bucket.as_ref().and_then(|(_, bucket)| bucket.spent())
    }

    /// The propagation delay.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// What crossed, by owner and time.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// How long cross traffic took.
    pub fn transits(&self) -> &Transits {
        &self.transits
    }

    /// Packets and bytes by fate.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes that wait or are being transmitted.
    pub fn backlog(&self) -> Bytes {
        let transmitting = self
            .transmitting
            .as_ref()
            .map_or(Bytes::ZERO, |t| t.packet.size);
        self.queue.bytes() + transmitting
    }
}

#[cfg(test)]
mod tests {
    use super::super::FlowId;
    use super::*;
    use imtcp_cc::units::Bandwidth;

    fn settings(rate: Bandwidth, queue: QueueLimit) -> HopSettings {
        HopSettings {
            rate: Profile::constant(rate),
            delay: Duration::from_millis(10),
            jitter: Duration::ZERO,
            queue,
            discipline: Discipline::DropTail,
            loss: None,
            keep_every_acknowledgement: 1,
            release: None,
            bucket: None,
        }
    }

    fn packet(size: u64) -> Packet {
        Packet {
            size: Bytes::new(size),
            owner: Owner::Flow(FlowId(0)),
            datagram: None,
        }
    }

    fn at_us(us: u64) -> Timestamp {
        Timestamp::from_origin(Duration::from_micros(us))
    }

    #[test]
    fn a_packet_takes_serialisation_and_propagation() {
        // 1250 bytes at 10 Mbit/s: 1 ms, then 10 ms of propagation.
        let queue = QueueLimit::Packets(10);
        let mut hop = Hop::new(&settings(Bandwidth::from_mbps(10), queue), 1, "hop");
        assert_eq!(hop.offer(at_us(500), packet(1250)), Some(at_us(1500)));
        let finished = hop.finish(at_us(1500));
        assert_eq!(finished.next_arrival, Some(at_us(11_500)));
        assert_eq!(finished.next_finish, None);
        assert_eq!(hop.arrive().0.map(|p| p.size), Some(Bytes::new(1250)));
    }

    #[test]
    fn a_byte_queue_holds_its_bytes_and_drops_the_rest() {
        let queue = QueueLimit::Bytes(Bytes::new(3000));
        let mut hop = Hop::new(&settings(Bandwidth::from_mbps(10), queue), 1, "hop");
        // One in the transmitter, two of 1500 waiting; then neither 1500 nor 40 bytes fit.
        for size in [1500, 1500, 1500, 1500, 40] {
            let _ = hop.offer(Timestamp::ZERO, packet(size));
        }
        assert_eq!(hop.backlog(), Bytes::new(4500));
        let overflowed = hop.counters().overflowed;
        assert_eq!((overflowed.packets, overflowed.bytes), (2, 1540));
    }

    #[test]
    fn a_packet_queue_counts_small_packets_like_large_ones() {
        let queue = QueueLimit::Packets(2);
        let mut hop = Hop::new(&settings(Bandwidth::from_mbps(10), queue), 1, "hop");
        for size in [1500, 40, 40, 40] {
            let _ = hop.offer(Timestamp::ZERO, packet(size));
        }
        assert_eq!(hop.counters().overflowed.packets, 1);
    }

    #[test]
    fn back_to_back_packets_lose_no_fraction_of_a_nanosecond() {
        // 1500 bytes at 7 Mbit/s take 12/7 ms; 700 of them exactly 1.2 s.
        let queue = QueueLimit::Packets(1000);
        let mut hop = Hop::new(&settings(Bandwidth::from_mbps(7), queue), 1, "hop");
        let mut finish = None;
        for _ in 0..700 {
            finish = hop.offer(Timestamp::ZERO, packet(1500)).or(finish);
        }
        let mut last = Timestamp::ZERO;
        while let Some(at) = finish {
            last = at;
            finish = hop.finish(at).next_finish;
        }
        assert_eq!(last, at_us(1_200_000));
    }

    /// A link of 100 Mbit/s with a bucket for two packets of 1250 bytes, filled at 10 Mbit/s.
    fn behind_a_bucket(without: Without) -> Hop {
        let bucket = BucketSettings {
            without,
            rate: Bandwidth::from_mbps(10),
            size: Bytes::new(2500),
        };
        let settings = HopSettings {
            bucket: Some(bucket),
            ..settings(Bandwidth::from_mbps(100), QueueLimit::Packets(10))
        };
        Hop::new(&settings, 1, "hop")
    }

    #[test]
    fn a_shaper_lets_a_burst_through_at_the_rate_of_the_link_and_the_rest_at_its_own() {
        let mut hop = behind_a_bucket(Without::Wait);
        let mut finish = None;
        for _ in 0..4 {
            finish = hop.offer(Timestamp::ZERO, packet(1250)).or(finish);
        }
        let mut finished = Vec::new();
        while let Some(at) = finish {
            finished.push(at);
            finish = hop.finish(at).next_finish;
        }
        // A packet takes 0.1 ms on the link and 1 ms of tokens. Two find their tokens; the others
        // begin 1 and 2 ms after the first.
        assert_eq!(finished, [100, 200, 1100, 2100].map(at_us));
        assert_eq!(hop.bucket_spent(), Some(at_us(200)));
        assert_eq!(hop.counters().policed.packets, 0);
    }

    #[test]
    fn a_policer_drops_what_has_no_tokens() {
        let mut hop = behind_a_bucket(Without::Drop);
        let offers = [0, 0, 0, 1000, 1000];
        for us in offers {
            let _ = hop.offer(at_us(us), packet(1250));
        }
        // Two at first, and one when a packet's tokens have come.
        assert_eq!(hop.counters().policed.packets, 2);
        assert_eq!(hop.backlog(), Bytes::new(3750));
        assert_eq!(hop.bucket_spent(), Some(at_us(0)));
    }

    #[test]
    fn what_a_hop_carries_for_ever_is_the_lower_of_its_rates() {
        let mut settings = settings(Bandwidth::from_mbps(100), QueueLimit::Packets(10));
        let slow = crate::profile::Step {
            at: at_us(2000),
            rate: Bandwidth::from_mbps(5),
        };
        settings.rate = Profile::stepped(Bandwidth::from_mbps(100), &[slow]);
        settings.bucket = Some(BucketSettings {
            without: Without::Wait,
            rate: Bandwidth::from_mbps(10),
            size: Bytes::new(2500),
        });
        for (us, mbps) in [(0, 10), (1999, 10), (2000, 5)] {
            let expected = Bandwidth::from_mbps(mbps);
            assert_eq!(settings.lasting_rate_at(at_us(us)), expected);
            assert_eq!(settings.lasting_rate().rate_at(at_us(us)), expected);
        }
    }

    #[test]
    fn bytes_in_are_bytes_out_plus_queued_plus_dropped() {
        let queue = QueueLimit::Bytes(Bytes::new(20_000));
        let mut random = Random::for_component(3, "conservation");
        let mut hop = Hop::new(&settings(Bandwidth::from_mbps(10), queue), 1, "hop");
        let mut agenda = crate::engine::Agenda::default();
        // Offered about 1.2 times the rate: the queue overflows at times.
        for index in 0..2000u64 {
            agenda.schedule(at_us(index * 500), None);
        }
        while let Some(finish) = agenda.next_before(at_us(900_000)) {
            let now = agenda.now();
            let next = match finish {
                Some(()) => hop.finish(now).next_finish,
                None => hop.offer(now, packet(if random.chance(0.5) { 1460 } else { 40 })),
            };
            if let Some(at) = next {
                agenda.schedule(at, Some(()));
            }
            let c = hop.counters();
            let accounted = c.crossed.bytes + c.overflowed.bytes + hop.backlog().get();
            assert_eq!(c.offered.bytes, accounted, "at {now}");
        }
        assert!(hop.counters().overflowed.packets > 100);
        let metered = hop.meter().total_bytes(Owner::Flow(FlowId(0)));
        assert_eq!(metered, hop.counters().crossed.bytes);
    }
}
