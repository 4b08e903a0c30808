//! Logs of simulated connections, with labels as an operator would have them.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::program::Program;
use crate::workspace;

/// Scenarios, with the controllers of their main flow. The logs of other flows are not kept: they
/// would make most rows light ones, and the questions easy.
const RUNS: [(&str, &[&str]); 6] = [
    ("demo-promise", &["imtcp", "cubic", "bbr2"]),
    ("beside", &["imtcp", "cubic"]),
    ("m0-poisson-20", &["imtcp", "reno"]),
    ("m0-onoff-20", &["imtcp"]),
    ("m0-none-rtt100", &["imtcp", "bbr2"]),
    ("cell", &["imtcp", "cubic"]),
];

/// Each run is another draw of cross traffic.
const SEEDS: &str = "1..3";

/// How the simulator's logs end, and those of main flows.
const LOG: &str = ".sqlog.zst";
const MAIN: &str = "-main.sqlog.zst";

/// What the logs do not say, in the folder of the logs' folder.
pub const LABELS: &str = "labels.csv";

/// The networks that connections are given, of those for documentation (RFC 5737).
const NETWORKS: [&str; 3] = ["192.0.2", "198.51.100", "203.0.113"];

/// The folder of the logs. Logs that are there are kept.
pub fn simulated(fleet: &Program, simulator: &Path, out: &Path) -> Result<PathBuf> {
    let logs = out.join("logs");
    let complete = out.join(LABELS);
    if complete.exists() {
        return Ok(logs);
    }
    for (scenario, controllers) in RUNS {
        for controller in controllers {
            say!("Simulating {scenario} with {controller}")?;
            let folder = logs.join(format!("{controller}-{scenario}"));
            let set = format!("flow.main.controller=\"{controller}\"");
            let mut command = Command::new(simulator);
            command
                .args(["run", scenario, "--seeds", SEEDS, "--set", &set])
                .args(["--set", "duration=\"20 s\""])
                .args(["--qlog", "all", "--qlog-level", "packets"])
                .args(["--qlog-compression", "zstd", "--out"])
                .arg(&folder);
            fleet.said(&mut command)?;
            for file in sorted(&folder)? {
                let name = file_name(&file);
                if name.ends_with(LOG) && !name.ends_with(MAIN) {
                    fs::remove_file(&file)?;
                }
            }
        }
    }
    workspace::write(&complete, &labels(&logs)?)?;
    Ok(logs)
}

/// The simulator's time is virtual and its hosts have no addresses, so labels tell both.
fn labels(logs: &Path) -> Result<String> {
    let mut text = "log,address,began,controller\n".to_owned();
    let mut number = 0;
    for folder in sorted(logs)? {
        for log in sorted(&folder)? {
            let name = file_name(&log);
            if !name.ends_with(LOG) {
                continue;
            }
            let folder = file_name(&folder);
            let controller = folder.split('-').next().unwrap_or_default();
            let (network, host) = (NETWORKS[number % NETWORKS.len()], 1 + number % 250);
            let (hour, minute) = (number % 7, number % 60);
            writeln!(
                text,
                "{folder}/{name},{network}.{host},2026-11-16T0{hour}:{minute:02}:00Z,{controller}",
            )?;
            number += 1;
        }
    }
    if number == 0 {
        bail!("the simulator wrote no logs into {}", logs.display());
    }
    Ok(text)
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let about = || format!("listing {}", folder.display());
    let entries = fs::read_dir(folder).with_context(about)?;
    let paths = entries.map(|entry| Ok(entry.with_context(about)?.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<Result<_>>()?;
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
