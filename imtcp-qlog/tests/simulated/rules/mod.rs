//! Checks JSON against rules in the part of CDDL (RFC 8610) that our schema files use: a type to a
//! line or a block, members with `?` for optional ones, alternatives, arrays, literals and names.

use serde_json::Value;
use std::collections::BTreeMap;

/// A type.
#[derive(Clone, Debug)]
enum Type {
    Object {
        members: Vec<(String, bool, Type)>,
        is_open: bool,
    },
    Array(Box<Type>),
    Either(Vec<Type>),
    Literal(String),
    Named(String),
}

/// Types by their names, and the types of events.
#[derive(Debug, Default)]
pub struct Rules {
    types: BTreeMap<String, Type>,
    events: BTreeMap<String, String>,
}

impl Rules {
    /// Reads schema files.
    pub fn parse(files: &[&str]) -> Self {
        let mut rules = Self::default();
        for file in files {
            let mut lines = file.lines();
            let mut event = None;
            while let Some(line) = lines.next() {
                if let Some(name) = line.strip_prefix("; event ") {
                    event = Some(name.to_owned());
                }
                let Some((name, right)) = line.split_once(" = ") else {
                    continue;
                };
                if line.starts_with(';') {
                    continue;
                }
                let parsed = if right == "{" {
                    object(&mut lines)
                } else {
                    expression(right)
                };
                if let Some(event) = event.take() {
                    rules.events.insert(event, name.to_owned());
                }
                assert!(
                    rules.types.insert(name.to_owned(), parsed).is_none(),
                    "{name} twice"
                );
            }
        }
        rules
    }

    /// Checks the data of an event.
    pub fn check(&self, event: &str, data: &Value) -> Result<(), String> {
        let name = self.events.get(event).ok_or("there is no such event")?;
        self.matches(&self.types[name], data)
    }

    fn matches(&self, kind: &Type, value: &Value) -> Result<(), String> {
        match kind {
            Type::Object { members, is_open } => self.object(members, *is_open, value),
            Type::Array(of) => {
                let values = value
                    .as_array()
                    .ok_or_else(|| format!("{value} is no array"))?;
                for (index, value) in values.iter().enumerate() {
                    self.matches(of, value)
                        .map_err(|error| format!("[{index}]: {error}"))?;
                }
                Ok(())
            }
            Type::Either(kinds) => {
                let mut problem = String::new();
                for kind in kinds {
                    match self.matches(kind, value) {
                        Ok(()) => return Ok(()),
                        Err(error) => problem = error,
                    }
                }
                Err(problem)
            }
            Type::Literal(text) => {
                let is_it = value.as_str() == Some(text);
                is_it
                    .then_some(())
                    .ok_or_else(|| format!("{value} is not \"{text}\""))
            }
            Type::Named(name) => self.named(name, value),
        }
    }

    fn object(
        &self,
        members: &[(String, bool, Type)],
        is_open: bool,
        value: &Value,
    ) -> Result<(), String> {
        let found = value
            .as_object()
            .ok_or_else(|| format!("{value} is no object"))?;
        for (name, is_optional, kind) in members {
            match found.get(name) {
                Some(value) => {
                    self.matches(kind, value)
                        .map_err(|error| format!("`{name}`: {error}"))?;
                }
                None if *is_optional => {}
                None => return Err(format!("`{name}` is missing")),
            }
        }
        let is_named = |name: &&String| !members.iter().any(|(member, ..)| member == *name);
        match found.keys().find(is_named).filter(|_| !is_open) {
            Some(name) => Err(format!("`{name}` is not in the rules")),
            None => Ok(()),
        }
    }

    fn named(&self, name: &str, value: &Value) -> Result<(), String> {
        let is_hex = |text: &str| {
            let digits = text
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            digits && text.len().is_multiple_of(2)
        };
        let is_it = match name {
            "any" => true,
            "null" => value.is_null(),
            "bool" => value.is_boolean(),
            "text" => value.is_string(),
            "uint" => value.is_u64(),
            "int" => value.is_i64() || value.is_u64(),
            "float" => value.is_number(),
            "hexstring" => value.as_str().is_some_and(is_hex),
            _ => {
                let kind = self.types.get(name);
                let kind = kind.unwrap_or_else(|| panic!("{name} is not defined"));
                return self.matches(kind, value);
            }
        };
        is_it
            .then_some(())
            .ok_or_else(|| format!("{value} is no {name}"))
    }
}

fn object<'l>(lines: &mut impl Iterator<Item = &'l str>) -> Type {
    let (mut members, mut is_open) = (Vec::new(), false);
    for line in lines.map(str::trim).take_while(|line| *line != "}") {
        if line.is_empty() || line.starts_with(';') {
            continue;
        }
        if line == "* any" {
            is_open = true;
            continue;
        }
        let (name, kind) = line.split_once(": ").unwrap_or_else(|| panic!("`{line}`"));
        let optional = name.strip_prefix("? ");
        let is_optional = optional.is_some();
        members.push((
            optional.unwrap_or(name).to_owned(),
            is_optional,
            expression(kind),
        ));
    }
    Type::Object { members, is_open }
}

fn expression(text: &str) -> Type {
    if let Some(of) = text
        .strip_prefix("[* ")
        .and_then(|text| text.strip_suffix(']'))
    {
        return Type::Array(Box::new(expression(of)));
    }
    if text.contains(" / ") {
        return Type::Either(text.split(" / ").map(expression).collect());
    }
    match text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
    {
        Some(literal) => Type::Literal(literal.to_owned()),
        None => Type::Named(text.to_owned()),
    }
}
