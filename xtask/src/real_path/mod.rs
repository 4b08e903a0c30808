//! `cargo xtask real-path`: never worse than without, on sockets and over a path with a round trip.
//!
//! Server and client run in two network namespaces. Between them is a path that a process of this
//! program emulates: rate, delay and queue are what the cell of the grid says. Each controller has its
//! turn in each round, so that what the machine does besides hits all of them.

#![expect(
    clippy::disallowed_methods,
    reason = "says how long the rest will take"
)]

mod accuracy;
mod cells;
mod emulator;
mod report;
mod results;
mod rivals;
mod transfer;

pub use emulator::{Arguments as EmulatorArguments, run as emulate};

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::testbed::{self, Launcher};
use cells::{Axes, Cell};
use report::Verdict;
use results::{Results, Row};
use transfer::Bench;

/// Compares imtcp with itself without measuring, and with CUBIC, over emulated paths between two
/// network namespaces. Needs root. Without options the whole grid takes hours: narrow its axes, or
/// give --quick. Fails when a bar is missed.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    axes: Axes,

    /// A few cells, twice each, in minutes; the axes are not asked.
    #[arg(long)]
    quick: bool,

    /// How often each cell is measured with each controller.
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// How long each transfer takes, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: u32,

    /// Which controllers; `imtcp` is judged against `imtcp-off` and `cubic`.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "imtcp,imtcp-off,cubic"
    )]
    controllers: Vec<String>,

    /// Write what each transfer came to into this file, a line of JSON each. What an earlier run has
    /// written there is not measured again.
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,

    /// Run server and client at real-time priority, undisturbed by what else the machine does. Hosts
    /// are not like that; the emulated path always runs so if it may.
    #[arg(long)]
    real_time: bool,
}

/// Builds, measures, cleans up; fails when a bar is missed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let binaries = testbed::binaries(arguments.binaries.as_deref())?;
    testbed::demand_root("real-path", &binaries)?;
    let interrupted = testbed::interruption()?;
    let scratch = testbed::scratch("path")?;
    let launcher = Launcher::new(binaries, arguments.real_time, interrupted);
    let file = scratch.join("results.jsonl");
    let file = arguments.results.as_ref().unwrap_or(&file);
    let mut results = Results::open(file)?;
    println!("{launcher}\nResults: {}\n", file.display());

    let grid = Grid::of(arguments);
    let outcome = grid.measure(
        &Bench::new(&launcher, &scratch, grid.seconds)?,
        &mut results,
    );
    // What is there is worth showing also where it was interrupted.
    let verdicts: Vec<Verdict> = grid
        .cells
        .iter()
        .filter(|cell| results.of(&cell.to_string()).next().is_some())
        .map(|cell| Verdict::of(&cell.to_string(), cell.rivals == 0, &results))
        .collect();
    println!("\n{}", report::table(&verdicts));
    if let Some(jitter) = report::jitter(results.rows()) {
        println!("{jitter}");
    }
    outcome?;
    Ok(if verdicts.iter().all(Verdict::is_met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What is to be measured.
struct Grid<'a> {
    cells: Vec<Cell>,
    controllers: &'a [String],
    runs: u32,
    seconds: u32,
}

impl<'a> Grid<'a> {
    fn of(arguments: &'a Arguments) -> Self {
        let controllers = &arguments.controllers;
        if arguments.quick {
            Self {
                cells: Axes::quick().cells(),
                controllers,
                runs: 2,
                seconds: 5,
            }
        } else {
            Self {
                cells: arguments.axes.cells(),
                controllers,
                runs: arguments.runs,
                seconds: arguments.seconds,
            }
        }
    }

    /// All transfers that are not in the results yet, round by round.
    fn measure(&self, bench: &Bench<'_>, results: &mut Results) -> Result<()> {
        let mut left = Vec::new();
        for run in 1..=self.runs {
            for cell in &self.cells {
                for controller in self.in_turn(run) {
                    if !results.has(&cell.to_string(), controller, run) {
                        left.push((cell, controller, run));
                    }
                }
            }
        }
        let started = Instant::now();
        for (done, (cell, controller, run)) in left.iter().enumerate() {
            let row = bench.run(cell, controller, *run)?;
            println!(
                "{}",
                progress(started.elapsed(), done + 1, left.len(), &row)
            );
            results.add(row)?;
        }
        Ok(())
    }

    /// The controllers, each first in its turn.
    fn in_turn(&self, run: u32) -> impl Iterator<Item = &String> {
        let first = run as usize % self.controllers.len();
        let (later, sooner) = self.controllers.split_at(first);
        sooner.iter().chain(later)
    }
}

fn progress(elapsed: Duration, done: usize, of: usize, row: &Row) -> String {
    let left = elapsed.as_secs_f64() / done as f64 * (of - done) as f64 / 60.0;
    let Row {
        cell,
        controller,
        run,
        ..
    } = row;
    let what = match (&row.error, row.accuracy) {
        (Some(error), _) => format!("failed: {error}"),
        (None, Some(accuracy)) => format!(
            "{:.2} Mbit/s, estimate off by {:.1} %",
            row.goodput_bps / 1e6,
            accuracy.median_error * 100.0
        ),
        (None, None) if row.rivals_bps > 0.0 => format!(
            "{:.2} Mbit/s, rivals {:.2}",
            row.goodput_bps / 1e6,
            row.rivals_bps / 1e6
        ),
        (None, None) => format!("{:.2} Mbit/s", row.goodput_bps / 1e6),
    };
    format!("[{done}/{of}, {left:.1} min left] {cell} {controller} run {run}: {what}")
}
