//! What became of the slots of all connections.

use imtcp_cc::promise::{Outcome, SlotReport};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// What became of all slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SlotTotals {
    /// Slots with the required rate.
    pub kept: u64,
    /// Slots whose source offered less.
    pub source_limited: u64,
    /// Slots with less than the required rate.
    pub missed: u64,
    /// Of the missed, those that were called at risk half a slot before their end or earlier.
    pub missed_with_warning: u64,
    /// Of the others, those that were as well.
    pub kept_with_warning: u64,
    /// Slots for which there was a forecast at their beginning.
    pub forecasts: u64,
    /// The sum of these probabilities: how many of them were to be kept.
    pub foreseen: f64,
    /// How many were.
    pub foreseen_kept: u64,
    /// Paths that rejected the requirement for a time.
    pub rejections: u64,
}

impl SlotTotals {
    pub(super) fn add(&mut self, report: &SlotReport, forecast: Option<f64>) {
        let is_kept = report.outcome.is_kept();
        match report.outcome {
            Outcome::Kept => self.kept += 1,
            Outcome::SourceLimited => self.source_limited += 1,
            // Missed.
            _ => self.missed += 1,
        }
        let length = report.end.saturating_since(report.start);
        if notice(report).is_some_and(|notice| notice >= length / 2) {
            self.missed_with_warning += u64::from(!is_kept);
            self.kept_with_warning += u64::from(is_kept);
        }
        if let (Some(probability), true) = (forecast, report.outcome != Outcome::SourceLimited) {
            self.forecasts += 1;
            self.foreseen += probability;
            self.foreseen_kept += u64::from(is_kept);
        }
    }
}

impl fmt::Display for SlotTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "slots: {} kept, {} limited by the source, {} missed; called at risk half a slot \
             before their end: {} of the missed, {} of the others\n\
             can_promise at their beginning: {:.1} of {} slots, kept: {}; paths that rejected the \
             requirement for a time: {}",
            self.kept,
            self.source_limited,
            self.missed,
            self.missed_with_warning,
            self.kept_with_warning,
            self.foreseen,
            self.forecasts,
            self.foreseen_kept,
            self.rejections,
        )
    }
}

/// How long before its end a slot was first called at risk.
pub(super) fn notice(report: &SlotReport) -> Option<Duration> {
    report.warned.map(|at| report.end.saturating_since(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use imtcp_cc::units::{Bandwidth, Timestamp};

    /// A slot of 2 s, called at risk so many ms after its beginning.
    fn report(outcome: Outcome, warned: Option<u64>) -> SlotReport {
        let millis = |millis| Timestamp::from_origin(Duration::from_millis(millis));
        SlotReport {
            index: 0,
            start: millis(6000),
            end: millis(8000),
            required: Bandwidth::from_mbps(8),
            achieved: Bandwidth::from_kbps(7_500),
            outcome,
            warned: warned.map(|after| millis(6000 + after)),
        }
    }

    #[test]
    fn a_warning_counts_until_half_a_slot_is_over() {
        let mut totals = SlotTotals::default();
        for (outcome, warned) in [
            (Outcome::Missed, Some(0)),
            (Outcome::Missed, Some(1000)),
            (Outcome::Missed, Some(1001)),
            (Outcome::Missed, None),
            (Outcome::Kept, Some(900)),
            (Outcome::Kept, Some(1900)),
            (Outcome::SourceLimited, None),
        ] {
            totals.add(&report(outcome, warned), None);
        }
        let expected = SlotTotals {
            kept: 2,
            source_limited: 1,
            missed: 4,
            missed_with_warning: 2,
            kept_with_warning: 1,
            ..SlotTotals::default()
        };
        assert_eq!(totals, expected);
    }

    #[test]
    fn forecasts_are_held_against_what_came() {
        let mut totals = SlotTotals::default();
        totals.add(&report(Outcome::Missed, None), None);
        totals.add(&report(Outcome::Kept, None), Some(0.75));
        totals.add(&report(Outcome::Missed, None), Some(0.5));
        totals.add(&report(Outcome::SourceLimited, None), Some(0.9));
        assert_eq!((totals.forecasts, totals.foreseen_kept), (2, 1));
        assert!((totals.foreseen - 1.25).abs() < 1e-12);
    }
}
