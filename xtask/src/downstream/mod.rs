//! `cargo xtask downstream`: does somebody else's program work with two lines in its manifest, and
//! as well as with CUBIC?
//!
//! The programs are made outside this workspace and depend on tokio-quiche as it is published. The
//! clients are quic-go's, fetched by Go's own tool, and this project's `fetch`.

mod crates;
mod parts;
mod quic_go;
mod rebinding;
mod relay;
mod report;
mod transfer;
mod usage;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::testbed::{self, Launcher};
use parts::Plan;
use report::Report;
use transfer::{Bench, Client};

/// Compiles crates outside the workspace that use stock tokio-quiche with the controller, and
/// compares what they achieve with what they achieve with CUBIC.
#[derive(clap::Args)]
pub struct Arguments {
    /// The release of tokio-quiche to use.
    #[arg(long, default_value = "=0.20.1")]
    tokio_quiche: String,

    /// Only these parts.
    #[arg(long, value_enum, value_name = "PARTS", value_delimiter = ',')]
    only: Vec<Part>,

    /// How often each transfer is made with each controller.
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    runs: u32,

    /// The rates of the part `rates`, in Mbit/s.
    #[arg(
        long,
        value_name = "MBPS",
        value_delimiter = ',', default_values_t = [20, 100, 500],
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    rates: Vec<u32>,

    /// Only these clients.
    #[arg(
        long,
        value_enum,
        value_name = "CLIENTS",
        value_delimiter = ',', default_values_t = [Client::QuicGo, Client::Fetch]
    )]
    clients: Vec<Client>,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,
}

/// What can be done by itself.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Two lines in the manifest and a controller by its name.
    TwoLines,
    /// The tests and the page of `imtcp-tokio-quiche`, against tokio-quiche 0.20.1.
    TokioQuiche,
    /// The client's port changes three times during a transfer, in each direction.
    Rebinding,
    /// Twenty connections over loopback.
    Loopback,
    /// 50 MB through 50 Mbit/s between namespaces; needs root.
    Transfer,
    /// Goodput, processor time, system calls and estimates at several rates; needs root.
    Rates,
}

impl Part {
    fn needs_root(self) -> bool {
        matches!(self, Self::Transfer | Self::Rates)
    }
}

/// Makes and compiles everything, runs the parts; fails when one does.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let parts = match arguments.only.as_slice() {
        [] => Part::value_variants(),
        some => some,
    };
    if parts == [Part::TokioQuiche] {
        // It needs none of the programs.
        return crates::test_helper().map(|()| ExitCode::SUCCESS);
    }
    let (binaries, clients) = build(arguments)?;
    if parts.iter().any(|part| part.needs_root()) {
        testbed::demand_root(&binaries)?;
    }
    let launcher = Launcher::new(binaries.clone(), false, testbed::interruption()?);
    let scratch = testbed::scratch("downstream")?;
    let bench = Bench {
        launcher: &launcher,
        scratch: &scratch,
        counts_calls: usage::can_count_calls(),
    };
    let plan = Plan {
        runs: arguments.runs,
        rates: &arguments.rates,
        clients: &clients,
    };
    let mut report = Report::default();
    for part in parts {
        let outcome = match part {
            Part::TwoLines => two_lines(&launcher, &bench),
            Part::TokioQuiche => crates::test_helper(),
            Part::Rebinding => rebinding::run(&bench, &plan, &mut report),
            Part::Loopback => parts::loopback(&bench, &plan, &mut report),
            Part::Transfer => parts::transfer(&bench, &plan, &mut report),
            Part::Rates => parts::rates(&bench, &plan, &mut report),
        };
        if let Err(error) = outcome {
            launcher.ensure_not_interrupted()?;
            report.miss(format!("{error:#}"))?;
        }
    }
    say!("\n{report}\nLogs: {}", scratch.display())?;
    Ok(report.verdict())
}

/// Builds all programs, or takes those that are there. Returns their folder, and which of the
/// wanted clients there are.
fn build(arguments: &Arguments) -> Result<(PathBuf, Vec<Client>)> {
    let mut clients = arguments.clients.clone();
    let folder = if let Some(folder) = &arguments.binaries {
        let has_quic_go = folder.join(quic_go::CLIENT).exists();
        clients.retain(|client| *client != Client::QuicGo || has_quic_go);
        folder.clone()
    } else {
        let folder = crates::build(&arguments.tokio_quiche)?;
        testbed::binaries(None)?;
        if clients.contains(&Client::QuicGo) && quic_go::build(&folder)?.is_none() {
            clients.retain(|client| *client != Client::QuicGo);
        }
        folder
    };
    // Namespaces are entered by programs that start elsewhere.
    let folder = folder.canonicalize();
    Ok((
        folder.context("the folder of programs is not there")?,
        clients,
    ))
}

fn two_lines(launcher: &Launcher, bench: &Bench<'_>) -> Result<()> {
    let certificates = crates::certificates();
    let line = [crates::TWO_LINES, &certificates.to_string_lossy()];
    let program = launcher.start_outside(&bench.log("two-lines"), &line)?;
    let said = program.wait_until_it_ends(transfer::PATIENCE)?;
    say!("{}", said.trim_end())
}
