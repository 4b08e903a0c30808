//! `cargo xtask netem`: scenarios of the simulator over the traffic control of a real kernel,
//! beside what the simulator makes of them.
//!
//! Server and client are `serve` and `fetch`, rivals are the kernel's TCP. They run in network
//! namespaces, in a row with the tight link and netem between them: on this machine if its kernel
//! has netem, else in a guest whose time is virtual. `place` knows where, `script` what happens
//! there, `scenario` what cannot.

mod figures;
mod gaps;
mod initramfs;
mod outcome;
mod packages;
mod path;
mod place;
mod report;
mod scenario;
mod script;
mod simulator;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::testbed::{self, Launcher};
use figures::{Comparison, Figures, World};
use place::{Place, Run, Wanted};
use scenario::Plan;
use script::Variation;
use simulator::Simulator;

/// The control that `tcp-cubic` of the simulator stands for.
const CUBIC: &str = "cubic";

/// Runs scenarios of the simulator over netem, and compares. Without netem in this kernel they run
/// in an emulated guest with Debian's kernel, a few seconds of wall time for one of the guest's.
/// Fails when goodput differs by more than 10 %, or the estimate's error by more than 15 % and more
/// than it does by chance.
#[derive(clap::Args)]
pub struct Arguments {
    /// Scenarios, by file or by the name that `imtcp-sim list` shows.
    #[arg(required_unless_present = "gaps", value_name = "SCENARIO")]
    scenarios: Vec<String>,

    /// Measure how exactly packets leave at their times, by a program's own timer and by the
    /// kernel's `fq`.
    #[arg(long, conflicts_with = "scenarios")]
    gaps: bool,

    /// Change a key of the scenarios, such as flow.rival.count=4; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,

    /// How often each scenario runs over netem.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,

    /// How often each scenario is simulated.
    #[arg(long, value_name = "COUNT", default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,

    /// The congestion control of the kernel's flows, by the kernel's name of it: cubic, bbr, reno.
    /// The simulator has no counterpart but of cubic.
    #[arg(long, value_name = "NAME", default_value = CUBIC)]
    kernel_control: String,

    /// Where the runs take place.
    #[arg(long, value_enum, default_value_t = Wanted::Auto)]
    place: Wanted,

    /// A run that takes longer is ended, in minutes.
    #[arg(long, value_name = "MINUTES", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(1..=600))]
    limit: u32,

    /// The folder for all results.
    #[arg(long, value_name = "DIR", default_value = "out/netem")]
    out: PathBuf,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,
}

/// Builds, runs, simulates, compares.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let packages = ["imtcp-examples", "imtcp-sim"];
    let binaries = testbed::binaries_of(arguments.binaries.as_deref(), &packages)?;
    let program = binaries.join("imtcp-sim");
    let simulators = arguments.scenarios.iter().map(|scenario| Simulator {
        program: &program,
        scenario,
        overrides: &arguments.overrides,
    });
    // What cannot run is refused before anything runs.
    let planned = simulators.map(|simulator| {
        let plan = Plan::of(simulator.describe()?)?;
        Ok((simulator, plan))
    });
    let planned: Vec<(Simulator<'_>, Plan)> = planned.collect::<Result<_>>()?;
    let launcher = Launcher::new(binaries.clone(), false, testbed::interruption()?);
    let bench = Bench {
        arguments,
        binaries: &binaries,
        place: Place::find(arguments.place)?,
        launcher: &launcher,
    };
    say!("Runs take place {}.", bench.place)?;
    match arguments.gaps {
        true => bench.compare_gaps(),
        false => bench.compare_all(&planned),
    }
}

/// Where runs are made.
struct Bench<'a> {
    arguments: &'a Arguments,
    binaries: &'a Path,
    place: Place,
    launcher: &'a Launcher,
}

impl Bench<'_> {
    fn compare_gaps(&self) -> Result<ExitCode> {
        let folder = self.run("gaps", 1, &gaps::script())?;
        let table = gaps::table(&folder)?;
        say!("\n{table}")?;
        write(&self.arguments.out.join("gaps.md"), &table)?;
        Ok(ExitCode::SUCCESS)
    }

    fn compare_all(&self, planned: &[(Simulator<'_>, Plan)]) -> Result<ExitCode> {
        let mut comparisons = Vec::new();
        let mut outcome = Ok(());
        for (simulator, plan) in planned {
            match self.compare(simulator, plan) {
                Ok(comparison) => comparisons.push(comparison),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        // What was measured before an error is worth showing.
        let table = report::table(&comparisons);
        say!("\n{table}")?;
        write(&self.arguments.out.join("report.txt"), &table)?;
        write(
            &self.arguments.out.join("report.json"),
            &serde_json::to_string_pretty(&comparisons)?,
        )?;
        outcome?;
        let is_alike = comparisons.iter().all(|one| one.misses().is_empty());
        Ok(ExitCode::from(u8::from(!is_alike)))
    }

    fn compare(&self, simulator: &Simulator<'_>, plan: &Plan) -> Result<Comparison> {
        let Arguments {
            overrides,
            kernel_control,
            runs,
            seeds,
            out,
            ..
        } = self.arguments;
        let changes = overrides.iter().map(|change| format!(" {change}"));
        let mut name = format!("{}{}", plan.name, changes.collect::<String>());
        if kernel_control != CUBIC {
            name += &format!(" {kernel_control}");
        }
        say!("{name}: {}", plan.title)?;
        let file_name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let mut measured = Vec::new();
        for run in 1..=*runs {
            self.launcher.ensure_not_interrupted()?;
            say!("  run {run} of {runs}")?;
            measured.push(self.measure(simulator, plan, &file_name, run)?);
        }
        let simulated = match kernel_control == CUBIC {
            true => Some(simulator.run(plan, *seeds, &out.join(&file_name))?),
            false => None,
        };
        let required = plan.main().promise.map(|promise| promise.rate_bps as f64);
        Ok(Comparison {
            name,
            title: plan.title.clone(),
            kernel: World::of(&measured, required),
            simulated: simulated.map(|runs| World::of(&runs, required)),
        })
    }

    fn measure(
        &self,
        simulator: &Simulator<'_>,
        plan: &Plan,
        name: &str,
        run: u32,
    ) -> Result<Figures> {
        let variation = Variation {
            run,
            kernel_control: &self.arguments.kernel_control,
        };
        let folder = self.run(name, run, &script::of(plan, variation))?;
        let figures = outcome::read(plan, &folder, simulator)?;
        say!("    {:.2} Mbit/s", figures.goodput_bps / 1e6)?;
        Ok(figures)
    }

    /// Runs a script and returns the folder with what it wrote.
    fn run(&self, name: &str, number: u32, script: &str) -> Result<PathBuf> {
        let folder = self.arguments.out.join(name).join(format!("run-{number}"));
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let run = Run {
            script,
            binaries: self.binaries,
            folder: &folder,
            limit: Duration::from_secs(60 * u64::from(self.arguments.limit)),
        };
        self.place.run(self.launcher, &run)?;
        Ok(folder.join("out"))
    }
}

fn write(file: &Path, text: &str) -> Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
