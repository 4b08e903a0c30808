//! The mean interval between congestion events: the average of RFC 5348, section 5.4.

/// The weights of the latest intervals, newest first (RFC 5348, section 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The mean counts up to this many times the mean of the last [`RECENT`] intervals. If others have
/// just joined, the mean of eight intervals describes the time before for long.
const MOST_ABOVE_RECENT: f64 = 1.5;
const RECENT: usize = 3;

/// The intervals between the latest congestion events, in whatever passes between them: round
/// trips or packets.
#[derive(Clone, Debug, Default)]
pub(super) struct LossIntervals {
    /// Newest first. The first `count` are real.
    closed: [f64; WEIGHTS.len()],
    count: usize,
    /// What has passed since the last congestion event.
    open: f64,
}

impl LossIntervals {
    /// Tells that so much went by.
    pub(super) fn pass(&mut self, amount: f64) {
        self.open += amount;
    }

    /// Tells that a congestion event came.
    pub(super) fn close(&mut self) {
        self.closed.rotate_right(1);
        self.closed[0] = self.open;
        self.count = (self.count + 1).min(WEIGHTS.len());
        self.open = 0.0;
    }

    /// The mean. The open interval counts once it is long enough to raise the mean. `None` before
    /// the first event.
    pub(super) fn mean(&self) -> Option<f64> {
        let closed = &self.closed[..self.count];
        if closed.is_empty() {
            return None;
        }
        let latest = &closed[..closed.len().min(RECENT)];
        let with_open = |closed: &[f64]| {
            let all = std::iter::once(self.open).chain(closed.iter().copied());
            weighted(closed.iter().copied()).max(weighted(all))
        };
        Some(with_open(closed).min(MOST_ABOVE_RECENT * with_open(latest)))
    }
}

fn weighted(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, weights) = WEIGHTS
        .iter()
        .zip(values)
        .fold((0.0, 0.0), |(sum, weights), (weight, value)| {
            (sum + weight * value, weights + weight)
        });
    sum / weights
}
