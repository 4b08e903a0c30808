//! `cargo xtask figures`: every figure of the papers and of today's paths, with ours beside.

mod bar;
mod case;
mod outcome;
mod report;
mod row;
mod runner;
mod store;
mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::seeds;
use crate::testbed::{self, Launcher};
use crate::workspace;
use case::Case;
use outcome::Outcome;
use row::{LEAST_SEEDS, Row};
use runner::{Runner, Troubles};
use store::{Run, Store};

/// Runs the papers' experiments and today's paths, and writes a page with what was published, what
/// is measured here, the rivals, and the bars. Fails when a bar is missed.
///
/// What has been run with the same simulator, setting and seed is not run again: stop it at any
/// time, and start it again. All seeds of all rows take some hours on two cores.
#[derive(clap::Args)]
pub struct Arguments {
    /// Rows, such as A1 or M0, or letters for all of theirs; all rows without any.
    ids: Vec<String>,
    /// All seeds from A to B, both included.
    #[arg(long, value_name = "A..B", default_value = "1..10", value_parser = seeds::parse)]
    seeds: (u64, u64),
    /// Only what is met and takes seconds, with one seed.
    #[arg(long, conflicts_with = "seeds")]
    quick: bool,
    /// Start no new run after so many minutes, and write the page of what is there. What is short
    /// comes first then, after one seed of everything.
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
    /// Run nothing; write the page of what is there.
    #[arg(long)]
    only_report: bool,
    /// Folder for the page, the tables and the raw data [default: target/figures].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Recorded cells in the format of mahimahi for M3, one file each, in place of drawn ones.
    #[arg(long, value_name = "FOLDER")]
    traces: Option<PathBuf>,
    /// A simulator that is built already.
    #[arg(long, value_name = "FILE")]
    simulator: Option<PathBuf>,
    /// How many runs at the same time [default: one for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
}

/// Seeds of the quick check.
const QUICK: (u64, u64) = (1, 1);

/// Runs what is missing, and writes the page.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let rows = Row::all(&workspace::root().join("xtask/figures"))?;
    let mut rows = wanted(rows, arguments)?;
    if let Some(folder) = &arguments.traces {
        follow(&mut rows, folder)?;
    }
    let (first, last) = if arguments.quick {
        QUICK
    } else {
        arguments.seeds
    };
    let seeds: Vec<u64> = (first..=last).collect();
    let default = || workspace::target().join("figures");
    let out = arguments.out.clone().unwrap_or_else(default);
    let simulator = match &arguments.simulator {
        Some(file) => file.clone(),
        None => build()?,
    };
    let store = Store::of(&out, &simulator)?;
    let cases: Vec<(Row, Vec<Case>)> = rows
        .into_iter()
        .map(|row| (row.clone(), cases(&row, arguments.quick)))
        .collect();
    let runs = plan(&cases, &seeds);
    let troubles = match arguments.only_report {
        true => Troubles::default(),
        false => made(arguments, (&simulator, &store), &out, &runs)?,
    };
    let outcome = |(row, cases)| Outcome::of(row, cases, &seeds, &store, &troubles.failed);
    let mut outcomes: Vec<Outcome> = cases.into_iter().map(outcome).collect();
    look_at_each_other(&mut outcomes);
    let page = report::write(&outcomes, &store, &out)?;
    summary(&outcomes, &troubles)?;
    if !arguments.quick && seeds.len() < LEAST_SEEDS {
        say!("fewer than {LEAST_SEEDS} seeds: this is a look, and no result")?;
    }
    say!("{}", page.display())?;
    Ok(match outcomes.iter().all(Outcome::is_met) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Makes the runs that are missing. Ctrl-C and its like end the simulators too.
fn made(
    arguments: &Arguments,
    (simulator, store): (&Path, &Store),
    out: &Path,
    runs: &[Run],
) -> Result<Troubles> {
    let _reserved = store::reserve(out)?;
    let minutes = arguments.minutes;
    let runner = Runner {
        simulator,
        launcher: &Launcher::new(PathBuf::new(), false, testbed::interruption()?),
        store,
        jobs: jobs(arguments),
        most: minutes.map(|minutes| Duration::from_secs(minutes * 60)),
    };
    runner.run(runs)
}

/// Lets rows that hold only with others know what came of these.
fn look_at_each_other(outcomes: &mut [Outcome]) {
    let met = outcomes.iter();
    let met = met.map(|outcome| (outcome.row.id.clone(), outcome.is_met()));
    let met: BTreeMap<String, bool> = met.collect();
    for outcome in outcomes {
        outcome.look_at_others(&met);
    }
}

/// The rows that were asked for.
fn wanted(mut rows: Vec<Row>, arguments: &Arguments) -> Result<Vec<Row>> {
    let is_meant = |row: &Row, id: &String| {
        let id = id.to_uppercase();
        row.id == id || (id.len() == 1 && row.id.starts_with(&id))
    };
    for id in &arguments.ids {
        if !rows.iter().any(|row| is_meant(row, id)) {
            let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
            bail!("there is no row `{id}`; known: {}", ids.join(", "));
        }
    }
    let all = arguments.ids.is_empty();
    rows.retain(|row| all || arguments.ids.iter().any(|id| is_meant(row, id)));
    if arguments.quick {
        rows.retain(|row| row.quick.is_some());
        ensure!(!rows.is_empty(), "none of these rows has a quick part");
    }
    Ok(rows)
}

/// Lets the rows that run over recorded cells run over those of a folder.
fn follow(rows: &mut [Row], folder: &Path) -> Result<()> {
    let mut any = false;
    for row in rows {
        any |= row.follow(folder)?;
    }
    ensure!(
        any,
        "--traces is of no use to these rows: none has an axis `trace`, as M3 has"
    );
    Ok(())
}

/// Builds the simulator.
fn build() -> Result<PathBuf> {
    let root = workspace::root();
    let mut cargo = workspace::cargo(&root);
    cargo.args(["build", "--quiet", "--release", "--package", "imtcp-sim"]);
    workspace::run(&mut cargo)?;
    Ok(workspace::release().join("imtcp-sim"))
}

fn jobs(arguments: &Arguments) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    arguments.jobs.map_or_else(cores, usize::from)
}

