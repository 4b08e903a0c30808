//! The command line.

#[macro_use]
mod stdout;

mod calibrate;
mod compare;
mod demo;
mod estimated;
mod explain;
mod list;
mod pool;
mod promised;
mod promises;
mod qlog;
mod run;
mod score;
mod seeds;
mod shared;
mod summary;
mod survey;
mod sweep;
mod tools;
mod traces;

use clap::{Args, Parser, Subcommand};
use imtcp_sim::scenario::Scenario;
use imtcp_sim::survey::Class;
use imtcp_sim::survey::promise::Carrier;
use seeds::Seeds;
use signal_hook::consts::SIGPIPE;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Real QUIC endpoints over simulated paths in virtual time, with a known truth.
#[derive(Debug, Parser)]
#[command(name = "imtcp-sim", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch a measurement follow a step in cross traffic, and what it costs.
    Demo(DemoArguments),
    /// Run a scenario; write qlogs, CSV series and figures; print the scores.
    Run(RunArguments),
    /// Run scenarios with many settings, such as a promise beside more and more rivals, and write
    /// tables and figures of what became of each.
    Sweep(SweepArguments),
    /// Hold a promise's forecasts and warnings against what came of its slots.
    Calibrate(CalibrateArguments),
    /// Draw paths that nobody chose, run each with and without measuring and with CUBIC, and show
    /// where measuring costs most. With --estimates, show how right the estimates are there. With
    /// --promise, draw promises on these paths, and show what became of them and of the flows
    /// beside. Fails when a bar is missed.
    Survey(SurveyArguments),
    /// List the built-in scenarios and sweeps.
    List,
    /// Write drawn packet-delivery traces, in the format of mahimahi: a rate that walks, deliveries
    /// in bunches, outages. Links follow them by their names, too: trace = "drawn-7".
    Traces(TracesArguments),
    /// Show a scenario's topology, round trips, bandwidth-delay product and nominal truth.
    Explain(ExplainArguments),
    /// Score the estimates of a server that ran a scenario outside the simulator, and print the
    /// scores as JSON.
    Score(ScoreArguments),
}

#[derive(Debug, Args)]
struct DemoArguments {
    /// The seed of both runs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for qlogs, series and figures.
    #[arg(long, value_name = "DIR", default_value = "out/demo")]
    out: PathBuf,
}

#[derive(Debug, Args)]
struct CalibrateArguments {
    /// Scenarios whose first measuring flow has a promise; without any, paths and rates are drawn,
    /// one case for each seed.
    scenarios: Vec<String>,
    /// A sweep, of which the cells with a promise that foresees are run; may be given several
    /// times.
    #[arg(long = "sweep", value_name = "SWEEP")]
    sweeps: Vec<String>,
    /// All seeds from A to B, both included.
    #[arg(long, value_name = "A..B", default_value = "1..60")]
    seeds: Seeds,
    /// Folder for the diagram and the list of forecasts.
    #[arg(long, value_name = "DIR", default_value = "out/calibration")]
    out: PathBuf,
    /// How many runs to make at the same time.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
}

#[derive(Debug, Args)]
struct SurveyArguments {
    /// Kinds of paths; all without any.
    #[arg(value_parser = class)]
    classes: Vec<Class>,
    /// One path of each class for each seed from A to B, both included.
    #[arg(long, value_name = "A..B", default_value = "1..200")]
    seeds: Seeds,
    /// Write everything to this file, as an array with one object per class.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Let each path of the class radio follow one of the packet-delivery traces of this folder, in
    /// the format of mahimahi, begun anywhere: the seed says which and where.
    #[arg(long, value_name = "FOLDER", conflicts_with = "promise")]
    traces: Option<PathBuf>,
    /// Folder for a CSV file with every path, and the scenarios of those that miss a bar. With
    /// --promise, for promise.html and the scenarios of paths where a promise was broken. With
    /// --estimates, for each path's scores, what was read there, all scenarios, and the page
    /// estimates.html.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// With --estimates, write one page to look at to this file: the classes with their bars, the
    /// worst paths, and what was read on each path over time. It needs no other file.
    #[arg(long, value_name = "FILE", requires = "estimates")]
    html: Option<PathBuf>,
    /// Survey estimates instead of the cost of measuring: what an application reads at every tenth
    /// of a second, against the truth around it. Others read beside: the paper's estimator, the
    /// flow's own delivery rate, BBRv2, and an oracle.
    #[arg(long, conflicts_with_all = ["promise", "placebo"])]
    estimates: bool,
    /// With --estimates, let the estimators of the literature watch as well: RCE, DFT, Westwood,
    /// Hoe, TCP-Rab, Cprobe, packet pairs. What most of them mean is not the available bandwidth.
    #[arg(long, requires = "estimates")]
    observers: bool,
    /// Survey shares instead: what the controller says that a bulk transfer would get, against what
    /// a bulk transfer in the flow's place gets. The flow's window, its delivery rate, BBRv2 and
    /// the estimate are read beside.
    #[arg(long, conflicts_with_all = ["promise", "placebo", "estimates"])]
    shares: bool,
    /// Survey promises instead of the cost of measuring.
    #[arg(long)]
    promise: bool,
    /// Who carries the promises: imtcp, cubic, bbr2, reno; all without any.
    #[arg(long, value_name = "CARRIER,...", value_delimiter = ',', value_parser = carrier)]
    #[arg(requires = "promise", conflicts_with_all = ["estimates", "shares"])]
    carriers: Vec<Carrier>,
    /// Change a key of each path with a promise, such as flow.main.imtcp.promise_ceiling="40 %";
    /// may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    #[arg(requires = "promise", conflicts_with_all = ["estimates", "shares"])]
    overrides: Vec<(String, String)>,
    /// How many times more to run a path that misses goodput or age, with measuring and without,
    /// begun a millisecond later each time. A miss stands if the means miss by more than chance. 0
    /// judges the first pair of runs.
    #[arg(long, default_value_t = 16, conflicts_with_all = ["promise", "estimates", "shares"])]
    repeats: u32,
    /// Run each path once more, not measuring and begun a millisecond later: how much differs by
    /// chance alone.
    #[arg(long, conflicts_with = "promise")]
    placebo: bool,
    /// How many paths to run at the same time.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
}

