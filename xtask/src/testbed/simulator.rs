//! The simulator, run for its results.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Launcher;

/// No run takes as long.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// What is simulated, and where the results go.
#[derive(Debug)]
pub struct Simulated<'a> {
    pub scenario: &'a str,
    /// As `--set` takes them.
    pub settings: &'a [String],
    /// From 1 to this one.
    pub seeds: u32,
    pub json: &'a Path,
    /// The folder for all other files.
    pub out: &'a Path,
}

impl Simulated<'_> {
    /// Simulates, and returns what was written as JSON. The simulator ends with this program, if
    /// that is told to end.
    pub fn run(&self, launcher: &Launcher, simulator: &Path) -> Result<String> {
        let seeds = format!("1..{}", self.seeds);
        let absolute = |path: &Path| std::path::absolute(path).map(|it| it.display().to_string());
        let (simulator, json) = (simulator.display().to_string(), absolute(self.json)?);
        let out = absolute(self.out)?;
        let mut program = vec![&*simulator, "run", self.scenario, "--qlog", "none"];
        program.extend(["--seeds", &seeds, "--json", &json, "--out", &out]);
        for setting in self.settings {
            program.extend(["--set", setting]);
        }
        launcher
            .start_tool(self.json, &program)?
            .wait_until_it_ends(LONGEST)?;
        fs::read_to_string(self.json).with_context(|| format!("cannot read {json}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// What comes of a simulator that is this script, in a folder where `$0.begun` shows that it
    /// runs. It is interrupted then, if so asked.
    fn of_script(script: &str, is_interrupted: bool) -> Result<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let simulator = folder.path().join("simulator");
        fs::write(&simulator, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&simulator, fs::Permissions::from_mode(0o755)).expect("a program");
        let interrupted = Arc::new(AtomicBool::new(false));
        let launcher = Launcher::new(PathBuf::new(), false, Arc::clone(&interrupted));
        let (json, out) = (folder.path().join("it.json"), folder.path().join("runs"));
        let simulated = Simulated {
            scenario: "m0",
            settings: &["duration=\"1 s\"".to_owned()],
            seeds: 2,
            json: &json,
            out: &out,
        };
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !folder.path().join("simulator.begun").exists() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                interrupted.store(is_interrupted, Ordering::Relaxed);
            });
            simulated.run(&launcher, &simulator)
        })
    }

    #[test]
    fn what_the_simulator_writes_is_returned() {
        let told = of_script("touch \"$0.begun\"; echo \"$2 $6 ${12}\" > \"$8\"", false);
        assert_eq!(told.expect("it ends well"), "m0 1..2 duration=\"1 s\"\n");
        let error = of_script("touch \"$0.begun\"; echo no such key >&2; exit 1", false);
        let error = error.expect_err("it fails").to_string();
        assert!(error.ends_with("failed: no such key"), "{error}");
    }

    #[test]
    fn an_interruption_ends_a_simulator_that_runs() {
        let error = of_script("touch \"$0.begun\"; sleep 600", true).expect_err("it is ended");
        assert_eq!(error.to_string(), "interrupted");
    }
}
