//! `imtcp-sim run`.

use super::pool::{self, Failure};
use super::{QlogOf, RunArguments, create, load, stdout, summary};
use imtcp_cc::units::Timestamp;
use imtcp_sim::output;
use imtcp_sim::result::RunResult;
use imtcp_sim::run::{Qlog, RunOptions};
use imtcp_sim::scenario::Scenario;
use imtcp_sim::simulation::Simulation;
use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs all seeds, writes their files, prints the scores.
#[expect(clippy::disallowed_methods, reason = "its speed goes to standard error alone")]
pub fn run(arguments: &RunArguments) -> Result<(), Box<dyn Error>> {
    let mut scenario = load(&arguments.scenario)?;
    if arguments.qlog == QlogOf::None && !arguments.style.is_usual() {
        let problem = "--qlog none writes no qlog, so that nothing can be said of one; leave it \
                       out, or --qlog-level, --qlog-compression and --qlog-replay";
        return Err(problem.into());
    }
    if arguments.observers {
        watch(&mut scenario)?;
    }
    let seeds: Vec<u64> = match &arguments.seeds {
        Some(seeds) => seeds.0.clone().collect(),
        None => vec![arguments.seed],
    };
    let folder = arguments.out.clone();
    let folder = folder.unwrap_or_else(|| PathBuf::from("out").join(&scenario.name));
    create(&folder)?;
    arguments.json.iter().try_for_each(|it| output::check(it))?;
    let begun = Instant::now();
    let job = Job {
        scenario: &scenario,
        seeds: &seeds,
        folder: &folder,
        qlog: arguments.qlog,
        style: arguments.style.qlog(&folder),
        bar: progress_bar(
            &scenario.name,
            scenario.duration.saturating_mul(of_seeds(seeds.len())),
        ),
    };
    let run_one = |index| job.run_one(index);
    let results = pool::run_all(seeds.len(), usize::from(arguments.jobs), run_one)
        .map_err(|failure| failure.to_string())?;
    job.bar.finish_and_clear();
    // Neither output is lost where the other cannot be written.
    let said = stdout::write(summary::of(&results));
    if let Some(file) = &arguments.json {
        output::json(&results, file)?;
    }
    said?;
    report(&scenario, &results, begun, &folder);
    Ok(())
}

/// Lets the estimators of the literature watch every flow that they can watch.
fn watch(scenario: &mut Scenario) -> Result<(), String> {
    let mut watched = 0;
    for flow in &mut scenario.flows {
        flow.observers |= flow.controller.is_behind_the_seam();
        watched += usize::from(flow.observers);
    }
    match watched {
        0 => Err(format!(
            "--observers: nobody can watch quiche's own controllers, and `{}` has no other; \
             set one, such as --set flow.main.controller=reno-whole",
            scenario.name
        )),
        _ => Ok(()),
    }
}

/// What depends on the machine goes to standard error.
fn report(scenario: &Scenario, results: &[RunResult], begun: Instant, folder: &Path) {
    let wall = begun.elapsed().as_secs_f64();
    let simulated = scenario.duration.as_secs_f64() * results.len() as f64;
    eprintln!(
        "{simulated} s simulated in {wall:.1} s: {:.0} times real time; files in {}",
        simulated / wall,
        folder.display()
    );
}

struct Job<'j> {
    scenario: &'j Scenario,
    seeds: &'j [u64],
    folder: &'j Path,
    qlog: QlogOf,
    style: Qlog,
    bar: ProgressBar,
}

impl Job<'_> {
    fn run_one(&self, index: usize) -> Result<RunResult, Failure> {
        let writes_qlog = match self.qlog {
            QlogOf::None => false,
            QlogOf::First => index == 0,
            QlogOf::All => true,
        };
        let mut shown = 0;
        let mut progress = |_: &Simulation<'_>, now: Timestamp| {
            let milliseconds = now.as_nanos() / 1_000_000;
            self.bar.inc(milliseconds - shown);
            shown = milliseconds;
        };
        let options = RunOptions {
            qlog: writes_qlog.then(|| self.style.clone()),
            progress: Some(&mut progress),
        };
        let result = self.scenario.run(self.seeds[index], options)?;
        output::series(&result, self.folder)?;
        output::figures(self.scenario, &result, self.folder)?;
        Ok(result)
    }
}

fn of_seeds(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A bar over so much virtual time, in milliseconds.
pub(super) fn progress_bar(name: &str, simulated: Duration) -> ProgressBar {
    let whole = u64::try_from(simulated.as_millis()).unwrap_or(u64::MAX);
    let bar = ProgressBar::new(whole);
    let style = "{msg} {bar:40} {percent:>3} % {eta} left";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.set_message(name.to_owned());
    bar
}
