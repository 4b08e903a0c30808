//! The scenarios and sweeps that come with the crate, built into it.

use super::error::ScenarioError;
use crate::bounded;
use include_dir::{Dir, include_dir};
use std::path::Path;

static SCENARIOS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/scenarios");
static SWEEPS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/sweeps");

/// A built-in scenario or sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What the command line takes.
    pub name: &'static str,
    /// The file's text.
    pub text: &'static str,
}

/// All built-in scenarios, by name.
pub fn listed() -> Vec<Listed> {
    files(&SCENARIOS)
}

/// All built-in sweeps, by name.
pub fn listed_sweeps() -> Vec<Listed> {
    files(&SWEEPS)
}

fn files(folder: &'static Dir<'static>) -> Vec<Listed> {
    let file = |file: &'static include_dir::File<'static>| {
        Some(Listed {
            name: file.path().to_str()?.strip_suffix(".toml")?,
            text: file.contents_utf8()?,
        })
    };
    let mut all: Vec<Listed> = folder.files().filter_map(file).collect();
    all.sort_unstable_by_key(|listed| listed.name);
    all
}

/// No scenario is that long.
const MOST_BYTES: u64 = 16_000_000;

/// Name and text of a file, or of the built-in one with that name.
pub(super) fn source(
    file: &str,
    built_in: fn() -> Vec<Listed>,
) -> Result<(String, String), ScenarioError> {
    if !Path::new(file).is_file()
        && let Some(listed) = built_in().into_iter().find(|listed| listed.name == file)
    {
        return Ok((format!("{file}.toml"), listed.text.to_owned()));
    }
    let text = bounded::read(Path::new(file), MOST_BYTES);
    let text = text.and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
    let text = text.map_err(|error| ScenarioError {
        origin: file.to_owned(),
        position: None,
        key: String::new(),
        problem: format!("cannot be read: {error}"),
        remedy: "give a file, or a name that `imtcp-sim list` shows".to_owned(),
    })?;
    Ok((file.to_owned(), text))
}
