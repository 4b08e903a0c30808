//! Pathload (M. Jain, C. Dovrolis: *Pathload: a measurement tool for end-to-end available
//! bandwidth*, PAM 2002; *End-to-end available bandwidth: measurement methodology, dynamics, and
//! relation with TCP throughput*, IEEE/ACM Transactions on Networking 11(4), 2003).
//!
//! A stream of packets with one rate has growing delays if the rate is above what is available.
//! Fleets of such streams search for the range of rates in which that changes.

mod search;
mod trend;

use super::stream::Stream;
use super::{Answer, LARGEST_PACKET, Step, Tool, rate};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use search::{Search, Verdict};
use std::time::Duration;
use trend::{Trend, trend};

/// Streams in a fleet: N.
const STREAMS: usize = 12;
/// Packets in a stream: K.
const PACKETS: u32 = 100;
/// Of so many streams of a fleet one trend is that of the fleet: f.
const AGREEING: f64 = 0.7;
/// A stream that loses more than this share is too fast, and ends its fleet.
const HEAVY_LOSS: f64 = 0.10;
/// So does a fleet of which half of the streams lose more than this.
const MODERATE_LOSS: f64 = 0.03;
/// The pause after a stream in its own durations, so that a fleet has a tenth of its rate on
/// average; at least a round trip.
const PAUSE: u32 = 9;
/// The time between packets, unless they would be too small or too large. This and the next four
/// constants are those of release 1.3.2.
const GAP: Duration = Duration::from_micros(80);
/// The smallest packet: 200 bytes in UDP.
const SMALLEST_PACKET: Bytes = Bytes::new(228);
/// The shortest time between packets.
const SHORTEST_GAP: Duration = Duration::from_micros(7);
/// Packets of the train before the fleets.
const TRAIN: u32 = 50;
/// Of streams that take longer, one makes a fleet.
const SLOW: Duration = Duration::from_millis(500);

/// A measurement of Pathload.
#[derive(Debug)]
pub struct Pathload {
    phase: Phase,
    round_trip: Duration,
    answer: Option<Answer>,
}

#[derive(Debug)]
enum Phase {
    /// A train tells how fast it can go at most.
    Train(Stream),
    /// A stream is under way.
    Streaming(Fleet, Stream),
    /// The next stream leaves then; its first packet has that number.
    Pausing(Fleet, Timestamp, u64),
    Over,
}

/// Streams of one rate.
#[derive(Debug)]
struct Fleet {
    search: Search,
    size: Bytes,
    gap: Duration,
    trends: Vec<Trend>,
    /// How many streams have lost moderately.
    lossy: usize,
}

impl Default for Pathload {
    fn default() -> Self {
        let train = Stream::periodic(0, LARGEST_PACKET, TRAIN, Duration::ZERO);
        Self {
            phase: Phase::Train(train),
            round_trip: Duration::ZERO,
            answer: None,
        }
    }
}

impl Pathload {
    /// The stream has been told in full.
    fn read(&mut self, now: Timestamp) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Train(train) => {
                self.round_trip = train.answered_after().unwrap_or_default();
                match dispersed(&train) {
                    Some(bps) => {
                        let search = Search::new(bps, highest_rate());
                        let fleet = Fleet::new(search);
                        Phase::Pausing(fleet, now + self.round_trip, train.next_number())
                    }
                    None => Phase::Over,
                }
            }
            Phase::Streaming(mut fleet, stream) => {
                self.round_trip = stream.answered_after().unwrap_or(self.round_trip);
                if let Some(verdict) = fleet.read(&stream) {
                    if !fleet.search.judge(verdict) {
                        self.answer = answer(&fleet.search);
                        return;
                    }
                    fleet = Fleet::new(fleet.search);
                }
                let pause = stream.duration().saturating_mul(PAUSE).max(self.round_trip);
                // The answer took a part of the pause.
                let waited = stream.answered_after().unwrap_or_default();
                let begins = now + pause.saturating_sub(waited);
                Phase::Pausing(fleet, begins, stream.next_number())
            }
            other => other,
        };
    }
}

impl Tool for Pathload {
    fn step(&mut self, now: Timestamp) -> Step {
        loop {
            match &mut self.phase {
                Phase::Train(stream) | Phase::Streaming(_, stream) => match stream.step(now) {
                    Some(step) => return step,
                    None => self.read(now),
                },
                Phase::Pausing(_, until, _) if now < *until => return Step::WaitUntil(*until),
                Phase::Pausing(_, _, first) => {
                    let first = *first;
                    if let Phase::Pausing(fleet, ..) =
                        std::mem::replace(&mut self.phase, Phase::Over)
                    {
                        let stream = Stream::periodic(first, fleet.size, PACKETS, fleet.gap);
                        self.phase = Phase::Streaming(fleet, stream);
                    }
                }
                Phase::Over => return Step::Done,
            }
        }
    }

    fn on_arrival(&mut self, number: u64, arrived: Timestamp) {
        if let Phase::Train(stream) | Phase::Streaming(_, stream) = &mut self.phase {
            stream.on_arrival(number, arrived);
        }
    }

