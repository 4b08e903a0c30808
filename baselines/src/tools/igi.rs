//! IGI and PTR (N. Hu, P. Steenkiste: *Evaluation and characterization of available bandwidth
//! probing techniques*, IEEE JSAC 21(6), 2003).
//!
//! Trains are made slower until they arrive as they left. IGI counts what entered between the
//! packets of that train, and PTR takes the train's rate.

use super::stream::{Arrival, Stream};
use super::{Answer, Step, Tool};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};

/// Packets of a train.
const PACKETS: u32 = 60;
/// The size of a packet.
const SIZE: Bytes = Bytes::new(750);
/// The gaps begin with half of the bottleneck's gap and one step, and grow by an eighth of it.
const FIRST_EIGHTHS: u32 = 5;
/// A train has arrived as it left if its length has changed by less than this share. The paper
/// says that they "are equal", and its program allows for a tenth.
const EQUAL: f64 = 0.10;
/// A gap has grown if it is longer by more than a tick of the clock.
const GROWN_US: u64 = 1;
/// After so many trains there is no answer: the last one would be a sixteenth of the capacity.
const MOST_TRAINS: u32 = 128;

/// Which of the two formulas is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Capacity less competing traffic.
    Igi,
    /// The rate of the train.
    Ptr,
}

/// A measurement of IGI and PTR.
#[derive(Debug)]
pub struct Igi {
    reading: Reading,
    capacity: Bandwidth,
    /// The gaps of the train, in eighths of the bottleneck's gap.
    eighths: u32,
    train: Option<Stream>,
    answer: Option<Answer>,
}

/// The gaps between packets that follow each other and have both arrived.
#[derive(Debug, Default, PartialEq)]
struct Gaps {
    left_us: Vec<u64>,
    came_us: Vec<u64>,
}

impl Igi {
    /// `capacity` is that of the bottleneck, which the paper takes from another tool.
    pub fn new(capacity: Bandwidth, reading: Reading) -> Self {
        let mut new = Self {
            reading,
            capacity,
            eighths: FIRST_EIGHTHS,
            train: None,
            answer: None,
        };
        new.train = Some(new.train(0));
        new
    }

    fn train(&self, first: u64) -> Stream {
        let gap = self.capacity.time_for(SIZE) * self.eighths / 8;
        Stream::periodic(first, SIZE, PACKETS, gap)
    }

    /// The train has been told in full.
    fn read(&mut self, train: &Stream) -> Option<Stream> {
        let gaps = Gaps::of(&train.arrivals());
        if gaps.arrived_as_they_left() {
            let bps = match self.reading {
                Reading::Igi => gaps.igi(self.capacity),
                Reading::Ptr => gaps.ptr(),
            };
            self.answer = Answer::of(bps);
            return None;
        }
        self.eighths += 1;
        let goes_on = self.eighths < FIRST_EIGHTHS + MOST_TRAINS;
        goes_on.then(|| self.train(train.next_number()))
    }
}

impl Tool for Igi {
    fn step(&mut self, now: Timestamp) -> Step {
        while let Some(mut train) = self.train.take() {
            match train.step(now) {
                Some(step) => {
                    self.train = Some(train);
                    return step;
                }
                None => self.train = self.read(&train),
            }
        }
        Step::Done
    }

    fn on_arrival(&mut self, number: u64, arrived: Timestamp) {
        if let Some(train) = &mut self.train {
            train.on_arrival(number, arrived);
        }
    }

    fn on_report(&mut self, now: Timestamp) {
        if let Some(train) = &mut self.train {
            train.on_report(now);
        }
    }

    fn answer(&self) -> Option<Answer> {
        self.answer
    }
}

impl Gaps {
    fn of(arrivals: &[Arrival]) -> Self {
        let mut gaps = Self::default();
        for pair in arrivals.windows(2) {
            if pair[1].index == pair[0].index + 1 {
                let left = pair[1].sent_us.saturating_sub(pair[0].sent_us);
                let came = pair[1].arrived_us.saturating_sub(pair[0].arrived_us);
                gaps.left_us.push(left);
                gaps.came_us.push(came);
            }
        }
        gaps
    }

    /// A train of which less than half arrived has not.
    fn arrived_as_they_left(&self) -> bool {
        let [left, came] = [&self.left_us, &self.came_us].map(|gaps| gaps.iter().sum::<u64>());
        let enough = self.came_us.len() * 2 >= PACKETS as usize;
        let apart = left.abs_diff(came) as f64;
        enough && apart < EQUAL * left.max(came) as f64
    }

