//! A measurement of its own: probe packets to a host that answers each of them.
//!
//! This is the tool of the ICMP paper (IC) without its socket: echo requests go out, echo replies
//! come in. A QUIC server that acknowledges each padded PING serves as well. The module reads no
//! clock and opens no socket. The caller sends what [`Measurement::step`] says, and tells of
//! replies.
//!
//! ```
//! use imtcp_cc::standalone::{Measurement, Settings, Step};
//! use imtcp_cc::units::Timestamp;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), imtcp_cc::ConfigError> {
//! let mut measurement = Measurement::new(Settings::default())?;
//! let mut now = Timestamp::ZERO;
//! let mut replies = std::collections::VecDeque::new(); // a path of 20 ms and 10 Mbit/s
//! let mut free = Timestamp::ZERO;
//! loop {
//!     while replies.front().is_some_and(|reply: &(u64, Timestamp)| reply.1 <= now) {
//!         let (id, at) = replies.pop_front().expect("looked at");
//!         measurement.on_reply(id, at);
//!     }
//!     match measurement.step(now) {
//!         Step::Send { id, size } => {
//!             free = free.max(now) + Duration::from_nanos(size.get() * 800);
//!             replies.push_back((id, free + Duration::from_millis(20)));
//!         }
//!         Step::WaitUntil(at) => now = replies.front().map_or(at, |reply| reply.1.min(at)),
//!         Step::Done => break,
//!     }
//! }
//! let found = measurement.report(now).estimate.expect("a path that answers");
//! assert!((found.available.as_bps_f64() / 10e6 - 1.0).abs() < 0.01);
//! # Ok(())
//! # }
//! ```
//!
//! Two ways to search are there ([`Method`]). Where replies are as large as requests, as with ICMP,
//! both directions are loaded, and the value is that of the tighter one.

mod batch;
mod limit;
mod report;
mod search;
mod settings;
#[cfg(test)]
mod tests;
mod trains;

pub use report::{Ended, Report};
pub use settings::{Method, Settings};

use crate::config::ConfigError;
use crate::units::{Bytes, Timestamp};
use batch::{Batch, Probe, RoundTrips};
use limit::{LimitTest, Verdict};
use search::Search;
use std::time::Duration;
use trains::Trains;

/// So many batches in a row without a single reply end the measurement.
const SILENT_BATCHES: u32 = 3;

/// The same where there were replies before. Chance may take all of a short burst, and hardly ever
/// those of so many.
const SILENT_AFTER_REPLIES: u32 = 10;

/// From this share of lost packets on, a batch is a reason to look for a limit of replies.
const SUSPICIOUS_LOSS: f64 = 0.4;

/// The fewest packets of a batch that may be such a reason.
const SUSPICIOUS_PACKETS: usize = 6;

/// What the caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a packet of `size` bytes on the wire, IP header included, now. The reply to it names
    /// `id`. Numbers rise by one, from 0.
    Send {
        /// The number of the packet.
        id: u64,
        /// Its size in bytes, IP header included.
        size: Bytes,
    },
    /// Nothing is to be done before this time. A reply that comes earlier may change that.
    WaitUntil(Timestamp),
    /// The measurement has ended.
    Done,
}

/// What follows a batch.
#[derive(Debug)]
enum Next {
    /// Another batch, after the pause or at once.
    Batch { probes: Vec<Probe>, pause: bool },
    /// The end.
    Finished(Ended),
}

impl Next {
    fn paused(probes: Vec<Probe>) -> Self {
        Self::Batch {
            probes,
            pause: true,
        }
    }

    fn at_once(probes: Vec<Probe>) -> Self {
        Self::Batch {
            probes,
            pause: false,
        }
    }
}

#[derive(Debug)]
enum Running {
    Trains(Trains),
    Search(Search),
}

/// A measurement of the available bandwidth towards a host that answers.
#[derive(Debug)]
pub struct Measurement {
    settings: Settings,
    running: Running,
    /// The test of a limit of replies while it runs, and the round trips from before: its packets
    /// are small, and so faster.
    testing: Option<(LimitTest, RoundTrips)>,
    was_tested: bool,
    batch: Batch,
    trips: RoundTrips,
    begun: Option<Timestamp>,
    sent: (u64, Bytes),
    replies: u64,
    lost: u64,
    /// In a row.
    silent_batches: u32,
    ended: Option<Ended>,
}

