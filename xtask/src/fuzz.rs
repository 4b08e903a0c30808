//! `cargo xtask fuzz`: libFuzzer on the targets of `fuzz/`, one after the other.

use std::fs;
use std::path::Path;
use std::process::{ExitCode, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// An input that takes more seconds than this counts as one that hangs.
const TIMEOUT: u32 = 25;

/// Feeds the parsers and state machines with inputs that lead further and further; see
/// fuzz/README.md.
#[derive(clap::Args)]
pub struct Arguments {
    /// The targets; all of them if none is named.
    targets: Vec<String>,
    /// How long, for each. libFuzzer takes 0 for no end.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// The sanitizer that watches over memory. `address` needs a nightly toolchain.
    #[arg(long, default_value = "none")]
    sanitizer: Sanitizer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sanitizer {
    None,
    Address,
}

/// Runs the targets; fails at the first input that a target does not survive.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let folder = workspace::root().join("fuzz");
    let known = targets(&folder)?;
    let chosen = choose(&known, &arguments.targets)?;
    require_cargo_fuzz()?;
    for target in chosen {
        say!("{target}, {} s", arguments.seconds)?;
        if !cargo_fuzz(&folder, target, arguments)?.success() {
            eprintln!("fuzz/README.md tells what to do with the input.");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The names of the entry points.
fn targets(folder: &Path) -> Result<Vec<String>> {
    let folder = folder.join("fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        names.extend(name.map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn choose<'a>(known: &'a [String], wanted: &'a [String]) -> Result<&'a [String]> {
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(name)) {
        bail!(
            "there is no target `{unknown}`; there are {}",
            known.join(", ")
        );
    }
    Ok(if wanted.is_empty() { known } else { wanted })
}

fn require_cargo_fuzz() -> Result<()> {
    let found = workspace::cargo(&workspace::root())
        .args(["fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("starting cargo")?;
    if !found.success() {
        bail!("cargo-fuzz is missing: cargo install --locked cargo-fuzz");
    }
    Ok(())
}

fn cargo_fuzz(folder: &Path, target: &str, arguments: &Arguments) -> Result<ExitStatus> {
    let mut command = workspace::cargo(&workspace::root());
    command.args(["fuzz", "run", "--fuzz-dir"]).arg(folder);
    match arguments.sanitizer {
        Sanitizer::None => command.args(["--sanitizer", "none"]),
        // It takes flags that only a nightly compiler has.
        Sanitizer::Address => command.env("RUSTUP_TOOLCHAIN", "nightly"),
    };
    command.arg(target);
    // libFuzzer writes new inputs into the first folder.
    for inputs in ["corpus", "seeds"] {
        let inputs = folder.join(inputs).join(target);
        fs::create_dir_all(&inputs).with_context(|| format!("making {}", inputs.display()))?;
        command.arg(inputs);
    }
    command
        .arg("--")
        .arg(format!("-max_total_time={}", arguments.seconds))
        .arg(format!("-timeout={TIMEOUT}"))
        .arg("-print_final_stats=1");
    command
        .status()
        .with_context(|| format!("starting {command:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_targets_are_run_unless_some_are_named() {
        let folder = workspace::root().join("fuzz");
        let known = targets(&folder).unwrap();
        assert!(known.contains(&"frames".to_owned()), "{known:?}");
        assert_eq!(choose(&known, &[]).unwrap(), known);
        let some = ["frames".to_owned()];
        assert_eq!(choose(&known, &some).unwrap(), some);
        let error = choose(&known, &["frame".to_owned()]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("`frame`") && text.contains("frames, "),
            "{text}"
        );
    }
}
