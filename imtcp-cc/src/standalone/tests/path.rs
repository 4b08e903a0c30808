//! A path of one FIFO link, with cross traffic, that answers each packet.

use crate::standalone::{Measurement, Report, Settings, Step};
use crate::units::{Bytes, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;

/// A small generator: splitmix64.
#[derive(Clone, Debug)]
pub struct Draw(pub u64);

impl Draw {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cross {
    None,
    /// Bits per second, in packets of so many bytes at even distances.
    Even(f64, f64),
    /// The same at distances by chance.
    Poisson(f64, f64),
}

impl Cross {
    pub fn rate(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Even(rate, _) | Self::Poisson(rate, _) => rate,
        }
    }

    fn bytes(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Even(_, bytes) | Self::Poisson(_, bytes) => bytes,
        }
    }
}

/// Replies a second, and how many of them at once.
#[derive(Clone, Copy, Debug)]
pub struct Limiter {
    pub per_second: f64,
    pub burst: f64,
}

#[derive(Clone, Debug)]
pub struct Path {
    pub bps: f64,
    pub round_trip_s: f64,
    pub queue_s: f64,
    /// The bytes of a token bucket that pass at once.
    pub bucket: f64,
    /// Cross traffic from a time on, in seconds.
    pub cross: Vec<(f64, Cross)>,
    pub loss: f64,
    pub duplicates: f64,
    /// Each reply is late by up to so many seconds.
    pub jitter_s: f64,
    pub limiter: Option<Limiter>,
    /// From when on nobody answers, in seconds.
    pub silent_from_s: f64,
    pub draw: Draw,
    free_s: f64,
    tokens: (f64, f64),
    next_cross_s: f64,
    answers: (f64, f64),
}

impl Path {
    pub fn new(mbps: f64, round_trip_ms: f64) -> Self {
        Self {
            bps: mbps * 1e6,
            round_trip_s: round_trip_ms / 1e3,
            queue_s: 1.0,
            bucket: 0.0,
            cross: Vec::new(),
            loss: 0.0,
            duplicates: 0.0,
            jitter_s: 0.0,
            limiter: None,
            silent_from_s: f64::INFINITY,
            draw: Draw(1),
            free_s: 0.0,
            tokens: (0.0, 0.0),
            next_cross_s: 0.0,
            answers: (f64::INFINITY, 0.0),
        }
    }

    pub fn with(mut self, cross: Cross, seed: u64) -> Self {
        self.cross = vec![(0.0, cross)];
        self.draw = Draw(seed);
        self
    }

    fn cross_at(&self, s: f64) -> Cross {
        let begun = self.cross.iter().rev().find(|(from, _)| *from <= s);
        begun.map_or(Cross::None, |(_, cross)| *cross)
    }

    /// The link serves a packet that comes at `s`: when it has passed.
    fn serve(&mut self, s: f64, bytes: f64) -> Option<f64> {
        if self.bucket > 0.0 {
            let filled = self.tokens.0 + (s - self.tokens.1).max(0.0) * self.bps / 8.0;
            self.tokens = (filled.min(self.bucket), s);
            if self.free_s <= s && self.tokens.0 >= bytes {
                self.tokens.0 -= bytes;
                return Some(s);
            }
            let missing = bytes - self.tokens.0;
            let begin = self.free_s.max(s);
            let served = begin + if self.free_s <= s { missing } else { bytes } * 8.0 / self.bps;
            self.tokens = (0.0, served);
            self.free_s = served;
            return Some(served);
        }
        let begin = self.free_s.max(s);
        if begin - s > self.queue_s {
            return None;
        }
        self.free_s = begin + bytes * 8.0 / self.bps;
        Some(self.free_s)
    }

    fn cross_until(&mut self, s: f64) {
        while self.next_cross_s <= s {
            let at = self.next_cross_s;
            let cross = self.cross_at(at);
            let gap = match cross {
                Cross::None => 1e-3,
                Cross::Even(rate, bytes) => bytes * 8.0 / rate,
                Cross::Poisson(rate, bytes) => -(1.0 - self.draw.share()).ln() * bytes * 8.0 / rate,
            };
            if cross.bytes() > 0.0 {
                self.serve(at, cross.bytes());
            }
            self.next_cross_s = at + gap;
        }
    }

    fn answers(&mut self, s: f64) -> bool {
        let Some(limiter) = self.limiter else {
            return s < self.silent_from_s;
        };
        let filled = self.answers.0 + (s - self.answers.1) * limiter.per_second;
        self.answers = (filled.min(limiter.burst), s);
        let may = self.answers.0 >= 1.0;
        if may {
            self.answers.0 -= 1.0;
        }
        may && s < self.silent_from_s
    }

    /// The times of the replies to a packet that leaves at `now`.
    fn send(&mut self, now: Timestamp, size: Bytes) -> Vec<Timestamp> {
        let s = now.as_secs_f64();
        self.cross_until(s);
        let Some(served) = self.serve(s, size.as_f64()) else {
            return Vec::new();
        };
        if self.draw.share() < self.loss || !self.answers(served) {
            return Vec::new();
        }
        let back = served + self.round_trip_s + self.draw.share() * self.jitter_s;
        let mut replies = vec![back];
        if self.draw.share() < self.duplicates {
            replies.push(back + 1e-3);
        }
        let stamp = |s: f64| Timestamp::from_origin(Duration::from_secs_f64(s));
        replies.into_iter().map(stamp).collect()
    }

    /// Runs a measurement from `begin` seconds on. `look` sees a report after each reply.
    pub fn run_from(
        &mut self,
        begin: f64,
        settings: Settings,
        mut look: impl FnMut(Timestamp, &Report),
    ) -> Report {
        let mut measurement = Measurement::new(settings).expect("settings within their ranges");
        let mut now = Timestamp::from_origin(Duration::from_secs_f64(begin));
        let mut replies: BTreeMap<(Timestamp, u64), u64> = BTreeMap::new();
        let mut order = 0;
        for _ in 0..2_000_000 {
            while let Some((&(at, key), &id)) = replies.first_key_value() {
                if at > now {
                    break;
                }
                replies.remove(&(at, key));
                measurement.on_reply(id, at);
                look(now, &measurement.report(now));
            }
            match measurement.step(now) {
                Step::Send { id, size } => {
                    for at in self.send(now, size) {
                        order += 1;
                        replies.insert((at, order), id);
                    }
                }
                Step::WaitUntil(at) => {
                    let reply = replies.first_key_value().map(|((reply, _), _)| *reply);
                    let next = reply.map_or(at, |reply| reply.min(at));
                    now = next.max(now + Duration::from_nanos(u64::from(next <= now)));
                }
                Step::Done => return measurement.report(now),
            }
        }
        panic!("no end: {:?}", measurement.report(now));
    }

    pub fn run(&mut self, settings: Settings) -> Report {
        self.run_from(0.0, settings, |_, _| {})
    }

    /// What is left of the link at the beginning.
    pub fn truth(&self) -> f64 {
        self.bps - self.cross_at(0.0).rate()
    }
}

/// The error of the estimate as a share of the truth. Infinite without an estimate.
pub fn error(report: &Report, truth: f64) -> f64 {
    let found = report.estimate.map(|e| e.available.as_bps_f64());
    found.map_or(f64::INFINITY, |found| (found - truth).abs() / truth)
}
