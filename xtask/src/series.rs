//! `cargo xtask series`: the patch series as commits of a scratch repository, and back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use quiche_patcher::{copy_tree, published_source};

use crate::workspace;

/// Makes a repository of the patches to quiche, writes the patches from one, or checks that both
/// agree.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    step: Step,
}

#[derive(clap::Subcommand)]
enum Step {
    /// Makes a git repository of the published source, with a commit for each patch
    Branch {
        /// A folder that does not exist yet
        folder: PathBuf,
    },
    /// Writes quiche/patches from the commits of such a repository
    Export {
        /// The repository
        folder: PathBuf,
    },
    /// Checks that exporting a fresh branch changes nothing
    Check,
}

/// Does one step.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.step {
        Step::Branch { folder } => {
            let commits = branch(folder)?;
            say!(
                "{}: {commits} patches, a commit each; the first line of a message names the file.",
                folder.display()
            )?;
        }
        Step::Export { folder } => {
            let series = export(folder)?;
            replace(&series)?;
            say!("{} patches written.", series.len())?;
        }
        Step::Check => {
            let scratch = workspace::scratch("series")?;
            check(&scratch.join("branch"))?;
            say!("The series and its branch agree.")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A patch: its file name, and its text.
type Patch = (String, String);

fn folder_of_patches() -> PathBuf {
    workspace::root().join("quiche/patches")
}

/// The patches that are there, in their order.
fn present() -> Result<Vec<Patch>> {
    let folder = folder_of_patches();
    let mut patches = Vec::new();
    let entries = fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "patch") {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            patches.push((name.into_owned(), fs::read_to_string(&path)?));
        }
    }
    patches.sort();
    Ok(patches)
}

/// Makes the repository; how many patches it has.
fn branch(folder: &Path) -> Result<usize> {
    ensure!(
        !folder.exists(),
        "{} exists; name a folder that does not",
        folder.display()
    );
    let pristine = workspace::root().join("quiche/pristine/Cargo.toml");
    copy_tree(&published_source(&pristine, None)?, folder)?;
    git(folder, &["init", "--quiet"])?;
    commit(folder, "published")?;
    let patches = present()?;
    for (name, text) in &patches {
        let path = folder_of_patches().join(name);
        git(
            folder,
            &["apply", "--index", "-C1", &path.to_string_lossy()],
        )
        .with_context(|| format!("applying {name}"))?;
        let description = text
            .split_once("\n--- a/")
            .map_or("", |(description, _)| description.trim_end());
        let stem = name.trim_end_matches(".patch");
        commit(folder, &format!("{stem}\n\n{description}"))?;
    }
    Ok(patches.len())
}

fn commit(folder: &Path, message: &str) -> Result<()> {
    git(folder, &["add", "--all"])?;
    let identity = ["-c", "user.name=series", "-c", "user.email=series@invalid"];
    let rest = ["commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m"];
    git(folder, &[&identity[..], &rest[..], &[message]].concat())?;
    Ok(())
}

/// The patches that the commits after the first one make.
fn export(folder: &Path) -> Result<Vec<Patch>> {
    let commits = git(folder, &["rev-list", "--reverse", "HEAD"])?;
    let mut series = Vec::new();
    for (index, id) in commits.lines().enumerate().skip(1) {
        let message = git(folder, &["log", "-1", "--format=%B", id])?;
        let (subject, description) = message.split_once('\n').unwrap_or((&message, ""));
        let name = subject.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        ensure!(
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "commit {id}: its first line, `{subject}`, is to name a file, as `0003-name-of-it` does"
        );
        let difference = git(
            folder,
            &[
                "diff",
                "-U1",
                "--no-color",
                "--no-ext-diff",
                "--no-renames",
                "--diff-algorithm=myers",
                &format!("{id}~"),
                id,
            ],
        )?;
        let text = format!("{}\n\n{}", description.trim(), bare(&difference));
        series.push((format!("{index:04}-{name}.patch"), text));
    }
    Ok(series)
}

/// A difference without git's own lines, and without the source that git shows behind positions.
fn bare(difference: &str) -> String {
    let lines = difference
        .lines()
        .filter(|line| !line.starts_with("diff --git ") && !line.starts_with("index "));
    lines
        .map(|line| match line.strip_prefix("@@ ") {
            Some(rest) => {
                let position = rest.split(" @@").next().unwrap_or(rest);
                format!("@@ {position} @@\n")
            }
            None => format!("{line}\n"),
        })
        .collect()
}

/// Replaces the series that is there.
fn replace(series: &[Patch]) -> Result<()> {
    ensure!(!series.is_empty(), "the repository has no patches");
    for (name, _) in present()? {
        fs::remove_file(folder_of_patches().join(name))?;
    }
    for (name, text) in series {
        workspace::write(&folder_of_patches().join(name), text)?;
    }
    Ok(())
}

/// Makes a branch in `folder` and compares its export with the series.
fn check(folder: &Path) -> Result<()> {
    branch(folder)?;
    let (exported, present) = (export(folder)?, present()?);
    ensure!(exported.len() == present.len(), "patches are missing");
    for (before, after) in present.iter().zip(&exported) {
        ensure!(
            before == after,
            "{} is not what its commit exports; `cargo xtask series branch` and `export` mend it",
            before.0
        );
    }
    Ok(())
}

/// Runs git in a folder; what it prints. Settings of the user do not count: `diff.noprefix`, say,
/// would make patches that nobody can apply.
fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .output()
        .context("starting git")?;
    if !output.status.success() {
        bail!(
            "git {} failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    String::from_utf8(output.stdout).context("git printed something that is no text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_what_its_branch_exports() -> Result<()> {
        let scratch = tempfile::TempDir::new()?;
        check(&scratch.path().join("branch"))
    }

    #[test]
    fn git_s_own_lines_are_left_out() {
        let difference = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n\
                          @@ -1,2 +1,3 @@ fn secret() {\n one\n+two\n";
        assert_eq!(
            bare(difference),
            "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n one\n+two\n"
        );
    }
}
