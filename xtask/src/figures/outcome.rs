//! What came of a row: its numbers, held to its bars.

use std::collections::BTreeMap;

use super::bar::{Bar, Limit, Verdict};
use super::case::{Case, Where};
use super::row::{Measure, Middle, Row};
use super::store::{Numbers, Run, Store};
use super::value::median;

/// A row with its numbers.
#[derive(Debug)]
pub struct Outcome {
    /// The row.
    pub row: Row,
    /// Its cases.
    pub cases: Vec<Tried>,
    /// Each measure's number in each case, measure by measure.
    pub cells: Vec<Vec<Cell>>,
}

/// A case with what was run of it.
#[derive(Debug)]
pub struct Tried {
    /// The case.
    pub case: Case,
    /// The seeds that were run.
    pub seeds: Vec<u64>,
    /// Why there is nothing.
    pub nothing: Option<String>,
}

/// A number of a case.
#[derive(Debug, Clone)]
pub struct Cell {
    /// One for each seed that has it.
    pub values: Vec<f64>,
    /// What they come to.
    pub middle: Option<f64>,
    /// What it is held to, what was published, and what came of it.
    pub bars: Vec<Held>,
}

/// A bar in a case.
#[derive(Debug, Clone)]
pub struct Held {
    /// The limit; none where the bar says only what was published, or where the others that make
    /// it have nothing.
    pub limit: Option<Limit>,
    /// What was published.
    pub published: Option<String>,
    /// What came of it; none where there is no limit to hold to.
    pub verdict: Option<Verdict>,
}

impl Outcome {
    /// Reads a row's numbers. `failed` says which settings fail, and why.
    pub fn of(
        row: Row,
        cases: Vec<Case>,
        seeds: &[u64],
        store: &Store,
        failed: &BTreeMap<String, String>,
    ) -> Self {
        let mut tried = Vec::new();
        let mut numbers = Vec::new();
        for case in cases {
            let of_seed = |seed: &u64| Some((*seed, store.numbers(&Run::of(&case, *seed))?));
            let found: Vec<(u64, Numbers)> = match case.not_built {
                Some(_) => Vec::new(),
                None => seeds.iter().filter_map(of_seed).collect(),
            };
            let failure = failed.get(&Run::of(&case, 0).setting());
            let nothing = case
                .not_built
                .as_ref()
                .map(|why| format!("not built: {why}"));
            let nothing = nothing.or_else(|| failure.map(|why| format!("failed: {why}")));
            let empty = || found.is_empty().then(|| "not run".to_owned());
            tried.push(Tried {
                nothing: nothing.or_else(empty),
                seeds: found.iter().map(|(seed, _)| *seed).collect(),
                case,
            });
            numbers.push(found);
        }
        let mut outcome = Self {
            cells: Vec::new(),
            cases: tried,
            row,
        };
        let measures = outcome.row.measures.iter();
        let values: Vec<Vec<Cell>> = measures
            .map(|measure| outcome.values(measure, &numbers))
            .collect();
        outcome.cells = values;
        outcome.hold();
        outcome
    }

    fn values(&self, measure: &Measure, numbers: &[Vec<(u64, Numbers)>]) -> Vec<Cell> {
        let cells = self.cases.iter().zip(numbers);
        cells
            .map(|(tried, numbers)| {
                let of = |(_, numbers): &(u64, Numbers)| value(measure, numbers, &tried.case.words);
                let values: Vec<f64> = match self.row.is_at(&tried.case, &measure.place) {
                    true => numbers.iter().filter_map(of).collect(),
                    false => Vec::new(),
                };
                Cell {
                    middle: middle(measure.seeds, &values),
                    values,
                    bars: Vec::new(),
                }
            })
            .collect()
    }

    /// Holds the numbers to their bars.
    fn hold(&mut self) {
        for index in 0..self.row.measures.len() {
            for at in 0..self.cases.len() {
                let measure = &self.row.measures[index];
                let case = &self.cases[at].case;
                if !self.row.is_at(case, &measure.place) {
                    continue;
                }
                let bars = measure.bars.iter();
                let bars = bars.filter(|bar| self.row.is_at(case, &bar.place));
                let held: Vec<Held> = bars.map(|bar| self.held_to(bar, index, at)).collect();
                self.cells[index][at].bars = held;
            }
        }
    }

