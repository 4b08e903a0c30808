//! Files: the results as JSON, series as CSV, figures as SVG.

mod figure;
mod series;

pub use figure::figures;
pub use series::series;

use crate::result::RunResult;
use std::fs::File;
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

/// Writes the results as an array with one object per seed.
///
/// # Errors
/// The file cannot be written.
pub fn json(results: &[RunResult], path: &Path) -> Result<(), OutputError> {
    let failed = |error: std::io::Error| OutputError::new(path, error);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    serde_json::to_writer(&mut file, results).map_err(|error| OutputError::new(path, error))?;
    file.write_all(b"\n")
        .and_then(|()| file.flush())
        .map_err(failed)
}
