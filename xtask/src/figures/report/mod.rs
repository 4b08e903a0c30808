//! What came of the rows: a page to look at, and tables.

mod page;
mod plot;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::outcome::Outcome;
use super::store::Store;

/// Writes `figures.html`, `figures.csv` and `runs.csv`; returns where the page is.
pub fn write(outcomes: &[Outcome], store: &Store, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let path = folder.join("figures.html");
    fs::write(&path, page::page(outcomes, store))
        .with_context(|| format!("writing {}", path.display()))?;
    tables::write(outcomes, folder)?;
    Ok(path)
}

/// A number for people.
fn number(number: f64, digits: usize) -> String {
    match number.is_finite() {
        true => format!("{number:.digits$}"),
        false => "never".to_owned(),
    }
}

/// Text for a page: nothing of it is taken for markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
