//! `cargo xtask browser`: real players in a real browser, over HTTP/3 and a limited path.

mod checks;
mod seen;
mod stage;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

use crate::testbed::{self, Launcher, Network};
use stage::{Stage, What};
use tools::Tools;

/// The tight link's rate in Mbit/s, of Ethernet frames.
const LINK_MBPS: u32 = 20;

/// Has dash.js and shaka-player in Chromium play a title from imtcp-serve over HTTP/3 and 20 Mbit/s
/// between two network namespaces, beside the kernel's CUBIC and alone, and checks what they saw.
#[derive(clap::Args)]
pub struct Arguments {
    /// How much of the title is played, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 32,
          value_parser = clap::value_parser!(u32).range(10..=600))]
    seconds: u32,

    /// The lowest bit rate that a player may choose, in Mbit/s. It is what becomes the promise,
    /// with a tenth more.
    #[arg(long, value_name = "MBPS", default_value_t = 8,
          value_parser = clap::value_parser!(u32).range(1..=15))]
    rate: u32,

    /// How many downloads over TCP are beside the video, in the part that has any.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=64))]
    flows: u32,

    /// One player only: `dash` or `shaka`.
    #[arg(long, value_name = "PLAYER", value_parser = ["dash", "shaka"])]
    only: Option<String>,

    /// The server's congestion controller. With another than `imtcp` there is no promise, and
    /// the checks may fail.
    #[arg(long, value_name = "NAME", default_value = "imtcp")]
    cc: String,

    /// The browser.
    #[arg(long, value_name = "PROGRAM", default_value = "chromium")]
    chromium: String,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,

    /// Run everything at the ordinary priority.
    #[arg(long)]
    ordinary_priority: bool,
}

/// Builds, plays, checks, cleans up.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let tools = Tools::find(&arguments.chromium)?;
    let packages = tools::install()?;
    let binaries = binaries(arguments.binaries.as_deref())?;
    testbed::demand_root(&binaries)?;
    let interrupted = testbed::interruption()?;
    let scratch = testbed::scratch("browser")?;
    let launcher = Launcher::new(binaries, !arguments.ordinary_priority, interrupted);
    let network = Network::create("browser", LINK_MBPS)?;
    say!("{network}\n{launcher}\n")?;
    let stage = Stage {
        arguments,
        tools: &tools,
        packages: &packages,
        network: &network,
        launcher: &launcher,
        scratch: &scratch,
    };
    stage.make_title()?;
    let mut fails = 0;
    for player in ["dash", "shaka"] {
        if arguments.only.as_ref().is_some_and(|only| only != player) {
            continue;
        }
        for flows in [arguments.flows, 0] {
            // The second goes by what the server says of the path.
            let wants_cmsd = player == "shaka";
            let what = What {
                player,
                wants_cmsd,
                flows,
            };
            fails += stage.play(&what)?;
        }
    }
    say!("What page, browser and server said: {}", scratch.display())?;
    if fails > 0 {
        say!("FAILED: {fails} checks")?;
        return Ok(ExitCode::FAILURE);
    }
    say!("All checks hold.")?;
    Ok(ExitCode::SUCCESS)
}

/// The server's workspace is not this one.
fn binaries(named: Option<&Path>) -> Result<PathBuf> {
    let folder = testbed::binaries(named)?;
    if named.is_none() {
        testbed::build_player()?;
    }
    Ok(folder)
}
