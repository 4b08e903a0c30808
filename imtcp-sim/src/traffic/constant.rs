//! Constant bit rate.

use super::{Emission, Sizes, random_work};
use crate::profile::{Profile, work_of};
use crate::random::Random;
use imtcp_cc::units::Timestamp;

/// Packets whose gaps are proportional to the size of the packet before.
#[derive(Debug)]
pub(super) struct Constant {
    rate: Profile,
    sizes: Sizes,
    random: Random,
    at: Timestamp,
    surplus: u64,
    /// Work until the next packet.
    gap: u64,
}

impl Constant {
    pub(super) fn new(rate: Profile, sizes: Sizes, mut random: Random) -> Self {
        let mean = sizes.mean_bytes() * 8e9;
        let gap = random_work(mean, random.uniform());
        Self {
            rate,
            sizes,
            random,
            at: Timestamp::ZERO,
            surplus: 0,
            gap,
        }
    }

    pub(super) fn next(&mut self) -> Option<Emission> {
        let work = self.gap.saturating_sub(self.surplus);
        (self.at, self.surplus) = self.rate.when(self.at, work)?;
        let size = self.sizes.draw(&mut self.random);
        self.gap = work_of(size);
        Some(Emission { at: self.at, size })
    }
}