    /// C - C * sum(grown gap - bottleneck's gap) / sum(gap), in bit/s.
    fn igi(&self, capacity: Bandwidth) -> f64 {
        let bottleneck_us = capacity.time_for(SIZE).as_secs_f64() * 1e6;
        let gaps = self.left_us.iter().zip(&self.came_us);
        let grown = gaps.filter(|(left, came)| **came > **left + GROWN_US);
        let entered: f64 = grown.map(|(_, came)| *came as f64 - bottleneck_us).sum();
        let all = self.came_us.iter().sum::<u64>() as f64;
        capacity.as_bps_f64() * (1.0 - entered / all)
    }

    /// Bits of the gaps / sum(gap), in bit/s.
    fn ptr(&self) -> f64 {
        let seconds = self.came_us.iter().sum::<u64>() as f64 / 1e6;
        SIZE.as_bits_f64() * self.came_us.len() as f64 / seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::{Link, mbps};
    use std::time::Duration;

    /// How long the slowest train takes to leave.
    fn slowest(capacity: Bandwidth) -> Duration {
        capacity.time_for(SIZE) * ((FIRST_EIGHTHS + MOST_TRAINS) / 8) * PACKETS
    }

    #[test]
    fn the_formulas_by_hand() {
        // 750 bytes at 10 Mbit/s are 600 us. Gaps of 700 us, of which two have grown to 900 us:
        // they hold 300 us of others each. The others have shrunk to 600 us.
        let gaps = Gaps {
            left_us: vec![700; 4],
            came_us: vec![900, 600, 900, 600],
        };
        let capacity = Bandwidth::from_mbps(10);
        assert!(
            (gaps.igi(capacity) - 8e6).abs() < 1.0,
            "{}",
            gaps.igi(capacity)
        );
        // 4 gaps of 6000 bits in 3 ms.
        assert_eq!(gaps.ptr(), 8e6);
    }

    #[test]
    fn gaps_at_lost_packets_do_not_count() {
        let arrival = |index: usize| Arrival {
            index,
            sent_us: index as u64 * 10,
            arrived_us: index as u64 * 30,
        };
        let gaps = Gaps::of(&[0, 1, 3, 4].map(arrival));
        assert_eq!((gaps.left_us, gaps.came_us), (vec![10, 10], vec![30, 30]));
    }

    #[test]
    fn an_idle_link_has_its_capacity() {
        for reading in [Reading::Igi, Reading::Ptr] {
            let capacity = Bandwidth::from_mbps(20);
            let mut link = Link::new(20.0);
            let answer = link.measured_by(&mut Igi::new(capacity, reading));
            let told = mbps(answer.expect("an answer").value);
            // The first train that arrives as it left has gaps of 8/8: 5/8, 6/8, 7/8 come later
            // than they left by more than a tenth.
            assert!((told - 20.0).abs() < 0.1, "{reading:?}: {told}");
            assert_eq!(link.bytes, 4 * 60 * 750);
        }
    }

    #[test]
    fn beside_constant_traffic_the_train_is_a_tenth_too_fast_and_igi_misses_gaps_that_shrank() {
        // A gap of g leaves as 300 us + g / 2. It is within a tenth of g from 14/8 of 300 us on,
        // and is 562 us then: PTR reads 10.7 Mbit/s. These are gaps of 500 and of 600 us; IGI
        // counts the 300 us of others in the latter alone, 62 % of all: 20 (1 - 0.62 * 300 / 562).
        for (reading, expected) in [(Reading::Ptr, 10.7), (Reading::Igi, 13.3)] {
            let capacity = Bandwidth::from_mbps(20);
            let mut link = Link::new(20.0).with_cross_traffic(10.0, 250);
            let answer = link.measured_by(&mut Igi::new(capacity, reading));
            let told = mbps(answer.expect("an answer").value);
            assert!((told - expected).abs() < 0.3, "{reading:?}: {told}");
        }
    }

    #[test]
    fn without_an_answer_it_ends() {
        let capacity = Bandwidth::from_mbps(20);
        let mut link = Link::new(20.0);
        link.loses_all = true;
        assert_eq!(
            link.measured_by(&mut Igi::new(capacity, Reading::Igi)),
            None
        );
        assert!(link.now < Timestamp::ZERO + slowest(capacity) * MOST_TRAINS);
    }
}
