//! What the program does.

pub mod ask;
pub mod cluster;
pub mod ingest;
pub mod synthesize;

use anyhow::{Context, Result};
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::thread::available_parallelism;

/// Nobody reads standard output any more: its reader has seen enough.
#[derive(Debug)]
pub struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads standard output")
    }
}

impl std::error::Error for ReaderGone {}

/// Prints text as it is. `println!` panics where nobody reads it.
fn print(text: &[u8]) -> Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        outcome => outcome.context("writing to standard output"),
    }
}

/// The processors of this machine.
fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}
