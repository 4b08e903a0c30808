//! `cargo xtask demo-real`: the measurement over real sockets, against a rate that is known because
//! it was configured.
//!
//! Server and client run in two network namespaces joined by a veth pair; a token bucket on the
//! server's side is the tight link. Four transfers are made with and without cross traffic, each
//! with and without measuring. More are made beside TCP flows: some that are promised more than
//! their share, and one that is not.

mod estimates;
mod promise;
mod report;
mod slots;
mod transfer;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use crate::testbed::{self, Launcher, Network};
use report::Comparison;
use transfer::{Bench, Transfer};

/// The tight link's rate in Mbit/s, of Ethernet frames.
const LINK_MBPS: u32 = 20;

/// Measures a path of 20 Mbit/s between two network namespaces, with and without cross traffic;
/// then requires more than a fair share of it beside TCP flows.
#[derive(clap::Args)]
pub struct Arguments {
    /// How long each transfer takes, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(5..=600)
    )]
    seconds: u32,

    /// How many TCP flows the promise is made beside.
    #[arg(
        long,
        value_name = "FLOWS,...",
        value_delimiter = ',',
        default_value = "16",
        value_parser = clap::value_parser!(u32).range(1..=64)
    )]
    rivals: Vec<u32>,

    /// Their congestion control, by the kernel's name of it. `sysctl
    /// net.ipv4.tcp_available_congestion_control` lists what this kernel has.
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    congestion_control: String,

    /// How often each transfer with a promise is made.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    runs: u32,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,

    /// Run everything at the ordinary priority. On a busy machine the times of packets then tell
    /// more about the scheduler than about the sockets.
    #[arg(long)]
    ordinary_priority: bool,
}

/// Builds, measures, cleans up; fails when an estimate is too far off, or a promise too seldom
/// kept.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let binaries = testbed::binaries(arguments.binaries.as_deref())?;
    testbed::demand_root(&binaries)?;
    let interrupted = testbed::interruption()?;
    let scratch = testbed::scratch("demo")?;
    let network = Network::create("demo", LINK_MBPS)?;
    let launcher = Launcher::new(binaries, !arguments.ordinary_priority, interrupted);
    say!("{network}\n{launcher}\n")?;

    let bench = Bench::new(&network, &launcher, &scratch, arguments.seconds)?;
    let mut comparisons = Vec::new();
    for cross_mbps in [0, 8] {
        let measuring = bench.run(Transfer::measuring(cross_mbps))?;
        let silent = bench.run(Transfer::without_measuring(cross_mbps))?;
        comparisons.push(Comparison::new(cross_mbps, &measuring, &silent)?);
    }
    let rivals = arguments.rivals.iter();
    let by = &arguments.congestion_control;
    let contests = rivals.map(|flows| promise::run(&bench, (*flows, by), arguments.runs));
    let contests = contests.collect::<Result<Vec<_>>>()?;
    say!("\n{}", report::table(&comparisons))?;
    for contest in &contests {
        say!("\n{}", contest.table())?;
    }
    say!(
        "\nEstimates, slots, qlogs, and what the programs said: {}",
        scratch.display()
    )?;
    verdict(&comparisons, &contests)
}

/// Names what is not as it should be.
fn verdict(comparisons: &[Comparison], contests: &[promise::Verdict]) -> Result<ExitCode> {
    let is_close = comparisons.iter().all(Comparison::is_close);
    if !is_close {
        let percent = report::TOLERANCE_PERCENT;
        say!("An estimate is further than {percent} % off.")?;
    }
    let is_kept = contests.iter().all(promise::Verdict::is_kept);
    if !is_kept {
        say!("{}", promise::Verdict::complaint())?;
    }
    Ok(if is_close && is_kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
