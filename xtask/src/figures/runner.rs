//! Makes runs, some at the same time, and says how far it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::store::{Run, Store};
use crate::testbed::Launcher;

/// No run takes longer.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// How runs are made.
pub struct Runner<'r> {
    /// The simulator.
    pub simulator: &'r Path,
    /// What starts it, and ends it when this program is told to end.
    pub launcher: &'r Launcher,
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
        let ended = || self.launcher.ensure_not_interrupted().is_err();
        let late = |begun: Instant| self.most.is_some_and(|most| begun.elapsed() > most);
        {
            let mut progress = locked(progress);
            if ended() || late(progress.begun) {
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
        if outcome.is_err() && ended() {
            // It did not fail: it was ended with this program.
            progress.troubles.left += 1;
            return;
        }
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
            fs::remove_dir_all(&scratch)?;
        }
        fs::create_dir_all(&scratch).with_context(|| format!("making {}", scratch.display()))?;
        let json = scratch.join("result.json");
        let begun = Instant::now();
        let (simulator, seed) = (self.simulator.to_string_lossy(), run.seed.to_string());
        let (json_path, folder) = (json.to_string_lossy(), scratch.to_string_lossy());
        let mut program = vec![&*simulator, "run"];
        program.extend(run.arguments.iter().map(String::as_str));
        program.extend(["--seed", &seed, "--jobs", "1", "--qlog", "none"]);
        program.extend(["--json", &json_path, "--out", &folder]);
        let log = scratch.join("simulator");
        let mut running = self.launcher.start_tool(&log, &program)?;
        if running.wait_for_code(LONGEST)? != Some(0) {
            let said = fs::read(log.with_extension("err")).unwrap_or_default();
            bail!("{}", complaint(&String::from_utf8_lossy(&said)));
        }
        let seconds = begun.elapsed().as_secs_f64();
        self.store.keep(run, &json, &scratch, seconds)?;
        fs::remove_dir_all(&scratch)?;
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
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

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
    fn an_interruption_ends_the_simulators_and_is_no_failure_of_theirs() {
        let folder = tempfile::tempdir().expect("a folder");
        let simulator = folder.path().join("endless");
        fs::write(&simulator, "#!/bin/sh\necho $$\nexec sleep 600\n").expect("written");
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&simulator, executable).expect("allowed");
        let store = Store::of(folder.path(), &simulator).expect("a store");
        let interrupted = Arc::new(AtomicBool::new(false));
        let launcher = Launcher::new(PathBuf::new(), false, Arc::clone(&interrupted));
        let runner = Runner {
            simulator: &simulator,
            launcher: &launcher,
            store: &store,
            jobs: 1,
            most: None,
        };
        let run = |seed| Run {
            arguments: vec!["endless".to_owned()],
            contents: Vec::new(),
            seed,
            courses: Vec::new(),
        };
        let said = store.folder().join("under-way-0/simulator.out");
        let (troubles, id) = thread::scope(|scope| {
            let running = scope.spawn(|| runner.run(&[run(1), run(2)]));
            let id = loop {
                let text = fs::read_to_string(&said).unwrap_or_default();
                if let Some(id) = text.strip_suffix('\n') {
                    break id.to_owned();
                }
                thread::yield_now();
            };
            interrupted.store(true, Ordering::Relaxed);
            let troubles = running.join().expect("no panic").expect("no error");
            (troubles, id)
        });
        assert_eq!((troubles.left, troubles.failed.len()), (2, 0));
        let process = Path::new("/proc").join(id);
        assert!(!process.exists(), "{} still runs", process.display());
    }

    #[test]
    fn one_run_of_each_unknown_setting_comes_first_and_then_what_is_short() {
        let run = |scenario: &str, seed| Run {
            arguments: vec![scenario.to_owned()],
            contents: Vec::new(),
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
