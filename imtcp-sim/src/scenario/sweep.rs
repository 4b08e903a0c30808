//! A sweep: one scenario with many settings, such as a promise beside more and more rivals.

use super::column::{self, About, Column};
use super::document::Document;
use super::error::{Complaint, ScenarioError};
use super::reader::{Entry, Section, unknown_name};
use super::{Scenario, library, name_of};

/// A scenario, and the settings that are varied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Names the output files.
    pub name: String,
    /// One line for tables and figures.
    pub title: String,
    /// The name or file of the scenario, for points that do not name one.
    pub scenario: Option<String>,
    /// Each combination of their points is a cell.
    pub axes: Vec<Axis>,
    /// What the table shows of each cell. If there are none, it shows the slots of a promise.
    pub columns: Vec<Column>,
    /// What the cells are compared with.
    pub baseline: Option<Baseline>,
}

/// The point of an axis with which the other points of that axis are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// The axis, counted from 0.
    pub axis: usize,
    /// The point's name.
    pub point: String,
}

/// One thing that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The axis's name.
    pub name: String,
    /// Its values, in order.
    pub points: Vec<Point>,
}

/// A value on an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The point's name.
    pub name: String,
    /// The scenario's name or file, where it is not the sweep's.
    pub scenario: Option<String>,
    /// Overrides of a scenario.
    pub set: Vec<Setting>,
}

/// An override of a scenario's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key, as a path such as `link.bottleneck.rate`.
    pub key: String,
    /// Its value, as TOML or as plain text.
    pub value: String,
    /// Where it is written, for errors: a place in a sweep's file, or the command line's option.
    pub place: String,
}

impl Setting {
    /// Overrides as `--set` has them.
    pub(super) fn of_command_line(overrides: &[(String, String)]) -> Vec<Self> {
        let setting = |(key, value): &(String, String)| Self {
            key: key.clone(),
            value: value.clone(),
            place: "--set".to_owned(),
        };
        overrides.iter().map(setting).collect()
    }
}

/// A combination of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The points' names, axis by axis.
    pub names: Vec<String>,
    /// What is to run.
    pub scenario: Scenario,
}

impl Sweep {
    /// Reads a built-in sweep by its name, or a file.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn load(file: &str) -> Result<Self, ScenarioError> {
        let (origin, text) = library::source(file, library::listed_sweeps)?;
        Self::read(Document::parse(&origin, &text)?.root())
    }

    fn read(mut root: Section<'_>) -> Result<Self, ScenarioError> {
        let name = name_of(&mut root)?;
        let title = root.required("title", "\"one line\"")?.text()?.to_owned();
        let scenario = root.optional("scenario");
        let scenario = scenario.map(|s| s.text().map(str::to_owned)).transpose()?;
        let axes = super::read_named(&mut root, "axis", axis)?;
        let named = |axis: &Axis| axis.points.iter().all(|point| point.scenario.is_some());
        if scenario.is_none() && !axes.iter().any(named) {
            let remedy = "add scenario = \"d2\", here or to all points of an axis";
            return Err(root.reject(Complaint::new("a sweep of no scenario", remedy)));
        }
        let columns = root.tables("column")?.into_iter().map(column::read);
        let (columns, about) = columns.collect::<Result<(Vec<Column>, Vec<About<'_>>), _>>()?;
        let baseline = root.optional("baseline");
        let baseline = baseline.map(|entry| {
            let found = baseline_named(entry.text()?, &axes);
            found.map_err(|complaint| entry.reject(complaint))
        });
        let baseline = baseline.transpose()?;
        root.finish()?;
        let sweep = Self {
            name,
            title,
            scenario,
            axes,
            columns,
            baseline,
        };
        // What is wrong with a cell is told when it is run: an override may mend it.
        if let Ok(cells) = sweep.cells(&[]) {
            column::check(&about, &cells)?;
        }
        Ok(sweep)
    }

    /// Keeps only the points of an axis that have these names.
    ///
    /// # Errors
    /// There is no such axis or point.
    pub fn keep(&mut self, axis: &str, names: &[&str]) -> Result<(), String> {
        let known: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
        let unknown = unknown_name("axis", axis, &known);
        let found = self
            .axes
            .iter_mut()
            .find(|candidate| candidate.name == axis);
        let found = found.ok_or_else(|| format!("{}; {}", unknown.problem, unknown.remedy))?;
        let known: Vec<&str> = found
            .points
            .iter()
            .map(|point| point.name.as_str())
            .collect();
        if let Some(name) = names.iter().find(|name| !known.contains(name)) {
            let complaint = unknown_name("point", name, &known);
            return Err(format!("{}; {}", complaint.problem, complaint.remedy));
        }
        found
            .points
            .retain(|point| names.contains(&point.name.as_str()));
        Ok(())
    }

    /// Takes this point for the baseline.
    ///
    /// # Errors
    /// There is no such point.
    pub fn compare_with(&mut self, point: &str) -> Result<(), String> {
        let found = baseline_named(point, &self.axes);
        self.baseline = Some(found.map_err(|c| format!("{}; {}", c.problem, c.remedy))?);
        Ok(())
    }

    /// All combinations; the last axis changes fastest. `overrides` are applied last.
    ///
    /// # Errors
    /// The first scenario that cannot be read.
    pub fn cells(&self, overrides: &[(String, String)]) -> Result<Vec<Cell>, ScenarioError> {
        let mut combinations: Vec<Vec<&Point>> = vec![Vec::new()];
        for axis in &self.axes {
            combinations = combinations
                .into_iter()
                .flat_map(|points| {
                    let more = move |point| points.iter().copied().chain([point]).collect();
                    axis.points.iter().map(more)
                })
                .collect();
        }
        let cell = |points: Vec<&Point>| {
            let set = points.iter().flat_map(|point| point.set.iter().cloned());
            let set: Vec<Setting> = set.chain(Setting::of_command_line(overrides)).collect();
            let named = points
                .iter()
                .rev()
                .find_map(|point| point.scenario.as_ref());
            let scenario = named.or(self.scenario.as_ref()).map_or("", |name| name);
            Ok(Cell {
                names: points.iter().map(|point| point.name.clone()).collect(),
                scenario: Scenario::load_with(scenario, &set)?,
            })
        };
        combinations.into_iter().map(cell).collect()
    }
}