/// A row's cases, or those of its quick part.
fn cases(row: &Row, quick: bool) -> Vec<Case> {
    let mut cases = row.cases();
    if let Some(part) = row.quick.as_ref().filter(|_| quick) {
        cases.retain(|case| row.is_at(case, &part.place));
    }
    cases
}

/// All runs: the first seed of all rows, then the second, so that a report in between has all rows.
fn plan(rows: &[(Row, Vec<Case>)], seeds: &[u64]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut places: BTreeMap<(String, u64), usize> = BTreeMap::new();
    for (turn, seed) in seeds.iter().enumerate() {
        for (row, cases) in rows {
            if turn >= row.seeds(seeds).len() {
                continue;
            }
            for case in cases.iter().filter(|case| case.not_built.is_none()) {
                let run = Run::of(case, *seed);
                // Cases may differ in what is read alone, and rows may share a setting.
                let place = *places.entry((run.setting(), *seed)).or_insert_with(|| {
                    runs.push(run);
                    runs.len() - 1
                });
                let course = row.course.as_ref().filter(|_| turn == 0);
                if let Some(course) = course.filter(|course| row.is_shown(case, course)) {
                    runs[place].courses.push(course.flow.clone());
                }
            }
        }
    }
    runs
}

/// What the terminal gets: missed rows first.
fn summary(outcomes: &[Outcome], troubles: &Troubles) -> Result<()> {
    let (met, missed): (Vec<&Outcome>, Vec<_>) = outcomes.iter().partition(|it| it.is_met());
    for outcome in missed {
        let ((met, all), (middle, of)) = (outcome.met(), outcome.met_in_the_middle());
        say!(
            "MISSED  {:4} {} ({met} of {all} bars met; without p95 over seeds {middle} of {of})",
            outcome.row.id,
            outcome.row.title
        )?;
        if let Some(why) = &outcome.waits_for {
            say!("             {why}")?;
        }
    }
    for outcome in &met {
        say!("met     {:4} {}", outcome.row.id, outcome.row.title)?;
    }
    if troubles.left > 0 {
        say!("{} runs are left: start it again", troubles.left)?;
    }
    say!("{} of {} rows met", met.len(), outcomes.len())
}

#[cfg(test)]
mod tests;
