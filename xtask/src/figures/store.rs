//! Raw data: one folder for each simulator and each setting, one result for each seed in it. What
//! is there is not run again.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, IntoInnerError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use flate2::Compression;
use flate2::write::GzEncoder;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::case::Case;

/// Arrays longer than this are series, and stand in the raw data alone.
const LONGEST: usize = 600;

/// The folder of all results of one simulator.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
}

/// A setting with a seed: what a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// What stands behind `imtcp-sim run`, without the seed.
    pub arguments: Vec<String>,
    /// What the files contain that these name, as fingerprints.
    pub contents: Vec<u64>,
    /// The seed.
    pub seed: u64,
    /// The flows whose course over time is kept as a figure.
    pub courses: Vec<String>,
}

/// What is kept of a run for the report.
#[derive(Debug, Serialize, Deserialize)]
pub struct Numbers {
    /// How long it took.
    pub seconds: f64,
    /// The simulator's JSON without its series.
    pub run: Value,
}

impl Run {
    /// A case with a seed.
    pub fn of(case: &Case, seed: u64) -> Self {
        let sets = case
            .set
            .iter()
            .flat_map(|set| ["--set".to_owned(), set.clone()]);
        let observers = case.observers.then(|| "--observers".to_owned());
        let arguments = [case.scenario.clone()]
            .into_iter()
            .chain(sets)
            .chain(observers);
        Self {
            arguments: arguments.collect(),
            contents: case.contents.clone(),
            seed,
            courses: Vec::new(),
        }
    }

    /// The scenario's name.
    pub fn scenario(&self) -> &str {
        self.arguments.first().map_or("", String::as_str)
    }

    /// The folder of this setting: all its seeds stand there. A file with another content is
    /// another setting, whatever its name.
    pub fn setting(&self) -> String {
        let contents = self.contents.iter().map(|content| format!("{content:x}"));
        let words: Vec<String> = self.arguments.iter().cloned().chain(contents).collect();
        let hash = fingerprint(words.join("\n").as_bytes());
        format!("{}-{hash:016x}", self.scenario())
    }
}

/// Keeps a folder for one that makes runs: two would take each other's half-made results away. It
/// is free again when what this returns is dropped, or the program ends.
pub fn reserve(folder: &Path) -> Result<Flock<File>> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let path = folder.join("lock");
    let file = File::create(&path).with_context(|| format!("making {}", path.display()))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| match error {
        Errno::EWOULDBLOCK => anyhow!(
            "another `cargo xtask figures` makes runs in {}; wait for it, or choose another --out",
            folder.display()
        ),
        other => anyhow!("locking {}: {}", path.display(), other.desc()),
    })
}

impl Store {
    /// The results of a simulator, which is known by the bytes of its program.
    pub fn of(folder: &Path, simulator: &Path) -> Result<Self> {
        let program = fs::read(simulator)
            .with_context(|| format!("reading the simulator, {}", simulator.display()))?;
        let name = format!("{:016x}", fingerprint(&program));
        Ok(Self {
            folder: folder.join("runs").join(name),
        })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self, run: &Run, ending: &str) -> PathBuf {
        self.folder
            .join(run.setting())
            .join(format!("seed{}{ending}", run.seed))
    }

    /// Where a flow's course over time is kept.
    pub fn course(&self, run: &Run, flow: &str) -> PathBuf {
        self.file(run, &format!("-{flow}.svg"))
    }

    /// Whether a run and its figures are there.
    pub fn has(&self, run: &Run) -> bool {
        let courses = run.courses.iter().map(|flow| self.course(run, flow));
        let files = [self.file(run, ".json.gz"), self.file(run, ".numbers.json")];
        files.into_iter().chain(courses).all(|file| file.is_file())
    }

    /// What is known of a run; none if it was not made, or its file is damaged.
    pub fn numbers(&self, run: &Run) -> Option<Numbers> {
        let file = File::open(self.file(run, ".numbers.json")).ok()?;
        serde_json::from_reader(BufReader::new(file)).ok()
    }

    /// Keeps a run: the simulator's JSON, and its figures from the folder that it wrote them to.
    /// What is half written does not count: the numbers come last, and in one step.
    pub fn keep(&self, run: &Run, json: &Path, figures: &Path, seconds: f64) -> Result<()> {
        let text = fs::read(json).with_context(|| format!("reading {}", json.display()))?;
        let mut results: Value = serde_json::from_slice(&text)
            .with_context(|| format!("what the simulator wrote: {}", json.display()))?;
        let folder = self.folder.join(run.setting());
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let whole = results
            .get_mut(0)
            .map(Value::take)
            .context("the simulator wrote no run")?;
        for flow in &run.courses {
            let name = whole["scenario"].as_str().unwrap_or_default();
            let figure = figures.join(format!("{name}-seed{}-{flow}.svg", run.seed));
            let copy = fs::copy(&figure, self.course(run, flow));
            copy.with_context(|| format!("the course of flow `{flow}`, {}", figure.display()))?;
        }
        let raw = self.file(run, ".json.gz");
        let mut zipped =
            GzEncoder::new(BufWriter::new(File::create(&raw)?), Compression::default());
        serde_json::to_writer(&mut zipped, &whole)?;
        // What is still in the buffer would fail without a word when it is dropped.
        zipped
            .finish()
            .and_then(|buffer| buffer.into_inner().map_err(IntoInnerError::into_error))
            .with_context(|| format!("writing {}", raw.display()))?;
        let numbers = Numbers {
            seconds,
            run: without_series(whole),
        };
        let (half, done) = (self.file(run, ".half"), self.file(run, ".numbers.json"));
        fs::write(&half, serde_json::to_vec(&numbers)?)
            .and_then(|()| fs::rename(&half, &done))
            .with_context(|| format!("writing {}", done.display()))?;
        fs::write(folder.join("command.txt"), run.arguments.join("\n") + "\n")?;
        Ok(())
    }

