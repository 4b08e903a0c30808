//! The mean and the standard deviation of numbers that come one by one (Welford 1962).

/// What is available varies if blocks of time differ so much that half of the 95 % interval of the
/// present one exceeds this share of the capacity. A value within the same share counts as having
/// followed a change (`survey --estimates`).
const VARIABLE_SHARE: f64 = 0.15;

/// Whether what is available varies. Half of the interval that this makes is `spread`.
pub(super) fn is_variable(spread: f64, capacity: f64) -> bool {
    spread > VARIABLE_SHARE * capacity
}

/// The numbers so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deviation {
    count: f64,
    mean: f64,
    /// The squares about the mean.
    squares: f64,
}

impl Deviation {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1.0;
        let off = value - self.mean;
        self.mean += off / self.count;
        self.squares += off * (value - self.mean);
    }

    pub(super) fn count(&self) -> f64 {
        self.count
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation; zero if there are less than two numbers.
    pub(super) fn get(&self) -> f64 {
        if self.count < 2.0 {
            return 0.0;
        }
        libm::sqrt(self.squares / (self.count - 1.0))
    }
}
