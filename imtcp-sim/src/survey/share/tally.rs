//! How near readers come to what a bulk transfer gets.

use super::run::{Instant, Reader, Shared};
use crate::statistics::median;
use serde::Serialize;

/// How near a reader came on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// The median factor between value and truth, whichever is larger.
    pub factor_p50: Option<f64>,
    /// The median of value over truth.
    pub ratio_p50: Option<f64>,
    /// The share of the time in which something is said.
    pub reach: f64,
    /// The share of the intervals that hold the truth.
    pub coverage: Option<f64>,
    /// The median of the upper end over the lower end.
    pub width_p50: Option<f64>,
}

/// Scores a reader.
pub fn score(instants: &[Instant], reader: Reader) -> Score {
    // Where a bulk transfer gets nothing there is no factor.
    let counted = || instants.iter().filter(|instant| instant.truth_bps > 0.0);
    let place = Reader::ALL.iter().position(|it| *it == reader);
    let value = |instant: &Instant| {
        let value = instant.values_bps[place?]?;
        Some(value.max(1.0) / instant.truth_bps)
    };
    let ratios: Vec<f64> = counted().filter_map(value).collect();
    let factors = ratios.iter().map(|ratio| ratio.max(1.0 / ratio));
    let intervals: Vec<([f64; 2], f64)> = counted()
        .filter_map(|instant| Some((instant.interval_bps?, instant.truth_bps)))
        .filter(|_| reader == Reader::Share)
        .collect();
    let holds = |([low, high], truth): &&([f64; 2], f64)| (*low..=*high).contains(truth);
    let share = |count: usize, of: usize| (of > 0).then(|| count as f64 / of as f64);
    let widths = intervals.iter().map(|([low, high], _)| high / low.max(1.0));
    Score {
        factor_p50: median(factors.collect()),
        reach: share(ratios.len(), counted().count()).unwrap_or_default(),
        coverage: share(intervals.iter().filter(holds).count(), intervals.len()),
        width_p50: median(widths.collect()),
        ratio_p50: median(ratios),
    }
}

/// What the paths of a class come to.
#[derive(Clone, Debug, Serialize)]
pub struct Tally {
    /// How many paths.
    pub paths: usize,
    /// Each reader's medians over the paths.
    pub columns: Vec<Column>,
}

/// What a reader comes to.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Who reads.
    pub reader: Reader,
    /// The medians over the paths; the coverage is their mean.
    pub medians: Score,
    /// Each path's own scores, in the order of the paths.
    pub scores: Vec<Score>,
}

impl Tally {
    /// Sums up.
    pub fn of(all: &[Shared]) -> Self {
        Self {
            paths: all.len(),
            columns: Reader::ALL.map(|reader| Column::of(reader, all)).into(),
        }
    }
}

impl Column {
    fn of(reader: Reader, all: &[Shared]) -> Self {
        let scores: Vec<Score> = all.iter().map(|one| score(&one.instants, reader)).collect();
        let values = |of: fn(&Score) -> Option<f64>| scores.iter().filter_map(of).collect();
        let coverages: Vec<f64> = values(|it| it.coverage);
        let mean = coverages.iter().sum::<f64>() / coverages.len().max(1) as f64;
        let medians = Score {
            factor_p50: median(values(|it| it.factor_p50)),
            ratio_p50: median(values(|it| it.ratio_p50)),
            reach: median(values(|it| Some(it.reach))).unwrap_or_default(),
            coverage: (!coverages.is_empty()).then_some(mean),
            width_p50: median(values(|it| it.width_p50)),
        };
        Self {
            reader,
            medians,
            scores,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(truth_bps: f64, share_bps: Option<f64>, window_bps: f64) -> Instant {
        let values_bps = Reader::ALL.map(|reader| match reader {
            Reader::Share => share_bps,
            Reader::Window => Some(window_bps),
            _ => None,
        });
        Instant {
            at_s: 1.0,
            truth_bps,
            values_bps,
            interval_bps: share_bps.map(|bps| [bps / 2.0, bps * 2.0]),
            basis: share_bps.map(|_| "window"),
        }
    }

    #[test]
    fn half_is_as_far_off_as_twice_and_silence_costs_reach() {
        let instants = [
            instant(4.0e6, Some(2.0e6), 4.0e6),
            instant(4.0e6, Some(8.0e6), 1.0e6),
            instant(4.0e6, Some(10.0e6), 40.0e6),
            instant(4.0e6, None, 4.0e6),
            instant(0.0, Some(1.0e6), 4.0e6),
        ];
        let share = score(&instants, Reader::Share);
        assert_eq!(share.factor_p50, Some(2.0));
        assert_eq!(share.ratio_p50, Some(2.0));
        assert_eq!(share.reach, 0.75);
        assert_eq!(share.coverage, Some(2.0 / 3.0));
        assert_eq!(share.width_p50, Some(4.0));
        let window = score(&instants, Reader::Window);
        assert_eq!(window.factor_p50, Some(2.5), "between 1, 1, 4 and 10");
        assert_eq!((window.reach, window.coverage), (1.0, None));
        assert_eq!(score(&instants, Reader::Bbr2).factor_p50, None);
    }
}
