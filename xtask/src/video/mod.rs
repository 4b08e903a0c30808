//! `cargo xtask video`: a video over a limited path, beside the kernel's CUBIC and alone, under
//! each controller. It tells what a viewer would have seen.

mod figures;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::testbed::{self, Launcher, Network, Running, parse};
use crate::workspace;
use figures::{Qoe, table};

/// The tight link's rate in Mbit/s, of Ethernet frames.
const LINK_MBPS: u32 = 20;

/// What is compared.
const CONTROLLERS: [&str; 3] = ["imtcp", "cubic", "bbr2"];

/// The rivals have the path for themselves first.
const HEAD_START: Duration = Duration::from_secs(2);

/// Beside its title a player waits for stalls, and not without end. It gives up by itself before.
const PATIENCE: Duration = Duration::from_secs(90);

/// Plays a video over 20 Mbit/s between two network namespaces under each controller, beside TCP
/// flows and without any, and prints what a viewer would have seen.
#[derive(clap::Args)]
pub struct Arguments {
    /// How often each controller has its turn.
    #[arg(long, value_name = "COUNT", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,

    /// How many TCP flows are beside the video, in the part that has any.
    #[arg(long, value_name = "COUNT", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=64))]
    flows: u32,

    /// How long the title is, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
          value_parser = clap::value_parser!(u32).range(4..=600))]
    seconds: u32,

    /// How the player chooses bit rates: `throughput` or `bola`.
    #[arg(long, value_name = "RULE", default_value = "throughput")]
    abr: String,

    /// Let the player go by what the server says of the path.
    #[arg(long)]
    use_cmsd: bool,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,

    /// Run everything at the ordinary priority.
    #[arg(long)]
    ordinary_priority: bool,
}

/// Builds, plays, cleans up.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let binaries = binaries(arguments.binaries.as_deref())?;
    testbed::demand_root("video", &binaries)?;
    let interrupted = testbed::interruption()?;
    let scratch = testbed::scratch("video")?;
    let launcher = Launcher::new(binaries.clone(), !arguments.ordinary_priority, interrupted);
    let network = Network::create("video", LINK_MBPS)?;
    say!("{network}\n{launcher}\n")?;
    let stage = Stage {
        arguments,
        network: &network,
        launcher: &launcher,
        scratch: &scratch,
    };
    stage.make_title()?;
    let mut plays = Vec::new();
    for run in 1..=arguments.runs {
        for flows in [arguments.flows, 0] {
            for controller in CONTROLLERS {
                let qoe = stage.play(controller, flows, run)?;
                say!("{controller}, {flows} flows beside, run {run}: {qoe}")?;
                plays.push((controller, flows, qoe));
            }
        }
    }
    say!("\n{}", table(&plays))?;
    say!(
        "\nFigures, segments, slots, and what the programs said: {}",
        scratch.display()
    )?;
    Ok(ExitCode::SUCCESS)
}

/// The server's and the player's workspace is not this one.
fn binaries(named: Option<&Path>) -> Result<PathBuf> {
    let folder = testbed::binaries(named)?;
    if named.is_none() {
        let mut build = workspace::cargo(&workspace::root().join("imtcp-serve"));
        workspace::run(build.args(["build", "--locked", "--release", "--bins"]))?;
    }
    Ok(folder)
}

struct Stage<'a> {
    arguments: &'a Arguments,
    network: &'a Network,
    launcher: &'a Launcher,
    scratch: &'a Path,
}

impl Stage<'_> {
    fn text(&self, name: &str) -> String {
        self.scratch.join(name).display().to_string()
    }

    fn make_title(&self) -> Result<()> {
        let (folder, length) = (self.text("title"), format!("{} s", self.arguments.seconds));
        let line = ["imtcp-title", &folder, "--synthetic", "--length", &length];
        let making = self
            .launcher
            .start_outside(&self.scratch.join("make-title"), &line)?;
        making.wait_until_it_ends(PATIENCE).context("no title")?;
        Ok(())
    }

    fn play(&self, controller: &str, flows: u32, run: u32) -> Result<Qoe> {
        let name = |what: &str| format!("{controller}-{flows}-{run}-{what}");
        let log = |what: &str| self.scratch.join(name(what));
        let listen = format!("{}:4433", Network::SERVER);
        let (title, tls, slots) = (
            self.text("title"),
            self.text("tls"),
            self.text(&name("slots.csv")),
        );
        let mut line = vec!["imtcp-serve", "--root", &title, "--tls-dir", &tls];
        line.extend(["--listen", &listen, "--cc", controller]);
        if controller == "imtcp" {
            line.extend(["--slots", &slots]);
        }
        let mut server = self
            .launcher
            .start(self.network.server(), &log("serve"), &line)?;
        server.wait_until_it_listens()?;
        let rivals = (flows > 0).then(|| self.rivals(flows, &log)).transpose()?;
        let url = format!("https://{listen}/manifest.mpd");
        let segments = self.text(&name("segments.csv"));
        let mut line = vec!["imtcp-play", &url, "--abr", &self.arguments.abr];
        line.extend(["--segments", &segments]);
        if self.arguments.use_cmsd {
            line.push("--use-cmsd");
        }
        let player = self
            .launcher
            .start(self.network.client(), &log("play"), &line)?;
        let bound = Duration::from_secs(u64::from(self.arguments.seconds)) * 2 + PATIENCE;
        let printed = player.wait_until_it_ends(bound)?;
        if let Some((sender, receiver)) = rivals {
            // The sender goes first. If the receiver went first, the sender would be reset.
            sender.stop()?;
            receiver.stop()?;
        }
        server.end()?;
        parse(&printed)
    }

    fn rivals(&self, flows: u32, log: &dyn Fn(&str) -> PathBuf) -> Result<(Running, Running)> {
        let address = format!("{}:9", Network::CLIENT);
        let line = ["crosstraffic", "tcp-receive", "--listen", &address];
        let mut receiver = self
            .launcher
            .start(self.network.client(), &log("receive"), &line)?;
        receiver.wait_until_it_listens()?;
        let flows = flows.to_string();
        let line = [
            "crosstraffic",
            "tcp-send",
            "--to",
            &address,
            "--flows",
            &flows,
        ];
        let mut sender = self
            .launcher
            .start(self.network.server(), &log("send"), &line)?;
        sleep(HEAD_START);
        sender.ensure_it_runs()?;
        Ok((sender, receiver))
    }
}
