//! Spruce (J. Strauss, D. Katabi, F. Kaashoek: *A measurement study of available bandwidth
//! estimation tools*, IMC 2003).
//!
//! Two packets that leave one capacity-gap apart keep the bottleneck busy between them. What their
//! gap has grown by is others' traffic that entered between them.

use super::stream::Stream;
use super::{Answer, LARGEST_PACKET, Step, Tool};
use imtcp_cc::units::{Bandwidth, Timestamp};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::time::Duration;

/// Pairs whose mean is told: K.
const PAIRS: u32 = 100;
/// The tool's own rate is the lesser of this and the next.
const HIGHEST_RATE: Bandwidth = Bandwidth::from_kbps(240);
/// This share of the capacity.
const SHARE: f64 = 0.05;

/// A measurement of Spruce.
#[derive(Debug)]
pub struct Spruce {
    capacity: Bandwidth,
    pairs: Stream,
    is_over: bool,
    answer: Option<Answer>,
}

impl Spruce {
    /// `capacity` is that of the bottleneck, which the tool has to know. Times between pairs are
    /// drawn from an exponential distribution with `seed`.
    pub fn new(capacity: Bandwidth, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let gap = capacity.time_for(LARGEST_PACKET);
        // A twentieth of next to nothing is not zero: no pair would ever leave.
        let own = HIGHEST_RATE.min(capacity.scaled(SHARE));
        let own = own.max(Bandwidth::from_bps(1));
        let mean = own.time_for(LARGEST_PACKET.times(2));
        let mut offsets = Vec::new();
        let mut at = Duration::ZERO;
        for _ in 0..PAIRS {
            offsets.extend([at, at + gap]);
            // 53 bits are exactly representable, and below one.
            let uniform = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            // A pair does not begin within the one before it.
            at += mean.mul_f64(-libm::log(1.0 - uniform)).max(gap * 2);
        }
        Self {
            capacity,
            pairs: Stream::new(0, LARGEST_PACKET, offsets),
            is_over: false,
            answer: None,
        }
    }

    /// The mean of C (1 - (gap there - gap here) / gap here) over the pairs of which both packets
    /// have come, in bit/s.
    fn mean(&self) -> Option<f64> {
        let arrivals = self.pairs.arrivals();
        let own = self.capacity.time_for(LARGEST_PACKET).as_secs_f64() * 1e6;
        let pairs = arrivals
            .windows(2)
            .filter(|pair| pair[0].index.is_multiple_of(2) && pair[1].index == pair[0].index + 1);
        let samples: Vec<f64> = pairs
            .map(|pair| {
                let came = pair[1].arrived_us.saturating_sub(pair[0].arrived_us) as f64;
                self.capacity.as_bps_f64() * (1.0 - (came - own) / own)
            })
            .collect();
        let sum: f64 = samples.iter().sum();
        (!samples.is_empty()).then(|| sum / samples.len() as f64)
    }
}

impl Tool for Spruce {
    fn step(&mut self, now: Timestamp) -> Step {
        if let Some(step) = self.pairs.step(now) {
            return step;
        }
        if !self.is_over {
            self.is_over = true;
            self.answer = self.mean().and_then(Answer::of);
        }
        Step::Done
    }

    fn on_arrival(&mut self, number: u64, arrived: Timestamp) {
        self.pairs.on_arrival(number, arrived);
    }

    fn on_report(&mut self, now: Timestamp) {
        self.pairs.on_report(now);
    }

    fn answer(&self) -> Option<Answer> {
        self.answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::{Link, mbps};

    fn told(link: &mut Link, capacity: u64) -> f64 {
        let answer = link.measured_by(&mut Spruce::new(Bandwidth::from_mbps(capacity), 1));
        mbps(answer.expect("an answer").value)
    }

    #[test]
    fn an_idle_link_has_its_capacity() {
        let mut link = Link::new(10.0);
        let told = told(&mut link, 10);
        assert!((told - 10.0).abs() < 0.02, "{told}");
        // The paper's 300 KB, at 240 kbit/s: 10 s, give or take a standard deviation.
        assert_eq!(link.bytes, 300_000);
        let seconds = link.now.as_secs_f64();
        assert!((7.0..13.0).contains(&seconds), "{seconds} s");
    }

    #[test]
    fn what_entered_between_the_packets_of_pairs_is_left_out() {
        let mut link = Link::new(10.0).with_cross_traffic(4.0, 100);
        let told = told(&mut link, 10);
        assert!((told - 6.0).abs() < 0.5, "{told}");
    }

    #[test]
    fn a_slow_link_gets_a_twentieth_of_its_capacity() {
        // 5 % of 2 Mbit/s: a pair of 24 000 bits every 0.24 s.
        let mut link = Link::new(2.0);
        let _ = told(&mut link, 2);
        let seconds = link.now.as_secs_f64();
        assert!((17.0..31.0).contains(&seconds), "{seconds} s");
    }

    #[test]
    fn a_link_of_hardly_any_capacity_is_measured_for_ever_and_breaks_nothing() {
        let mut tool = Spruce::new(Bandwidth::from_bps(1), 1);
        assert!(matches!(tool.step(Timestamp::ZERO), Step::Send { .. }));
        // 12 000 bits at 1 bit/s.
        let next = Timestamp::ZERO + Duration::from_secs(12_000);
        assert_eq!(tool.step(Timestamp::ZERO), Step::WaitUntil(next));
    }
}
