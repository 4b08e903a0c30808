//! The mean and the standard deviation of numbers that come one by one (Welford 1962).

/// The numbers so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deviation {
    count: f64,
    mean: f64,
    /// The squares about the mean.
    squares: f64,
}

impl Deviation {
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1.0;
        let off = value - self.mean;
        self.mean += off / self.count;
        self.squares += off * (value - self.mean);
    }

    pub(crate) fn count(&self) -> f64 {
        self.count
    }

    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation; zero if there are less than two numbers.
    pub(crate) fn get(&self) -> f64 {
        if self.count < 2.0 {
            return 0.0;
        }
        libm::sqrt(self.squares / (self.count - 1.0))
    }

    /// The error of the mean.
    pub(crate) fn error(&self) -> f64 {
        self.get() / libm::sqrt(self.count.max(1.0))
    }

    /// The numbers so far count half of what they did.
    pub(crate) fn halve(&mut self) {
        self.count /= 2.0;
        self.squares /= 2.0;
    }
}
