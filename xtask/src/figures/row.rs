//! A row of the report: what was published, what is run, and the bars that it is held to.
//!
//! Rows are data: a TOML file each, in `xtask/figures/`. A row is one scenario and axes, as in the
//! simulator's sweeps. Each combination of points is a case.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::bar::Bar;
use super::case::{Case, Where, filled};
use super::store::fingerprint;
use super::value::Reading;

/// A result rests on so many seeds at least.
pub const LEAST_SEEDS: usize = 10;

/// A row, as its file says it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Such as `A1`; in small letters it is the file's name.
    pub id: String,
    /// One line.
    pub title: String,
    /// What was published, in words.
    pub published: String,
    /// The bar, in words.
    pub bar: String,
    /// What a reader should know about the way this is run.
    pub note: Option<String>,
    /// Why nothing of it can be run yet.
    pub not_built: Option<String>,
    /// A built-in scenario of the simulator. `{axis}` stands for the case's point.
    pub scenario: Option<String>,
    /// Keys of the scenario that all cases change.
    #[serde(default)]
    pub set: Vec<String>,
    /// Whether estimators of the literature watch.
    #[serde(default)]
    pub observers: bool,
    /// At most so many seeds, for what takes long: [`LEAST_SEEDS`] or more.
    pub most_seeds: Option<usize>,
    /// Rows that have to be met for this one to be.
    #[serde(default)]
    pub met_with: Vec<String>,
    /// The axis whose points are numbers along a figure's horizontal axis.
    pub along: Option<String>,
    /// The flow, and the case, whose course over time is shown.
    pub course: Option<Course>,
    /// The part of the row that the quick check runs.
    pub quick: Option<Quick>,
    /// What is varied.
    #[serde(default, rename = "axis")]
    pub axes: Vec<Axis>,
    /// Cases that are left out.
    #[serde(default)]
    pub skip: Vec<Where>,
    /// The numbers that are looked at.
    #[serde(default, rename = "measure")]
    pub measures: Vec<Measure>,
}

/// Which course over time is shown.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Course {
    /// The flow, as the simulator's files name it.
    pub flow: String,
    /// Points; the first of each axis that is not named.
    #[serde(default, rename = "where")]
    pub place: Where,
}

/// The part of a row that the quick check runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Points; all of each axis that is not named.
    #[serde(default, rename = "where")]
    pub place: Where,
}

/// Something that is varied.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Its points.
    pub points: Vec<Point>,
}

/// A point of an axis.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Its name.
    pub name: String,
    /// What `{axis}` stands for, where it is not the name.
    #[serde(rename = "as")]
    pub word: Option<String>,
    /// Another scenario than the row's.
    pub scenario: Option<String>,
    /// Keys of the scenario that it changes.
    #[serde(default)]
    pub set: Vec<String>,
    /// Why it cannot be run yet.
    pub not_built: Option<String>,
    /// What a file that it names contains: [`super::store::fingerprint`].
    #[serde(skip)]
    pub content: Option<u64>,
}

/// A number of each case, and its bars.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Its name.
    pub name: String,
    /// Its unit, if it has one.
    #[serde(default)]
    pub unit: String,
    /// Where it stands in the simulator's JSON. `{axis}` stands for the case's point.
    pub value: Reading,
    /// By what it is divided, from the same run.
    pub over: Option<Reading>,
    /// By what it is multiplied.
    pub times: Option<f64>,
    /// Whether its sign does not count, as with errors that are told with one.
    #[serde(default)]
    pub absolute: bool,
    /// Digits behind the point.
    #[serde(default = "one_digit")]
    pub digits: usize,
    /// What the seeds come to.
    #[serde(default)]
    pub seeds: Middle,
    /// The cases that have it; all without any.
    #[serde(default, rename = "where")]
    pub place: Where,
    /// What it is held to.
    #[serde(default, rename = "bar")]
    pub bars: Vec<Bar>,
}

fn one_digit() -> usize {
    1
}

/// What several seeds come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Middle {
    /// Their median.
    #[default]
    Median,
    /// Their mean, for shares of slots.
    Mean,
    /// The highest.
    Highest,
}

impl Measure {
    /// Its name and its unit.
    pub fn title(&self) -> String {
        match self.unit.as_str() {
            "" => self.name.clone(),
            unit => format!("{}, {unit}", self.name),
        }
    }
}

