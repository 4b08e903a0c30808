//! Capacity and available bandwidth from trains.
//!
//! Both parts of the trains follow `received = bits / C + (lambda / C) * sent`. The sums over all
//! trains give two equations with the unknowns 1 / C and lambda / C:
//!
//! ```text
//! | bits_burst  sent_burst |   | 1 / C      |   | received_burst |
//! | bits_tail   sent_tail  | * | lambda / C | = | received_tail  |
//! ```

use super::sample::{Part, Sample};

/// The half width of the interval is at least this share of the value: clocks and rounding.
const LEAST_HALF_WIDTH: f64 = 0.01;

/// Others take at most this share of the link: what remains is never zero.
const MOST_OTHERS: f64 = 0.99;

/// Below this share of the link the others are no one.
const FEW_OTHERS: f64 = 0.02;

/// A change is this many standard errors, and this share of the value.
const CHANGE: (f64, f64) = (3.0, 0.1);

/// The 97.5 % quantiles of Student's t distribution for 1 to 10 degrees of freedom, and the
/// normal distribution's behind them.
const STUDENT: [f64; 11] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 1.96,
];

/// Capacity and available bandwidth in bits per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Solution {
    /// C.
    pub capacity: f64,
    /// A = C - lambda.
    pub available: f64,
}

impl Solution {
    /// What a first burst says: nothing of others. Half of the link is assumed to be theirs, so
    /// that the first tails are short.
    pub fn of_burst(capacity: f64) -> Self {
        Self {
            capacity,
            available: capacity / 2.0,
        }
    }

    /// The share of the link that others take, from 0 to 1 (lambda / C).
    pub fn others(&self) -> f64 {
        (1.0 - self.available / self.capacity).clamp(0.0, MOST_OTHERS)
    }
}

/// The sums of the parts.
fn sums(samples: &[Sample]) -> (Part, Part) {
    let zero = (Part::default(), Part::default());
    samples.iter().fold(zero, |(burst, tail), sample| {
        (burst.plus(sample.burst), tail.plus(sample.tail))
    })
}

/// Solves the two equations. `None` if the bursts or the tails are missing.
pub(super) fn solve(samples: &[Sample]) -> Option<Solution> {
    let (burst, tail) = sums(samples);
    solve_sums(burst, tail)
}

fn solve_sums(burst: Part, tail: Part) -> Option<Solution> {
    if burst.bits <= 0.0 || burst.received_s <= 0.0 || tail.bits <= 0.0 {
        return None;
    }
    // Cramer's rule. The determinant is zero if the tail was sent as fast as the burst.
    let determinant = burst.bits * tail.sent_s - tail.bits * burst.sent_s;
    if determinant <= 0.0 {
        return None;
    }
    let mut per_bit =
        (burst.received_s * tail.sent_s - tail.received_s * burst.sent_s) / determinant;
    let mut others = (burst.bits * tail.received_s - tail.bits * burst.received_s) / determinant;
    if others < 0.0 {
        // Nobody sends less than nothing. Then all packets tell the capacity.
        others = 0.0;
        per_bit = (burst.received_s + tail.received_s) / (burst.bits + tail.bits);
    }
    if per_bit <= 0.0 {
        return None;
    }
    let capacity = 1.0 / per_bit;
    Some(Solution {
        capacity,
        available: capacity * (1.0 - others.min(MOST_OTHERS)),
    })
}

/// Half of the 95 % interval, in bits per second, by the jackknife: the estimates without one
/// train each scatter as the estimate itself does. Packets of others are taken to have
/// `packet_bits`.
pub(super) fn interval(samples: &[Sample], found: Solution, packet_bits: f64) -> f64 {
    let (burst, tail) = sums(samples);
    let without = |sample: &Sample| {
        let rest = solve_sums(burst.minus(sample.burst), tail.minus(sample.tail));
        rest.map(|solution| solution.available)
    };
    let values: Vec<f64> = samples.iter().filter_map(without).collect();
    let count = values.len() as f64;
    if values.len() < 2 {
        return found.available;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
    let error = libm::sqrt(squares * (count - 1.0) / count);
    let quantile = STUDENT[(values.len() - 2).min(STUDENT.len() - 1)];
    let counted = counting_error(tail.sent_s, count, packet_bits, found);
    libm::hypot(quantile * error, quantile * counted).max(LEAST_HALF_WIDTH * found.available)
}

/// The standard error, in bits per second, of a rate that is counted in whole packets: whether one
/// more or less falls into a tail is chance at both ends. A few tails beside even traffic may all
/// count the same number, and so do not show this error by their scatter.
fn counting_error(sent_s: f64, tails: f64, packet_bits: f64, found: Solution) -> f64 {
    if found.others() < FEW_OTHERS || sent_s <= 0.0 {
        return 0.0;
    }
    // The difference of two numbers between 0 and 1 has the variance 1 / 6.
    packet_bits * libm::sqrt(tails / 6.0) / sent_s
}

/// Whether the trains of `new` come from another path than those of `old`: the capacity, or what
/// others take, differs by more than chance and by more than a tenth of the available bandwidth.
pub(super) fn has_changed(old: &[Sample], new: &[Sample]) -> bool {
    let (Some(before), Some(after)) = (solve(old), solve(new)) else {
        return false;
    };
    let received_per_sent = |s: &Sample| s.tail.received_s / s.tail.sent_s * before.capacity;
    let received_per_bit = |s: &Sample| s.burst.received_s / s.burst.bits;
    let scale = before.available.max(after.available) * CHANGE.1;
    let moved = (before.available - after.available).abs() > scale;
    moved && (differs(old, new, received_per_sent) || differs(old, new, received_per_bit))
}

/// Whether the means of `value` differ by more than chance. The new trains are few, so the old ones
/// tell the scatter. A single old train tells none, and was perhaps under way at a change.
fn differs(old: &[Sample], new: &[Sample], value: impl Fn(&Sample) -> f64) -> bool {
    let finite = |samples: &[Sample]| -> Vec<f64> {
        samples
            .iter()
            .map(&value)
            .filter(|v| v.is_finite())
            .collect()
    };
    let (old, new) = (finite(old), finite(new));
    if old.is_empty() || new.is_empty() {
        return false;
    }
    if old.len() == 1 {
        return true;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (before, after) = (mean(&old), mean(&new));
    let squares = old.iter().map(|v| (v - before) * (v - before)).sum::<f64>();
    let variance = squares / (old.len() - 1) as f64;
    let error = libm::sqrt(variance * (1.0 / old.len() as f64 + 1.0 / new.len() as f64));
    (before - after).abs() > CHANGE.0 * error
}
