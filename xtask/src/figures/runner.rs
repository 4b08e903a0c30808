//! Makes runs, some at the same time, and says how far it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::store::{Run, Store};

/// How runs are made.
#[derive(Debug)]
pub struct Runner<'r> {
    /// The simulator.
    pub simulator: &'r Path,
    /// Where results go.
    pub store: &'r Store,
    /// How many at the same time.
    pub jobs: usize,
    /// No run begins after this long.
    pub most: Option<Duration>,
}

/// What did not go well.
#[derive(Debug, Default)]
pub struct Troubles {
    /// Settings that fail, and why.
    pub failed: BTreeMap<String, String>,
    /// How many runs had to wait for another time.
    pub left: usize,
}

/// Puts one run of each setting of which nothing is known first, and then what is short: more of
/// it fits. Other seeds of the first ones come last.
fn shortest_first(runs: &mut [&Run], known: &BTreeMap<String, f64>) {
    let mut seen = BTreeSet::new();
    runs.sort_by_cached_key(|run| {
        let setting = run.setting();
        match known.get(&setting) {
            #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a run")]
            #[expect(clippy::cast_sign_loss, reason = "times are not negative")]
            Some(seconds) => (1, (seconds * 1e3) as u64),
            None if seen.insert(setting) => (0, 0),
            None => (2, 0),
        }
    });
}

/// What is known while runs are made.
struct Progress {
    begun: Instant,
    done: usize,
    /// The seconds of the last run of each setting.
    took: BTreeMap<String, f64>,
    troubles: Troubles,
}

impl Runner<'_> {
    /// Makes the runs that are not there yet, in their order.
    #[expect(clippy::disallowed_methods, reason = "how long it takes is for people")]
    pub fn run(&self, runs: &[Run]) -> Result<Troubles> {
        let known = self.known(runs);
        let mut missing: Vec<&Run> = runs.iter().filter(|run| !self.store.has(run)).collect();
        if self.most.is_some() {
            shortest_first(&mut missing, &known);
        }
        let there = runs.len() - missing.len();
        eprintln!("{} runs, {there} of them are there", runs.len());
        let progress = Mutex::new(Progress {
            begun: Instant::now(),
            done: 0,
            took: known,
            troubles: Troubles::default(),
        });
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for job in 0..self.jobs {
                let (missing, progress, next) = (&missing, &progress, &next);
                scope.spawn(move || {
                    while let Some(run) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                        self.one(job, run, progress, missing);
                    }
                });
            }
        });
        let progress = progress.into_inner();
        Ok(progress
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .troubles)
    }

    /// How long settings took before.
    fn known(&self, runs: &[Run]) -> BTreeMap<String, f64> {
        let there = runs.iter().filter_map(|run| {
            let numbers = self.store.numbers(run)?;
            Some((run.setting(), numbers.seconds))
        });
        there.collect()
    }

    fn one(&self, job: usize, run: &Run, progress: &Mutex<Progress>, missing: &[&Run]) {
        let late = |begun: Instant| self.most.is_some_and(|most| begun.elapsed() > most);
        {
            let mut progress = locked(progress);
            if late(progress.begun) {
                progress.troubles.left += 1;
                return;
            }
            // A setting that fails with one seed would fail with all.
            if progress.troubles.failed.contains_key(&run.setting()) {
                return;
            }
        }
        let outcome = self.simulate(job, run);
        let mut progress = locked(progress);
        progress.done += 1;
        let said = match outcome {
            Ok(seconds) => {
                progress.took.insert(run.setting(), seconds);
                format!("{seconds:.1} s")
            }
            Err(error) => {
                let why = format!("{error:#}");
                progress.troubles.failed.insert(run.setting(), why.clone());
                why
            }
        };
        let left = progress.left(&missing[progress.done.min(missing.len())..], self.jobs);
        eprintln!(
            "[{}/{}, {left} left] {}, seed {}: {said}",
            progress.done,
            missing.len(),
            run.arguments.join(" "),
            run.seed
        );
    }

    /// Runs the simulator and keeps what it wrote; returns how long it took.
    #[expect(clippy::disallowed_methods, reason = "how long it takes is for people")]
    fn simulate(&self, job: usize, run: &Run) -> Result<f64> {
        let scratch: PathBuf = self.store.folder().join(format!("under-way-{job}"));
        if scratch.exists() {
            std::fs::remove_dir_all(&scratch)?;
        }
        std::fs::create_dir_all(&scratch)
            .with_context(|| format!("making {}", scratch.display()))?;
        let json = scratch.join("result.json");
        let begun = Instant::now();
        let output = Command::new(self.simulator)
            .arg("run")
            .args(&run.arguments)
            .args([
                "--seed",
                &run.seed.to_string(),
                "--jobs",
                "1",
                "--qlog",
                "none",
            ])
            .arg("--json")
            .arg(&json)
            .arg("--out")
            .arg(&scratch)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("starting {}", self.simulator.display()))?;
        if !output.status.success() {
            bail!("{}", complaint(&String::from_utf8_lossy(&output.stderr)));
        }
        let seconds = begun.elapsed().as_secs_f64();
        self.store.keep(run, &json, &scratch, seconds)?;
        std::fs::remove_dir_all(&scratch)?;
        Ok(seconds)
    }
}

