//! N, the number of standard flows that a promise stands for.
//!
//! A standard flow gets a certain rate at a certain loss rate and round trip. A promise that needs
//! more than that has to answer losses like several such flows.
//!
//! ```text
//! N    = 2^m required / fair                                         from 1 to promise_weight
//! fair = W / srtt
//! W    = 1 / (sqrt(2 p / 3) + 12 sqrt(3 p / 8) p (1 + 32 p^2))                RFC 5348, 3.1
//! W    = max of that, and (C (3 + b) / (4 (1 - b)))^(1/4) (srtt / p)^(3/4)    RFC 9438, 5.2
//! ```
//!
//! p is the loss event rate, one over the packets between two congestion events. b is 0.7 and C is
//! 0.4. The second W is that of CUBIC.
//!
//! The formulas tell what a flow gets on average. With windows of some packets, and where losses
//! come together, it gets less. So slots that are missed count as well: m is their number, up to
//! two, less what kept ones have made up for.

use super::loss_intervals::LossIntervals;
use super::margin::MAY_MISS;
use super::status::Outcome;
use crate::control::Window;

/// (C (3 + b) / (4 (1 - b)))^(1/4) with C = 0.4 and b = 0.7 (RFC 9438, section 5.2).
const CUBIC_FACTOR: f64 = 1.0536;

/// The most missed slots that count. Two make N four times as large.
const MOST_MISSED: f64 = 2.0;

/// The loss event rate, and what follows from it.
#[derive(Clone, Debug)]
pub(super) struct Weight {
    window: Window,
    /// The bound on N; at least 1.
    most: f64,
    /// In packets.
    intervals: LossIntervals,
    /// m: the slots that were missed, less what kept ones have made up for.
    missed: f64,
    /// 2^m, which each acknowledgement asks for.
    raise: f64,
}

impl Weight {
    pub(super) fn new(window: Window, most: f64) -> Self {
        Self {
            window,
            most,
            intervals: LossIntervals::default(),
            missed: 0.0,
            raise: 1.0,
        }
    }

    /// Others on the path leave so many flows to this promise.
    pub(super) fn bound(&mut self, most: f64) {
        self.most = most;
    }

    pub(super) fn on_packets(&mut self, acknowledged: f64) {
        self.intervals.pass(acknowledged);
    }

    pub(super) fn on_congestion(&mut self) {
        self.intervals.close();
    }

    /// A slot ended. One that is kept makes up for as much of a missed one as may be missed.
    pub(super) fn on_slot(&mut self, outcome: Outcome) {
        let step = match outcome {
            Outcome::Missed => 1.0,
            Outcome::Kept => -MAY_MISS,
            Outcome::SourceLimited => 0.0,
        };
        self.missed = (self.missed + step).clamp(0.0, MOST_MISSED);
        self.raise = libm::exp2(self.missed);
    }

    /// Another rate is required, for which those slots say nothing.
    pub(super) fn forget_missed(&mut self) {
        self.missed = 0.0;
        self.raise = 1.0;
    }

    /// The mean number of packets between congestion events; `None` before the first.
    pub(super) fn between_losses(&self) -> Option<f64> {
        self.intervals.mean()
    }

    /// The rate of a standard flow at the loss event rate of the path, in packets per second.
    /// `None` before the first loss.
    pub(super) fn fair_rate(&self, srtt: f64) -> Option<f64> {
        let p = 1.0 / self.intervals.mean()?.max(1.0);
        let reno = reno_window(p);
        let window = match self.window {
            Window::Reno => reno,
            Window::Cubic => reno.max(cubic_window(p, srtt)),
        };
        Some(window / srtt.max(1e-9))
    }

    /// N for a promise that needs `required` packets per second.
    pub(super) fn of(&self, required: f64, srtt: f64) -> f64 {
        self.needed(required, srtt).clamp(1.0, self.most)
    }

    /// The same without bounds.
    pub(super) fn needed(&self, required: f64, srtt: f64) -> f64 {
        self.fair_rate(srtt)
            .map_or(1.0, |fair| self.raise * required / fair.max(1e-9))
    }
}

/// The mean window of Reno in packets (RFC 5348, section 3.1, with b = 1 and t_RTO = 4 R).
fn reno_window(p: f64) -> f64 {
    let without_timeouts = libm::sqrt(2.0 * p / 3.0);
    let timeouts = 12.0 * libm::sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (without_timeouts + timeouts)
}

/// The mean window of CUBIC in packets (RFC 9438, section 5.2).
fn cubic_window(p: f64, srtt: f64) -> f64 {
    CUBIC_FACTOR * libm::pow(srtt / p, 0.75)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(window: Window, packets: f64) -> Weight {
        let mut weight = Weight::new(window, 4.0);
        for _ in 0..8 {
            weight.on_packets(packets);
            weight.on_congestion();
        }
        weight
    }

    #[test]
    fn the_fair_rate_of_reno_by_hand() {
        // p = 1/150: sqrt(2/450) = 0.066667; 12 sqrt(3/1200) / 150 (1 + 32/22500) = 0.0040057.
        // W = 14.1499, over 0.1 s.
        let fair = after(Window::Reno, 150.0).fair_rate(0.1).expect("losses");
        assert!((fair - 141.499).abs() < 0.01, "{fair}");
    }

    #[test]
    fn the_fair_rate_of_cubic_is_the_larger_of_two() {
        // srtt 0.1 s, p = 1e-4: 1.0536 * 1000^0.75 = 187.36 packets. Reno has 122.
        let fair = after(Window::Cubic, 10_000.0)
            .fair_rate(0.1)
            .expect("losses");
        assert!((fair / 1873.6 - 1.0).abs() < 1e-3, "{fair}");
        // On a short path CUBIC is as Reno: 0.01 s, p = 1/150: 1.0536 * 1.5^0.75 = 1.43 < 14.15.
        let short = after(Window::Cubic, 150.0).fair_rate(0.01);
        assert_eq!(short, after(Window::Reno, 150.0).fair_rate(0.01));
    }

    #[test]
    fn missed_slots_double_it_twice_and_fifty_kept_ones_take_one_back() {
        let mut weight = after(Window::Reno, 150.0);
        let mut after = |outcome, slots| {
            (0..slots).for_each(|_| weight.on_slot(outcome));
            weight.of(141.499, 0.1)
        };
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-3, "{found}");
        near(after(Outcome::Missed, 1), 2.0);
        near(after(Outcome::Missed, 3), 4.0);
        near(after(Outcome::Kept, 50), 2.0);
        near(after(Outcome::SourceLimited, 50), 2.0);
        near(after(Outcome::Kept, 51), 1.0);
    }

    #[test]
    fn weight_is_what_is_needed_in_fair_shares() {
        let weight = after(Window::Reno, 150.0);
        assert_eq!(weight.of(100.0, 0.1), 1.0, "less than a fair share");
        assert!((weight.of(283.0, 0.1) - 2.0).abs() < 1e-3);
        assert_eq!(weight.of(9000.0, 0.1), 4.0, "the bound");
        let mut bounded = weight.clone();
        bounded.bound(1.5);
        assert_eq!(bounded.of(9000.0, 0.1), 1.5, "what others leave");
        assert!(bounded.needed(9000.0, 0.1) > 60.0);
        // Nothing lost, nothing to answer.
        assert_eq!(Weight::new(Window::Reno, 4.0).of(9000.0, 0.1), 1.0);
        assert_eq!(weight.between_losses(), Some(150.0));
    }
}
