//! `imtcp-fleet`, run for its answers.

#![expect(clippy::disallowed_methods, reason = "programs outside run by the real clock")]

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How often a program that runs is looked at.
const GLANCE: Duration = Duration::from_millis(20);

/// The program.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    /// Set by Ctrl-C and its like.
    interrupted: Arc<AtomicBool>,
}

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
    /// The one at `path`, until `interrupted` is set.
    pub fn new(path: PathBuf, interrupted: Arc<AtomicBool>) -> Self {
        Self { path, interrupted }
    }

    /// A command of it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(arguments);
        command
    }

    /// Runs it to its end, which has to be a good one. The paths are the last arguments.
    pub fn run(&self, arguments: &[&str], paths: &[&Path]) -> Result<Said> {
        self.said(self.command(arguments).args(paths))
    }

    /// Runs any command to its end, which has to be a good one. It may take minutes, and an
    /// interruption ends it at once.
    pub fn said(&self, command: &mut Command) -> Result<Said> {
        let began = Instant::now();
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn();
        let mut child = child.with_context(|| format!("starting {command:?}"))?;
        let output = read(child.stdout.take());
        let errors = read(child.stderr.take());
        let status = self.wait(&mut child)?;
        let errors = String::from_utf8_lossy(&all_of(errors)?).into_owned();
        if !status.success() {
            bail!("{command:?} failed: {status}: {}", errors.trim());
        }
        let output = String::from_utf8(all_of(output)?);
        Ok(Said {
            output: output.context("what it printed is no text")?,
            errors,
            took: began.elapsed(),
        })
    }

    fn wait(&self, child: &mut Child) -> Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait().context("waiting for a program")? {
                return Ok(status);
            }
            self.ensure_not_interrupted(child)?;
            thread::sleep(GLANCE);
        }
    }

    /// Ends a program if Ctrl-C or its like came, and complains.
    pub fn ensure_not_interrupted(&self, child: &mut Child) -> Result<()> {
        if !self.interrupted.load(Ordering::Relaxed) {
            return Ok(());
        }
        child.kill().context("ending a program")?;
        child.wait().context("waiting for its end")?;
        bail!("interrupted")
    }
}

/// What a program says is read as it comes: it waits where nobody does.
type Reading = JoinHandle<io::Result<Vec<u8>>>;

fn read(pipe: Option<impl Read + Send + 'static>) -> Reading {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    })
}

fn all_of(reading: Reading) -> Result<Vec<u8>> {
    match reading.join() {
        Ok(bytes) => bytes.context("reading what a program says"),
        Err(_) => bail!("reading what a program says failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command
    }

    #[test]
    fn an_interruption_ends_what_runs() {
        let interrupted = Arc::new(AtomicBool::new(false));
        let program = Program::new(PathBuf::from("sh"), Arc::clone(&interrupted));
        let said = program.said(&mut shell("echo one; echo two >&2"));
        let said = said.expect("it ends well");
        assert_eq!((&*said.output, &*said.errors), ("one\n", "two\n"));
        let failed = program.said(&mut shell("echo why >&2; exit 3"));
        let failed = failed.expect_err("it fails").to_string();
        assert!(failed.contains("why"), "{failed}");

        interrupted.store(true, Ordering::Relaxed);
        let ended = program.said(&mut shell("exec sleep 1000"));
        assert_eq!(ended.expect_err("no answer").to_string(), "interrupted");
    }
}
