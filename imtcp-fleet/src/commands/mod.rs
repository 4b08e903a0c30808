//! What the program does.

pub mod ask;
pub mod cluster;
pub mod ingest;
pub mod synthesize;

use anyhow::{Context, Result};
use std::io::{self, ErrorKind, Write};
use std::thread::available_parallelism;

/// Prints text as it is. It is no error if nobody reads it, where `println!` panics.
fn print(text: &[u8]) -> Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text).and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("writing to standard output"),
    }
}

/// The processors of this machine.
fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}