    fn on_report(&mut self, now: Timestamp) {
        if let Phase::Train(stream) | Phase::Streaming(_, stream) = &mut self.phase {
            stream.on_report(now);
        }
    }

    fn answer(&self) -> Option<Answer> {
        self.answer
    }
}

impl Fleet {
    fn new(search: Search) -> Self {
        let (size, gap) = shape(search.rate());
        Self {
            search,
            size,
            gap,
            trends: Vec::new(),
            lossy: 0,
        }
    }

    /// Takes a stream, and tells what the fleet says if it needs no other.
    fn read(&mut self, stream: &Stream) -> Option<Verdict> {
        let arrivals = stream.arrivals();
        let lost = 1.0 - arrivals.len() as f64 / stream.len() as f64;
        self.lossy += usize::from(lost > MODERATE_LOSS);
        if lost > HEAVY_LOSS || self.lossy * 2 >= STREAMS {
            return Some(Verdict::Above);
        }
        let delays: Vec<i64> = arrivals.into_iter().map(|it| it.delay_us()).collect();
        self.trends.push(trend(&delays));
        let wanted = match stream.duration() >= SLOW {
            true => 1,
            false => STREAMS,
        };
        (self.trends.len() >= wanted).then(|| self.verdict())
    }

    fn verdict(&self) -> Verdict {
        let share = |wanted: Trend| {
            let agreeing = self.trends.iter().filter(|trend| **trend == wanted);
            agreeing.count() as f64 / self.trends.len() as f64
        };
        if share(Trend::Increasing) >= AGREEING {
            Verdict::Above
        } else if share(Trend::None) >= AGREEING {
            Verdict::Below
        } else {
            Verdict::Grey
        }
    }
}

/// The rate at which a train arrived, in bit/s.
fn dispersed(train: &Stream) -> Option<f64> {
    let arrivals = train.arrivals();
    let [first, .., last] = &arrivals[..] else {
        return None;
    };
    let seconds = last.arrived_us.saturating_sub(first.arrived_us) as f64 / 1e6;
    let bits = LARGEST_PACKET.as_bits_f64() * (arrivals.len() - 1) as f64;
    (seconds > 0.0).then(|| bits / seconds)
}

/// Size and time between packets at a rate in bit/s.
fn shape(bps: f64) -> (Bytes, Duration) {
    let bytes = Bytes::from_f64(bps * GAP.as_secs_f64() / 8.0);
    let size = bytes.clamp(SMALLEST_PACKET, LARGEST_PACKET);
    let rate = Bandwidth::from_bps_f64(bps);
    (size, rate.time_for(size).max(SHORTEST_GAP))
}

/// As fast as the tool can send, in bit/s.
fn highest_rate() -> f64 {
    LARGEST_PACKET.as_bits_f64() / SHORTEST_GAP.as_secs_f64()
}

fn answer(search: &Search) -> Option<Answer> {
    let (low, high) = search.range();
    Some(Answer {
        low: rate(low)?,
        high: rate(high)?,
        value: rate(f64::midpoint(low, high))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::{Link, mbps};

    #[test]
    fn an_idle_link_is_within_the_range() {
        let mut link = Link::new(5.0);
        let answer = link
            .measured_by(&mut Pathload::default())
            .expect("an answer");
        // A train of 50 packets tells 5 Mbit/s. The range begins there, and is 2 % of it wide.
        assert!(
            mbps(answer.low) <= 5.001 && mbps(answer.high) >= 4.999,
            "{answer:?}"
        );
        assert!(mbps(answer.high) - mbps(answer.low) <= 0.1, "{answer:?}");
        // Eight fleets of 12 streams of 100 packets of 228 bytes, and the train.
        assert_eq!(link.bytes, 8 * 12 * 100 * 228 + 50 * 1500);
        // A fleet of 5 Mbit/s takes 12 times ten durations of a stream, of 99 gaps of 365 us.
        let seconds = link.now.as_secs_f64();
        assert!((20.0..40.0).contains(&seconds), "{seconds} s");
    }

    #[test]
    fn what_constant_traffic_takes_is_left_out() {
        let mut link = Link::new(20.0).with_cross_traffic(12.0, 500);
        let answer = link
            .measured_by(&mut Pathload::default())
            .expect("an answer");
        assert!((mbps(answer.value) - 8.0).abs() < 1.0, "{answer:?}");
    }

    #[test]
    fn sizes_and_gaps_make_the_rate() {
        // 228 bytes at 5 Mbit/s; 80 us at 100 Mbit/s; 1500 bytes at 1 Gbit/s.
        for (mbps, bytes, nanoseconds) in [
            (5.0, 228, 364_800),
            (100.0, 1000, 80_000),
            (1000.0, 1500, 12_000),
        ] {
            let expected = (Bytes::new(bytes), Duration::from_nanos(nanoseconds));
            assert_eq!(shape(mbps * 1e6), expected, "{mbps} Mbit/s");
        }
    }

    #[test]
    fn a_path_that_loses_everything_has_no_answer() {
        let mut link = Link::new(5.0);
        link.loses_all = true;
        assert_eq!(link.measured_by(&mut Pathload::default()), None);
    }
}
