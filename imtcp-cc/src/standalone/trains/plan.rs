//! The trains of the next group: how many, how long, and how far apart.

use super::sample::TrainShape;
use super::{FEWEST_TRAINS, FIRST_BURST, LONGEST_BURST, Trains};
use crate::standalone::batch::Probe;
use std::time::Duration;

/// The packets of a burst that [`super::Settings::queue`] allows at most. More tell little more.
const USUAL_BURST: usize = 10;

/// The fewest and the most packets of a tail.
const TAIL: std::ops::RangeInclusive<usize> = 12..=100;

/// The most packets of a tail if the clock is no reason for more.
const USUAL_TAIL: usize = 24;

/// The tail may leave a queue this much longer than the burst, if others send.
const TAIL_QUEUE: f64 = 2.5;

/// The tail's rate as a ratio of the capacity. It keeps the link busy although the capacity is
/// known to some per cent only. A tail of 24 packets adds half a packet to the queue.
const TAIL_RATE: f64 = 1.02;

/// Two trains follow each other at a distance of their own each time, so that they do not keep
/// step with regular traffic: this share, the golden ratio, is added each time.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The longest pause for the queue to drain.
const LONGEST_DRAIN_S: f64 = 0.2;

impl Trains {
    /// Some trains, about as many as fit in two round trips.
    pub(super) fn group(&mut self, base: Duration) -> Vec<Probe> {
        let Some(known) = self.solution else {
            return self.burst();
        };
        let gap = self.bits() / known.capacity;
        let burst = self.burst_packets(gap);
        let tail = self.tail_packets(gap, known.others());
        let packets = burst + tail;
        let span = (base.as_secs_f64() * 2.0).max(0.1);
        let (least, most) = self.trains_wanted(packets);
        let mut probes = Vec::new();
        self.shapes.clear();
        // What was sent before has left the link, and a token bucket is full again.
        let mut at = self.drain(gap, burst, 0, 0.0);
        while self.shapes.len() < least || (self.shapes.len() < most && at < span) {
            self.shapes.push(TrainShape {
                first: probes.len(),
                burst,
                packets,
            });
            for j in 0..packets {
                let behind = j.saturating_sub(burst - 1) as f64;
                probes.push(self.probe(at + behind * gap / TAIL_RATE));
            }
            at += tail as f64 * gap / TAIL_RATE + self.drain(gap, burst, tail, known.others());
        }
        probes
    }

    /// The fewest and the most trains of the next group, if a train has so many packets.
    fn trains_wanted(&self, packets: usize) -> (usize, usize) {
        let missing = FEWEST_TRAINS.saturating_sub(self.samples.len());
        let (least, most) = match missing {
            // To follow the path each train counts at once.
            0 if self.settings.continuous => (1, FEWEST_TRAINS),
            0 => (2, FEWEST_TRAINS),
            _ => (missing.min(2), missing),
        };
        let size = self.settings.packet.times(packets as u64).get().max(1);
        let fit = self.left.map_or(u64::MAX, |left| left.get() / size);
        let fit = usize::try_from(fit).unwrap_or(usize::MAX).max(1);
        (least.min(fit), most.min(fit))
    }

    /// The pause in seconds in which the queue drains, about.
    fn drain(&mut self, gap: f64, burst: usize, tail: usize, others: f64) -> f64 {
        self.turn = self.turn.wrapping_add(1);
        let queue = gap * (burst as f64 + others * tail as f64);
        let share = (1.0 - others).max(0.1);
        let varied = 1.0 + (f64::from(self.turn) * GOLDEN).fract();
        (queue / share * varied).min(LONGEST_DRAIN_S)
    }

    fn burst_packets(&self, gap: f64) -> usize {
        let queue = count(self.settings.queue.as_secs_f64() / gap);
        let clock = count((8.0 * self.settings.clock_error.as_secs_f64() / gap).ceil());
        let queued = queue.min(USUAL_BURST - 1).max(clock).max(FIRST_BURST - 1);
        (queued + self.free.saturating_sub(1) + 1).min(LONGEST_BURST)
    }

    fn tail_packets(&self, gap: f64, others: f64) -> usize {
        let queue = self.settings.queue.as_secs_f64() * TAIL_QUEUE;
        let allowed = count(queue / others.max(0.02) / gap);
        let clock = count((16.0 * self.settings.clock_error.as_secs_f64() / gap).ceil());
        allowed
            .min(USUAL_TAIL)
            .max(clock)
            .clamp(*TAIL.start(), *TAIL.end())
    }
}

/// A number of packets, rounded down.
#[expect(clippy::cast_possible_truncation, reason = "below a thousand")]
#[expect(clippy::cast_sign_loss, reason = "it is at least 0")]
fn count(packets: f64) -> usize {
    packets.clamp(0.0, 999.0) as usize
}
