//! Reads a table key by key, so that every error can say where it is and what to write instead.

use super::document::Document;
use super::error::{Complaint, ScenarioError};
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use toml::de::{DeTable, DeValue};

/// A table being read. [`Section::finish`] rejects the keys that nobody asked for.
#[derive(Debug)]
pub(super) struct Section<'d> {
    document: &'d Document<'d>,
    path: String,
    table: &'d DeTable<'d>,
    span: Range<usize>,
    known: Vec<&'static str>,
}

/// The value of a key.
#[derive(Clone, Debug)]
pub(super) struct Entry<'d> {
    document: &'d Document<'d>,
    path: String,
    span: Range<usize>,
    value: &'d DeValue<'d>,
}

impl<'d> Section<'d> {
    pub(super) fn new(
        document: &'d Document<'d>,
        path: String,
        table: &'d DeTable<'d>,
        span: Range<usize>,
    ) -> Self {
        Self {
            document,
            path,
            table,
            span,
            known: Vec::new(),
        }
    }

    /// The key's value, if the key is there.
    pub(super) fn optional(&mut self, key: &'static str) -> Option<Entry<'d>> {
        self.known.push(key);
        let value = self.table.get(key)?;
        Some(Entry {
            document: self.document,
            path: join(&self.path, key),
            span: value.span(),
            value: value.get_ref(),
        })
    }

    /// The key's value.
    ///
    /// # Errors
    /// The key is missing; `example` shows what to write.
    pub(super) fn required(
        &mut self,
        key: &'static str,
        example: &str,
    ) -> Result<Entry<'d>, ScenarioError> {
        self.optional(key).ok_or_else(|| {
            let complaint = Complaint::new(
                format!("`{key}` is missing"),
                format!("add {key} = {example}"),
            );
            self.document.error(&self.path, &self.span, complaint)
        })
    }

