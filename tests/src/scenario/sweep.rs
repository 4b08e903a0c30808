//! A sweep: one scenario with many settings, such as a promise beside more and more rivals.

use super::document::Document;
use super::error::{Complaint, ScenarioError};
use super::reader::{Section, unknown_name};
use super::{Scenario, library, name_of};

/// A scenario and what to change of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Names the output files.
    pub name: String,
    /// One line for tables and figures.
    pub title: String,
    /// The scenario's name or file.
    pub scenario: String,
    /// Each combination of their points is a cell.
    pub axes: Vec<Axis>,
}

/// One thing that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What it is.
    pub name: String,
    /// Its values, in order.
    pub points: Vec<Point>,
}

/// A value on an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// What it is called.
    pub name: String,
    /// Keys and values, as overrides of a scenario.
    pub set: Vec<(String, String)>,
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
        let scenario = root.required("scenario", "\"d2\"")?.text()?.to_owned();
        let axes = root.tables("axis")?;
        let axes = axes.into_iter().map(axis).collect::<Result<_, _>>()?;
        root.finish()?;
        Ok(Self {
            name,
            title,
            scenario,
            axes,
        })
    }

    /// Leaves of an axis only the points of these names.
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

    /// All combinations, the last axis changing fastest; `overrides` come on top.
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
            let set: Vec<_> = set.chain(overrides.iter().cloned()).collect();
            Ok(Cell {
                names: points.iter().map(|point| point.name.clone()).collect(),
                scenario: Scenario::load(&self.scenario, &set)?,
            })
        };
        combinations.into_iter().map(cell).collect()
    }
}

fn axis(mut section: Section<'_>) -> Result<Axis, ScenarioError> {
    let name = name_of(&mut section)?;
    let points = section.required("points", "[{ name = \"reno\", set = [\"key=value\"] }]")?;
    let points = points.tables()?.into_iter().map(point);
    let points = points.collect::<Result<Vec<_>, _>>()?;
    if points.is_empty() {
        let complaint = Complaint::new("an axis without a point", "add points or leave it out");
        return Err(section.reject(complaint));
    }
    section.finish()?;
    Ok(Axis { name, points })
}

fn point(mut section: Section<'_>) -> Result<Point, ScenarioError> {
    let name = section.required("name", "\"reno\"")?.text()?.to_owned();
    let set = section.required("set", "[\"flow.main.controller=reno\"]")?;
    let pair = |entry: super::reader::Entry<'_>| {
        let pair = entry.text()?.split_once('=');
        let pair = pair
            .ok_or_else(|| entry.reject(Complaint::new("no `=` in it", "write \"key=value\"")))?;
        Ok((pair.0.trim().to_owned(), pair.1.trim().to_owned()))
    };
    let set = set
        .items()?
        .into_iter()
        .map(pair)
        .collect::<Result<_, _>>()?;
    section.finish()?;
    Ok(Point { name, set })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWEEP: &str = r#"name = "small"
title = "two by two"
scenario = "d2"
[[axis]]
name = "rivals"
points = [{ name = "5", set = ["flow.rival.count=5"] }, { name = "7", set = ["flow.rival.count=7"] }]
[[axis]]
name = "carrier"
points = [{ name = "imtcp", set = [] }, { name = "reno", set = ["flow.main.controller=reno"] }]
"#;

    fn parse(text: &str) -> Result<Sweep, ScenarioError> {
        Sweep::read(Document::parse("small.toml", text)?.root())
    }

    #[test]
    fn cells_are_all_combinations_in_order() {
        let mut sweep = parse(SWEEP).expect("it is right");
        let cells = sweep.cells(&[]).expect("they load");
        let names: Vec<String> = cells.iter().map(|cell| cell.names.join(" ")).collect();
        assert_eq!(names, ["5 imtcp", "5 reno", "7 imtcp", "7 reno"]);
        let flows: Vec<usize> = cells.iter().map(|cell| cell.scenario.flows.len()).collect();
        assert_eq!(flows, [6, 6, 8, 8]);
        assert_eq!(cells[3].scenario.flows[0].controller.name(), "reno");
        sweep.keep("carrier", &["reno"]).expect("it is there");
        assert_eq!(sweep.cells(&[]).expect("they load").len(), 2);
        let error = sweep.keep("carier", &["reno"]).expect_err("unknown");
        assert_eq!(error, "unknown axis `carier`; did you mean `carrier`?");
        let error = sweep.keep("carrier", &["imtcp"]).expect_err("gone");
        assert_eq!(error, "unknown point `imtcp`; known: reno");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = parse(&SWEEP.replace("controller=reno", "controller")).expect_err("no value");
        assert_eq!(
            error.to_string(),
            "small.toml:9:65: axis.carrier.points.reno.set[0]: no `=` in it; write \"key=value\""
        );
        let error = parse(&SWEEP.replace("set = []", "")).expect_err("no set");
        assert!(error.to_string().contains("`set` is missing"), "{error}");
    }

    #[test]
    fn the_built_in_sweeps_load() {
        for listed in library::listed_sweeps() {
            let sweep = Sweep::load(listed.name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(sweep.name, listed.name);
            let cells = sweep.cells(&[]).unwrap_or_else(|error| panic!("{error}"));
            assert!(cells.len() > 1, "{}", listed.name);
        }
    }
}
