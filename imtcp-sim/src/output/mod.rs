//! Writes files: results as JSON, series as CSV, figures as SVG. Reads what a qlog says of packets
//! that carried nothing.

mod chart;
mod comparison;
mod estimate_page;
mod estimates;
mod figure;
mod page;
mod promise_plots;
mod promise_report;
mod qlog;
mod reliability;
mod series;
mod shares;
mod survey;
mod sweep;
mod sweep_figures;

pub use comparison::comparison_files;
pub use estimate_page::EstimatePage;
pub use estimates::{estimate_files, estimate_json};
pub use figure::figures;
pub use promise_report::{promise_files, promise_json};
pub use qlog::{Idle, idle_packets};
pub use reliability::reliability;
pub use series::series;
pub use shares::{share_files, share_json};
pub use survey::{survey_files, survey_json};
pub use sweep::sweep_files;

use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {file}: {problem}")]
pub struct OutputError {
    file: String,
    problem: String,
}

impl OutputError {
    fn new(file: &Path, problem: impl ToString) -> Self {
        Self {
            file: file.display().to_string(),
            problem: problem.to_string(),
        }
    }
}

/// Finds out whether a file can be written, before a long run has made what goes into it. What is
/// in the file stays there.
///
/// # Errors
/// The file cannot be opened.
pub fn check(path: &Path) -> Result<(), OutputError> {
    let mut options = OpenOptions::new();
    let opened = options.append(true).create(true).open(path);
    opened
        .map(drop)
        .map_err(|error| OutputError::new(path, error))
}

/// Writes results as JSON, and a line's end.
///
/// # Errors
/// The file cannot be written.
pub fn json(results: &impl Serialize, path: &Path) -> Result<(), OutputError> {
    let failed = |error: std::io::Error| OutputError::new(path, error);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    serde_json::to_writer(&mut file, results).map_err(|error| OutputError::new(path, error))?;
    file.write_all(b"\n")
        .and_then(|()| file.flush())
        .map_err(failed)
}
