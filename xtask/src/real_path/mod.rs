//! `cargo xtask real-path`: measuring makes no transfer worse, on sockets and over a path with a
//! round trip.
//!
//! Server and client run in two network namespaces. Between them is a path that a process of this
//! program emulates: rate, delay and queue are what the cell of the grid says. Each controller has
//! its turn in each round, so that other work of the machine hits all of them. Slow paths are
//! measured side by side, each in namespaces of its own.

#![expect(clippy::disallowed_methods, reason = "says how long the rest will take")]

mod accuracy;
pub mod cells;
pub mod emulator;
mod lanes;
mod report;
pub mod results;
mod rivals;
pub mod transfer;

pub use emulator::{Arguments as EmulatorArguments, run as emulate};

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::testbed::{self, Launcher};
use cells::{Axes, Cell};
use lanes::Unit;
use report::Verdict;
use results::{Conditions, Results, Row};
use transfer::{Bench, NEWCOMERS};

/// What a transfer alone is compared with.
const CUBIC: &str = "cubic";

/// The rivals of a transfer have the path to themselves for this time.
const HEAD_START: Duration = Duration::from_secs(2);

/// From this rate on a shorter transfer tells as much.
const FAST_MBPS: u32 = 100;

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
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    runs: u32,

    /// How long each transfer takes, in seconds. Unless this is given, 8 below 100 Mbit/s and 5
    /// from there on.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: Option<u32>,

    /// How fast all paths that are measured at a time may be together, in Mbit/s. One that is
    /// faster by itself is measured alone; 1 measures all alone.
    #[arg(
        long,
        value_name = "MBPS",
        default_value_t = 120,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    side_by_side: u32,

    /// Which controllers; `imtcp` is judged against `imtcp-off` and, alone, against `cubic`, which
    /// is measured nowhere else. Cells without `imtcp`, or without any of these, are not judged,
    /// and are told so. `kernel` is a flow of the kernel's CUBIC; `promise` is imtcp with 8 Mbit/s
    /// over 2 s, and `promise-exactly` with no more than that.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "imtcp,imtcp-off,cubic",
        value_parser = NEWCOMERS
    )]
    controllers: Vec<String>,

    /// Write what each transfer came to into this file, a line of JSON each. What an earlier run
    /// has written there is not measured again, unless its client, its time, its priority or
    /// `--record` was another: such lines stay, and do not count.
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,

    /// Keep a qlog of each transfer in this folder, with which `imtcp-qlog replay` measures again.
    /// Writing them takes the server some time, so compare goodputs without it.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,

    /// Run server and client at real-time priority, undisturbed by what else the machine does.
    /// Hosts are not like that; the emulated path always runs so if it may.
    #[arg(long)]
    real_time: bool,
}