    /// All that the simulator said of a run.
    #[cfg(test)]
    fn whole(&self, run: &Run) -> Result<Value> {
        let path = self.file(run, ".json.gz");
        let file = File::open(&path).with_context(|| format!("reading {}", path.display()))?;
        Ok(serde_json::from_reader(BufReader::new(
            flate2::read::GzDecoder::new(file),
        ))?)
    }
}

/// The numbers of a result without its long arrays.
fn without_series(value: Value) -> Value {
    match value {
        Value::Array(all) if all.len() > LONGEST => Value::Null,
        Value::Array(all) => all.into_iter().map(without_series).collect(),
        Value::Object(fields) => {
            let short = |(key, value): (String, Value)| {
                let is_series = value.is_array() && SERIES.contains(&key.as_str());
                (!is_series).then(|| (key, without_series(value)))
            };
            fields.into_iter().filter_map(short).collect()
        }
        other => other,
    }
}

/// Arrays that stand in the raw data alone, however short they are.
const SERIES: &[&str] = &[
    "truth",
    "estimates",
    "estimates_classic",
    "readings",
    "slots",
];

/// FNV-1a: tells settings and programs apart, and nobody forges them.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A store in a folder that goes away, of a simulator that is these bytes.
    fn store(folder: &Path, program: &str) -> Store {
        let simulator = folder.join("imtcp-sim");
        fs::write(&simulator, program).expect("written");
        Store::of(folder, &simulator).expect("read")
    }

    fn run(seed: u64) -> Run {
        Run {
            arguments: vec![
                "a1".to_owned(),
                "--set".to_owned(),
                "duration=1 s".to_owned(),
            ],
            contents: Vec::new(),
            seed,
            courses: vec!["main".to_owned()],
        }
    }

    fn keep(store: &Store, folder: &Path, run: &Run) -> Result<()> {
        let json = folder.join("result.json");
        let series: Vec<u32> = (0..10).collect();
        let result = json!([{
            "scenario": "a1", "truth": [{ "t": 0.0 }],
            "flows": [{ "name": "main", "slots": { "kept": 7 }, "estimates": series }],
        }]);
        fs::write(&json, result.to_string()).expect("written");
        let figure = folder.join(format!("a1-seed{}-main.svg", run.seed));
        fs::write(figure, "<svg/>").expect("written");
        store.keep(run, &json, folder, 1.5)
    }

    #[test]
    fn what_was_run_with_the_same_simulator_setting_and_seed_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let store_of = |program| store(folder.path(), program);
        let first = store_of("one");
        assert!(!first.has(&run(1)));
        keep(&first, folder.path(), &run(1)).expect("kept");
        assert!(
            store_of("one").has(&run(1)),
            "the same simulator, started again"
        );
        assert!(!first.has(&run(2)), "another seed");
        assert!(!store_of("another").has(&run(1)), "another simulator");
        let mut other = run(1);
        other.arguments.push("--observers".to_owned());
        assert!(!first.has(&other), "another setting");
        let mut other = run(1);
        other.contents.push(7);
        assert!(!first.has(&other), "another content of a file of that name");
    }

    #[test]
    fn the_report_has_the_numbers_and_the_raw_data_everything() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path(), "one");
        keep(&store, folder.path(), &run(3)).expect("kept");
        let numbers = store.numbers(&run(3)).expect("there");
        assert_eq!(numbers.seconds, 1.5);
        let expected =
            json!({ "scenario": "a1", "flows": [{ "name": "main", "slots": { "kept": 7 } }] });
        assert_eq!(numbers.run, expected);
        let whole = store.whole(&run(3)).expect("there");
        assert_eq!(
            whole["flows"][0]["estimates"].as_array().map(Vec::len),
            Some(10)
        );
    }

    #[test]
    fn a_folder_is_kept_for_one_that_makes_runs_until_it_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = reserve(folder.path()).expect("free");
        let error = format!("{:#}", reserve(folder.path()).expect_err("taken"));
        assert!(error.contains("choose another --out"), "{error}");
        drop(first);
        assert!(reserve(folder.path()).is_ok(), "free again");
    }

    #[test]
    fn raw_data_that_a_full_disk_does_not_take_make_no_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path(), "one");
        let raw = store.file(&run(1), ".json.gz");
        fs::create_dir_all(raw.parent().expect("a folder")).expect("made");
        std::os::unix::fs::symlink("/dev/full", &raw).expect("linked");
        let error = keep(&store, folder.path(), &run(1)).expect_err("there is no room");
        assert!(format!("{error:#}").contains("seed1.json.gz"), "{error:#}");
        assert!(store.numbers(&run(1)).is_none());
    }

    #[test]
    fn a_run_without_its_figure_is_made_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path(), "one");
        keep(&store, folder.path(), &run(1)).expect("kept");
        fs::remove_file(store.course(&run(1), "main")).expect("removed");
        assert!(!store.has(&run(1)));
    }
}
