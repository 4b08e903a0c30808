//! What the paths of a class come to.

use super::bars::{Bars, COVERAGE, FALSE_CONFIDENCE};
use super::grid::Instant;
use super::run::{Reader, Surveyed};
use super::score::{Score, score};
use crate::statistics::{median, quantile_of_sorted};
use crate::survey::Class;
use serde::Serialize;

/// A class and what its paths come to.
#[derive(Clone, Debug, Serialize)]
pub struct Tally {
    /// How many paths.
    pub paths: usize,
    /// Each reader's medians.
    pub columns: Vec<Column>,
}

/// What a reader comes to.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Who reads.
    pub reader: Reader,
    /// The medians over the paths.
    pub medians: Score,
    /// Each path's own scores, in the order of the paths.
    pub scores: Vec<Score>,
    /// Where the truth is around a value without an interval, in shares of the capacity: this
    /// holds nineteen in twenty of the class.
    pub around: [f64; 2],
}

impl Tally {
    /// Sums up.
    pub fn of(all: &[Surveyed]) -> Self {
        let readers: Vec<Reader> = match all.first() {
            Some(path) => path.read.iter().map(|read| read.reader).collect(),
            None => Reader::ALL.to_vec(),
        };
        let columns = readers.into_iter().map(|reader| Column::of(reader, all));
        Self {
            paths: all.len(),
            columns: columns.collect(),
        }
    }

    /// The column of a reader.
    pub fn column(&self, reader: Reader) -> Option<&Column> {
        self.columns.iter().find(|column| column.reader == reader)
    }

    /// The paths with this project's scores: the largest errors and the least reach first.
    pub fn worst_first<'a>(&'a self, all: &'a [Surveyed]) -> Vec<(&'a Surveyed, &'a Score)> {
        let Some(own) = self.column(Reader::Statistical) else {
            return Vec::new();
        };
        let mut ordered: Vec<(&Surveyed, &Score)> = all.iter().zip(&own.scores).collect();
        let rank = |score: &Score| score.error_p90.unwrap_or(1.0) + 1.0 - score.reach;
        ordered.sort_by(|one, other| rank(other.1).total_cmp(&rank(one.1)));
        ordered
    }

    /// The least interval score of those beside this project's estimator who do not know the truth.
    pub fn sharpest_other(&self) -> Option<f64> {
        let others = [Reader::Classic, Reader::Delivery, Reader::Bbr2];
        let scores = others
            .iter()
            .filter_map(|reader| self.column(*reader)?.medians.interval_score);
        scores.min_by(f64::total_cmp)
    }

    /// What this project's estimator misses, in words.
    pub fn misses(&self, class: Class) -> Vec<&'static str> {
        let Some(own) = self.column(Reader::Statistical) else {
            return vec!["there is no path"];
        };
        let (bars, own) = (Bars::of(class), &own.medians);
        let above = |value: Option<f64>, bar: f64| value.is_none_or(|value| value > bar);
        let sharpest = self.sharpest_other().unwrap_or(f64::INFINITY);
        let [least, most] = COVERAGE;
        let checks = [
            (above(own.error_p50, bars.error_p50), "median error"),
            (
                above(own.error_p90, bars.error_p90),
                "90th percentile of errors",
            ),
            (own.reach < bars.reach, "reach"),
            (
                own.coverage.is_none_or(|it| !(least..=most).contains(&it)),
                "coverage",
            ),
            (own.false_confidence > FALSE_CONFIDENCE, "false confidence"),
            (above(own.interval_score, sharpest), "sharpness"),
            (
                bars.lag_s
                    .is_some_and(|bar| own.lag_s.is_some_and(|lag| lag > bar)),
                "lag",
            ),
        ];
        let missed = checks.into_iter().filter(|(missed, _)| *missed);
        missed.map(|(_, name)| name).collect()
    }
}

impl Column {
    fn of(reader: Reader, all: &[Surveyed]) -> Self {
        let around = around(reader, all);
        let scores: Vec<Score> = all
            .iter()
            .map(|path| score(instants(path, reader), around, &path.changes_s))
            .collect();
        let middle = |of: fn(&Score) -> Option<f64>| median(scores.iter().filter_map(of).collect());
        let medians = Score {
            error_p50: middle(|it| it.error_p50),
            error_p90: middle(|it| it.error_p90),
            bias: middle(|it| it.bias),
            reach: middle(|it| Some(it.reach)).unwrap_or_default(),
            valued: middle(|it| Some(it.valued)).unwrap_or_default(),
            coverage: middle(|it| it.coverage),
            interval_score: middle(|it| it.interval_score),
            false_confidence: middle(|it| Some(it.false_confidence)).unwrap_or_default(),
            lag_s: middle(|it| it.lag_s),
        };
        Self {
            reader,
            medians,
            scores,
            around,
        }
    }
}

fn instants(path: &Surveyed, reader: Reader) -> &[Instant] {
    let read = path.read.iter().find(|read| read.reader == reader);
    read.map_or(&[], |read| &read.instants)
}

/// The interval around a reader's values that holds nineteen in twenty of its errors over the
/// class. It knows the errors that it is judged by, so it is the best of its kind.
fn around(reader: Reader, all: &[Surveyed]) -> [f64; 2] {
    let instants = all.iter().flat_map(|path| instants(path, reader));
    let off = |instant: &Instant| {
        let reading = instant.reading?;
        Some((instant.truth_bps - reading.value_bps) / instant.capacity_bps)
    };
    let mut off: Vec<f64> = instants.filter_map(off).collect();
    off.sort_unstable_by(f64::total_cmp);
    [0.025, 0.975].map(|at| quantile_of_sorted(&off, at).unwrap_or_default())
}
