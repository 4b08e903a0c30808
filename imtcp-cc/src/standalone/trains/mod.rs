//! The default search: trains with a burst in front.
//!
//! ```text
//! sent      |||          |     |     |     |     |
//!           burst        tail, one capacity gap apart (M / C)
//! received    |  |  |  |   x|  |   x|  |  |
//!             1 / C      what others bring (x) in a known time
//! ```
//!
//! The burst makes a queue, and the tail keeps it: from the burst on the tight link is never idle.
//! In a part of a train in which the link was busy it has carried our own bits, and what others
//! sent in the time in which ours came to it:
//!
//! ```text
//! received span = bits / C + (lambda / C) * sent span
//! ```
//!
//! The burst has hardly any sent span, so it tells C. The tail then tells lambda, and
//! A = C - lambda. Two sums over all trains give two such equations ([`solve`]). No threshold is in
//! them. The queue is that of a few packets, unless others fill it meanwhile.

mod plan;
mod sample;
mod solve;

use self::sample::{Reading, Sample, TrainShape, read};
use self::solve::{Solution, interval, solve};
use super::batch::{Batch, Probe, RoundTrips};
use super::settings::Settings;
use super::{Ended, Next};
use crate::estimate::{Estimate, Flags};
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// The packets of the first burst.
const FIRST_BURST: usize = 3;

/// The longest burst. If the path shows no queue then, it is faster than this side.
const LONGEST_BURST: usize = 64;

/// The fewest trains that make an estimate with an interval, and that end a measurement.
const FEWEST_TRAINS: usize = 4;

/// The trains that are kept when the path is followed.
const MOST_TRAINS: usize = 64;

/// How long trains are kept when the path is followed: so long, or so many round trips.
const KEPT: (Duration, u32) = (Duration::from_secs(2), 20);

/// When the path is followed and is faster than this side, or answers less than half of a burst,
/// bursts are this far apart. Two round trips of a local network would be far shorter, and bursts
/// the better part of all traffic; so they are 64 packets in 0.1 s, which is 5 Mbit/s of packets of
/// 1000 bytes. Ten words a second follow a path as closely as groups of trains do.
const REST_S: f64 = 0.1;

/// Trains and what they say.
#[derive(Debug)]
pub(super) struct Trains {
    settings: Settings,
    /// The packets of a burst while the capacity is unknown.
    first_burst: usize,
    /// The trains of the batch on its way.
    shapes: Vec<TrainShape>,
    samples: VecDeque<Sample>,
    solution: Option<Solution>,
    estimate: Option<Estimate>,
    /// The packets of a burst that pass before the link shows a queue: a token bucket's.
    free: usize,
    turn: u32,
    /// The bytes that may still be sent.
    left: Option<Bytes>,
    measurements: u32,
}

