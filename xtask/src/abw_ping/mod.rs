//! `cargo xtask abw-ping`: the stand-alone measurement on paths of known rates.
//!
//! Two network namespaces are joined by a veth pair, with a token bucket as the tight link. The
//! program measures from before the link towards a host behind it, which answers pings and runs a
//! QUIC server. The rate is known because it was configured, less the cross traffic.

mod bench;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use crate::testbed::{self, Launcher};
use bench::{Bench, Way};
use report::Row;

/// The share of the link that cross traffic takes, in per cent.
const CROSS_PERCENT: u32 = 40;

/// Measures paths between two network namespaces by pings and towards a QUIC server, with and
/// without cross traffic.
#[derive(clap::Args)]
pub struct Arguments {
    /// The rates of the tight link in Mbit/s, of Ethernet frames.
    #[arg(
        long,
        value_name = "MBIT/S,...",
        value_delimiter = ',',
        default_value = "5,20,50",
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    rates: Vec<u32>,

    /// How often each measurement is made.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
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

/// Builds, measures, cleans up; fails where an idle path is not measured as it should be.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let packages = ["abw-ping", "imtcp-examples"];
    let binaries = testbed::binaries_of(arguments.binaries.as_deref(), &packages)?;
    testbed::demand_root(&binaries)?;
    let interrupted = testbed::interruption()?;
    let scratch = testbed::scratch("abw-ping")?;
    let launcher = Launcher::new(binaries, !arguments.ordinary_priority, interrupted);
    let mut rows = Vec::new();
    for rate_mbps in &arguments.rates {
        let bench = Bench::new(&launcher, &scratch, *rate_mbps)?;
        say!("{}\n{launcher}\n", bench.network())?;
        for cross_percent in [0, CROSS_PERCENT] {
            for way in Way::ALL {
                let readings = bench.run(way, cross_percent, arguments.runs)?;
                let row = Row::new(*rate_mbps, cross_percent, way, &readings);
                say!("{row}")?;
                rows.push(row);
            }
        }
        say!("")?;
    }
    say!("{}", report::table(&rows))?;
    say!("{}", report::OTHER_TOOLS)?;
    say!("What the programs said: {}", scratch.display())?;
    let mut missed = rows.iter().flat_map(Row::missed).peekable();
    let code = if missed.peek().is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    };
    for bar in missed {
        say!("missed: {bar}")?;
    }
    Ok(code)
}
