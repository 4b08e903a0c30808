//! What can be wrong with a file, with the place and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A place in a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of the record, counted from 1. In most files the first record is the header.
    pub record: u64,
    /// The offset of the record's first byte, counted from 0, in the decompressed file.
    pub byte: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}, byte {}", self.record, self.byte)
    }
}

/// Why a file could not be read to its end.
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
    /// The file is no qlog, or of a kind that cannot be read.
    #[error("{}: {problem}; {remedy}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        problem: String,
        /// What to give in its place.
        remedy: &'static str,
    },
    /// A record cannot be used, and the reader was told to stop there.
    #[error("{}: {position}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Where the record begins.
        position: Position,
        /// What is wrong with it.
        problem: String,
    },
    /// The log lacks what a command needs.
    #[error("{}: {problem}; {remedy}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What it lacks.
        problem: String,
        /// How to get it.
        remedy: String,
    },
}

/// Something wrong in a file that can be read all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub position: Position,
    /// What is wrong, and what was done about it.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.text)
    }
}

/// The problems of a file: the first few in words, all by their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    first: Vec<Problem>,
    count: u64,
}

/// How many problems are kept in words. A damaged file may have millions.
const MOST_PROBLEMS: usize = 8;

impl Problems {
    pub(crate) fn add(&mut self, position: Position, text: String) {
        self.count += 1;
        if self.first.len() < MOST_PROBLEMS {
            self.first.push(Problem { position, text });
        }
    }

    /// The first problems.
    pub fn first(&self) -> &[Problem] {
        &self.first
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many are only counted.
    pub fn unnamed(&self) -> u64 {
        self.count - self.first.len() as u64
    }
}