    /// Holds the number of a measure in a case to a bar.
    fn held_to(&self, bar: &Bar, index: usize, at: usize) -> Held {
        let others = match bar.against.is_empty() {
            true => Some(Vec::new()),
            false => self.others(at, &bar.against, &self.cells[index]),
        };
        let limit = others.and_then(|others| bar.limit(&others));
        let limit = limit.filter(|_| bar.has_limit());
        let digits = self.row.measures[index].digits;
        let verdict = match (limit, self.cells[index][at].middle, &self.cases[at].nothing) {
            (_, None, Some(why)) => Verdict::Open(why.clone()),
            (_, None, None) => Verdict::Open("no value".to_owned()),
            (None, ..) => Verdict::Open("not all to compare with were run".to_owned()),
            (Some(limit), Some(number), _) => limit.verdict(number, digits),
        };
        Held {
            limit,
            published: bar.published.clone(),
            verdict: bar.has_limit().then_some(verdict),
        }
    }

    /// What the others have that a case is compared with: the same case but for these points. None
    /// if any of them was not run.
    fn others(&self, at: usize, against: &Where, cells: &[Cell]) -> Option<Vec<f64>> {
        let here = &self.cases[at].case;
        let is_other = |case: &Case| {
            let mut axes = self.row.axes.iter().zip(case.names.iter().zip(&here.names));
            axes.all(|(axis, (there, here))| match against.get(&axis.name) {
                Some(points) => points.has(there),
                None => there == here,
            })
        };
        let cases = self.cases.iter().zip(cells);
        let others: Vec<(&Tried, &Cell)> =
            cases.filter(|(tried, _)| is_other(&tried.case)).collect();
        let all_ran = others.iter().all(|(tried, _)| tried.nothing.is_none());
        all_ran.then(|| others.iter().filter_map(|(_, cell)| cell.middle).collect())
    }

    /// All bars with a limit: the measure, the case, the number, the bar.
    pub fn held(&self) -> impl Iterator<Item = (&Measure, &Tried, &Cell, &Held)> {
        let measures = self.row.measures.iter().zip(&self.cells);
        measures.flat_map(move |(measure, cells)| {
            let cells = self.cases.iter().zip(cells);
            cells.flat_map(move |(tried, cell)| {
                let bars = cell.bars.iter().filter(|held| held.verdict.is_some());
                bars.map(move |held| (measure, tried, cell, held))
            })
        })
    }

    /// Whether all bars are met: a row that could not be run misses them.
    pub fn is_met(&self) -> bool {
        let is_met = |held: &Held| held.verdict == Some(Verdict::Met);
        self.row.not_built.is_none()
            && self.held().all(|(.., held)| is_met(held))
            && self.held().next().is_some()
    }

    /// How many bars are met, of how many.
    pub fn met(&self) -> (usize, usize) {
        let met = self
            .held()
            .filter(|(.., held)| held.verdict == Some(Verdict::Met));
        (met.count(), self.held().count())
    }

    /// The least and the most seeds of a case that was run.
    pub fn seeds(&self) -> Option<(usize, usize)> {
        let counts = self
            .cases
            .iter()
            .map(|tried| tried.seeds.len())
            .filter(|count| *count > 0);
        Some((counts.clone().min()?, counts.max()?))
    }
}

fn value(measure: &Measure, numbers: &Numbers, words: &[(String, String)]) -> Option<f64> {
    let number = measure.value.of(&numbers.run, words)?;
    let number = match &measure.over {
        Some(over) => number / over.of(&numbers.run, words)?,
        None => number,
    };
    Some(number * measure.times.unwrap_or(1.0)).filter(|number| !number.is_nan())
}

/// What values come to. A value that never came is infinite, and an infinite mean is one, too.
fn middle(of: Middle, values: &[f64]) -> Option<f64> {
    match of {
        Middle::Median => median(values.to_vec()),
        Middle::Mean => {
            let sum: f64 = values.iter().sum();
            (!values.is_empty()).then(|| sum / values.len() as f64)
        }
        Middle::Highest => values.iter().copied().reduce(f64::max),
    }
}
