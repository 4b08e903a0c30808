//! A scenario is data: links, cross traffic and flows, read from TOML and checked before it runs.
//!
//! The schema is in the crate's README. Quantities carry their units; every error names file, line,
//! column, key, problem and remedy.

mod alike;
mod application;
mod bucket;
mod column;
mod controller;
mod description;
mod discipline;
mod document;
mod error;
mod fairness;
mod flow;
mod host;
mod library;
mod life;
mod link;
mod nominal;
mod pipe;
mod promise;
mod quantity;
mod reader;
mod receiver;
mod recorded;
mod sweep;
mod tool;
mod traffic;

pub use application::{Application, Keyframes, PageSettings, Pause, Shape};
pub use column::{Column, Value};
pub use controller::{Controller, Foreign};
pub use description::Description;
pub use error::ScenarioError;
pub use fairness::{Beside, beside, fair_shares};
pub(crate) use fairness::{wants_all, water_level};
pub use flow::{Flow, SETTLING};
pub use host::{Host, Naps, Range};
pub use library::{Listed, listed, listed_sweeps};
pub use link::Link;
pub use nominal::Nominal;
pub use receiver::{Acknowledge, Receiver, Stack};
pub use sweep::{Axis, Baseline, Cell, Point, Setting, Sweep};
pub use tool::{Times, Tool};
pub use traffic::Traffic;

use document::Document;
use error::Complaint;
use imtcp_cc::units::Timestamp;
use reader::{Section, unknown_name};
use std::time::Duration;

/// What to simulate. Plain data: a test may change any of it before running.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Names the output files.
    pub name: String,
    /// One line for lists and plots.
    pub title: String,
    /// Simulated time.
    pub duration: Duration,
    /// In forward order, from the servers to the clients.
    pub links: Vec<Link>,
    /// Sources of cross traffic.
    pub traffic: Vec<Traffic>,
    /// Connections with real endpoints.
    pub flows: Vec<Flow>,
    /// Tools that measure with packets of their own.
    pub tools: Vec<Tool>,
}

impl Scenario {
    /// Reads a file, or one of the built-in scenarios by its name, and applies overrides such as
    /// `("flow.main.imtcp.stream_packets", "8")`.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn load(file: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        Self::load_with(file, &Setting::of_command_line(overrides))
    }

    /// The same with settings that know where they were written.
    fn load_with(file: &str, settings: &[Setting]) -> Result<Self, ScenarioError> {
        let (origin, text) = library::source(file, listed)?;
        Self::parse_with(&origin, &text, settings)
    }

    /// Reads a scenario from its text; `origin` names it in errors.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(
        origin: &str,
        text: &str,
        overrides: &[(String, String)],
    ) -> Result<Self, ScenarioError> {
        Self::parse_with(origin, text, &Setting::of_command_line(overrides))
    }

    fn parse_with(origin: &str, text: &str, settings: &[Setting]) -> Result<Self, ScenarioError> {
        let mut document = Document::parse(origin, text)?;
        for setting in settings {
            document.set(&setting.place, &setting.key, &setting.value)?;
        }
        Self::read(document.root())
    }

    fn read(mut root: Section<'_>) -> Result<Self, ScenarioError> {
        let name = name_of(&mut root)?;
        let title = root.required("title", "\"one line\"")?.text()?.to_owned();
        let entry = root.required("duration", "\"60 s\"")?;
        let duration = entry.quantity(quantity::span_above_zero)?;
        let too_late = life::too_late(&entry, duration);
        let links = link::read_all(&mut root, Timestamp::from_origin(duration))?;
        let traffic = traffic::read_all(&mut root, &links, too_late)?;
        let flows = flow::read_all(&mut root, &links, too_late)?;
        let tools = tool::read_all(&mut root, &links, too_late)?;
        root.finish()?;
        Ok(Self {
            name,
            title,
            duration,
            links,
            traffic,
            flows,
            tools,
        })
    }

    /// The end of the run.
    pub fn end(&self) -> Timestamp {
        Timestamp::from_origin(self.duration)
    }
}

/// The section's `name`, fit for file names and for paths of keys.
fn name_of(section: &mut Section<'_>) -> Result<String, ScenarioError> {
    let entry = section.required("name", "\"a-name\"")?;
    let name = entry.text()?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(fits) {
        let problem = format!("`{name}` cannot name files and keys");
        return Err(entry.reject(Complaint::new(
            problem,
            "use letters, digits, `-` and `_` only",
        )));
    }
    Ok(name.to_owned())
}

/// Reads `[[key]]` tables whose names must differ.
fn read_named<T>(
    root: &mut Section<'_>,
    key: &'static str,
    read: impl Fn(String, Section<'_>) -> Result<T, ScenarioError>,
) -> Result<Vec<T>, ScenarioError> {
    let mut names: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for mut section in root.tables(key)? {
        let name = name_of(&mut section)?;
        if names.contains(&name) {
            let problem = format!("a second {key} is named `{name}`");
            return Err(section.reject(Complaint::new(problem, "give each a name of its own")));
        }
        names.push(name.clone());
        all.push(read(name, section)?);
    }
    Ok(all)
}

/// The index of the link that an entry names.
fn link_named(entry: &reader::Entry<'_>, links: &[Link]) -> Result<usize, ScenarioError> {
    let name = entry.text()?;
    let position = links.iter().position(|link| link.name == name);
    position.ok_or_else(|| {
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        entry.reject(unknown_name("link", name, &names))
    })
}

#[cfg(test)]
mod tests;
