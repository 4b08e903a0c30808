//! The cases of a row: all combinations of its axes' points.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::row::{Axis, Point};

/// Points by their axes: one, or several of an axis.
pub type Where = BTreeMap<String, Points>;

/// One point, or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Points {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Points {
    /// Whether a point is among them.
    pub fn has(&self, point: &str) -> bool {
        self.names().contains(&point)
    }

    /// Their names.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::One(name) => vec![name],
            Self::Several(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

/// A combination of points.
#[derive(Debug, Clone)]
pub struct Case {
    /// The points' names, axis by axis.
    pub names: Vec<String>,
    /// What stands for `{axis}`, axis by axis.
    pub words: Vec<(String, String)>,
    /// The scenario.
    pub scenario: String,
    /// The keys that are changed.
    pub set: Vec<String>,
    /// What the files contain that these keys name.
    pub contents: Vec<u64>,
    /// Whether estimators of the literature watch.
    pub observers: bool,
    /// Why it cannot be run yet.
    pub not_built: Option<String>,
}

impl Case {
    /// The same with one more point.
    pub fn with(&self, axis: &Axis, point: &Point) -> Self {
        let mut case = self.clone();
        case.names.push(point.name.clone());
        let word = point.word.as_ref().unwrap_or(&point.name);
        case.words.push((axis.name.clone(), word.clone()));
        case.set.extend(point.set.iter().cloned());
        case.contents.extend(point.content);
        if let Some(scenario) = &point.scenario {
            case.scenario.clone_from(scenario);
        }
        case.not_built = case.not_built.or_else(|| point.not_built.clone());
        case
    }

    /// Its points, in words.
    pub fn label(&self) -> String {
        self.names.join(", ")
    }
}

/// A text with the words of its case.
pub fn filled(text: &str, words: &[(String, String)]) -> String {
    words.iter().fold(text.to_owned(), |text, (axis, word)| {
        text.replace(&format!("{{{axis}}}"), word)
    })
}
