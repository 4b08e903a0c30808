//! `imtcp-fleet`, run for its answers.

#![expect(clippy::disallowed_methods, reason = "programs outside run by the real clock")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The program.
#[derive(Debug)]
pub struct Program(pub PathBuf);

/// What a run of it said.
#[derive(Debug)]
pub struct Said {
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub errors: String,
    /// From its start to its end.
    pub took: Duration,
}

impl Program {
    /// A command of it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.0);
        command.args(arguments);
        command
    }

    /// Runs it to its end, which has to be a good one. The paths are the last arguments.
    pub fn run(&self, arguments: &[&str], paths: &[&Path]) -> Result<Said> {
        said(self.command(arguments).args(paths))
    }
}

/// Runs a command to its end, which has to be a good one.
pub fn said(command: &mut Command) -> Result<Said> {
    let began = Instant::now();
    let ended = command.output();
    let ended = ended.with_context(|| format!("starting {command:?}"))?;
    let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
    if !ended.status.success() {
        bail!("{command:?} failed: {}: {}", ended.status, errors.trim());
    }
    Ok(Said {
        output: String::from_utf8(ended.stdout).context("what it printed is no text")?,
        errors,
        took: began.elapsed(),
    })
}
