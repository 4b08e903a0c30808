//! Runs the simulator on the paths.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::Score;
use super::reading::{Run, score, score_stack};
use crate::workspace;

/// How to call the simulator, and where its files go.
pub struct Simulator<'f> {
    program: Option<PathBuf>,
    folder: &'f Path,
}

/// The inline readers that tell ranges.
const TELL_RANGES: [&str; 2] = ["statistical", "classic"];

#[derive(Deserialize)]
struct Surveyed {
    tally: Tally,
}

#[derive(Deserialize)]
struct Tally {
    columns: Vec<Column>,
}

#[derive(Deserialize)]
struct Column {
    reader: String,
    scores: Vec<Inline>,
}

/// What the survey says of a reader on a path.
#[derive(Clone, Copy, Deserialize)]
struct Inline {
    error_p50: Option<f64>,
    error_p90: Option<f64>,
    bias: Option<f64>,
    valued: f64,
    coverage: Option<f64>,
    lag_s: Option<Lag>,
}

/// The survey writes `inf` where a change was never followed.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Lag {
    Seconds(f64),
    Never(Never),
}

#[derive(Clone, Copy, Deserialize)]
enum Never {
    #[serde(rename = "inf")]
    Inf,
}

impl Lag {
    fn seconds(self) -> f64 {
        match self {
            Self::Seconds(seconds) => seconds,
            Self::Never(Never::Inf) => f64::INFINITY,
        }
    }
}

impl<'f> Simulator<'f> {
    pub fn new(program: Option<PathBuf>, folder: &'f Path) -> Self {
        Self { program, folder }
    }

    /// Everybody who reads the packets of the source. The path's file is written as well.
    pub fn inline(&self, class: &str, seed: u32) -> Result<Vec<Score>> {
        let path = format!("{class}-{seed}");
        let json = self.folder.join(format!("{path}-inline.json"));
        let seeds = format!("{seed}..{seed}");
        let mut command = self.command();
        command.args([
            "survey",
            "--estimates",
            "--observers",
            class,
            "--seeds",
            &seeds,
        ]);
        command
            .arg("--out")
            .arg(self.folder)
            .arg("--json")
            .arg(&json);
        // It fails where a bar of the survey is missed, which says nothing here.
        let _ = fs::remove_file(&json);
        call(&mut command)?;
        let surveyed: Vec<Surveyed> = read(&json)?;
        let Some(surveyed) = surveyed.into_iter().next() else {
            bail!("{}: the survey has no class {class}", json.display());
        };
        let scores = surveyed.tally.columns.into_iter().filter_map(|column| {
            let inline = *column.scores.first()?;
            // The survey gives all others a range of its own.
            let tells_ranges = TELL_RANGES.contains(&column.reader.as_str());
            Some(Score {
                path: path.clone(),
                reader: column.reader,
                error_p50: inline.error_p50,
                error_p90: inline.error_p90,
                bias: inline.bias,
                told: inline.valued,
                coverage: inline.coverage.filter(|_| tells_ranges),
                lag_s: inline.lag_s.map(Lag::seconds),
                extra_bps: 0.0,
            })
        });
        Ok(scores.collect())
    }

    /// A tool on the path, in place of the source.
    pub fn tool(&self, path: &str, kind: &str) -> Result<Score> {
        let file = self.folder.join(format!("{path}.toml"));
        let text =
            fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        let tool = format!(
            "\n[[tool]]\nname = \"referee\"\nkind = \"{kind}\"\ntimes = \"unbounded\"\n\
             pause = \"0 s\"\n"
        );
        let file = self.folder.join(format!("{path}-{kind}.toml"));
        workspace::write(&file, &(text + &tool))?;
        self.scored(path, kind, (&file, "flow.main.count=0"), score)
    }

    /// Another stack on the path that sends what the source has.
    pub fn stack(&self, path: &str, controller: &str) -> Result<Score> {
        let file = self.folder.join(format!("{path}.toml"));
        let with = format!("flow.main.controller={controller}");
        self.scored(path, controller, (&file, &with), score_stack)
    }

    /// Runs the scenario with a key changed, and scores the run.
    fn scored(
        &self,
        path: &str,
        reader: &str,
        (scenario, with): (&Path, &str),
        score: fn(&Run) -> Result<Score>,
    ) -> Result<Score> {
        let json = self.folder.join(format!("{path}-{reader}.json"));
        let mut command = self.command();
        command
            .arg("run")
            .arg(scenario)
            .args(["--set", with, "--qlog", "none"]);
        command
            .arg("--out")
            .arg(self.folder.join("runs"))
            .arg("--json")
            .arg(&json);
        let _ = fs::remove_file(&json);
        call(&mut command)?;
        let runs: Vec<Run> = read(&json)?;
        let Some(run) = runs.first() else {
            bail!("{}: no run is in it", json.display());
        };
        let scored = score(run).with_context(|| format!("scoring {}", json.display()))?;
        Ok(Score {
            path: path.to_owned(),
            reader: reader.to_owned(),
            ..scored
        })
    }

    fn command(&self) -> Command {
        if let Some(program) = &self.program {
            return Command::new(program);
        }
        let mut command = workspace::cargo(&workspace::root());
        command.args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "imtcp-sim",
            "--",
        ]);
        command
    }
}

/// Runs a command. Whether it has done its work, its file says.
fn call(command: &mut Command) -> Result<()> {
    let silent = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let output = silent
        .output()
        .with_context(|| format!("starting {command:?}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    match output.status.success() || complaint.contains("bars are missed") {
        true => Ok(()),
        false => bail!("{command:?} failed: {complaint}"),
    }
}

fn read<T: for<'d> Deserialize<'d>>(file: &Path) -> Result<T> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("understanding {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_was_never_followed_lags_without_end() {
        let read = |lag: &str| {
            let lag: Option<Lag> = serde_json::from_str(lag).expect(lag);
            lag.map(Lag::seconds)
        };
        assert_eq!(read("1.5"), Some(1.5));
        assert_eq!(read("\"inf\""), Some(f64::INFINITY));
        assert_eq!(read("null"), None);
    }
}
