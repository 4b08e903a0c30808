//! `cargo xtask harm`: what measuring costs on paths that nobody chose.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::{seeds, workspace};

/// Draws paths with steps, runs each with and without measuring and with CUBIC, prints the worst;
/// fails when a bar is missed.
///
/// The bars: goodput of 97 % of that without measuring on each path and of 99.5 % at the median;
/// data that leaves no more than a round trip and 10 ms later (95th percentile); something said of
/// the path within a second after each step. 200 paths take some minutes.
#[derive(clap::Args)]
pub struct Arguments {
    /// One path for each seed from A to B, both included.
    #[arg(long, value_name = "A..B", default_value = "1..200", value_parser = seeds::parse)]
    seeds: (u64, u64),
    /// Write everything to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Folder for a CSV file with every path, and the scenarios of those that miss a bar.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How many times more to run a path that misses. A miss stands if it is more than chance.
    #[arg(long, default_value_t = 16)]
    repeats: u32,
    /// Also show how much differs by chance alone.
    #[arg(long)]
    placebo: bool,
    /// How many paths to run at the same time.
    #[arg(long, default_value_t = 2)]
    jobs: u16,
}

/// Builds the simulator and lets it survey the class `steps`.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let here = std::env::current_dir().context("finding the current folder")?;
    let (first, last) = arguments.seeds;
    let mut command = workspace::cargo(&workspace::root());
    command
        .args(["run", "--quiet", "--release", "--package", "imtcp-sim"])
        .args(["--", "survey", "steps"])
        .args(["--seeds", &format!("{first}..{last}")])
        .args(["--jobs", &arguments.jobs.to_string()])
        .args(["--repeats", &arguments.repeats.to_string()]);
    // Files are named as seen from where this was started.
    for (option, file) in [("--json", &arguments.json), ("--out", &arguments.out)] {
        if let Some(file) = file {
            command.arg(option).arg(here.join(file));
        }
    }
    if arguments.placebo {
        command.arg("--placebo");
    }
    let status = command
        .status()
        .with_context(|| format!("starting {command:?}"))?;
    Ok(match status.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
