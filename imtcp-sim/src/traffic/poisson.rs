//! Poisson arrivals.

use super::{Emission, Sizes, random_work};
use crate::profile::Profile;
use crate::random::Random;
use imtcp_cc::units::Timestamp;

/// Packets with independent exponential gaps. The gaps are drawn as work, so a change of rate
/// stretches them and nothing is drawn anew: a Poisson process in time that runs at the rate.
#[derive(Debug)]
pub(super) struct Poisson {
    rate: Profile,
    sizes: Sizes,
    random: Random,
    at: Timestamp,
    /// Work that passed since the last packet before the rounded instant `at`.
    surplus: u64,
}

impl Poisson {
    pub(super) fn new(rate: Profile, sizes: Sizes, random: Random) -> Self {
        Self {
            rate,
            sizes,
            random,
            at: Timestamp::ZERO,
            surplus: 0,
        }
    }

    pub(super) fn next(&mut self) -> Option<Emission> {
        let gap = random_work(self.sizes.mean_bytes() * 8e9, self.random.exponential());
        if gap < self.surplus {
            self.surplus -= gap;
        } else {
            (self.at, self.surplus) = self.rate.when(self.at, gap - self.surplus)?;
        }
        let size = self.sizes.draw(&mut self.random);
        Some(Emission { at: self.at, size })
    }
}
