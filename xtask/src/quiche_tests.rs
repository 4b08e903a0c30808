//! `cargo xtask quiche-tests` runs upstream's own unit tests three times: on the untouched crate,
//! on the patched source, and on the patched source with `imtcp` as the default controller. The
//! patches are harmless as long as the first two give the same result, and the third differs only
//! in a list of known tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use quiche_patcher::{Series, assemble, copy_tree, published_source};

use crate::workspace;

mod plugged;

/// Runs upstream's unit tests on the patched quiche and on the published one, and compares.
#[derive(clap::Args)]
pub struct Arguments {
    /// The features of quiche to test with.
    #[arg(long, default_value = "qlog,internal,custom-client-dcid")]
    features: String,
}

/// The result of each test by its name.
type Outcomes = BTreeMap<String, Outcome>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Ignored,
}

/// Runs both and prints the comparison; fails on a difference.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let crates = Crates::make()?;
    say!(
        "Testing the published crate, in {}",
        crates.published.display()
    )?;
    let published = test(&crates.published, &arguments.features)?;
    say!(
        "Testing the patched source, in {}",
        crates.patched.display()
    )?;
    let patched = test(&crates.patched, &arguments.features)?;

    say!(
        "{}",
        table(&[("published 0.30.0", &published), ("patched", &patched)])
    )?;
    for name in names_with(&published, Outcome::Failed) {
        say!("fails on the published crate: {name}")?;
    }
    let differences = differences(&published, &patched);
    for difference in &differences {
        say!("DIFFERS: {difference}")?;
    }
    let plugged = plugged::compare(&crates, &patched, &arguments.features)?;
    if differences.is_empty() && plugged {
        say!("Same result on both, and with imtcp but for what is listed.")?;
        return Ok(ExitCode::SUCCESS);
    }
    say!("{} tests differ on the patched source.", differences.len())?;
    Ok(ExitCode::FAILURE)
}

/// Two scratch crates that differ by the patches and our own files alone.
struct Crates {
    published: PathBuf,
    patched: PathBuf,
    /// The patched one, with imtcp where no controller is named.
    plugged: PathBuf,
}

impl Crates {
    fn make() -> Result<Self> {
        let seam = workspace::root().join("quiche");
        let source = published_source(&seam.join("pristine/Cargo.toml"), None)?;
        let scratch = workspace::scratch("quiche-tests")?;

        let patched = scratch.join("patched");
        assemble(
            &source,
            &Series::read(&seam.join("patches"))?,
            &seam.join("src"),
            &patched,
        )?;
        let published = scratch.join("published");
        copy_tree(&source.join("src"), &published.join("src"))?;
        for folder in [&published, &patched] {
            complete(&source, folder)?;
        }
        let plugged = scratch.join("plugged");
        copy_tree(&patched, &plugged)?;
        plugged::plug_in(&plugged)?;
        Ok(Self {
            published,
            patched,
            plugged,
        })
    }
}

/// What upstream's tests need besides the sources: the manifest, and certificates among the
/// examples.
fn complete(source: &Path, folder: &Path) -> Result<()> {
    copy_tree(&source.join("examples"), &folder.join("examples"))?;
    let manifest = source.join("Cargo.toml");
    let text =
        fs::read_to_string(&manifest).with_context(|| format!("reading {}", manifest.display()))?;
    // The crate is a workspace of its own, or cargo would take it for a lost member of this one.
    workspace::write(
        &folder.join("Cargo.toml"),
        &format!("{text}\n[workspace]\n"),
    )?;
    workspace::share_lock_file(folder)
}

fn test(folder: &Path, features: &str) -> Result<Outcomes> {
    let output = workspace::cargo(folder)
        .args(["test", "--lib", "--no-fail-fast", "--features", features])
        // Line numbers are of no use here and cost a third of the time.
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("starting cargo test")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let outcomes = parse(&text);
    // Failing tests make cargo fail, too, so only the summary shows whether they ran.
    if outcomes.is_empty() || !text.contains("\ntest result: ") {
        bail!(
            "the tests in {} did not run to their end ({})",
            folder.display(),
            output.status
        );
    }
    Ok(outcomes)
}

