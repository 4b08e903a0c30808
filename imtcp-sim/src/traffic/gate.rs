//! Alternating on- and off-periods.

use crate::random::Random;
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// How the lengths of periods are distributed around their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Periods {
    /// All have the mean length.
    Constant,
    /// Exponentially.
    Exponential,
    /// Pareto with this shape, above 1; below 2 their variance is infinite.
    Pareto(f64),
}

/// An endless sequence of on-periods.
#[derive(Debug)]
pub(super) struct Gate {
    on: Duration,
    off: Duration,
    periods: Periods,
    random: Random,
    /// Where the next off-period begins.
    at: Timestamp,
    /// What remains of a first on-period that began before the origin.
    first: Option<Duration>,
}

impl Gate {
    /// Begins at the origin, at a random phase of a mean cycle.
    pub(super) fn new(on: Duration, off: Duration, periods: Periods, mut random: Random) -> Self {
        let phase = (on + off).mul_f64(random.uniform());
        let at = Timestamp::ZERO;
        let (first, at) = match phase.checked_sub(on) {
            None => (Some(on - phase), at),
            // The first off-period is in part over: begin so much before its end.
            Some(passed) => (Some(Duration::ZERO), at + (off - passed)),
        };
        Self {
            on,
            off,
            periods,
            random,
            at,
            first,
        }
    }

    /// The next on-period: its begin and end.
    pub(super) fn next(&mut self) -> (Timestamp, Timestamp) {
        let (begin, length) = match self.first.take() {
            Some(rest) if !rest.is_zero() => (self.at, rest),
            Some(_) => (self.at, self.draw(self.on)),
            None => (self.at + self.draw(self.off), self.draw(self.on)),
        };
        self.at = begin + length;
        (begin, self.at)
    }

    fn draw(&mut self, mean: Duration) -> Duration {
        let factor = match self.periods {
            Periods::Constant => return mean,
            Periods::Exponential => self.random.exponential(),
            Periods::Pareto(shape) => self.random.pareto(shape),
        };
        // A day is longer than any run; a bound keeps a heavy tail from overflowing.
        const DAY: f64 = 86_400.0;
        Duration::from_secs_f64((mean.as_secs_f64() * factor).min(DAY))
    }
}
