//! `imtcp-sim sweep`.

use super::pool::{self, Failure};
use super::{SweepArguments, calibrate, compare, create, run, stdout};
use imtcp_sim::calibration::Warnings;
use imtcp_sim::output;
use imtcp_sim::result::{ComparedCell, ComparedRun, PromiseResult, RunResult, SweepRow, SweepRun};
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::{Cell, Sweep};
use imtcp_sim::simulation::Simulation;
use indicatif::ProgressBar;
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Runs all cells with all seeds.
#[expect(clippy::disallowed_methods, reason = "the time goes to standard error alone")]
pub fn run(arguments: &SweepArguments) -> Result<(), Box<dyn Error>> {
    let sweep = prepare(arguments)?;
    let cells = sweep.cells(&arguments.overrides)?;
    let folder = arguments.out.clone();
    let folder = folder.unwrap_or_else(|| PathBuf::from("out").join(&sweep.name));
    create(&folder)?;
    let begun = Instant::now();
    let seeds = &arguments.seeds.0;
    let jobs: Vec<(&Cell, u64)> = cells
        .iter()
        .flat_map(|cell| seeds.clone().map(move |seed| (cell, seed)))
        .collect();
    let simulated: Duration = jobs.iter().map(|(cell, _)| cell.scenario.duration).sum();
    if sweep.columns.is_empty() {
        let runs = run_all(&sweep, &jobs, arguments.jobs, slots)?;
        let rows = SweepRow::of(&runs);
        stdout::write(table(&sweep, &rows, seeds))?;
        if let Some(warnings) = warnings(&runs) {
            say!("{}", calibrate::warned(&warnings))?;
        }
        output::sweep_files(&sweep, &runs, &rows, &folder)?;
    } else {
        let columns = |cell: &Cell, result: RunResult| {
            let names = cell.names.clone();
            Ok(ComparedRun::of(names, &sweep.columns, &result))
        };
        let runs = run_all(&sweep, &jobs, arguments.jobs, columns)?;
        let compared = ComparedCell::of(&sweep, &runs);
        stdout::write(compare::table(&sweep, &compared, seeds))?;
        output::comparison_files(&sweep, &runs, &compared, &folder)?;
    }
    eprintln!(
        "{} s simulated in {:.0} s; files in {}",
        simulated.as_secs(),
        begun.elapsed().as_secs_f64(),
        folder.display()
    );
    Ok(())
}

fn prepare(arguments: &SweepArguments) -> Result<Sweep, Box<dyn Error>> {
    let mut sweep = Sweep::load(&arguments.sweep)?;
    if let Some(point) = &arguments.baseline {
        sweep
            .compare_with(point)
            .map_err(|error| format!("--baseline: {error}"))?;
    }
    for (axis, points) in &arguments.only {
        let points: Vec<&str> = points.split(',').map(str::trim).collect();
        sweep
            .keep(axis, &points)
            .map_err(|error| format!("--only: {error}"))?;
    }
    Ok(sweep)
}

/// Runs each job and keeps the part of its result that `of` picks.
fn run_all<T: Send>(
    sweep: &Sweep,
    jobs: &[(&Cell, u64)],
    at_once: u16,
    of: impl Fn(&Cell, RunResult) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, String> {
    let simulated = jobs.iter().map(|(cell, _)| cell.scenario.duration).sum();
    let bar = run::progress_bar(&sweep.name, simulated);
    let one = |index: usize| {
        let (cell, seed) = jobs[index];
        of(cell, run_one(cell, seed, &bar)?)
    };
    let runs = pool::run_all(jobs.len(), usize::from(at_once), one);
    bar.finish_and_clear();
    runs.map_err(|failure| failure.to_string())
}

fn run_one(cell: &Cell, seed: u64, bar: &ProgressBar) -> Result<RunResult, Failure> {
    let mut shown = 0;
    let mut progress = |_: &Simulation<'_>, now: imtcp_cc::units::Timestamp| {
        let milliseconds = now.as_nanos() / 1_000_000;
        bar.inc(milliseconds - shown);
        shown = milliseconds;
    };
    let options = RunOptions {
        qlog: None,
        progress: Some(&mut progress),
    };
    Ok(cell.scenario.run(seed, options)?)
}

fn slots(cell: &Cell, result: RunResult) -> Result<SweepRun, Failure> {
    let seed = result.seed;
    let promises = result.flows.into_iter().filter_map(|flow| flow.promise);
    let promise: Option<PromiseResult> = promises.into_iter().next();
    let promise = promise.ok_or_else(|| {
        let name = &cell.scenario.name;
        format!(
            "no flow of {name} has slots to count; give one imtcp.promise, and the run some seconds"
        )
    })?;
    Ok(SweepRun {
        names: cell.names.clone(),
        seed,
        promise,
    })
}

/// The forecasts of those controllers that make any.
fn warnings(runs: &[SweepRun]) -> Option<Warnings> {
    let mut warnings = Warnings::default();
    let foreseeing = runs.iter().filter(|run| run.promise.reported.is_some());
    for SweepRun { promise, .. } in foreseeing {
        for slot in &promise.slots {
            warnings.count(slot.was_warned_in_time(promise.per_s), slot.kept);
        }
    }
    (warnings != Warnings::default()).then_some(warnings)
}

fn table(sweep: &Sweep, rows: &[SweepRow], seeds: &std::ops::RangeInclusive<u64>) -> String {
    let mut header: Vec<String> = Vec::new();
    header.extend(sweep.axes.iter().map(|axis| axis.name.clone()));
    // An axis may say it already.
    let says_rivals = sweep.axes.iter().any(|axis| axis.name == "rivals");
    header.extend((!says_rivals).then(|| "rivals".to_owned()));
    let columns = [
        "slots",
        "kept %",
        "own count %",
        "p5 %",
        "mean %",
        "rival Mbit/s",
        "fair share",
        "rivals lose %",
    ];
    header.extend(columns.map(str::to_owned));
    let mut table = comfy_table::Table::new();
    table
        .load_preset(comfy_table::presets::UTF8_HORIZONTAL_ONLY)
        .set_header(header);
    let cell = |value: Option<f64>, digits: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    for row in rows {
        let mut cells = row.names.clone();
        cells.extend((!says_rivals).then(|| row.rivals.to_string()));
        cells.extend([
            row.slots.count.to_string(),
            cell(Some(row.slots.kept_share * 100.0), 1),
            cell(row.reported_share.map(|share| share * 100.0), 1),
            cell(Some(row.slots.p5 * 100.0), 1),
            cell(Some(row.slots.mean * 100.0), 1),
            cell(row.rival_bps.map(|bps| bps / 1e6), 2),
            cell(row.fair_bps.map(|bps| bps / 1e6), 2),
            cell(row.lost_share.map(|share| share * 100.0), 1),
        ]);
        table.add_row(cells);
    }
    format!(
        "{}, seeds {}..{}\n{table}\n",
        sweep.name,
        seeds.start(),
        seeds.end()
    )
}