/// Reads the lines `test NAME ... OUTCOME` of a test run.
fn parse(text: &str) -> Outcomes {
    let outcome = |word: &str| match word {
        "ok" => Some(Outcome::Passed),
        "FAILED" => Some(Outcome::Failed),
        _ if word.starts_with("ignored") => Some(Outcome::Ignored),
        _ => None,
    };
    text.lines()
        .filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "))
        .filter_map(|(name, word)| {
            Some((
                name.trim_end_matches(" - should panic").to_owned(),
                outcome(word)?,
            ))
        })
        .collect()
}

fn names_with(outcomes: &Outcomes, wanted: Outcome) -> Vec<&str> {
    let with = outcomes.iter().filter(|(_, outcome)| **outcome == wanted);
    with.map(|(name, _)| name.as_str()).collect()
}

fn table(runs: &[(&str, &Outcomes)]) -> String {
    let row = |name: &str, outcomes: &Outcomes| {
        let count = |wanted| names_with(outcomes, wanted).len();
        let (passed, failed, ignored) = (
            count(Outcome::Passed),
            count(Outcome::Failed),
            count(Outcome::Ignored),
        );
        format!("{name:18}{passed:>8}{failed:>8}{ignored:>9}")
    };
    let head = format!("{:18}{:>8}{:>8}{:>9}", "", "passed", "failed", "ignored");
    let rows = runs.iter().map(|(name, outcomes)| row(name, outcomes));
    std::iter::once(head)
        .chain(rows)
        .collect::<Vec<_>>()
        .join("\n")
}

fn differences(published: &Outcomes, patched: &Outcomes) -> Vec<String> {
    let names = published
        .keys()
        .chain(patched.keys().filter(|name| !published.contains_key(*name)));
    let word = |outcome: Option<&Outcome>| match outcome {
        Some(Outcome::Passed) => "passes",
        Some(Outcome::Failed) => "fails",
        Some(Outcome::Ignored) => "is ignored",
        None => "is not there",
    };
    names
        .map(|name| (name, published.get(name), patched.get(name)))
        .filter(|(_, before, after)| before != after)
        .map(|(name, before, after)| {
            format!(
                "{name} {} on the published crate and {} on the patched one",
                word(before),
                word(after)
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "
running 4 tests
test a::one ... ok
test a::two - should panic ... ok
test b::three ... FAILED
test b::four ... ignored, too slow

failures:
test result: FAILED. 2 passed; 1 failed; 1 ignored
";

    #[test]
    fn outcomes_are_read_from_the_lines_of_a_test_run() {
        let outcomes = parse(RUN);
        assert_eq!(outcomes.len(), 4);
        assert_eq!(outcomes["a::two"], Outcome::Passed);
        assert_eq!(outcomes["b::three"], Outcome::Failed);
        assert_eq!(outcomes["b::four"], Outcome::Ignored);
        assert!(
            table(&[("published 0.30.0", &outcomes)])
                .contains("published 0.30.0         2       1        1")
        );
    }

    #[test]
    fn a_test_that_changed_or_is_gone_or_is_new_differs() {
        let published = parse(RUN);
        assert!(differences(&published, &published).is_empty());
        let patched = parse(
            "test a::one ... FAILED\ntest a::two ... ok\ntest b::three ... FAILED\ntest c::new ... \
             ok\n",
        );
        assert_eq!(
            differences(&published, &patched),
            [
                "a::one passes on the published crate and fails on the patched one",
                "b::four is ignored on the published crate and is not there on the patched one",
                "c::new is not there on the published crate and passes on the patched one",
            ]
        );
    }
}
