//! Step 5 of IM 3.2: the value within the chosen sub-range, from two straight lines.
//!
//! ```text
//! arrival rate                      line (i): what is sent arrives at the same rate
//!   |            . .  (ii)          line (ii): what is sent queues and arrives slower
//!   |         . '
//!   |       /                       A is the highest send rate on line (i)
//!   |     /  (i)
//!   +------|----- send rate
//!          A
//! ```
//!
//! The paper fits both lines by linear regression and does not say how the pairs are divided
//! between them. Two free lines would settle nothing: a stream of five has four pairs, and any two
//! of them lie on a line exactly. So this module uses what the paper says of the lines. Line (i)
//! has slope "nearly 1", and the two rates are "almost equal": it is the identity, with nothing to
//! estimate. Line (ii) leaves it at its last pair with a slope below 1. This slope is estimated by
//! least squares. Every division of the pairs is tried, and the least total squared error wins. If
//! no pair belongs to line (i), there is no point to leave from; line (ii) is then an ordinary
//! regression that must stay below the identity.

use super::MAX_STREAM_PACKETS;
use super::pairs::{Pair, ROUNDING, pairs};
use super::record::StreamRecord;
use crate::path::ack::EchoCadence;
use crate::units::Bandwidth;

/// What the two lines say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The available bandwidth: the highest send rate on line (i), in bits per second (A).
    Knee(Bandwidth),
    /// No pair lies on line (i): the available bandwidth is below all send rates.
    NoLineOne,
    /// Fewer than two pairs have both rates.
    TooFewPairs,
}

/// Two pairs are the fewest that can lie on a line.
const FEWEST_PAIRS: usize = 2;

/// The largest ratio of the arrival rate to the send rate; a larger one counts as this ratio. The
/// echoes were then pushed together on their way. That says nothing about the rate, and the gap's
/// reciprocal would outweigh all other pairs.
const MOST_SPEED_UP: f64 = 2.0;

/// Fits the two lines to a stream (IM 3.2.5).
pub fn fit(stream: &StreamRecord, cadence: EchoCadence) -> Fit {
    let mut points = [Point::default(); MAX_STREAM_PACKETS as usize];
    let mut count = 0;
    let usable = pairs(stream.packets(), cadence).filter_map(|pair| Point::of(&pair));
    for (slot, point) in points.iter_mut().zip(usable) {
        *slot = point;
        count += 1;
    }
    let points = &mut points[..count];
    // Real send times need not follow the plan.
    points.sort_unstable_by(|a, b| a.sent.total_cmp(&b.sent));
    fit_points(points)
}

/// A pair in the plane of IM Fig. 3, in bits per second.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    sent: f64,
    arrived: f64,
    /// By how much rounding of the times can have moved `arrived` off a line.
    rounding: f64,
}

impl Point {
    fn of(pair: &Pair) -> Option<Self> {
        let sent = pair.send_rate()?.as_bps_f64();
        let arrived = pair.arrival_rate()?.as_bps_f64();
        if sent <= 0.0 {
            return None;
        }
        let share = |gap: f64| ROUNDING.as_nanos_f64() / gap;
        let share = share(pair.send_gap.as_nanos_f64()) + share(pair.echo_gap.as_nanos_f64());
        Some(Self {
            sent,
            arrived: arrived.min(sent * MOST_SPEED_UP),
            rounding: sent * share,
        })
    }

    /// The squared distance from a line that has `height` here.
    fn squared_error(&self, height: f64) -> f64 {
        let error = ((self.arrived - height).abs() - self.rounding).max(0.0);
        error * error
    }
}

/// Fits the lines to `points`, which are ordered by send rate.
fn fit_points(points: &[Point]) -> Fit {
    if points.len() < FEWEST_PAIRS {
        return Fit::TooFewPairs;
    }
    // Begins with the longest line (i), and only a smaller error replaces a division. So of two
    // divisions with the same error the one with the shorter line (ii) stays.
    let mut best = (f64::INFINITY, 0);
    for on_line_one in (0..=points.len()).rev() {
        if let Some(error) = total_error(points, on_line_one)
            && error < best.0
        {
            best = (error, on_line_one);
        }
    }
    match points[..best.1].last() {
        Some(knee) => Fit::Knee(Bandwidth::from_bps_f64(knee.sent)),
        None => Fit::NoLineOne,
    }
}

/// The squared error if the first `on_line_one` points are on line (i). `None` if the other points
/// do not make a line (ii).
fn total_error(points: &[Point], on_line_one: usize) -> Option<f64> {
    let (one, two) = points.split_at(on_line_one);
    let line_one: f64 = one.iter().map(|p| p.squared_error(p.sent)).sum();
    let line_two = match (one.last(), two) {
        (_, []) => 0.0,
        (Some(knee), _) => error_from_knee(two, knee.sent)?,
        (None, _) => error_without_knee(two)?,
    };
    Some(line_one + line_two)
}

/// Line (ii) from (`knee`, `knee`). Its slope is sum(dx dy) / sum(dx^2), and must be below 1.
fn error_from_knee(points: &[Point], knee: f64) -> Option<f64> {
    let moment = |f: fn(f64, f64) -> f64| -> f64 {
        points
            .iter()
            .map(|p| f(p.sent - knee, p.arrived - knee))
            .sum()
    };
    let spread = moment(|dx, _| dx * dx);
    let slope = moment(|dx, dy| dx * dy) / spread;
    // With a spread of zero (equal send rates) the slope is not a number, and so not below 1
    // either.
    (slope < 1.0).then(|| {
        points
            .iter()
            .map(|p| p.squared_error(knee + slope * (p.sent - knee)))
            .sum()
    })
}

/// Line (ii) alone, an ordinary regression. Its slope must be below 1, and its height at the
/// lowest send rate must be below that rate.
fn error_without_knee(points: &[Point]) -> Option<f64> {
    let count = points.len() as f64;
    let mean_sent = points.iter().map(|p| p.sent).sum::<f64>() / count;
    let mean_arrived = points.iter().map(|p| p.arrived).sum::<f64>() / count;
    let moment = |f: fn(f64, f64) -> f64| -> f64 {
        points
            .iter()
            .map(|p| f(p.sent - mean_sent, p.arrived - mean_arrived))
            .sum()
    };
    let spread = moment(|dx, _| dx * dx);
    let slope = if spread > 0.0 {
        moment(|dx, dy| dx * dy) / spread
    } else {
        0.0
    };
    let height = |p: &Point| mean_arrived + slope * (p.sent - mean_sent);
    let lowest = points.first()?;
    (slope < 1.0 && height(lowest) < lowest.sent)
        .then(|| points.iter().map(|p| p.squared_error(height(p))).sum())
}

#[cfg(test)]
mod tests;