/// A point of one of the axes.
fn baseline_named(name: &str, axes: &[Axis]) -> Result<Baseline, Complaint> {
    let points = axes.iter().enumerate().flat_map(|(axis, points)| {
        let names = points.points.iter().map(|point| point.name.as_str());
        names.map(move |name| (axis, name))
    });
    let points: Vec<(usize, &str)> = points.collect();
    let names: Vec<&str> = points.iter().map(|(_, point)| *point).collect();
    let mut named = points.iter().filter(|(_, point)| *point == name);
    let found = named.next();
    if named.next().is_some() {
        let problem = format!("more than one axis has a point `{name}`");
        return Err(Complaint::new(problem, "rename the other points"));
    }
    let (axis, point) = found.ok_or_else(|| unknown_name("point", name, &names))?;
    Ok(Baseline {
        axis: *axis,
        point: (*point).to_owned(),
    })
}

fn axis(name: String, mut section: Section<'_>) -> Result<Axis, ScenarioError> {
    let points = section.required("points", "[{ name = \"reno\", set = [\"key=value\"] }]")?;
    let sections = points.tables()?;
    let mut points: Vec<Point> = Vec::with_capacity(sections.len());
    for section in sections {
        points.push(point(section, &points)?);
    }
    if points.is_empty() {
        let complaint = Complaint::new("an axis without a point", "add points or leave it out");
        return Err(section.reject(complaint));
    }
    section.finish()?;
    Ok(Axis { name, points })
}

/// A point, which has another name than those `before`: the runs of two would be one cell.
fn point(mut section: Section<'_>, before: &[Point]) -> Result<Point, ScenarioError> {
    let entry = section.required("name", "\"reno\"")?;
    let name = entry.text()?.to_owned();
    if before.iter().any(|point| point.name == name) {
        let problem = format!("a second point is named `{name}`");
        return Err(entry.reject(Complaint::new(problem, "give each a name of its own")));
    }
    let set = section.required("set", "[\"flow.main.controller=reno\"]")?;
    let scenario = section.optional("scenario");
    let scenario = scenario.map(|s| s.text().map(str::to_owned)).transpose()?;
    let pair = |entry: Entry<'_>| {
        let pair = entry.text()?.split_once('=');
        let pair = pair
            .ok_or_else(|| entry.reject(Complaint::new("no `=` in it", "write \"key=value\"")))?;
        Ok(Setting {
            key: pair.0.trim().to_owned(),
            value: pair.1.trim().to_owned(),
            place: entry.place(),
        })
    };
    let set = set
        .items()?
        .into_iter()
        .map(pair)
        .collect::<Result<_, _>>()?;
    section.finish()?;
    Ok(Point {
        name,
        scenario,
        set,
    })
}

#[cfg(test)]
mod tests;
