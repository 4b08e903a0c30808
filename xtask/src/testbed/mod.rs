//! Programs of this workspace in network namespaces. Every chore that measures on real sockets uses
//! this.

pub mod arrivals;
pub mod estimates;
mod median;
mod namespace;
mod network;
mod process;
mod root;
mod simulator;

pub use median::median;
pub use namespace::Namespace;
pub use network::Network;
pub use process::{Launcher, Running};
pub use root::{demand_root, demand_root_to_go_on};
pub use simulator::Simulated;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::workspace;

/// The folder of the example programs: the one that is named, or one where they have just been
/// built.
pub fn binaries(named: Option<&Path>) -> Result<PathBuf> {
    binaries_of(named, &["imtcp-examples"])
}

/// The same with the programs of these packages.
pub fn binaries_of(named: Option<&Path>, packages: &[&str]) -> Result<PathBuf> {
    if let Some(folder) = named {
        return Ok(folder.to_owned());
    }
    let mut cargo = workspace::cargo(&workspace::root());
    cargo.args(["build", "--release"]);
    for package in packages {
        cargo.args(["--package", package]);
    }
    workspace::run(&mut cargo)?;
    Ok(workspace::release())
}

/// A flag that Ctrl-C and its like set, so that everything ends in order.
pub fn interruption() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .context("cannot watch for signals")?;
    }
    Ok(interrupted)
}

/// A folder outside the target folder, in which nothing should belong to root. It is new, and
/// nobody can guess its name: root does not write where somebody else has prepared the ground, and
/// a run that was killed leaves its folder behind.
pub fn scratch(chore: &str) -> Result<PathBuf> {
    let prefix = format!("imtcp-{chore}-");
    let folder = tempfile::Builder::new().prefix(&prefix).tempdir();
    Ok(folder.context("cannot make a folder for the run")?.keep())
}

/// The folder that is named, which must be new, or one of [`scratch`].
pub fn out_or_scratch(named: Option<&Path>, chore: &str) -> Result<PathBuf> {
    let Some(named) = named else {
        return scratch(chore);
    };
    let folder = std::path::absolute(named)?;
    let made = fs::create_dir(&folder);
    made.with_context(|| format!("cannot make {}; --out has to be new", folder.display()))?;
    Ok(folder)
}

/// Builds the video server, its player, its titles and its crowd, whose workspace is not this one.
/// Returns their folder, which all workspaces share.
pub fn build_player() -> Result<PathBuf> {
    let mut build = workspace::cargo(&workspace::root().join("imtcp-serve"));
    workspace::run(build.args(["build", "--locked", "--release", "--bins"]))?;
    Ok(workspace::release())
}

/// Runs a system tool that says nothing when all is well.
pub fn tool(line: &str) -> Result<()> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default();
    let output = match Command::new(name).args(words).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("`{name}` is not installed; on Debian: apt-get install iproute2")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot start `{line}`")),
    };
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` failed: {}", reason.trim());
    }
    Ok(())
}

/// What a program has printed.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).with_context(|| format!("a program printed `{}`", text.trim()))
}