impl Row {
    /// Reads all rows of a folder, in the order of their ids.
    pub fn all(folder: &Path) -> Result<Vec<Self>> {
        let entries =
            fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
        let mut rows = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                rows.push(Self::load(&path)?);
            }
        }
        rows.sort_by_key(Self::order);
        for row in &rows {
            let mut others = row.met_with.iter();
            let unknown = others.find(|id| !rows.iter().any(|other| other.id == **id));
            if let Some(id) = unknown {
                bail!("row {}: met_with names `{id}`, which is no row", row.id);
            }
        }
        Ok(rows)
    }

    fn load(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let row = Self::parse(&text).with_context(|| format!("row {}", path.display()))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        ensure!(
            stem == row.id.to_lowercase(),
            "row {}: its id is `{}`; let the file's name be {}.toml",
            path.display(),
            row.id,
            row.id.to_lowercase()
        );
        Ok(row)
    }

    /// Reads a row, and checks that it names only what it has.
    pub fn parse(text: &str) -> Result<Self> {
        let row: Self = toml::from_str(text)?;
        row.check()?;
        Ok(row)
    }

    /// The seeds that it is run with, of those that are asked for.
    pub fn seeds<'s>(&self, asked: &'s [u64]) -> &'s [u64] {
        let most = self.most_seeds.unwrap_or(asked.len());
        &asked[..most.min(asked.len())]
    }

    /// A1, A2, A10, B1.
    fn order(&self) -> (String, u32) {
        let number = self.id.trim_start_matches(char::is_alphabetic);
        let letters = self.id.trim_end_matches(number);
        (letters.to_owned(), number.parse().unwrap_or(0))
    }

    fn check(&self) -> Result<()> {
        if self.not_built.is_some() {
            return Ok(());
        }
        ensure!(
            !self.measures.is_empty(),
            "it measures nothing; add a [[measure]]"
        );
        ensure!(
            self.most_seeds.is_none_or(|most| most >= LEAST_SEEDS),
            "most_seeds is below {LEAST_SEEDS}: fewer make no result"
        );
        let bars = self.measures.iter().flat_map(|measure| &measure.bars);
        ensure!(
            bars.clone().any(|bar| bar.has_limit()),
            "it has no bar; add a [[measure.bar]] with at_least or at_most"
        );
        for axis in &self.axes {
            ensure!(
                !axis.points.is_empty(),
                "axis `{}` has no points",
                axis.name
            );
        }
        let cases = self.cases();
        let without = cases.iter().find(|case| case.scenario.is_empty());
        if let Some(case) = without {
            bail!(
                "case `{}` has no scenario; add one to the row or to a point",
                case.label()
            );
        }
        for place in self.places() {
            self.check_where(place)?;
        }
        if let Some(along) = &self.along {
            self.axis(along)?;
        }
        for measure in &self.measures {
            let whole = measure.bars.iter().try_for_each(Bar::check);
            whole.with_context(|| format!("measure `{}`", measure.name))?;
        }
        Ok(())
    }

    fn places(&self) -> impl Iterator<Item = &Where> {
        let bars = self.measures.iter().flat_map(|measure| &measure.bars);
        let bars = bars.flat_map(|bar| [&bar.place, &bar.against]);
        let measures = self.measures.iter().map(|measure| &measure.place);
        let course = self.course.iter().map(|course| &course.place);
        let quick = self.quick.iter().map(|quick| &quick.place);
        bars.chain(measures)
            .chain(course)
            .chain(quick)
            .chain(&self.skip)
    }

    fn axis(&self, name: &str) -> Result<&Axis> {
        let found = self.axes.iter().find(|axis| axis.name == name);
        let Some(axis) = found else {
            let names: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
            bail!("there is no axis `{name}`; known: {}", names.join(", "));
        };
        Ok(axis)
    }

    fn check_where(&self, place: &Where) -> Result<()> {
        for (axis, points) in place {
            let axis = self.axis(axis)?;
            for name in points.names() {
                ensure!(
                    axis.points.iter().any(|point| point.name == name),
                    "axis `{}` has no point `{name}`",
                    axis.name
                );
            }
        }
        Ok(())
    }

    /// All cases: the first axis changes slowest.
    pub fn cases(&self) -> Vec<Case> {
        let first = Case {
            names: Vec::new(),
            words: Vec::new(),
            scenario: self.scenario.clone().unwrap_or_default(),
            set: self.set.clone(),
            contents: Vec::new(),
            observers: self.observers,
            not_built: self.not_built.clone(),
        };
        let mut cases = self.axes.iter().fold(vec![first], |cases, axis| {
            let with = |case: &Case| -> Vec<Case> {
                axis.points
                    .iter()
                    .map(|point| case.with(axis, point))
                    .collect()
            };
            cases.iter().flat_map(with).collect()
        });
        cases.retain(|case| !self.skip.iter().any(|skip| self.is_at(case, skip)));
        for case in &mut cases {
            case.scenario = filled(&case.scenario, &case.words);
        }
        cases
    }

    /// Lets an axis named `trace` have a point for each file of a folder. Returns whether there is
    /// such an axis.
    pub fn follow(&mut self, folder: &Path) -> Result<bool> {
        let Some(axis) = self.axes.iter_mut().find(|axis| axis.name == "trace") else {
            return Ok(false);
        };
        let reading = || format!("reading the folder of traces, {}", folder.display());
        let folder = folder.canonicalize().with_context(reading)?;
        let mut points = Vec::new();
        for entry in fs::read_dir(&folder).with_context(reading)? {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let content = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            points.push(Point {
                content: Some(fingerprint(&content)),
                set: vec![format!("link.cell.trace={}", path.display())],
                name,
                word: None,
                scenario: None,
                not_built: None,
            });
        }
        ensure!(!points.is_empty(), "{} has no files", folder.display());
        points.sort_by(|one, other| one.name.cmp(&other.name));
        axis.points = points;
        Ok(true)
    }

    /// Whether a case has these points.
    pub fn is_at(&self, case: &Case, place: &Where) -> bool {
        let axes = self.axes.iter().zip(&case.names);
        axes.into_iter()
            .all(|(axis, name)| place.get(&axis.name).is_none_or(|points| points.has(name)))
    }

    /// The case whose course is shown.
    pub fn is_shown(&self, case: &Case, course: &Course) -> bool {
        let axes = self.axes.iter().zip(&case.names);
        axes.into_iter()
            .all(|(axis, name)| match course.place.get(&axis.name) {
                Some(points) => points.has(name),
                None => axis.points.first().is_some_and(|first| first.name == *name),
            })
    }
}
