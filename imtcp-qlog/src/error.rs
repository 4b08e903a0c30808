//! What can be wrong with a file.

use std::io;
use std::path::PathBuf;

/// Why a file could not be read to its end, with the place.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
    /// The file is not a log that can be read, from `line` on.
    #[error("{}:{line}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line on which the record begins, from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
}
