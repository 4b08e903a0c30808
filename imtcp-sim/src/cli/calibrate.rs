//! `imtcp-sim calibrate`: how far a promise's forecasts can be trusted.

use super::pool::{self, Failure};
use super::{CalibrateArguments, create};
use imtcp_cc::units::Timestamp;
use imtcp_sim::calibration::{
    Asked, BINS, Case, LEAST, Reliability, Survey, Warnings, drawn, survey,
};
use imtcp_sim::output;
use imtcp_sim::scenario::{Cell, Controller, Scenario, Sweep};
use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::path::Path;

/// Runs all cases, prints the tables, draws the diagram, writes every prediction to a file.
pub fn run(arguments: &CalibrateArguments) -> Result<(), Box<dyn Error>> {
    create(&arguments.out)?;
    let jobs = jobs(arguments)?;
    let bar = ProgressBar::new(jobs.len() as u64);
    bar.set_style(ProgressStyle::with_template("{wide_bar} {pos}/{len} runs")?);
    let threads = usize::from(arguments.jobs);
    let surveys = pool::run_all(jobs.len(), threads, |index| {
        let survey = jobs[index].run();
        bar.inc(1);
        survey
    });
    bar.finish_and_clear();
    let surveys = surveys.map_err(|failure| failure.to_string())?;
    let (mut reliability, mut warnings) = (Reliability::default(), Warnings::default());
    for survey in &surveys {
        for asked in &survey.asked {
            reliability.add(asked.probability, asked.report.outcome.is_kept());
        }
        for slot in &survey.slots {
            warnings.add(slot);
        }
    }
    let title = format!(
        "{} forecasts in {} runs",
        reliability.count(),
        surveys.len()
    );
    say!("{title}\n{}", bins(&reliability))?;
    say!("{}", warned(&warnings))?;
    output::reliability(&title, &reliability, &arguments.out.join("calibration.svg"))?;
    predictions(&jobs, &surveys, &arguments.out.join("forecasts.csv"))?;
    slots(&jobs, &surveys, &arguments.out.join("slots.csv"))?;
    say!(
        "In {}: calibration.svg, forecasts.csv, slots.csv",
        arguments.out.display()
    )?;
    Ok(())
}

/// A run to be made.
struct Job {
    name: String,
    /// The scenario; none for a path that nobody chose.
    scenario: Option<Scenario>,
    seed: u64,
}

impl Job {
    fn run(&self) -> Result<Survey, Failure> {
        let case = match &self.scenario {
            None => drawn(self.seed)?,
            Some(scenario) => Case {
                scenario: scenario.clone(),
                plan: None,
            },
        };
        Ok(survey(&case, self.seed)?)
    }
}

fn jobs(arguments: &CalibrateArguments) -> Result<Vec<Job>, Box<dyn Error>> {
    let mut named = Vec::new();
    for name in &arguments.scenarios {
        let scenario = Scenario::load(name, &[])?;
        if !promises(&scenario) {
            return Err(no_promise(name, "its first flow whose controller is imtcp").into());
        }
        named.push((name.clone(), scenario));
    }
    for name in &arguments.sweeps {
        let cells = Sweep::load(name)?.cells(&[])?.into_iter();
        let promising: Vec<Cell> = cells.filter(|cell| promises(&cell.scenario)).collect();
        if promising.is_empty() {
            return Err(no_promise(
                name,
                "the first flow whose controller is imtcp, in one cell at least,",
            )
            .into());
        }
        named.extend(promising.into_iter().map(|cell| {
            let name = format!("{name} {}", cell.names.join(" "));
            (name, cell.scenario)
        }));
    }
    let seeds = || arguments.seeds.0.clone();
    if named.is_empty() {
        return Ok(seeds()
            .map(|seed| Job {
                name: format!("drawn-{seed}"),
                scenario: None,
                seed,
            })
            .collect());
    }
    let jobs = named.iter().flat_map(|(name, scenario)| {
        seeds().map(move |seed| Job {
            name: format!("{name} seed {seed}"),
            scenario: Some(scenario.clone()),
            seed,
        })
    });
    Ok(jobs.collect())
}

/// Whether the flow that is asked has a promise: the first whose controller makes forecasts.
fn promises(scenario: &Scenario) -> bool {
    let mut flows = scenario.flows.iter();
    let first = flows.find(|flow| flow.controller == Controller::Imtcp);
    first.is_some_and(|flow| flow.imtcp.promise().is_some())
}

