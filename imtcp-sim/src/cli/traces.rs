//! `imtcp-sim traces`.

use super::{TracesArguments, create};
use imtcp_sim::trace::{drawn, written};
use std::error::Error;

/// Writes drawn traces.
///
/// # Errors
/// A file cannot be written.
pub fn run(arguments: &TracesArguments) -> Result<(), Box<dyn Error>> {
    create(&arguments.folder)?;
    for seed in arguments.seeds.0.clone() {
        let trace = drawn(seed);
        let file = arguments.folder.join(format!("{}.trace", trace.name()));
        std::fs::write(&file, written(&trace))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        say!("{}: {} on average", file.display(), trace.mean())?;
    }
    Ok(())
}