    /// The tables of `[[key]]`.
    pub(super) fn tables(&mut self, key: &'static str) -> Result<Vec<Section<'d>>, ScenarioError> {
        match self.optional(key) {
            Some(entry) => entry.tables(),
            None => Ok(Vec::new()),
        }
    }

    /// Rejects unknown keys, with the nearest known one as the remedy.
    pub(super) fn finish(self) -> Result<(), ScenarioError> {
        let unknown = self
            .table
            .keys()
            .find(|key| !self.known.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown else {
            return Ok(());
        };
        let complaint = unknown_name("key", key.get_ref(), &self.known);
        let path = join(&self.path, key.get_ref());
        Err(self.document.error(&path, &key.span(), complaint))
    }

    /// Rejects the table as a whole.
    pub(super) fn reject(&self, complaint: Complaint) -> ScenarioError {
        self.document.error(&self.path, &self.span, complaint)
    }
}

impl<'d> Entry<'d> {
    pub(super) fn reject(&self, complaint: Complaint) -> ScenarioError {
        self.document.error(&self.path, &self.span, complaint)
    }

    fn expected(&self, what: &str) -> ScenarioError {
        let found = self.value.type_str();
        let article = if found.starts_with(['a', 'i']) {
            "an"
        } else {
            "a"
        };
        self.reject(Complaint::new(
            format!("this is {article} {found}"),
            format!("write {what}"),
        ))
    }

    pub(super) fn text(&self) -> Result<&'d str, ScenarioError> {
        self.value
            .as_str()
            .ok_or_else(|| self.expected("a string in quotes"))
    }

    /// A quantity with its unit, read by one of the functions of [`super::quantity`].
    pub(super) fn quantity<T>(
        &self,
        read: impl Fn(&str) -> Result<T, Complaint>,
    ) -> Result<T, ScenarioError> {
        let complaint = match self.value {
            DeValue::Integer(number) => read(number.as_str()).err(),
            DeValue::Float(number) => read(number.as_str()).err(),
            DeValue::String(text) => return read(text).map_err(|c| self.reject(c)),
            _ => None,
        };
        Err(complaint.map_or_else(
            || self.expected("a number and its unit in quotes"),
            |complaint| self.reject(complaint),
        ))
    }

    pub(super) fn boolean(&self) -> Result<bool, ScenarioError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.expected("true or false"))
    }

    pub(super) fn count(&self, allowed: RangeInclusive<u32>) -> Result<u32, ScenarioError> {
        let what = format!("a whole number, {} to {}", allowed.start(), allowed.end());
        let Some(number) = self.value.as_integer() else {
            return Err(self.expected(&what));
        };
        u32::from_str_radix(number.as_str(), number.radix())
            .ok()
            .filter(|count| allowed.contains(count))
            .ok_or_else(|| {
                let problem = format!("{number} is out of range");
                self.reject(Complaint::new(problem, format!("write {what}")))
            })
    }

    pub(super) fn number(&self, allowed: RangeInclusive<f64>) -> Result<f64, ScenarioError> {
        let what = format!("a number, {} to {}", allowed.start(), allowed.end());
        let (written, number) = match self.value {
            DeValue::Integer(number) => {
                let value = i64::from_str_radix(number.as_str(), number.radix());
                (number.to_string(), value.ok().map(|value| value as f64))
            }
            DeValue::Float(number) => (number.to_string(), number.as_str().parse().ok()),
            _ => return Err(self.expected(&what)),
        };
        let number = number.filter(|number| allowed.contains(number));
        number.ok_or_else(|| {
            let problem = format!("{written} is out of range");
            self.reject(Complaint::new(problem, format!("write {what}")))
        })
    }

    /// One of several names.
    pub(super) fn choice<T: Copy>(
        &self,
        choices: &[(&'static str, T)],
    ) -> Result<T, ScenarioError> {
        let text = self.text()?;
        let found = choices.iter().find(|(name, _)| *name == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.reject(unknown_name("value", text, &names))
        })
    }

    /// Where the file is that the value names: beside the scenario, unless it was overridden.
    pub(super) fn file(&self) -> Result<PathBuf, ScenarioError> {
        Ok(self.document.beside(&self.path, self.text()?))
    }

    /// Where it stands in the file.
    pub(super) fn place(&self) -> String {
        self.document.place(&self.path, &self.span)
    }

    /// Whether it was set from outside the file.
    pub(super) fn is_overridden(&self) -> bool {
        self.document.overridden_at(&self.path).is_some()
    }

    /// The key, as a path.
    pub(super) fn key(&self) -> &str {
        &self.path
    }

    pub(super) fn is_text(&self) -> bool {
        self.value.is_str()
    }

    pub(super) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    pub(super) fn is_array(&self) -> bool {
        self.value.is_array()
    }

    pub(super) fn section(&self) -> Result<Section<'d>, ScenarioError> {
        let table = self
            .value
            .as_table()
            .ok_or_else(|| self.expected("a table"))?;
        let (path, span) = (self.path.clone(), self.span.clone());
        Ok(Section::new(self.document, path, table, span))
    }

    /// The values of an array.
    pub(super) fn items(&self) -> Result<Vec<Entry<'d>>, ScenarioError> {
        let items = self.value.as_array();
        let items = items.ok_or_else(|| self.expected("an array"))?;
        let entry = |(index, item): (usize, &'d toml::Spanned<DeValue<'d>>)| Entry {
            document: self.document,
            path: format!("{}[{index}]", self.path),
            span: item.span(),
            value: item.get_ref(),
        };
        Ok(items.iter().enumerate().map(entry).collect())
    }

    /// An array of tables. A table with a name is known by it in errors, others by their index.
    pub(super) fn tables(&self) -> Result<Vec<Section<'d>>, ScenarioError> {
        let items = self
            .value
            .as_array()
            .ok_or_else(|| self.expected("an array of tables"))?;
        let section = |(index, item): (usize, &'d toml::Spanned<DeValue<'d>>)| {
            let name = item
                .get_ref()
                .get("name")
                .and_then(|name| name.get_ref().as_str());
            let path = match name {
                Some(name) => join(&self.path, name),
                None => format!("{}[{index}]", self.path),
            };
            let entry = Entry {
                document: self.document,
                path,
                span: item.span(),
                value: item.get_ref(),
            };
            entry.section()
        };
        items.iter().enumerate().map(section).collect()
    }
}

fn join(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}

/// Says that a name is unknown, which one may be meant, or else all that are known.
pub(super) fn unknown_name(what: &str, name: &str, known: &[&str]) -> Complaint {
    /// Below this similarity a suggestion confuses more than it helps.
    const SIMILAR: f64 = 0.75;
    let similarity = |candidate: &str| strsim::jaro_winkler(name, candidate);
    let nearest = known
        .iter()
        .max_by(|a, b| similarity(a).total_cmp(&similarity(b)))
        .filter(|candidate| similarity(candidate) >= SIMILAR);
    let remedy = match nearest {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => format!("known: {}", known.join(", ")),
    };
    Complaint::new(format!("unknown {what} `{name}`"), remedy)
}