impl Trains {
    pub fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            first_burst: FIRST_BURST,
            shapes: Vec::new(),
            samples: VecDeque::new(),
            solution: None,
            estimate: None,
            free: 0,
            turn: 0,
            left: settings.most_bytes,
            measurements: 0,
        }
    }

    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    pub fn capacity(&self) -> Option<Bandwidth> {
        self.solution.map(|s| Bandwidth::from_bps_f64(s.capacity))
    }

    pub fn measurements(&self) -> u32 {
        self.measurements
    }

    /// A burst, to find the capacity. What was known is forgotten.
    pub fn open(&mut self) -> Vec<Probe> {
        self.samples.clear();
        self.solution = None;
        self.burst()
    }

    fn burst(&mut self) -> Vec<Probe> {
        self.shapes = vec![TrainShape {
            first: 0,
            burst: self.first_burst,
            packets: self.first_burst,
        }];
        vec![self.probe(0.0); self.first_burst]
    }

    /// All packets of `batch` are back or lost. No more than `left` bytes may still be sent.
    pub fn on_batch(&mut self, batch: &Batch, trips: &RoundTrips, left: Option<Bytes>) -> Next {
        self.left = left;
        let Some(base) = trips.shortest() else {
            return Next::paused(self.burst());
        };
        match self.solution {
            None => self.on_burst(batch, base),
            Some(known) => self.on_group(batch, base, known),
        }
    }

    /// The measurement ends before all of `batch` is back. What is there counts. That the part of a
    /// train met no queue refutes nothing.
    pub fn on_end(&mut self, batch: &Batch, trips: &RoundTrips) {
        let known = self.solution;
        self.on_batch(batch, trips, None);
        self.solution = self.solution.or(known);
    }

    /// The first burst is back.
    fn on_burst(&mut self, batch: &Batch, base: Duration) -> Next {
        let Some(shape) = self.shapes.first() else {
            return Next::paused(self.burst());
        };
        let least_rise = self.settings.clock_error * 4;
        if let Some(found) = sample::capacity(batch.packets(), base, least_rise) {
            self.free = found.free;
            self.solution = Some(Solution::of_burst(found.capacity));
            return Next::at_once(self.group(base));
        }
        let back = batch.replies();
        if shape.burst < LONGEST_BURST {
            // Half as much again, and not twice: a bucket's last packet is not far off.
            self.first_burst = (shape.burst + shape.burst.div_ceil(2)).min(LONGEST_BURST);
            return Next::at_once(self.burst());
        }
        if back * 2 < shape.burst {
            let burst = self.burst();
            return self.again(burst);
        }
        self.at_least_the_send_rate(batch, base);
        if self.settings.continuous {
            let burst = self.burst();
            return self.again(burst);
        }
        Next::Finished(Ended::SenderTooSlow)
    }

    /// A burst that follows one of which little was learnt. To follow the path there is no end to
    /// such bursts, so each comes after [`REST_S`].
    fn again(&self, mut burst: Vec<Probe>) -> Next {
        if self.settings.continuous {
            for probe in &mut burst {
                probe.offset_ns = probe.offset_ns.saturating_add(nanos(REST_S));
            }
        }
        Next::paused(burst)
    }

    /// The longest burst came through as fast as it was sent.
    fn at_least_the_send_rate(&mut self, batch: &Batch, base: Duration) {
        let Some(passed) = sample::passed(batch.packets(), base) else {
            return;
        };
        let span = passed.span.max(self.settings.clock_error);
        let Some(rate) = Bandwidth::from_bytes_over(passed.bytes, span) else {
            return;
        };
        self.measurements = self.measurements.saturating_add(1);
        self.estimate = Some(Estimate {
            at: passed.at,
            available: rate,
            low: rate.scaled(0.5),
            high: Bandwidth::MAX,
            window: span,
            flags: Flags {
                lower_bound: true,
                ..Flags::default()
            },
        });
    }

    /// A group of trains is back.
    fn on_group(&mut self, batch: &Batch, base: Duration, known: Solution) -> Next {
        self.measurements = self.measurements.saturating_add(1);
        let (mut seen, mut unqueued, mut free) = (0, 0, 0);
        for shape in &self.shapes {
            let end = (shape.first + shape.packets).min(batch.packets().len());
            let packets = &batch.packets()[shape.first.min(end)..end];
            match read(packets, shape, base, self.bits() / known.capacity) {
                Reading::Sample(sample) => {
                    free = free.max(sample.free);
                    seen += 1;
                    self.samples.push_back(sample);
                }
                Reading::NoQueue => unqueued += 1,
                Reading::TooFew => {}
            }
        }
        if seen == 0 {
            if unqueued > 0 {
                // The path is faster than it was taken for.
                self.first_burst = (self.first_burst * 2).min(LONGEST_BURST);
                let burst = self.open();
                return self.again(burst);
            }
            return Next::paused(self.group(base));
        }
        self.free = free;
        self.forget(seen, base);
        self.conclude(base)
    }

    /// What no longer holds: old trains, and trains from before a change.
    fn forget(&mut self, newest: usize, base: Duration) {
        while self.samples.len() > MOST_TRAINS {
            self.samples.pop_front();
        }
        if !self.settings.continuous {
            return;
        }
        let kept = KEPT.0.max(base * KEPT.1);
        let last = self.samples.back().map_or(Timestamp::ZERO, |s| s.at);
        let enough = |samples: &VecDeque<Sample>| samples.len() > newest.max(FEWEST_TRAINS);
        while enough(&self.samples)
            && self
                .samples
                .front()
                .is_some_and(|s| last.saturating_since(s.at) > kept)
        {
            self.samples.pop_front();
        }
        let older = self.samples.len() - newest;
        let samples = self.samples.make_contiguous();
        if solve::has_changed(&samples[..older], &samples[older..]) {
            self.samples.drain(..older);
        }
    }

    /// Makes an estimate of the trains, and plans more.
    fn conclude(&mut self, base: Duration) -> Next {
        let samples = self.samples.make_contiguous();
        let Some(found) = solve(samples) else {
            // The bursts show no gap of their own: they are too short for the bucket.
            self.free += 2;
            return Next::paused(self.group(base));
        };
        self.solution = Some(found);
        let half = interval(samples, found, self.settings.packet.as_bits_f64());
        let rate = |bps: f64| Bandwidth::from_bps_f64(bps.max(0.0));
        let window = match (samples.first(), samples.last()) {
            (Some(first), Some(last)) => last.at.saturating_since(first.at),
            _ => Duration::ZERO,
        };
        let at = samples.last().map_or(Timestamp::ZERO, |s| s.at);
        let trains = samples.len();
        self.estimate = Some(Estimate {
            at,
            available: rate(found.available),
            low: rate(found.available - half),
            high: rate((found.available + half).max(found.available)),
            window,
            flags: Flags::default(),
        });
        let narrow = 2.0 * half < self.settings.narrow_enough * found.available;
        if narrow && trains >= FEWEST_TRAINS && !self.settings.continuous {
            return Next::Finished(Ended::Narrow);
        }
        Next::paused(self.group(base))
    }

    fn bits(&self) -> f64 {
        self.settings.packet.as_bits_f64()
    }

    fn probe(&self, offset_s: f64) -> Probe {
        Probe {
            offset_ns: nanos(offset_s),
            size: self.settings.packet,
        }
    }
}

fn nanos(seconds: f64) -> u64 {
    // Equations that hardly differ may come to any number.
    let span = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
