//! `cargo xtask demo-real`: the measurement over real sockets, against a rate that is known because
//! it was configured.
//!
//! Server and client run in two network namespaces joined by a veth pair; a token bucket on the
//! server's side is the tight link. Four transfers: with and without cross traffic, each with and
//! without measuring. And two beside TCP flows: one that is promised more than its share, one that is not.

mod estimates;
mod network;
mod process;
mod promise;
mod report;
mod slots;
mod transfer;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use nix::unistd::Uid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::workspace;
use network::Network;
use process::Launcher;
use report::Comparison;
use transfer::{Bench, Transfer};

/// Measures a path of 20 Mbit/s between two network namespaces, with and without cross traffic; then
/// requires more than a fair share of it beside 16 TCP flows.
#[derive(clap::Args)]
pub struct Arguments {
    /// How long each of the six transfers takes, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(5..=600))]
    seconds: u32,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,

    /// Run everything at the ordinary priority. On a busy machine the times of packets then tell
    /// more about the scheduler than about the sockets.
    #[arg(long)]
    ordinary_priority: bool,
}

/// Builds, measures, cleans up; fails when an estimate is too far off, or a promise too seldom kept.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let binaries = match &arguments.binaries {
        Some(folder) => folder.clone(),
        None => build()?,
    };
    demand_root(&binaries)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .context("cannot watch for signals")?;
    }
    let scratch = scratch()?;
    let network = Network::create()?;
    let launcher = Launcher::new(binaries, !arguments.ordinary_priority, interrupted);
    println!("{network}\n{launcher}\n");

    let bench = Bench::new(&network, &launcher, &scratch, arguments.seconds)?;
    let mut comparisons = Vec::new();
    for cross_mbps in [0, 8] {
        let measuring = bench.run(Transfer::measuring(cross_mbps))?;
        let silent = bench.run(Transfer::without_measuring(cross_mbps))?;
        comparisons.push(Comparison::new(cross_mbps, &measuring, &silent)?);
    }
    let contest = promise::run(&bench)?;
    println!("\n{}", report::table(&comparisons));
    println!("\n{}", contest.table());
    println!(
        "\nEstimates, slots, qlogs, and what the programs said: {}",
        scratch.display()
    );
    Ok(verdict(&comparisons, &contest))
}

/// Says what is not as it should be.
fn verdict(comparisons: &[Comparison], contest: &promise::Verdict) -> ExitCode {
    let is_close = comparisons.iter().all(Comparison::is_close);
    if !is_close {
        let percent = report::TOLERANCE_PERCENT;
        println!("An estimate is further than {percent} % off.");
    }
    if !contest.is_kept() {
        println!("{}", promise::Verdict::complaint());
    }
    if is_close && contest.is_kept() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A folder outside the target folder, in which nothing should belong to root. It must be new: root
/// does not write where somebody else has prepared the ground.
fn scratch() -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("imtcp-demo-{}", std::process::id()));
    fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

fn build() -> Result<PathBuf> {
    let mut cargo = workspace::cargo(&workspace::root());
    workspace::run(cargo.args(["build", "--release", "--package", "imtcp-examples"]))?;
    Ok(workspace::target().join("release"))
}

/// Building needs no root, so that nothing in the target folder belongs to it.
fn demand_root(binaries: &Path) -> Result<()> {
    if Uid::effective().is_root() {
        return Ok(());
    }
    let own = std::env::current_exe().context("cannot tell where this program is")?;
    bail!(
        "only root can make network namespaces; everything is built, now run\n  sudo {} demo-real --binaries {}",
        own.display(),
        binaries.display()
    );
}

/// Runs a system tool that says nothing when all is well.
fn tool(line: &str) -> Result<()> {
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
