//! Root's part of a chore.

use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::unistd::Uid;

/// Building needs no root, so that nothing in the target folder belongs to it.
pub fn demand_root(binaries: &Path) -> Result<()> {
    demand_root_to_go_on(&[&["--binaries", &binaries.to_string_lossy()]])
}

/// The same for a chore that is told by other options that everything is built, and where.
pub fn demand_root_to_go_on(built: &[&[&str]]) -> Result<()> {
    if Uid::effective().is_root() {
        return Ok(());
    }
    let own = std::env::current_exe().context("cannot tell where this program is")?;
    let told: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    bail!(
        "only root can make network namespaces; everything is built, now run\n  sudo {} {}",
        quoted(&own.to_string_lossy()),
        again(&told, built)
    );
}

/// What the chore was told, and those options that it was not told.
fn again(told: &[String], built: &[&[&str]]) -> String {
    let is_told = |option: &str| {
        told.iter()
            .any(|word| word.split('=').next() == Some(option))
    };
    let more = built.iter().filter(|words| !is_told(words[0])).copied();
    let words = told.iter().map(String::as_str);
    let words = words.chain(more.flatten().copied());
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-./:=,+%@".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_told_all_that_the_user_was() {
        for (told, expected) in [
            ("cost", "cost --binaries target/release"),
            (
                "cost --only crowd",
                "cost --only crowd --binaries target/release",
            ),
            ("cost --binaries there", "cost --binaries there"),
            ("cost --binaries=there", "cost --binaries=there"),
        ] {
            let told: Vec<String> = told.split(' ').map(str::to_owned).collect();
            let line = again(&told, &[&["--binaries", "target/release"]]);
            assert_eq!(line, expected);
        }
    }

    #[test]
    fn a_shell_reads_the_words_as_they_were() {
        let told = ["real-path", "--client", "it's $HOME", ""].map(str::to_owned);
        let line = again(&told, &[&["--built"], &["--cache", "there"]]);
        assert_eq!(
            line,
            r"real-path --client 'it'\''s $HOME' '' --built --cache there"
        );
    }
}
