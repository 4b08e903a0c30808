//! `imtcp-sim run`.

use super::{QlogOf, RunArguments, create, load, summary};
use imtcp_cc::units::Timestamp;
use imtcp_sim::output;
use imtcp_sim::result::RunResult;
use imtcp_sim::run::RunOptions;
use imtcp_sim::scenario::Scenario;
use imtcp_sim::simulation::Simulation;
use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

type Failure = Box<dyn Error + Send + Sync>;

/// Runs all seeds, writes their files, prints the scores.
#[expect(
    clippy::disallowed_methods,
    reason = "how fast it ran goes to standard error, and into no result"
)]
pub fn run(arguments: &RunArguments) -> Result<(), Box<dyn Error>> {
    let scenario = load(&arguments.scenario)?;
    let seeds: Vec<u64> = match &arguments.seeds {
        Some(seeds) => seeds.0.clone().collect(),
        None => vec![arguments.seed],
    };
    let folder = arguments.out.clone();
    let folder = folder.unwrap_or_else(|| PathBuf::from("out").join(&scenario.name));
    create(&folder)?;
    let begun = Instant::now();
    let job = Job {
        scenario: &scenario,
        seeds: &seeds,
        folder: &folder,
        qlog: arguments.qlog,
        bar: progress_bar(&scenario, seeds.len()),
    };
    let results = job
        .run_all(usize::from(arguments.jobs))
        .map_err(|failure| failure.to_string())?;
    job.bar.finish_and_clear();
    if let Some(file) = &arguments.json {
        output::json(&results, file)?;
    }
    print!("{}", summary::of(&results));
    report(&scenario, &results, begun, &folder);
    Ok(())
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
    bar: ProgressBar,
}

impl Job<'_> {
    /// Runs the seeds on a few threads; the results are in the seeds' order all the same.
    fn run_all(&self, threads: usize) -> Result<Vec<RunResult>, Failure> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads.min(self.seeds.len()) {
                scope.spawn(|| self.work(&next, &results));
            }
        });
        let results = results
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut results: Vec<(usize, Result<RunResult, Failure>)> = results;
        results.sort_unstable_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn work(&self, next: &AtomicUsize, results: &Mutex<Vec<(usize, Result<RunResult, Failure>)>>) {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= self.seeds.len() {
                return;
            }
            let result = self.run_one(index);
            let failed = result.is_err();
            if let Ok(mut results) = results.lock() {
                results.push((index, result));
            }
            if failed {
                // Nobody needs the remaining seeds.
                next.store(self.seeds.len(), Ordering::Relaxed);
            }
        }
    }

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
            qlog: writes_qlog.then(|| self.folder.to_path_buf()),
            progress: Some(&mut progress),
        };
        let result = self.scenario.run(self.seeds[index], options)?;
        output::series(&result, self.folder)?;
        output::figures(self.scenario, &result, self.folder)?;
        Ok(result)
    }
}

fn progress_bar(scenario: &Scenario, seeds: usize) -> ProgressBar {
    let each = u64::try_from(scenario.duration.as_millis()).unwrap_or(u64::MAX);
    let bar = ProgressBar::new(each.saturating_mul(seeds as u64));
    let style = "{msg} {bar:40} {percent:>3} % {eta} left";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.set_message(scenario.name.clone());
    bar
}