#[derive(Debug, Args)]
struct TracesArguments {
    /// The folder for `drawn-SEED.trace`.
    folder: PathBuf,
    /// One trace for each seed from A to B, both included.
    #[arg(long, value_name = "A..B", default_value = "1..8")]
    seeds: Seeds,
}

#[derive(Debug, Args)]
struct ScenarioArguments {
    /// A TOML file, or the name of a built-in scenario.
    scenario: String,
    /// Change a key, such as flow.main.imtcp.stream_packets=8; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    overrides: Vec<(String, String)>,
}

#[derive(Debug, Args)]
struct ExplainArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    /// Print the scenario in plain numbers as JSON, for a program that runs it elsewhere.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ScoreArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    /// The flow that the server sent.
    #[arg(long, value_name = "NAME", default_value = "main")]
    flow: String,
    /// What `serve --estimates` has written.
    #[arg(long, value_name = "FILE")]
    estimates: PathBuf,
    /// How long the server was there before the scenario began, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    head_start: Duration,
}

#[derive(Debug, Args)]
struct RunArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    /// The seed of a single run.
    #[arg(long, default_value_t = 1, conflicts_with = "seeds")]
    seed: u64,
    /// Run all seeds from A to B, both included.
    #[arg(long, value_name = "A..B")]
    seeds: Option<Seeds>,
    /// Folder for qlogs, series and figures [default: out/<scenario>].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the results to this file, as an array with one object per seed.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Let the estimators of the literature watch all flows that can be watched, and score them
    /// beside this project's: RCE, DFT, Westwood, Hoe, TCP-Rab, Cprobe, packet pairs.
    #[arg(long)]
    observers: bool,
    /// Of which seeds to write qlogs; they are large.
    #[arg(long, value_enum, default_value_t = QlogOf::First)]
    qlog: QlogOf,
    #[command(flatten)]
    style: qlog::Style,
    /// How many seeds to run at the same time.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
}

#[derive(Debug, Args)]
struct SweepArguments {
    /// A TOML file, or the name of a built-in sweep.
    sweep: String,
    /// Run all seeds from A to B, both included.
    #[arg(long, value_name = "A..B", default_value = "1..3")]
    seeds: Seeds,
    /// Only these points of an axis, such as carrier=imtcp,reno; may be given several times.
    #[arg(long = "only", value_name = "AXIS=POINT,...", value_parser = key_and_value)]
    only: Vec<(String, String)>,
    /// Show changes against this point of an axis instead of the sweep's own.
    #[arg(long, value_name = "POINT")]
    baseline: Option<String>,
    /// Change a key of the scenario; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    overrides: Vec<(String, String)>,
    /// Folder for tables and figures [default: out/<sweep>].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How many runs at the same time.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum QlogOf {
    /// No qlog is written.
    None,
    /// The qlog of the first seed is written.
    First,
    /// Each seed's qlog is written.
    All,
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().parse().ok();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "this is no time; write seconds, such as 2.5".to_owned())
}

fn class(text: &str) -> Result<Class, String> {
    Class::named(text).ok_or_else(|| {
        let names: Vec<&str> = Class::ALL.iter().map(|class| class.name()).collect();
        format!("there is no class `{text}`; known: {}", names.join(", "))
    })
}

fn carrier(text: &str) -> Result<Carrier, String> {
    Carrier::named(text).ok_or_else(|| {
        let names: Vec<&str> = Carrier::ALL.iter().map(|it| it.name()).collect();
        format!("there is no carrier `{text}`; known: {}", names.join(", "))
    })
}

/// Does what the arguments ask for.
///
/// # Errors The reason why it stopped, in words for the user.
pub fn main() -> Result<(), Box<dyn Error>> {
    end_when_nobody_reads()?;
    match Cli::parse().command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Survey(arguments) => survey::run(&arguments),
        Command::Traces(arguments) => traces::run(&arguments),
        Command::List => {
            list::print()?;
            Ok(())
        }
        Command::Explain(arguments) => {
            let scenario = load(&arguments.scenario)?;
            match arguments.json {
                true => say!("{}", serde_json::to_string(&scenario.description())?)?,
                false => explain::print(&scenario)?,
            }
            Ok(())
        }
        Command::Score(arguments) => score::run(&arguments),
    }
}

/// Rust ignores the signal of a closed pipe, so that `imtcp-sim list | head -1` would panic.
fn end_when_nobody_reads() -> std::io::Result<()> {
    let always = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_default(SIGPIPE, always).map(drop)
}

fn load(arguments: &ScenarioArguments) -> Result<Scenario, Box<dyn Error>> {
    Ok(Scenario::load(&arguments.scenario, &arguments.overrides)?)
}

fn create(folder: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()).into())
}

/// A table in the one style of this program.
fn table<const N: usize>(header: [&str; N]) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table
        .load_preset(comfy_table::presets::UTF8_HORIZONTAL_ONLY)
        .set_header(header);
    table
}