fn no_promise(name: &str, whose: &str) -> String {
    format!(
        "{name}: nothing is promised, so that there is nothing to hold against an outcome; give \
         {whose} an imtcp.promise"
    )
}

fn bins(reliability: &Reliability) -> String {
    let mut table = super::table(["forecast", "slots", "mean forecast", "kept", "gap"]);
    let cell = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    let width = 1.0 / BINS as f64;
    for (index, bin) in reliability.bins.iter().enumerate() {
        let from = index as f64 * width;
        table.add_row([
            format!("{from:.1} to {:.1}", from + width),
            bin.count.to_string(),
            cell(bin.predicted()),
            cell(bin.observed()),
            bin.gap().map_or("-".to_owned(), |gap| format!("{gap:+.3}")),
        ]);
    }
    format!(
        "{table}\nworst gap of the bins with {LEAST} slots or more: {}; Brier score {}",
        cell(reliability.worst_gap()),
        cell(reliability.brier())
    )
}

pub(super) fn warned(warnings: &Warnings) -> String {
    let mut table = super::table(["at risk half a slot before its end", "missed", "kept"]);
    let row = |name: &str, missed: u32, kept: u32| {
        [name.to_owned(), missed.to_string(), kept.to_string()]
    };
    table.add_row(row("yes", warnings.right, warnings.wrong));
    table.add_row(row("no", warnings.none, warnings.quiet));
    let cell = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    format!(
        "{table}\nprecision {}, recall {}",
        cell(warnings.precision()),
        cell(warnings.recall())
    )
}

/// One line for each forecast, with what it rests on.
fn predictions(jobs: &[Job], surveys: &[Survey], file: &Path) -> Result<(), Box<dyn Error>> {
    let mut lines = csv::Writer::from_path(file)
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    lines.write_record(HEADER)?;
    for (job, survey) in jobs.iter().zip(surveys) {
        for asked in &survey.asked {
            lines.write_record(line(&job.name, asked))?;
        }
    }
    Ok(lines.flush()?)
}

/// One line for each slot.
fn slots(jobs: &[Job], surveys: &[Survey], file: &Path) -> Result<(), Box<dyn Error>> {
    let mut lines = csv::Writer::from_path(file)
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    lines.write_record([
        "run",
        "start_s",
        "per_s",
        "required_bps",
        "achieved_bps",
        "outcome",
        "warned_s",
    ])?;
    for (job, survey) in jobs.iter().zip(surveys) {
        for slot in &survey.slots {
            let after = |at: Timestamp| at.saturating_since(slot.start).as_secs_f64();
            lines.write_record([
                job.name.clone(),
                format!("{:.4}", slot.start.as_secs_f64()),
                format!("{:.4}", after(slot.end)),
                slot.required.as_bps().to_string(),
                slot.achieved.as_bps().to_string(),
                slot.outcome.name().to_owned(),
                slot.warned
                    .map_or(String::new(), |at| format!("{:.4}", after(at))),
            ])?;
        }
    }
    Ok(lines.flush()?)
}

const HEADER: [&str; 15] = [
    "run",
    "t",
    "rate_bps",
    "per_s",
    "running",
    "probability",
    "available_bps",
    "error_bps",
    "window_s",
    "capacity_bps",
    "reach_bps",
    "probability_available",
    "achieved_bps",
    "outcome",
    "warned_s",
];

fn line(run: &str, asked: &Asked) -> [String; 15] {
    let outlook = &asked.outlook;
    let warned = asked.report.warned;
    let warned = warned.map(|at| at.saturating_since(asked.report.start));
    [
        run.to_owned(),
        format!("{:.2}", asked.at.as_secs_f64()),
        asked.rate.as_bps().to_string(),
        format!("{:.4}", asked.per.as_secs_f64()),
        u8::from(asked.running).to_string(),
        format!("{:.6}", asked.probability),
        outlook.available.as_bps().to_string(),
        outlook.error.as_bps().to_string(),
        format!("{:.6}", outlook.window.as_secs_f64()),
        outlook
            .capacity
            .map_or(String::new(), |capacity| capacity.as_bps().to_string()),
        outlook.reach().as_bps().to_string(),
        format!(
            "{:.6}",
            outlook.probability_available(asked.rate, asked.per)
        ),
        asked.report.achieved.as_bps().to_string(),
        asked.report.outcome.name().to_owned(),
        warned.map_or(String::new(), |after| format!("{:.4}", after.as_secs_f64())),
    ]
}
