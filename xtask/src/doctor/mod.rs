//! `cargo xtask doctor`: checks that everything is there that the build needs.
//!
//! BoringSSL is compiled by a dependency's build script before any build script of this project
//! runs, and a missing libclang shows only after minutes of that. So it is looked for here, first.

mod libclang;

use std::env;
use std::fmt;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Result;

/// Checks the programs and libraries that the build needs, and names the Debian packages to
/// install.
#[derive(clap::Args)]
pub struct Arguments {
    /// Print only the Debian packages that are missing, on one line.
    #[arg(long)]
    packages: bool,
}

/// The result of looking for one thing.
#[derive(Debug, PartialEq, Eq)]
enum Finding {
    /// It is there; a version or a path.
    Found(String),
    /// It is missing; why the build needs it.
    Missing(String),
    /// It is missing, and the build does without it; why.
    NotNeeded(&'static str),
}

/// One thing the build needs.
struct Check {
    name: &'static str,
    /// The Debian package that brings it.
    package: &'static str,
    finding: Finding,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.finding {
            Finding::Found(detail) => write!(f, "  ok       {:13} {detail}", self.name),
            Finding::Missing(why) => {
                write!(
                    f,
                    "  MISSING  {:13} {why}; Debian package: {}",
                    self.name, self.package
                )
            }
            Finding::NotNeeded(why) => write!(f, "  skipped  {:13} {why}", self.name),
        }
    }
}

/// Runs every check; fails when something is missing.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let checks = checks(env::var_os("BORING_BSSL_PATH").is_some());
    let mut missing: Vec<&str> = checks
        .iter()
        .filter(|check| matches!(check.finding, Finding::Missing(_)))
        .map(|check| check.package)
        .collect();
    // Checks of the same package stand side by side.
    missing.dedup();
    if arguments.packages {
        say!("{}", missing.join(" "))?;
    } else {
        report(&checks, &missing)?;
    }
    Ok(if missing.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn report(checks: &[Check], missing: &[&str]) -> Result<()> {
    for check in checks {
        say!("{check}")?;
    }
    if missing.is_empty() {
        say!("Everything the build needs is there.")
    } else {
        say!(
            "\nInstall what is missing:\n  sudo apt-get install {}",
            missing.join(" ")
        )
    }
}

fn checks(boringssl_is_prebuilt: bool) -> Vec<Check> {
    let only_for_boringssl = |name, package, variable: Option<&str>, why| Check {
        name,
        package,
        finding: if boringssl_is_prebuilt {
            Finding::NotNeeded("BORING_BSSL_PATH names a BoringSSL that is built already")
        } else {
            program(name, variable, why)
        },
    };
    vec![
        Check {
            name: "cc",
            package: "gcc",
            finding: program("cc", Some("CC"), "links every Rust program"),
        },
        Check {
            name: "c++",
            package: "g++",
            finding: program(
                "c++",
                Some("CXX"),
                "compiles BoringSSL and brings libstdc++",
            ),
        },
        only_for_boringssl("cmake", "cmake", Some("CMAKE"), "configures BoringSSL"),
        only_for_boringssl("make", "make", None, "drives the build of BoringSSL"),
        only_for_boringssl(
            "git",
            "git",
            None,
            "applies boring-sys's patches to BoringSSL",
        ),
        Check {
            name: "libclang",
            package: "libclang-dev",
            finding: libclang::library(),
        },
        Check {
            name: "clang headers",
            package: "libclang-dev",
            finding: libclang::headers(),
        },
    ]
}

/// Whether a program runs: the one an environment variable names, or else `name`.
fn program(name: &str, variable: Option<&str>, why: &str) -> Finding {
    let chosen = variable.and_then(|variable| env::var(variable).ok());
    let chosen = chosen.filter(|chosen| !chosen.trim().is_empty());
    runs(chosen.as_deref().unwrap_or(name), why)
}

/// Whether a program runs. Words may follow its name, as in `ccache gcc`, unless all of them are
/// the name of a file: so the build reads `CC` and `CXX`, too.
fn runs(program: &str, why: &str) -> Finding {
    let mut words: Vec<&str> = program.split_whitespace().collect();
    if words.len() > 1 && Path::new(program).is_file() {
        words = vec![program];
    }
    let (name, arguments) = words.split_first().unwrap_or((&program, &[]));
    let mut command = Command::new(name);
    match command.args(arguments).arg("--version").output() {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Finding::Found(text.lines().next().unwrap_or(program).to_owned())
        }
        Ok(output) => Finding::Missing(format!(
            "`{program} --version` fails ({}); it {why}",
            output.status
        )),
        Err(error) => Finding::Missing(format!("`{program}` cannot be run ({error}); it {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_missing_and_the_reason_is_told() {
        let Finding::Missing(why) = program("no-such-program-anywhere", None, "is needed here")
        else {
            panic!("it cannot have been found");
        };
        assert!(
            why.contains("no-such-program-anywhere") && why.contains("is needed here"),
            "{why}"
        );
    }

    #[test]
    fn a_program_may_have_words_before_it_and_behind() {
        let found = runs("env env", "is needed here");
        assert!(matches!(found, Finding::Found(_)), "{found:?}");
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join("of my own");
        std::os::unix::fs::symlink("/usr/bin/env", &own).expect("linked");
        let found = runs(&own.to_string_lossy(), "is needed here");
        assert!(matches!(found, Finding::Found(_)), "{found:?}");
        let missing = runs("env no-such-program-anywhere", "is needed here");
        assert!(matches!(missing, Finding::Missing(_)), "{missing:?}");
    }

    #[test]
    fn a_prebuilt_boringssl_needs_no_cmake_and_still_needs_libclang() {
        let skipped: Vec<_> = checks(true)
            .into_iter()
            .filter(|check| matches!(check.finding, Finding::NotNeeded(_)))
            .map(|check| check.name)
            .collect();
        assert_eq!(skipped, ["cmake", "make", "git"]);
    }
}
