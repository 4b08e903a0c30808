//! `cargo xtask determinism`: checks that a scenario and its seed give the same bytes in every
//! build.
//!
//! The tests start the simulator twice in one profile. Here the profiles differ. It shows if an
//! optimiser reorders floating-point sums, or if a check that only debug builds have changes
//! something.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::workspace;

/// Runs a scenario in a debug and in a release build and compares every file, byte for byte.
#[derive(clap::Args)]
pub struct Arguments {
    /// A built-in scenario, or a TOML file.
    #[arg(long, default_value = "demo")]
    scenario: String,
    /// How much of it to run.
    #[arg(long, default_value = "8 s")]
    duration: String,
    /// The seed of both runs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Builds both profiles, runs both, compares; fails when a file differs.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    // The simulator is started in the workspace's root, and a file is named as seen from here.
    let here = std::env::current_dir().context("finding the current folder")?;
    let file = here.join(&arguments.scenario);
    let scenario = match file.is_file() {
        true => file.as_os_str(),
        false => arguments.scenario.as_ref(),
    };
    let scratch = workspace::scratch("determinism")?;
    let mut outputs = Vec::new();
    for profile in ["dev", "release"] {
        let folder = scratch.join(profile);
        simulate((arguments, scenario), profile, &folder)?;
        outputs.push(files(&folder)?);
    }
    let differences = differences(&outputs[0], &outputs[1]);
    for difference in &differences {
        say!("{difference}")?;
    }
    if !differences.is_empty() {
        say!("The files are in {}", scratch.display())?;
        return Ok(ExitCode::FAILURE);
    }
    let bytes: usize = outputs[0].values().map(Vec::len).sum();
    say!(
        "{} files with {bytes} bytes are the same in a debug and in a release build.",
        outputs[0].len()
    )?;
    Ok(ExitCode::SUCCESS)
}

fn simulate(
    (arguments, scenario): (&Arguments, &OsStr),
    profile: &str,
    folder: &Path,
) -> Result<()> {
    say!(
        "Building and running {} in profile {profile}",
        arguments.scenario
    )?;
    let mut command = workspace::cargo(&workspace::root());
    command
        .args([
            "run",
            "--quiet",
            "--package",
            "imtcp-sim",
            "--profile",
            profile,
        ])
        .args(["--", "run"])
        .arg(scenario)
        .args(["--seed", &arguments.seed.to_string()])
        .args(["--set", &format!("duration={}", arguments.duration)])
        .arg("--out")
        .arg(folder)
        .arg("--json")
        .arg(folder.join("result.json"));
    workspace::run(&mut command)
}

/// The contents of a folder's files by their names.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let reading = || format!("reading {}", folder.display());
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(reading)? {
        let entry = entry.with_context(reading)?;
        let contents = fs::read(entry.path()).with_context(reading)?;
        files.insert(entry.file_name().to_string_lossy().into_owned(), contents);
    }
    Ok(files)
}

fn differences(
    debug: &BTreeMap<String, Vec<u8>>,
    release: &BTreeMap<String, Vec<u8>>,
) -> Vec<String> {
    let only_release = release.keys().filter(|name| !debug.contains_key(*name));
    debug
        .keys()
        .chain(only_release)
        .filter_map(|name| match (debug.get(name), release.get(name)) {
            (Some(debug), Some(release)) if debug == release => None,
            (Some(debug), Some(release)) => {
                let equal = debug.iter().zip(release).take_while(|(d, r)| d == r);
                Some(format!("{name} differs from byte {} on", equal.count()))
            }
            (Some(_), None) => Some(format!("{name} is written by the debug build alone")),
            (None, _) => Some(format!("{name} is written by the release build alone")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_differ_or_are_missing_are_named() {
        let folder = |files: &[(&str, &str)]| -> BTreeMap<String, Vec<u8>> {
            let owned = |(name, text): &(&str, &str)| (name.to_string(), text.as_bytes().to_vec());
            files.iter().map(owned).collect()
        };
        let debug = folder(&[("a", "same"), ("b", "1.25"), ("c", ""), ("e", "12")]);
        let release = folder(&[("a", "same"), ("b", "1.26"), ("d", ""), ("e", "123")]);
        assert!(differences(&debug, &debug).is_empty());
        assert_eq!(
            differences(&debug, &release),
            [
                "b differs from byte 3 on",
                "c is written by the debug build alone",
                "e differs from byte 2 on",
                "d is written by the release build alone",
            ]
        );
    }
}
