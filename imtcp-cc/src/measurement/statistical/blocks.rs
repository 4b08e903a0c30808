//! Blocks of a window. What the others sent in the present second differs from the mean over the
//! window as blocks differ from each other.

use crate::deviation::Deviation;
use std::time::Duration;

/// The length of a block.
const BLOCK: Duration = Duration::from_millis(500);

/// Half of the 95 % interval of the present second, in standard deviations of blocks: the two-sided
/// point of Student's distribution with the 7 degrees of freedom of a full window.
pub(super) const BLOCK_95: f64 = 2.36;

/// The same of two blocks, of three, and so on.
const FEW_95: [f64; 6] = [12.7, 4.3, 3.18, 2.78, 2.57, 2.45];

/// The means of blocks of slices.
pub(super) struct Blocks {
    /// The number of slices in a block.
    slices: u64,
    /// The block that is being filled.
    index: Option<u64>,
    sum: f64,
    views: f64,
    /// Of the blocks so far. The first and the last may be cut.
    means: Deviation,
}

impl Blocks {
    /// Blocks of slices of this length.
    pub(super) fn new(slice: Duration) -> Self {
        let slices = BLOCK.as_nanos().div_ceil(slice.as_nanos().max(1));
        Self {
            slices: u64::try_from(slices).unwrap_or(u64::MAX),
            index: None,
            sum: 0.0,
            views: 0.0,
            means: Deviation::default(),
        }
    }

    /// Takes the rate of a slice, which is not before the last one.
    pub(super) fn add(&mut self, slice: u64, rate: f64) {
        let index = slice / self.slices;
        if self.index.is_some_and(|present| present != index) {
            self.close();
        }
        self.index = Some(index);
        self.sum += rate;
        self.views += 1.0;
    }

    fn close(&mut self) {
        self.means.add(self.sum / self.views);
        (self.sum, self.views) = (0.0, 0.0);
    }

    /// The means of all blocks.
    pub(super) fn ended(mut self) -> Deviation {
        if self.views > 0.0 {
            self.close();
        }
        self.means
    }
}

/// The point of Student's distribution for so few blocks. One block has no deviation.
pub(super) fn point_95(blocks: &Deviation) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
    let count = blocks.count() as usize;
    let place = count.saturating_sub(2);
    FEW_95.get(place).copied().unwrap_or(BLOCK_95)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_half_a_second_are_a_block() {
        let mut blocks = Blocks::new(Duration::from_millis(100));
        for (slice, rate) in [(0, 1.0), (4, 3.0), (5, 4.0), (31, 6.0)] {
            blocks.add(slice, rate);
        }
        let means = blocks.ended();
        assert_eq!((means.count(), means.mean()), (3.0, 4.0));
        assert_eq!(means.get(), 2.0);
        assert_eq!(point_95(&means), 4.3);
    }

    #[test]
    fn a_full_window_has_seven_degrees_of_freedom() {
        let mut means = Deviation::default();
        for rate in 0..8_u8 {
            means.add(rate.into());
        }
        assert_eq!(point_95(&means), BLOCK_95);
    }
}