/// Builds, measures, cleans up; fails when a bar is missed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut grid = Grid::of(arguments);
    grid.ensure_somebody_is_wanted()?;
    let binaries = testbed::binaries(arguments.binaries.as_deref())?;
    testbed::demand_root(&binaries)?;
    let interrupted = testbed::interruption()?;
    let scratch = testbed::scratch("path")?;
    let launcher = Launcher::new(binaries, arguments.real_time, interrupted);
    let file = scratch.join("results.jsonl");
    let file = arguments.results.as_ref().unwrap_or(&file);
    let mut results = Results::open(file)?;
    grid.real_time = launcher.has_real_time();
    say!("{launcher}\nResults: {}", file.display())?;
    if let Some(others) = grid.others(&results) {
        say!("{others}")?;
    }
    say!("")?;

    let outcome = grid.measure(&launcher, &scratch, &mut results);
    // The results so far are worth showing even after an interruption.
    let verdicts: Vec<Verdict> = grid
        .cells
        .iter()
        .map(|cell| (cell, grid.rows(cell, &results)))
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(cell, rows)| Verdict::of(&cell.to_string(), cell.rivals == 0, &rows))
        .collect();
    say!("\n{}", report::table(&verdicts))?;
    say!("What the programs said: {}", scratch.display())?;
    if let Some(jitter) = report::jitter(results.rows()) {
        say!("{jitter}")?;
    }
    outcome?;
    Ok(if verdicts.iter().all(Verdict::is_met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What is to be measured.
pub struct Grid<'a> {
    /// The paths.
    pub cells: Vec<Cell>,
    /// The client, if it is another than `fetch`.
    pub client: Option<&'a str>,
    /// The controllers, or others that `Bench` knows by name.
    pub controllers: &'a [String],
    /// Which of them are wanted in a cell.
    pub is_wanted: fn(&Cell, &str) -> bool,
    /// How often.
    pub runs: u32,
    /// How long each transfer takes; as the path's rate wants it, unless that is given.
    pub seconds: Option<u32>,
    /// The time that rivals have the path to themselves, in each run.
    pub head_start: fn(u32) -> Duration,
    /// How fast all paths that are measured at a time may be together.
    pub load_mbps: u32,
    /// Where qlogs of the transfers are kept, if they are.
    pub record: Option<&'a Path>,
    /// Whether server and client run at real-time priority.
    pub real_time: bool,
}

impl<'a> Grid<'a> {
    fn of(arguments: &'a Arguments) -> Self {
        let axes = &arguments.axes;
        let client = axes.client.as_deref();
        let (cells, runs, seconds) = match arguments.quick {
            true => (Axes::quick(client).cells(), 2, Some(5)),
            false => (axes.cells(), arguments.runs, arguments.seconds),
        };
        Self {
            cells,
            client,
            controllers: &arguments.controllers,
            is_wanted,
            runs,
            seconds,
            head_start: |_| HEAD_START,
            load_mbps: arguments.side_by_side,
            record: arguments.record.as_deref(),
            real_time: false,
        }
    }

    fn conditions(&self, cell: &Cell, run: u32) -> Conditions {
        let head_start = match cell.rivals {
            0 => Duration::ZERO,
            _ => (self.head_start)(run),
        };
        Conditions {
            client: self.client.map(str::to_owned),
            seconds: self.seconds_of(cell),
            head_start_ms: u64::try_from(head_start.as_millis()).unwrap_or(u64::MAX),
            real_time: self.real_time,
            recorded: self.record.is_some(),
        }
    }

    /// The rows of a cell that were made as this grid makes them.
    pub fn rows<'r>(&self, cell: &Cell, results: &'r Results) -> Vec<&'r Row> {
        let name = cell.to_string();
        let is_ours = |row: &&Row| {
            row.cell == name && row.conditions.as_ref() == Some(&self.conditions(cell, row.run))
        };
        results.rows().filter(is_ours).collect()
    }

    /// Says how many rows of these cells were made otherwise, if there are any.
    fn others(&self, results: &Results) -> Option<String> {
        let of_cell = |cell: &Cell| {
            let all = results.of(&cell.to_string()).count();
            all - self.rows(cell, results).len()
        };
        let count: usize = self.cells.iter().map(of_cell).sum();
        (count > 0).then(|| {
            format!(
                "{count} transfers there were made with another client, time or priority, with or \
                 without --record, or by an earlier build. They stay and do not count; for those \
                 to count, repeat the options of that run."
            )
        })
    }

    /// Complains if there is nothing to measure: that would look like success.
    fn ensure_somebody_is_wanted(&self) -> Result<()> {
        let is_of_use = |cell| {
            let mut names = self.controllers.iter();
            names.any(|name| (self.is_wanted)(cell, name))
        };
        ensure!(
            self.cells.iter().any(is_of_use),
            "`{CUBIC}` is not measured beside rivals; name others with --controllers, or have \
             --rivals 0"
        );
        Ok(())
    }

    /// All transfers that are not in the results yet, round by round.
    pub fn measure(
        &self,
        launcher: &Launcher,
        scratch: &Path,
        results: &mut Results,
    ) -> Result<()> {
        let left = self.left(results);
        let transfers = left.iter().map(|unit| unit.controllers.len()).sum();
        let count = lanes::count(left.iter().map(|unit| unit.cell), self.load_mbps);
        let bench = |lane| Bench::new(launcher, scratch, lane, self.client, self.record);
        let benches = (0..count).map(bench);
        let benches: Vec<Bench<'_>> = benches.collect::<Result<_>>()?;
        let started = Instant::now();
        let mut done = 0;
        let transfer = |bench: &Bench<'_>, cell: &Cell, controller: &str, run: u32| {
            launcher.ensure_not_interrupted()?;
            let span = Duration::from_secs(self.seconds_of(cell).into());
            let row = bench.run(cell, controller, run, [(self.head_start)(run), span])?;
            let conditions = Some(self.conditions(cell, run));
            Ok(Row { conditions, ..row })
        };
        lanes::work(&benches, left, self.load_mbps, transfer, |row| {
            done += 1;
            let line = progress(started.elapsed(), done, transfers, &row);
            results.add(row)?;
            say!("{line}")
        })
    }

    fn left(&self, results: &Results) -> Vec<Unit<'_>> {
        let mut left = Vec::new();
        for run in 1..=self.runs {
            for cell in &self.cells {
                let name = cell.to_string();
                let conditions = self.conditions(cell, run);
                let is_left = |controller: &&str| {
                    (self.is_wanted)(cell, controller)
                        && !results.has(&name, controller, run, &conditions)
                };
                let controllers = self.in_turn(run).map(String::as_str).filter(is_left);
                left.push(Unit {
                    cell,
                    run,
                    controllers: controllers.collect(),
                });
            }
        }
        left.retain(|unit| !unit.controllers.is_empty());
        left
    }

    fn seconds_of(&self, cell: &Cell) -> u32 {
        self.seconds
            .unwrap_or(if cell.rate_mbps < FAST_MBPS { 8 } else { 5 })
    }

    /// The controllers, each of them first in one of the runs.
    fn in_turn(&self, run: u32) -> impl Iterator<Item = &String> {
        let first = run as usize % self.controllers.len();
        let (later, sooner) = self.controllers.split_at(first);
        sooner.iter().chain(later)
    }
}

