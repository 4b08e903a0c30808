//! A TOML file with the positions of everything in it, and overrides merged in.

use super::error::{Complaint, ScenarioError};
use super::reader::Section;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A parsed file.
#[derive(Debug)]
pub(super) struct Document<'t> {
    origin: &'t str,
    text: &'t str,
    root: DeTable<'t>,
    overridden: Vec<Override<'t>>,
}

/// A key that was set from outside the file.
#[derive(Debug)]
struct Override<'t> {
    key: &'t str,
    /// Where that stands, for errors.
    place: &'t str,
}

/// No key of a scenario lies deeper than this, and tables in each other take room on the stack.
const DEEPEST: usize = 32;

impl<'t> Document<'t> {
    pub(super) fn parse(origin: &'t str, text: &'t str) -> Result<Self, ScenarioError> {
        let root = DeTable::parse(text).map_err(|error| ScenarioError {
            origin: origin.to_owned(),
            position: error.span().map(|span| position(text, &span)),
            key: String::new(),
            problem: format!("not TOML: {}", error.message()),
            remedy: String::new(),
        })?;
        Ok(Self {
            origin,
            text,
            root: root.into_inner(),
            overridden: Vec::new(),
        })
    }

    pub(super) fn root(&self) -> Section<'_> {
        Section::new(self, String::new(), &self.root, 0..0)
    }

    /// Sets the key at `path`, such as `link.bottleneck.rate`, creating tables on the way. `value`
    /// is a TOML value. Anything else is taken for a string, so that no quotes are needed. `place`
    /// is where that is written.
    pub(super) fn set(
        &mut self,
        place: &'t str,
        path: &'t str,
        value: &'t str,
    ) -> Result<(), ScenarioError> {
        let parsed = match DeValue::parse(value) {
            Ok(parsed) => parsed.into_inner(),
            Err(_) => DeValue::String(value.into()),
        };
        let keys: Vec<&str> = path.split('.').collect();
        if keys.len() > DEEPEST {
            return Err(ScenarioError {
                origin: place.to_owned(),
                position: None,
                key: format!("{}...", keys[..3].join(".")),
                problem: format!("a key of {} parts", keys.len()),
                remedy: format!("write {DEEPEST} parts at most, such as link.bottleneck.rate"),
            });
        }
        self.overridden.push(Override { key: path, place });
        set(&mut self.root, &keys, parsed).map_err(|c| self.error(path, &(0..0), c))
    }

    /// Where a file is that the key at `key` names: beside this file, unless the key was overridden
    /// or the name says it.
    pub(super) fn beside(&self, key: &str, file: &str) -> PathBuf {
        let folder = match self.overridden_at(key) {
            Some(_) => None,
            None => Path::new(self.origin).parent(),
        };
        folder.unwrap_or(Path::new("")).join(file)
    }

    /// Where the key at `key` was set, if not in the file. Of several places the last one counts.
    pub(super) fn overridden_at(&self, key: &str) -> Option<&'t str> {
        let is_of = |set: &&Override<'t>| {
            key.strip_prefix(set.key)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        self.overridden
            .iter()
            .rev()
            .find(is_of)
            .map(|set| set.place)
    }

    /// Where a value of the file stands.
    pub(super) fn place(&self, key: &str, span: &Range<usize>) -> String {
        let (line, column) = position(self.text, span);
        format!("{}:{line}:{column}: {key}", self.origin)
    }

    /// An error about the key at `key`, wherever it came from.
    pub(super) fn error(
        &self,
        key: &str,
        span: &Range<usize>,
        complaint: Complaint,
    ) -> ScenarioError {
        let (origin, position) = match self.overridden_at(key) {
            Some(place) => (place.to_owned(), None),
            None => (self.origin.to_owned(), Some(position(self.text, span))),
        };
        ScenarioError {
            origin,
            position,
            key: key.to_owned(),
            problem: complaint.problem,
            remedy: complaint.remedy,
        }
    }
}

fn position(text: &str, span: &Range<usize>) -> (usize, usize) {
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    (line, column)
}

fn set<'t>(table: &mut DeTable<'t>, keys: &[&'t str], value: DeValue<'t>) -> Result<(), Complaint> {
    let (key, rest) = match keys {
        [] | [""] => return Err(Complaint::new("no key", "write --set key=value")),
        [key, rest @ ..] => (*key, rest),
    };
    if rest.is_empty() {
        let key = Spanned::new(0..0, key.into());
        table.remove(&key);
        table.insert(key, Spanned::new(0..0, value));
        return Ok(());
    }
    let entry = table
        .entry(Spanned::new(0..0, key.into()))
        .or_insert_with(|| Spanned::new(0..0, DeValue::Table(DeTable::new())));
    match entry.get_mut() {
        DeValue::Table(inner) => set(inner, rest, value),
        DeValue::Array(items) => set(named(items, key, rest[0])?, &rest[1..], value),
        _ => Err(Complaint::new(
            format!("`{key}` holds no keys"),
            "leave out what follows it",
        )),
    }
}

/// The table among `items` whose name is `name`.
fn named<'a, 't>(
    items: &'a mut [Spanned<DeValue<'t>>],
    kind: &str,
    name: &str,
) -> Result<&'a mut DeTable<'t>, Complaint> {
    let mut names = Vec::new();
    for item in items {
        let DeValue::Table(table) = item.get_mut() else {
            continue;
        };
        match table.get("name").and_then(|name| name.get_ref().as_str()) {
            Some(found) if found == name => return Ok(table),
            found => names.extend(found.map(str::to_owned)),
        }
    }
    Err(Complaint::new(
        format!("no {kind} is named `{name}`"),
        format!("known: {}", names.join(", ")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its tables in each other were more than the stack holds.
    #[test]
    fn a_key_of_very_many_parts_is_refused() {
        let key = vec!["a"; 60_000].join(".");
        let least = vec!["a"; DEEPEST].join(".");
        let mut document = Document::parse("t.toml", "").expect("an empty file");
        let error = document.set("--set", &key, "1").expect_err("too deep");
        assert_eq!(
            error.to_string(),
            "--set: a.a.a...: a key of 60000 parts; write 32 parts at most, such as \
             link.bottleneck.rate"
        );
        document.set("--set", &least, "1").expect("it is not deep");
    }
}
