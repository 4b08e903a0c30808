//! Forecasts against outcomes, as plain counts.

use imtcp_cc::promise::SlotReport;
use serde::Serialize;

/// There is a bin for each tenth.
pub const BINS: usize = 10;

/// A bin with fewer predictions says nothing: its own standard error, up to 0.5 / sqrt(50) = 0.07,
/// would be as large as the gaps that matter.
pub const LEAST: u32 = 50;

/// Predictions within a tenth, and their outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// How many.
    pub count: u32,
    predicted: f64,
    kept: u32,
}

impl Bin {
    /// Mean of the predictions.
    pub fn predicted(&self) -> Option<f64> {
        (self.count > 0).then(|| self.predicted / f64::from(self.count))
    }

    /// Share that was kept.
    pub fn observed(&self) -> Option<f64> {
        (self.count > 0).then(|| f64::from(self.kept) / f64::from(self.count))
    }

    /// The observed share less the predicted one. None where there are too few predictions.
    pub fn gap(&self) -> Option<f64> {
        Some(self.observed()? - self.predicted()?).filter(|_| self.count >= LEAST)
    }
}

/// A reliability diagram.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reliability {
    /// From 0 to 0.1, and so on.
    pub bins: [Bin; BINS],
    square: f64,
}

impl Reliability {
    /// Adds a prediction and whether it came true.
    pub fn add(&mut self, probability: f64, kept: bool) {
        #[expect(clippy::cast_possible_truncation, reason = "bounded by the last bin")]
        #[expect(clippy::cast_sign_loss, reason = "saturates at zero")]
        let index = ((probability * BINS as f64) as usize).min(BINS - 1);
        let bin = &mut self.bins[index];
        bin.count += 1;
        bin.predicted += probability;
        bin.kept += u32::from(kept);
        let outcome = f64::from(u8::from(kept));
        self.square += (probability - outcome) * (probability - outcome);
    }

    /// All predictions.
    pub fn count(&self) -> u32 {
        self.bins.iter().map(|bin| bin.count).sum()
    }

    /// The largest distance between predicted and observed.
    pub fn worst_gap(&self) -> Option<f64> {
        let gaps = self.bins.iter().filter_map(|bin| Some(bin.gap()?.abs()));
        gaps.max_by(f64::total_cmp)
    }

    /// Brier's score: the mean square of prediction less outcome; 0.25 for always saying 0.5.
    pub fn brier(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.square / f64::from(self.count()))
    }
}

/// Warnings in time against missed slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Warnings {
    /// Warned and missed.
    pub right: u32,
    /// Warned and kept.
    pub wrong: u32,
    /// Missed without a warning in time.
    pub none: u32,
    /// Kept, without a warning in time.
    pub quiet: u32,
}

impl Warnings {
    /// Adds a slot.
    pub fn add(&mut self, slot: &SlotReport) {
        let half = slot.end.saturating_since(slot.start) / 2;
        let in_time = slot.warned.is_some_and(|at| at <= slot.end - half);
        self.count(in_time, slot.outcome.is_kept());
    }

    /// Counts a slot: whether there was a warning in time, and whether it was kept.
    pub fn count(&mut self, warned: bool, kept: bool) {
        let count = match (warned, kept) {
            (true, false) => &mut self.right,
            (true, true) => &mut self.wrong,
            (false, false) => &mut self.none,
            (false, true) => &mut self.quiet,
        };
        *count += 1;
    }

    /// Adds the counts of others.
    pub fn merge(&mut self, other: &Self) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.none += other.none;
        self.quiet += other.quiet;
    }

    /// The share of warned slots that were missed.
    pub fn precision(&self) -> Option<f64> {
        share(self.right, self.wrong)
    }

    /// The share of missed slots that were warned of.
    pub fn recall(&self) -> Option<f64> {
        share(self.right, self.none)
    }
}

fn share(part: u32, rest: u32) -> Option<f64> {
    let all = part + rest;
    (all > 0).then(|| f64::from(part) / f64::from(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::promise::Outcome;
    use imtcp_cc::units::{Bandwidth, Timestamp};
    use std::time::Duration;

    #[test]
    fn bins_hold_predictions_and_outcomes() {
        let mut reliability = Reliability::default();
        for n in 0..100 {
            reliability.add(0.25, n < 40);
            reliability.add(1.0, true);
        }
        reliability.add(0.55, false);
        assert_eq!(reliability.count(), 201);
        assert_eq!(reliability.bins[2].count, 100);
        assert_eq!(reliability.bins[9].observed(), Some(1.0));
        // 0.40 observed, 0.25 predicted; the bin with a single one does not count.
        assert!((reliability.worst_gap().expect("some") - 0.15).abs() < 1e-9);
        // 40 of 0.75^2, 60 of 0.25^2, 100 of none, one of 0.55^2.
        let brier = (40.0 * 0.5625 + 60.0 * 0.0625 + 0.3025) / 201.0;
        assert!((reliability.brier().expect("some") - brier).abs() < 1e-9);
    }

    #[test]
    fn a_warning_counts_up_to_the_middle_of_the_slot() {
        let slot = |warned_ms: Option<u64>, outcome| SlotReport {
            index: 0,
            start: Timestamp::from_nanos(1_000_000_000),
            end: Timestamp::from_nanos(3_000_000_000),
            required: Bandwidth::from_mbps(8),
            achieved: Bandwidth::from_mbps(7),
            outcome,
            warned: warned_ms.map(|ms| Timestamp::from_origin(Duration::from_millis(ms))),
        };
        let mut warnings = Warnings::default();
        warnings.add(&slot(Some(2000), Outcome::Missed));
        warnings.add(&slot(Some(2001), Outcome::Missed));
        warnings.add(&slot(Some(1500), Outcome::Kept));
        warnings.add(&slot(Some(2500), Outcome::Kept));
        warnings.add(&slot(None, Outcome::SourceLimited));
        let expected = Warnings {
            right: 1,
            wrong: 1,
            none: 1,
            quiet: 2,
        };
        assert_eq!(warnings, expected);
        assert_eq!(warnings.precision(), Some(0.5));
        assert_eq!(warnings.recall(), Some(0.5));
    }
}