impl Progress {
    /// About how long the other runs take: as long as other seeds took, or as the mean run.
    fn left(&self, others: &[&Run], jobs: usize) -> String {
        let mean = self.took.values().sum::<f64>() / self.took.len().max(1) as f64;
        let took = |run: &&Run| self.took.get(&run.setting()).copied().unwrap_or(mean);
        let seconds = others.iter().map(took).sum::<f64>().max(0.0) / jobs.max(1) as f64;
        match seconds {
            seconds if seconds < 90.0 => format!("about {seconds:.0} s"),
            seconds => format!("about {:.0} min", seconds / 60.0),
        }
    }
}

/// What a program said before it failed: the last line, or what a panic begins with and says.
fn complaint(errors: &str) -> String {
    let lines: Vec<&str> = errors.lines().collect();
    let panic = lines.iter().position(|line| line.contains(" panicked at "));
    match (panic, lines.last()) {
        (Some(at), _) => lines[at..]
            .iter()
            .take(2)
            .copied()
            .collect::<Vec<_>>()
            .join(" "),
        (None, Some(last)) => (*last).to_owned(),
        (None, None) => "it failed without a word".to_owned(),
    }
}

fn locked(progress: &Mutex<Progress>) -> std::sync::MutexGuard<'_, Progress> {
    progress
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_by_its_place_and_its_words() {
        let panic = "reading a1\nthread 'main' (7) panicked at sim/lib.rs:7:5:\nno such link\n\
                     stack backtrace:\n   0: main\nnote: Some details are omitted\n";
        let told = "thread 'main' (7) panicked at sim/lib.rs:7:5: no such link";
        assert_eq!(complaint(panic), told);
        assert_eq!(complaint("reading\na1: unknown key\n"), "a1: unknown key");
        assert_eq!(complaint(""), "it failed without a word");
    }

    #[test]
    fn one_run_of_each_unknown_setting_comes_first_and_then_what_is_short() {
        let run = |scenario: &str, seed| Run {
            arguments: vec![scenario.to_owned()],
            seed,
            courses: Vec::new(),
        };
        let runs = [
            run("long", 2),
            run("new", 1),
            run("short", 2),
            run("new", 2),
        ];
        let known = [("long", 9.0), ("short", 0.5)];
        let known = known.map(|(name, seconds)| (run(name, 1).setting(), seconds));
        let mut order: Vec<&Run> = runs.iter().collect();
        shortest_first(&mut order, &BTreeMap::from(known));
        let order: Vec<(&str, u64)> = order.iter().map(|run| (run.scenario(), run.seed)).collect();
        assert_eq!(order, [("new", 1), ("short", 2), ("long", 2), ("new", 2)]);
    }
}