impl Measurement {
    /// A measurement that has not begun. It begins with the first [`Self::step`].
    ///
    /// # Errors
    ///
    /// A setting is outside its range.
    pub fn new(settings: Settings) -> Result<Self, ConfigError> {
        settings.check()?;
        let running = match settings.method {
            Method::Trains => Running::Trains(Trains::new(&settings)),
            Method::Search => Running::Search(Search::new(&settings)),
        };
        Ok(Self {
            settings,
            running,
            testing: None,
            was_tested: false,
            batch: Batch::default(),
            trips: RoundTrips::default(),
            begun: None,
            sent: (0, Bytes::ZERO),
            replies: 0,
            lost: 0,
            silent_batches: 0,
            ended: None,
        })
    }

    /// What to do at `now`. After [`Step::Send`] it is to be called again at once: more packets may
    /// be due.
    pub fn step(&mut self, now: Timestamp) -> Step {
        if self.begun.is_none() {
            self.begun = Some(now);
            let probes = match &mut self.running {
                Running::Trains(trains) => trains.open(),
                Running::Search(search) => search.open(),
            };
            self.batch = Batch::new(now, 0, probes);
            self.check_bytes();
        }
        let timeout = self.settings.reply_timeout;
        self.lost += u64::from(self.batch.expire(now, &self.trips, timeout));
        if self.ended.is_none() && self.batch.is_settled() {
            self.conclude(now);
        }
        self.check_time(now);
        if self.ended.is_some() {
            return Step::Done;
        }
        self.release(now)
    }

    /// The time at which packet `id` really left, if it differs from the time of its step.
    pub fn on_sent(&mut self, id: u64, at: Timestamp) {
        self.batch.on_sent(id, at);
    }

    /// The reply to packet `id` was received at `at`. Duplicates, and replies to packets that were
    /// taken for lost, are ignored.
    pub fn on_reply(&mut self, id: u64, at: Timestamp) {
        if self.batch.on_reply(id, at, &mut self.trips) {
            self.replies += 1;
        }
    }

    /// Packet `id` has arrived, as is known at `at`, but nobody knows when: an acknowledgement of a
    /// later packet says so. Echo replies are never like that.
    pub fn on_arrived(&mut self, id: u64, at: Timestamp) {
        if self.batch.on_arrived(id, at) {
            self.replies += 1;
        }
    }

    /// Packet `id` is lost, or could not be sent. The measurement finds out by itself too, by the
    /// time that goes by.
    pub fn on_lost(&mut self, id: u64, at: Timestamp) {
        if self.batch.on_lost(id, at) {
            self.lost += 1;
        }
    }

    /// Ends the measurement. What is back of the packets on their way still counts.
    pub fn stop(&mut self) {
        self.finish(Ended::Stopped);
    }

    /// The result at `now`.
    pub fn report(&self, now: Timestamp) -> Report {
        let (estimate, capacity, measurements) = match &self.running {
            Running::Trains(t) => (t.estimate(), t.capacity(), t.measurements()),
            Running::Search(s) => (s.estimate(), s.capacity(), s.measurements()),
        };
        let (mean_wait, longest_wait) = self.trips.waits();
        // Replies to a limited number a second speak of the limit, those before it may have, too.
        let is_limited = matches!(self.ended, Some(Ended::RateLimited { .. }));
        Report {
            estimate: estimate.filter(|_| !is_limited),
            capacity: capacity.filter(|_| !is_limited),
            bytes_sent: self.sent.1,
            packets_sent: self.sent.0,
            replies: self.replies,
            lost: self.lost,
            measurements,
            elapsed: self
                .begun
                .map_or(Duration::ZERO, |b| now.saturating_since(b)),
            round_trip: self.trips.shortest(),
            mean_wait,
            longest_wait,
            ended: self.ended,
        }
    }

