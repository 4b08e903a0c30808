//! pathChirp (V. J. Ribeiro, R. H. Riedi, R. G. Baraniuk, J. Navratil, L. Cottrell: *pathChirp:
//! efficient available bandwidth estimation for network paths*, PAM 2003).
//!
//! The rate grows within a chirp from packet to packet. Where delays begin to grow for good is the
//! rate that is available; shorter excursions count as well.

use super::stream::{Arrival, Stream};
use super::{Answer, Step, Tool};
use imtcp_cc::units::{Bytes, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// Each gap of a chirp is the one before divided by this: gamma, the spread factor.
const SPREAD: f64 = 1.2;
/// An excursion ends where the delay has fallen to its maximum divided by this: F.
const DECREASE: f64 = 1.5;
/// An excursion of fewer packets says nothing: L.
const BUSY: usize = 5;
/// The size of a packet. This constant and the next nine are those of release 2.3.7.
const SIZE: Bytes = Bytes::new(1000);
/// The lowest and the highest rate of the first chirps, in bit/s.
const FIRST_RANGE: (f64, f64) = (10e6, 200e6);
/// The tool's own rate at first, in bit/s.
const FIRST_OWN_RATE: f64 = 0.3e6;
/// The highest and the lowest rate of its own, in bit/s.
const OWN_RATES: (f64, f64) = (0.005e6, 3e6);
/// Estimates that are averaged.
const AVERAGED: usize = 11;
/// The mean is too near the lowest rate, if it is below so many times that rate.
const NEAR_LOW: f64 = 1.5;
/// It is too near the highest rate, if it is above so many times that rate.
const NEAR_HIGH: f64 = 0.66;
/// The range moves when that was so with so many chirps after each other.
const NEAR_CHIRPS: u32 = 3;
/// The new range goes from the end that was near divided by this to that end times this.
const MOVE: f64 = 7.0;
/// The same where that end is 1 Mbit/s or less.
const SLOW_MOVE: f64 = 4.0;
/// No chirp goes beyond this rate, in bit/s.
const HIGHEST_RATE: f64 = 1.5e9;
/// After so many chirps there is no answer: a range that never fits.
const MOST_CHIRPS: u32 = 200;

/// A measurement of pathChirp. The original never ends. This one ends with the first mean of eleven
/// chirps that is not near an end of their range.
#[derive(Debug)]
pub struct PathChirp {
    range: (f64, f64),
    own_rate: f64,
    phase: Phase,
    estimates: VecDeque<f64>,
    near: Option<(End, u32)>,
    chirps: u32,
    answer: Option<Answer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Low,
    High,
}

#[derive(Debug)]
enum Phase {
    /// A chirp is under way; the next one leaves then.
    Chirping(Stream, Option<Timestamp>),
    /// The next chirp leaves then; its first packet has that number.
    Pausing(Timestamp, u64),
    Over,
}

impl Default for PathChirp {
    fn default() -> Self {
        Self {
            range: FIRST_RANGE,
            own_rate: FIRST_OWN_RATE,
            phase: Phase::Chirping(chirp(0, FIRST_RANGE), None),
            estimates: VecDeque::with_capacity(AVERAGED),
            near: None,
            chirps: 0,
            answer: None,
        }
    }
}

/// The rates of a chirp's gaps, in bit/s.
fn rates((low, high): (f64, f64)) -> Vec<f64> {
    let mut rates = vec![low];
    let mut rate = low;
    while rate < high {
        rate *= SPREAD;
        rates.push(rate);
    }
    rates
}

fn chirp(first: u64, range: (f64, f64)) -> Stream {
    let mut at = 0.0;
    let mut offsets = vec![Duration::ZERO];
    for rate in rates(range) {
        at += SIZE.as_bits_f64() / rate;
        offsets.push(Duration::from_secs_f64(at));
    }
    Stream::new(first, SIZE, offsets)
}

impl PathChirp {
    /// The chirp has been told in full.
    fn read(&mut self, now: Timestamp) {
        let Phase::Chirping(chirp, Some(begins)) = &self.phase else {
            self.phase = Phase::Over;
            return;
        };
        let (begins, next) = ((*begins).max(now), chirp.next_number());
        let estimate = estimate(&rates(self.range), &chirp.arrivals());
        self.chirps += 1;
        if self.estimates.len() == AVERAGED {
            self.estimates.pop_front();
        }
        // A chirp with losses counts as half of its lowest rate.
        self.estimates
            .push_back(estimate.unwrap_or(self.range.0 / 2.0));
        self.phase = match self.is_over() || self.chirps >= MOST_CHIRPS {
            true => Phase::Over,
            false => Phase::Pausing(begins, next),
        };
    }

    /// Whether the mean is an answer. If it was too near to an end for long, the range moves.
    fn is_over(&mut self) -> bool {
        if self.estimates.len() < AVERAGED {
            return false;
        }
        let mean = self.estimates.iter().sum::<f64>() / AVERAGED as f64;
        let (low, high) = self.range;
        let end = if mean < NEAR_LOW * low {
            End::Low
        } else if mean > NEAR_HIGH * high && high < HIGHEST_RATE {
            End::High
        } else {
            self.answer = Answer::of(mean);
            return true;
        };
        let before = self.near.filter(|(near, _)| *near == end);
        let times = before.map_or(1, |(_, times)| times + 1);
        self.near = Some((end, times));
        if times >= NEAR_CHIRPS {
            self.shift(end);
        }
        false
    }

    fn shift(&mut self, end: End) {
        let middle = match end {
            End::Low => self.range.0,
            End::High => self.range.1,
        };
        let factor = if middle <= 1e6 { SLOW_MOVE } else { MOVE };
        let low = middle / factor;
        self.range = (low, (middle * factor).min(HIGHEST_RATE));
        let (least, most) = OWN_RATES;
        self.own_rate = self
            .own_rate
            .clamp(low / 10.0, low / 5.0)
            .clamp(least, most);
        self.near = None;
        self.estimates.clear();
    }
}

impl Tool for PathChirp {
    fn step(&mut self, now: Timestamp) -> Step {
        loop {
            match &mut self.phase {
                Phase::Chirping(chirp, next) => {
                    let bits = SIZE.as_bits_f64() * chirp.len() as f64;
                    let period = Duration::from_secs_f64(bits / self.own_rate);
                    next.get_or_insert(now + period);
                    match chirp.step(now) {
                        Some(step) => return step,
                        None => self.read(now),
                    }
                }
                Phase::Pausing(until, _) if now < *until => return Step::WaitUntil(*until),
                Phase::Pausing(_, first) => {
                    self.phase = Phase::Chirping(chirp(*first, self.range), None);
                }
                Phase::Over => return Step::Done,
            }
        }
    }

    fn on_arrival(&mut self, number: u64, arrived: Timestamp) {
        if let Phase::Chirping(chirp, _) = &mut self.phase {
            chirp.on_arrival(number, arrived);
        }
    }

    fn on_report(&mut self, now: Timestamp) {
        if let Phase::Chirping(chirp, _) = &mut self.phase {
            chirp.on_report(now);
        }
    }

    fn answer(&self) -> Option<Answer> {
        self.answer
    }
}

/// A chirp's estimate in bit/s; `None` if a packet was lost.
fn estimate(rates: &[f64], arrivals: &[Arrival]) -> Option<f64> {
    if arrivals.len() != rates.len() + 1 {
        return None;
    }
    let delays: Vec<i64> = arrivals.iter().map(|arrival| arrival.delay_us()).collect();
    let of_gaps = of_gaps(rates, &delays);
    let span = |rate: &f64| 1.0 / rate;
    let weighted: f64 = of_gaps
        .iter()
        .zip(rates)
        .map(|(bps, rate)| bps * span(rate))
        .sum();
    Some(weighted / rates.iter().map(span).sum::<f64>())
}

/// What each gap says: the equations (6) to (8). Within an excursion that ends, a gap in which the
/// delay grows says its own rate. From the start of the last excursion on, and wherever nothing
/// else is said, it is the rate at that start.
fn of_gaps(rates: &[f64], delays: &[i64]) -> Vec<f64> {
    let grows = |gap: usize| delays[gap + 1] > delays[gap];
    let next_growing = |from: usize| (from..rates.len()).find(|gap| grows(*gap));
    let mut said: Vec<Option<f64>> = vec![None; rates.len()];
    let mut last = rates.len() - 1;
    let mut from = 0;
    while let Some(start) = next_growing(from) {
        last = start;
        let Some(end) = excursion_end(delays, start) else {
            break;
        };
        if end - start >= BUSY {
            let growing = (start..end).filter(|gap| grows(*gap));
            growing.for_each(|gap| said[gap] = Some(rates[gap]));
        }
        last = rates.len() - 1;
        from = end;
    }
    let rest = rates[last];
    let before = said[..last].iter().map(|said| said.unwrap_or(rest));
    before.chain(said[last..].iter().map(|_| rest)).collect()
}

/// The packet at which the delay is back near what it was at `start`; `None` if it never is.
fn excursion_end(delays: &[i64], start: usize) -> Option<usize> {
    let mut most = 0;
    (start + 1..delays.len()).find(|packet| {
        let above = delays[*packet] - delays[start];
        most = most.max(above);
        (above as f64) < most as f64 / DECREASE
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::{Link, mbps};

    #[test]
    fn excursions_by_hand() {
        let rates = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
        // The delay grows for good from the gap of 8 on.
        let for_good = [0, 0, 0, 0, 3, 7, 15, 31, 63];
        assert_eq!(of_gaps(&rates, &for_good), [8.0; 8]);
        // It has grown in the gaps of 1 and 2 and was back after six packets, and grows for good
        // from that of 64 on.
        let hump = [0, 9, 18, 17, 16, 15, 2, 5, 12];
        let expected = [1.0, 2.0, 64.0, 64.0, 64.0, 64.0, 64.0, 64.0];
        assert_eq!(of_gaps(&rates, &hump), expected);
        // The same hump, but shorter than five packets: nothing.
        let short = [0, 9, 18, 2, 0, 0, 0, 5, 12];
        assert_eq!(of_gaps(&rates, &short), [64.0; 8]);
        assert_eq!(of_gaps(&rates, &[4; 9]), [128.0; 8], "nothing ever grows");
    }

    #[test]
    fn a_chirp_doubles_in_about_four_packets() {
        let rates = rates((10e6, 200e6));
        // 10 * 1.2^17 is the first above 200.
        assert_eq!(rates.len(), 18);
        assert!((rates[17] / 221.9e6 - 1.0).abs() < 0.01, "{}", rates[17]);
    }

    #[test]
    fn the_rate_of_an_idle_link_is_told_within_a_step_of_the_chirp() {
        let mut link = Link::new(50.0);
        let answer = link
            .measured_by(&mut PathChirp::default())
            .expect("an answer");
        let told = mbps(answer.value);
        assert!((50.0 / SPREAD..50.0 * SPREAD).contains(&told), "{told}");
        // Eleven chirps of 19 packets.
        assert_eq!(link.bytes, 11 * 19 * 1000);
    }

    #[test]
    fn the_range_follows_a_slow_link_down() {
        let mut link = Link::new(4.0);
        let mut tool = PathChirp::default();
        let told = mbps(link.measured_by(&mut tool).expect("an answer").value);
        assert!((4.0 / SPREAD..4.0 * SPREAD).contains(&told), "{told}");
        let (low, high) = tool.range;
        assert!((low - 10e6 / 7.0).abs() < 1.0, "{low}");
        assert_eq!(high, 70e6);
    }

    #[test]
    fn chirps_that_never_arrive_end_without_an_answer() {
        let mut link = Link::new(4.0);
        link.loses_all = true;
        assert_eq!(link.measured_by(&mut PathChirp::default()), None);
    }
}
