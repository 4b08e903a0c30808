//! What came of a row: its numbers, held to its bars.

use std::collections::BTreeMap;

use super::bar::{Bar, Limit, Verdict};
use super::case::{Case, Where};
use super::row::{Measure, Middle, Row};
use super::store::{Numbers, Run, Store};
use crate::testbed::median;

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
    /// The seeds that have it.
    pub seeds: Vec<u64>,
    /// One for each of these seeds.
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
                let of = |(seed, numbers): &(u64, Numbers)| {
                    Some((*seed, value(measure, numbers, &tried.case.words)?))
                };
                let (seeds, values) = match self.row.is_at(&tried.case, &measure.place) {
                    true => numbers.iter().filter_map(of).unzip(),
                    false => (Vec::new(), Vec::new()),
                };
                Cell {
                    middle: middle(measure.seeds, &values),
                    seeds,
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
        let number = number(&self.cases[at], &self.cells[index][at]);
        let verdict = match (number, limit) {
            (Err(why), _) => Verdict::Open(why),
            (_, None) => Verdict::Open("not all to compare with have a value".to_owned()),
            (Ok(number), Some(limit)) => limit.verdict(number, digits),
        };
        Held {
            limit,
            published: bar.published.clone(),
            verdict: bar.has_limit().then_some(verdict),
        }
    }

    /// What the others have that a case is compared with: the same case but for these points. None
    /// if any of them has nothing: the rest would make an easier limit.
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
        let others = cases.filter(|(tried, _)| is_other(&tried.case));
        others
            .map(|(tried, cell)| number(tried, cell).ok())
            .collect()
    }

    /// Each measure in each case.
    pub fn cells(&self) -> impl Iterator<Item = (&Measure, &Tried, &Cell)> {
        let measures = self.row.measures.iter().zip(&self.cells);
        measures.flat_map(|(measure, cells)| {
            let cells = self.cases.iter().zip(cells);
            cells.map(move |(tried, cell)| (measure, tried, cell))
        })
    }

    /// All bars with a limit: the measure, the case, the number, the bar.
    pub fn held(&self) -> impl Iterator<Item = (&Measure, &Tried, &Cell, &Held)> {
        self.cells().flat_map(|(measure, tried, cell)| {
            let bars = cell.bars.iter().filter(|held| held.verdict.is_some());
            bars.map(move |held| (measure, tried, cell, held))
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

impl Cell {
    /// The lines that it has in a table: one for each bar, and one without any.
    pub fn lines(&self) -> &[Held] {
        const NONE: &[Held] = &[Held {
            limit: None,
            published: None,
            verdict: None,
        }];
        match self.bars[..] {
            [] => NONE,
            _ => &self.bars,
        }
    }
}

/// What is held to bars: the number of all seeds that were run. A seed without a value is not left
/// out, because the others may be the lucky ones.
fn number(tried: &Tried, cell: &Cell) -> Result<f64, String> {
    if let Some(why) = &tried.nothing {
        return Err(why.clone());
    }
    let (have, all) = (cell.values.len(), tried.seeds.len());
    match cell.middle {
        Some(number) if have == all => Ok(number),
        Some(_) => Err(format!("no value with {} of {all} seeds", all - have)),
        None => Err("no value".to_owned()),
    }
}

fn value(measure: &Measure, numbers: &Numbers, words: &[(String, String)]) -> Option<f64> {
    let number = measure.value.of(&numbers.run, words)?;
    let number = match &measure.over {
        Some(over) => number / over.of(&numbers.run, words)?,
        None => number,
    };
    let number = match measure.absolute {
        true => number.abs(),
        false => number,
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
