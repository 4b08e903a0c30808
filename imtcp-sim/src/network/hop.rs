//! One direction of a link: queue, transmitter, loss, pipe.

use super::{
    Aggregation, Bucket, BucketSettings, Discipline, Loss, LossModel, Owner, Packet, Pipe,
};
use super::{PipeSettings, Queue, QueueLimit, Release, Thinning, Waiting, Without};
use crate::profile::{Profile, work_of};
use crate::random::Random;
use crate::trace::{Playback, Trace};
use crate::truth::{Meter, Transits};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// What a hop is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct HopSettings {
    /// IP-layer rate over time; never zero, but where there is a trace.
    pub rate: Profile,
    /// When packets may leave. The rate is then what the trace can carry in each tenth of a second.
    pub trace: Option<Arc<Trace>>,
    /// What is behind the transmitter.
    pub pipe: PipeSettings,
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

    /// The same at an instant. A trace changes all the time, so its mean is taken.
    pub fn lasting_rate_at(&self, at: Timestamp) -> Bandwidth {
        let rate = match &self.trace {
            Some(trace) => trace.mean(),
            None => self.rate.rate_at(at),
        };
        self.bucket.map_or(rate, |bucket| rate.min(bucket.rate))
    }
}

/// Packets and bytes by fate. At any time `offered` is the sum of what was dropped, thinned,
/// policed and crossed, and of what waits or is being transmitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Came to the hop.
    pub offered: Tally,
    /// Dropped because the queue was full.
    pub overflowed: Tally,
    /// Dropped by the queue's discipline although the queue was not full.
    pub managed: Tally,
    /// Marked by the queue's discipline, and not dropped.
    pub marked: Tally,
    /// Dropped by acknowledgement thinning.
    pub thinned: Tally,
    /// Dropped by a policer, because there were too few tokens.
    pub policed: Tally,
    /// Crossed the link: transmitted to the last bit.
    pub crossed: Tally,
    /// Crossed, and then lost at random or in an outage.
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
    playback: Option<Playback>,
    bucket: Option<(Without, Bucket)>,
    queue: Queue,
    loss: Option<Loss>,
    thinning: Thinning,
    aggregation: Option<Aggregation>,
    transmitting: Option<Transmission>,
    pipe: Pipe,
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
    /// When the packet leaves the pipe, if nothing else leaves it before.
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
            playback: settings.trace.clone().map(Playback::new),
            bucket: settings.bucket.map(|it| (it.without, Bucket::new(it))),
            queue: Queue::new(settings.queue, &settings.discipline, chance),
            loss: settings.loss.map(|model| Loss::new(model, random())),
            thinning: Thinning::new(settings.keep_every_acknowledgement),
            aggregation: settings.release.map(Aggregation::new),
            transmitting: None,
            pipe: Pipe::new(settings.pipe.clone(), seed, name),
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
                .map(|Waiting { packet, came, .. }| self.transmit(now, packet, came, done.surplus)),
            next_arrival: self.propagate(now, done.packet),
        }
    }

    /// Takes the packet that leaves the pipe now, and says when the one behind it does.
    pub fn arrive(&mut self, now: Timestamp) -> (Option<Packet>, Option<Timestamp>) {
        self.pipe.pop(now)
    }

    /// `surplus` is the work already done for this packet before the rounded instant `now`. A
    /// packet that has to wait for tokens is begun when they are there. It has left the queue by
    /// then, as behind Linux's token bucket filter, which takes a packet from the queue below to
    /// learn its size: what manages the queue does not count that wait.
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
        let (started, finishes, surplus) = if let Some(playback) = &mut self.playback {
            // All of it crosses at an opportunity.
            let finishes = playback.when(started, packet.size);
            (finishes, finishes, 0)
        } else {
            let surplus = if started > now { 0 } else { surplus };
            let work = work_of(packet.size).saturating_sub(surplus);
            let never = (Timestamp::from_nanos(u64::MAX), 0);
            let (finishes, surplus) = self.rate.when(started, work).unwrap_or(never);
            (started, finishes, surplus)
        };
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
            self.transits.record(behind + self.pipe.delay());
        }
    }

    /// Cross traffic leaves the path here, so that it needs no event at the far end.
    fn propagate(&mut self, now: Timestamp, packet: Packet) -> Option<Timestamp> {
        let leaves = match &mut self.aggregation {
            Some(aggregation) => aggregation.leaves(now),
            None => now,
        };
        let strikes = self.loss.as_mut().is_some_and(Loss::strikes);
        if strikes || self.pipe.is_out(now) {
            self.counters.lost.add(&packet);
            return None;
        }
        if packet.owner == Owner::Cross {
            return None;
        }
        self.pipe.push(leaves, packet)
    }

    /// What the hop can carry for ever, over time: see [`HopSettings::lasting_rate`].
    pub fn lasting_rate(&self) -> &Profile {
        &self.lasting_rate
    }

    /// When a packet first found too few tokens, if the hop has a token bucket.
    pub fn bucket_spent(&self) -> Option<Timestamp> {
        self.bucket.as_ref().and_then(|(_, bucket)| bucket.spent())
    }

    /// The propagation delay at the beginning.
    pub fn delay(&self) -> Duration {
        self.pipe.delay()
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
mod tests;
