//! Bursts at a constant bit rate.

use super::gate::{Gate, Periods};
use super::{Emission, Sizes};
use crate::profile::{Profile, work_of};
use crate::random::Random;
use imtcp_cc::units::Timestamp;
use std::time::Duration;

/// The cycle of an on/off source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOffSettings {
    /// Mean on-period.
    pub on: Duration,
    /// Mean off-period.
    pub off: Duration,
    /// How both vary.
    pub periods: Periods,
}

/// During an on-period packets leave at the mean rate times (on + off) / on.
#[derive(Debug)]
pub(super) struct OnOff {
    peak: Profile,
    sizes: Sizes,
    gate: Gate,
    random: Random,
    /// The on-period at hand.
    period: (Timestamp, Timestamp),
    at: Timestamp,
    surplus: u64,
    gap: u64,
}

impl OnOff {
    pub(super) fn new(
        mean_rate: Profile,
        sizes: Sizes,
        settings: OnOffSettings,
        mut random: Random,
    ) -> Self {
        let cycle = (settings.on + settings.off).as_secs_f64();
        let mut gate = Gate::new(settings.on, settings.off, settings.periods, random.fork());
        let period = gate.next();
        Self {
            peak: mean_rate.scaled(cycle / settings.on.as_secs_f64()),
            sizes,
            gate,
            random,
            period,
            at: period.0,
            surplus: 0,
            gap: 0,
        }
    }

    pub(super) fn next(&mut self) -> Option<Emission> {
        let mut work = self.gap.saturating_sub(self.surplus);
        loop {
            let (at, surplus) = self.peak.when(self.at, work)?;
            if at < self.period.1 {
                (self.at, self.surplus) = (at, surplus);
                break;
            }
            work = work.saturating_sub(self.peak.work_between(self.at, self.period.1));
            self.period = self.gate.next();
            self.at = self.period.0;
        }
        let size = self.sizes.draw(&mut self.random);
        self.gap = work_of(size);
        Some(Emission { at: self.at, size })
    }
}
