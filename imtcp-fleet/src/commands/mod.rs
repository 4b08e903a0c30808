//! What the program does.

pub mod ask;
pub mod cluster;
pub mod ingest;
pub mod synthesize;

use std::thread::available_parallelism;

/// The processors of this machine.
fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}
