//! `imtcp-sim`: runs, lists and explains scenarios.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("imtcp-sim: {error}");
            ExitCode::FAILURE
        }
    }
}