    /// All packets of the batch are back or lost.
    fn conclude(&mut self, now: Timestamp) {
        let next = self.after_batch();
        match next {
            Next::Finished(ended) => self.ended = Some(ended),
            Next::Batch { probes, pause } => {
                let round_trips = if pause {
                    self.settings.pause_round_trips
                } else {
                    0
                };
                let start = now + self.trips.smoothed() * round_trips;
                self.batch = Batch::new(start, self.sent.0, probes);
                self.check_bytes();
            }
        }
    }

    fn after_batch(&mut self) -> Next {
        if let Some((test, before)) = &mut self.testing {
            return match test.on_run(&self.batch) {
                None => Next::at_once(test.run()),
                Some(Verdict::Silent) => Next::Finished(Ended::NoReply),
                Some(Verdict::Limited(per_second)) => {
                    Next::Finished(Ended::RateLimited { per_second })
                }
                Some(Verdict::Unlimited) => {
                    self.trips = *before;
                    self.testing = None;
                    self.reopen()
                }
            };
        }
        let (sent, back) = (self.batch.packets().len(), self.batch.replies());
        if self.has_fallen_silent(back) {
            return Next::Finished(Ended::NoReply);
        }
        let lost = sent.saturating_sub(back) as f64;
        let suspicious = sent >= SUSPICIOUS_PACKETS && lost >= SUSPICIOUS_LOSS * sent as f64;
        if suspicious && !self.was_tested && self.replies > 0 {
            self.was_tested = true;
            let test = LimitTest::default();
            let run = test.run();
            self.testing = Some((test, self.trips));
            return Next::at_once(run);
        }
        let most = self.settings.most_bytes;
        let left = most.map(|most| most.saturating_sub(self.sent.1));
        match &mut self.running {
            Running::Trains(trains) => trains.on_batch(&self.batch, &self.trips, left),
            Running::Search(search) => search.on_batch(&self.batch),
        }
    }

    /// A batch had so many replies. Whether no more are to come: then bounds alone would end the
    /// measurement, and there may be none. Who follows a path waits for it to come back.
    fn has_fallen_silent(&mut self, back: usize) -> bool {
        if back > 0 {
            self.silent_batches = 0;
            return false;
        }
        self.silent_batches = self.silent_batches.saturating_add(1);
        match self.replies {
            0 => self.silent_batches >= SILENT_BATCHES,
            _ => self.silent_batches >= SILENT_AFTER_REPLIES && !self.settings.continuous,
        }
    }

    fn reopen(&mut self) -> Next {
        Next::paused(match &mut self.running {
            Running::Trains(trains) => trains.open(),
            Running::Search(search) => search.open(),
        })
    }

    fn check_bytes(&mut self) {
        let after = self.sent.1 + self.batch.bytes_to_come();
        if self.settings.most_bytes.is_some_and(|most| after > most) {
            self.ended = Some(Ended::Bytes);
        }
    }

    fn check_time(&mut self, now: Timestamp) {
        let Some((begun, longest)) = self.begun.zip(self.settings.longest) else {
            return;
        };
        // A test of the limit may take longer: its verdict is worth more than the time.
        if now >= begun + longest && self.testing.is_none() {
            self.finish(Ended::Time);
        }
    }

    /// Ends the measurement in the midst of a batch. Trains tell as much as is back of them.
    fn finish(&mut self, ended: Ended) {
        if self.ended.is_some() {
            return;
        }
        if let Running::Trains(trains) = &mut self.running
            && self.testing.is_none()
            && self.batch.replies() > 0
        {
            trains.on_end(&self.batch, &self.trips);
        }
        self.ended = Some(ended);
    }

    fn release(&mut self, now: Timestamp) -> Step {
        let upcoming = self.batch.upcoming();
        if let Some((at, size)) = upcoming
            && at <= now
        {
            let id = self.batch.on_send(size, now);
            self.sent = (self.sent.0 + 1, self.sent.1 + size);
            return Step::Send { id, size };
        }
        let deadline = self
            .batch
            .deadline(&self.trips, self.settings.reply_timeout);
        let longest = self.settings.longest.filter(|_| self.testing.is_none());
        let end = longest
            .zip(self.begun)
            .map(|(longest, begun)| begun + longest);
        let next = upcoming.map(|(at, _)| at);
        let until = [next, deadline, end].into_iter().flatten().min();
        Step::WaitUntil(until.unwrap_or(now).max(now))
    }
}
