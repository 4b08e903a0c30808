//! `imtcp-sim demo`: what the library knows of a path, and what it keeps on one.

mod measurement;
mod promise;

use super::{DemoArguments, create};
use std::error::Error;
use std::time::Duration;

/// The pause after a row, if it goes to a terminal.
const PACE: Duration = Duration::from_millis(150);

/// Shows a measurement, then a promise.
pub fn run(arguments: &DemoArguments) -> Result<(), Box<dyn Error>> {
    create(&arguments.out)?;
    measurement::show(arguments)?;
    say!("")?;
    promise::show(arguments)
}
