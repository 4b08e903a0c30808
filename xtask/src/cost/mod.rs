//! `cargo xtask cost`: what a server pays for `imtcp`, beside quiche's CUBIC over the same path.

mod crowd;
mod gaps;
pub mod process;
mod report;
mod transfers;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::ValueEnum;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::testbed::{self, Launcher, Network, Running};
use report::Report;

/// A part of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Goodput and time on processors.
    Transfers,
    /// Many connections at once, and the memory that they take.
    Crowd,
    /// How well distances between packets are kept.
    Gaps,
}

/// Measures what `imtcp` costs a server: goodput and time on processors beside CUBIC's, memory for
/// each connection, many connections at once, and how well each release method keeps the planned
/// distances between packets. It needs root, for network namespaces.
#[derive(clap::Args)]
pub struct Arguments {
    /// Do this part alone.
    #[arg(long, value_enum)]
    only: Option<Part>,

    /// How many pairs of transfers.
    #[arg(long, value_name = "COUNT", default_value_t = 7,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,

    /// The link's rate in the transfers and for the crowd.
    #[arg(long, value_name = "MBIT/S", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    rate: u32,

    /// How much a transfer carries.
    #[arg(long, value_name = "MEGABYTES", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    megabytes: u32,

    /// How many clients at once.
    #[arg(long, value_name = "COUNT", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(1..=5000))]
    crowd: u32,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,

    /// Run everything at the ordinary priority.
    #[arg(long)]
    ordinary_priority: bool,
}

/// Builds, measures, cleans up. Fails if a bar is missed.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let binaries = binaries(arguments.binaries.as_deref())?;
    testbed::demand_root(&binaries)?;
    allow_many_files()?;
    let launcher = Launcher::new(
        binaries,
        !arguments.ordinary_priority,
        testbed::interruption()?,
    );
    let scratch = testbed::scratch("cost")?;
    say!("{launcher}")?;
    let stage = Stage {
        arguments,
        launcher: &launcher,
        scratch: &scratch,
    };
    let mut report = Report::default();
    let wants = |part| arguments.only.is_none_or(|only| only == part);
    if wants(Part::Transfers) {
        transfers::measure(&stage, &mut report)?;
    }
    if wants(Part::Crowd) {
        crowd::measure(&stage, &mut report)?;
    }
    if wants(Part::Gaps) {
        gaps::measure(&stage, &mut report)?;
    }
    say!("\n{report}\nWhat the programs said: {}", scratch.display())?;
    Ok(if report.has_missed() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The server and the clients.
pub fn binaries(named: Option<&Path>) -> Result<PathBuf> {
    named.map_or_else(testbed::build_player, |folder| Ok(folder.to_owned()))
}

/// Every client of a crowd has a socket. The programs inherit the limit.
pub fn allow_many_files() -> Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).context("no limit of open files")?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most).context("cannot raise the limit of open files")
}

/// Where everything happens.
struct Stage<'a> {
    arguments: &'a Arguments,
    launcher: &'a Launcher,
    scratch: &'a Path,
}

impl Stage<'_> {
    fn text(&self, name: &str) -> String {
        self.scratch.join(name).display().to_string()
    }

    /// Makes a file of zeros to serve, unless it is there. It takes no room.
    fn file(&self, name: &str, bytes: u64) -> Result<()> {
        let folder = self.scratch.join("root");
        std::fs::create_dir_all(&folder)?;
        let file = File::create(folder.join(name))?;
        file.set_len(bytes).context("cannot make a file to serve")
    }

    fn network(&self, rate: u32) -> Result<Network> {
        Network::create("cost", rate)
    }

    /// A server in the network, with these arguments beside the necessary ones.
    fn server(&self, network: &Network, log: &str, arguments: &[&str]) -> Result<Running> {
        let (root, tls) = (self.text("root"), self.text("tls"));
        let listen = format!("{}:4433", Network::SERVER);
        let mut line = vec!["imtcp-serve", "--root", &root, "--tls-dir", &tls];
        // Who still waits for an answer then is not waited for.
        line.extend(["--listen", &listen, "--log", "json", "--drain", "1 s"]);
        line.extend(arguments);
        let log = self.scratch.join(log);
        let mut server = self.launcher.start(network.server(), &log, &line)?;
        server.wait_until_it_listens()?;
        Ok(server)
    }

    /// Clients that do the same at the same time.
    fn clients(&self, network: &Network, log: &str, arguments: &[&str]) -> Result<Running> {
        let mut line = vec!["imtcp-crowd", "together"];
        line.extend(arguments);
        let log = self.scratch.join(log);
        self.launcher.start(network.client(), &log, &line)
    }
}

/// The address of a file of the server's.
fn url(file: &str) -> String {
    format!("https://{}:4433/{file}", Network::SERVER)
}
