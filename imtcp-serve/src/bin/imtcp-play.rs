//! `imtcp-play`: reads the command line, plays, and writes the figures.

use anyhow::{Context, Result};
use clap::Parser;
use imtcp_serve::play::{Options, Qoe, play};
use std::io::Write;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let qoe = play(&options).await;
    if let Err(error) = write(&options, &qoe) {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    match &qoe.error {
        Some(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}

/// The figures are written where the title could not be played to its end, too.
fn write(options: &Options, qoe: &Qoe) -> Result<()> {
    let json = qoe.json()?;
    if let Some(path) = &options.json {
        let written = std::fs::write(path, &json);
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &options.segments {
        qoe.write_rows(path)?;
    }
    // Whoever started the player may have stopped listening to it.
    let _ = writeln!(std::io::stdout(), "{json}");
    Ok(())
}
