//! What the program does.

pub mod compare;
pub mod export;
pub mod plot;
pub mod qvis;
pub mod replay;
pub mod rewrite;
pub mod streams;
pub mod summary;

use imtcp_qlog::{Error, Log};
use std::path::Path;

/// Opens a log.
pub fn open(file: &Path, strict: bool) -> Result<Log, Error> {
    let log = Log::open(file)?;
    Ok(if strict { log.strict() } else { log })
}

/// Tells what was left out, on standard error.
pub fn warn(log: &Log) {
    let (file, problems) = (log.name().display(), log.problems());
    for problem in problems.first() {
        eprintln!("warning: {file}: {problem}");
    }
    if problems.unnamed() > 0 {
        eprintln!(
            "warning: {file}: and {} more like these",
            problems.unnamed()
        );
    }
}
