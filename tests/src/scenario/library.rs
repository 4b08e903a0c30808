//! The scenarios that come with the crate, built into it.

use include_dir::{Dir, include_dir};

static SCENARIOS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/scenarios");

/// A built-in scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What `run` and `explain` take.
    pub name: &'static str,
    /// The file's text.
    pub text: &'static str,
}

/// All built-in scenarios, by name.
pub fn listed() -> Vec<Listed> {
    let file = |file: &'static include_dir::File<'static>| {
        Some(Listed {
            name: file.path().to_str()?.strip_suffix(".toml")?,
            text: file.contents_utf8()?,
        })
    };
    let mut all: Vec<Listed> = SCENARIOS.files().filter_map(file).collect();
    all.sort_unstable_by_key(|listed| listed.name);
    all
}

/// The text of the built-in scenario `name`.
pub(super) fn text(name: &str) -> Option<&'static str> {
    listed()
        .into_iter()
        .find(|listed| listed.name == name)
        .map(|listed| listed.text)
}
