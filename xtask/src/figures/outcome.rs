//! What came of a row: its numbers, held to its bars.

use std::collections::BTreeMap;

use super::bar::{Bar, Ends, Limit, Verdict};
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
    /// Why it is not met though all its bars may be: another row has to be met with it.
    pub waits_for: Option<String>,
}

/// A case with what was run of it.
#[derive(Debug)]
pub struct Tried {
    /// The case.
    pub case: Case,
    /// The seeds that were run.
    pub seeds: Vec<u64>,
    /// How many seeds are wanted.
    pub wanted: usize,
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

/// What of several seeds is held to a bar. Both count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// What they come to.
    Middle,
    /// The 95th percentile on the bad side.
    P95,
}

/// A bar in a case.
#[derive(Debug, Clone)]
pub struct Held {
    /// What is held to it.
    pub over: Over,
    /// The number; none where there is nothing to hold to it.
    pub number: Option<f64>,
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
        let seeds = row.seeds(seeds);
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
                wanted: seeds.len(),
                case,
            });
            numbers.push(found);
        }
        let mut outcome = Self {
            cells: Vec::new(),
            waits_for: None,
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
                let held: Vec<Held> = bars
                    .flat_map(|bar| {
                        self.overs(bar, index, at)
                            .iter()
                            .map(move |over| (bar, *over))
                    })
                    .map(|(bar, over)| self.held_to(bar, over, index, at))
                    .collect();
                self.cells[index][at].bars = held;
            }
        }
    }

    /// What of a case's seeds a bar is held to. The highest of all is the worst already.
    fn overs(&self, bar: &Bar, index: usize, at: usize) -> &'static [Over] {
        let is_worst = self.row.measures[index].seeds == Middle::Highest;
        match bar.has_limit() && !is_worst && self.cases[at].wanted > 1 {
            true => &[Over::Middle, Over::P95],
            false => &[Over::Middle],
        }
    }

    /// Holds the number of a measure in a case to a bar.
    fn held_to(&self, bar: &Bar, over: Over, index: usize, at: usize) -> Held {
        let others = match bar.against.is_empty() {
            true => Some(Vec::new()),
            false => self.others(at, &bar.against, &self.cells[index], over),
        };
        let limit = others.and_then(|others| bar.limit(&others));
        let limit = limit.filter(|_| bar.has_limit());
        let digits = self.row.measures[index].digits;
        let ends = ends(&self.cases[at], &self.cells[index][at], over);
        let number = match (&ends, limit) {
            (Ok(ends), Some(limit)) => Some(limit.shown(*ends, digits)),
            _ => None,
        };
        let verdict = match (ends, limit) {
            (Err(why), _) => Verdict::Open(why),
            (_, None) => Verdict::Open("not all to compare with have a value".to_owned()),
            (Ok(ends), Some(limit)) => limit.verdict(ends, digits),
        };
        Held {
            over,
            number,
            limit,
            published: bar.published.clone(),
            verdict: bar.has_limit().then_some(verdict),
        }
    }

    /// What the others have that a case is compared with: the same case but for these points. None
    /// if any of them has nothing: the rest would make an easier limit.
    fn others(&self, at: usize, against: &Where, cells: &[Cell], over: Over) -> Option<Vec<Ends>> {
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
            .map(|(tried, cell)| ends(tried, cell, over).ok())
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
            && self.waits_for.is_none()
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

    /// The same of what the seeds come to alone, without the unlucky ones.
    pub fn met_in_the_middle(&self) -> (usize, usize) {
        let middle = || self.held().filter(|(.., held)| held.over == Over::Middle);
        let met = middle().filter(|(.., held)| held.verdict == Some(Verdict::Met));
        (met.count(), middle().count())
    }

    /// Sees whether the rows that have to be met with it are.
    pub fn look_at_others(&mut self, met: &BTreeMap<String, bool>) {
        let others = self.row.met_with.iter();
        let missing = others.map(|id| match met.get(id) {
            Some(true) => None,
            Some(false) => Some(format!("{id} has to be met with it, and is not")),
            None => Some(format!("{id} has to be met with it, and was not looked at")),
        });
        self.waits_for = missing.flatten().next();
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
            over: Over::Middle,
            number: None,
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

/// What is held to bars: what all seeds come to that are wanted. Before all of them were run there
/// is nothing to say, and a seed without a value is not left out: the others may be the lucky ones.
fn ends(tried: &Tried, cell: &Cell, over: Over) -> Result<Ends, String> {
    if let Some(why) = &tried.nothing {
        return Err(why.clone());
    }
    let (have, run, wanted) = (cell.values.len(), tried.seeds.len(), tried.wanted);
    if run < wanted {
        return Err(format!("{run} of {wanted} seeds so far"));
    }
    let ends = match over {
        Over::Middle => cell.middle.map(Ends::both),
        Over::P95 => unlucky(&cell.values),
    };
    match ends {
        Some(ends) if have == run => Ok(ends),
        Some(_) => Err(format!("no value with {} of {run} seeds", run - have)),
        None => Err("no value".to_owned()),
    }
}

/// The 5th and the 95th percentile, by nearest rank: of fewer than twenty the worst on either side.
fn unlucky(values: &[f64]) -> Option<Ends> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let beyond = values.len() / 20;
    Some(Ends {
        low: *sorted.get(beyond)?,
        high: *sorted.get((values.len() - 1).checked_sub(beyond)?)?,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ten_seeds_the_worst_counts_and_of_twenty_one_may_be_worse() {
        let ends = |count: u32| unlucky(&(1..=count).rev().map(f64::from).collect::<Vec<_>>());
        assert_eq!(ends(0), None);
        for (count, low, high) in [(1, 1.0, 1.0), (10, 1.0, 10.0), (20, 2.0, 19.0)] {
            assert_eq!(ends(count), Some(Ends { low, high }), "{count} seeds");
        }
        let never = unlucky(&[3.0, f64::INFINITY]).expect("two values");
        assert!(never.high.is_infinite());
    }
}