/// Beside rivals no controller is compared with CUBIC.
fn is_wanted(cell: &Cell, controller: &str) -> bool {
    cell.rivals == 0 || controller != CUBIC
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_were_made_otherwise_are_made_anew_and_do_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut results = Results::open(&folder.path().join("r.jsonl")).expect("new");
        let controllers = ["imtcp".to_owned()];
        let grid = |client| Grid {
            cells: Axes::quick(Some("a client")).cells(),
            client,
            controllers: &controllers,
            is_wanted,
            runs: 1,
            seconds: Some(5),
            head_start: |_| HEAD_START,
            load_mbps: 120,
            record: None,
            real_time: false,
        };
        let (one, other) = (grid(Some("curl {url}")), grid(Some("wget {url}")));
        for cell in &one.cells {
            let mut row = Row::new(cell.to_string(), "imtcp", 1);
            row.conditions = Some(one.conditions(cell, 1));
            results.add(row).expect("written");
        }
        assert!(one.left(&results).is_empty());
        assert_eq!(one.others(&results), None);
        assert_eq!(other.left(&results).len(), one.cells.len());
        assert!(other.rows(&other.cells[0], &results).is_empty());
        let said = other.others(&results).expect("it is told");
        assert!(said.starts_with("8 transfers there"), "{said}");
    }

    #[test]
    fn beside_rivals_everybody_is_measured_but_cubic() {
        let cells = Axes::quick(None).cells();
        assert!(cells.iter().any(|cell| cell.rivals > 0));
        for cell in &cells {
            let is_left_out = |name: &&str| !is_wanted(cell, name);
            let left_out: Vec<&str> = NEWCOMERS.into_iter().filter(is_left_out).collect();
            let expected: &[&str] = if cell.rivals > 0 { &[CUBIC] } else { &[] };
            assert_eq!(left_out, expected);
        }
    }
}
