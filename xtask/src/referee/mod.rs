//! `cargo xtask referee`: who tells how much bandwidth is available, and how right that is.

mod reading;
mod simulator;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};

use simulator::Simulator;

/// Scores whoever tells a number on twelve paths with a source that is slower than the path.
///
/// This project's estimators, the delivery rate, BBRv2 and the estimators of the literature read
/// the source's own packets. quinn and noq send the same data and tell what their controllers know.
/// Tools measure the same path without the source, one measurement after
/// the other. The paths are the first three of four classes of the estimate survey whose flow is
/// such a source, by seed. It takes some minutes.
#[derive(clap::Args)]
pub struct Arguments {
    /// Folder for the paths, for what was read there, and for referee.csv with every path.
    #[arg(long, value_name = "DIR", default_value = "out/referee")]
    out: PathBuf,
    /// A simulator that is built already. Without it, it is built.
    #[arg(long, value_name = "PROGRAM")]
    simulator: Option<PathBuf>,
}

/// Classes and seeds: from seed 1 on, without those whose flow is a bulk transfer or that have
/// another flow beside.
const PATHS: [(&str, [u32; 3]); 4] = [
    ("fixed", [3, 5, 9]),
    ("steps", [2, 3, 4]),
    ("radio", [1, 2, 3]),
    ("hops", [1, 2, 3]),
];

/// The tools, by the names that scenarios have for them.
const TOOLS: [&str; 7] = [
    "abw-ping",
    "abw-ping-paper",
    "pathload",
    "igi",
    "ptr",
    "spruce",
    "pathchirp",
];

/// Other stacks with their controllers, by the names that scenarios have for them. A CUBIC tells a
/// window, which makes a rate with the round trip.
const STACKS: [&str; 4] = ["quinn-cubic", "quinn-bbr", "noq-cubic", "noq-bbr3"];

/// How somebody did on a path. Errors are shares of the capacity of the tight link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// The path's class and seed.
    path: String,
    /// Who.
    reader: String,
    /// The median of the errors; none where nothing was told.
    error_p50: Option<f64>,
    /// The 90th percentile.
    error_p90: Option<f64>,
    /// The median error with its sign.
    bias: Option<f64>,
    /// The share of instants with a value. Where this project's estimator has no value, it tells a
    /// lower bound, which is not scored here.
    told: f64,
    /// The share of truths within the told ranges; none where no range is told.
    coverage: Option<f64>,
    /// From a change until the error is below 15 %, the longest of the path. None without a change.
    /// For never it is infinite, or lasts until the next change or the end if it is taken here.
    lag_s: Option<f64>,
    /// Packets that were sent to measure, with echoes and answers, in bits per second.
    extra_bps: f64,
}

/// Runs all paths and prints the table.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let here = std::env::current_dir().context("finding the current folder")?;
    let folder = here.join(&arguments.out);
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let simulator = Simulator::new(
        arguments.simulator.as_ref().map(|it| here.join(it)),
        &folder,
    );
    let mut scores = Vec::new();
    for (class, seeds) in PATHS {
        for seed in seeds {
            let path = format!("{class}-{seed}");
            eprintln!("{path}: inline");
            scores.extend(simulator.inline(class, seed)?);
            for stack in STACKS {
                eprintln!("{path}: {stack}");
                scores.push(simulator.stack(&path, stack)?);
            }
            for tool in TOOLS {
                eprintln!("{path}: {tool}");
                scores.push(simulator.tool(&path, tool)?);
            }
        }
    }
    let file = folder.join("referee.csv");
    table::write(&scores, &file)?;
    for line in table::lines(&scores) {
        say!("{line}")?;
    }
    say!("Every path: {}", file.display())?;
    Ok(ExitCode::SUCCESS)
}
