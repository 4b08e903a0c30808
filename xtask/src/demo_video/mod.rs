//! `cargo xtask demo-video`: a video over a limited path, beside the kernel's CUBIC and alone,
//! under each controller. It tells what a viewer would have seen, in a table and on a page with
//! plots.

#![expect(clippy::disallowed_methods, reason = "says how long the rest will take")]

mod figures;
mod page;
mod plots;
pub mod record;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::testbed::{self, Launcher, Network, Running};
use crate::workspace;
use page::About;
use record::Play;

/// The tight link's rate in Mbit/s, of Ethernet frames.
const LINK_MBPS: u32 = 20;

/// What is compared.
const CONTROLLERS: [&str; 3] = ["imtcp", "cubic", "bbr2"];

/// The share of the throughput by which `imtcp-play` chooses.
const USED: f64 = 0.85;

/// The rivals have the path for themselves first.
const HEAD_START: Duration = Duration::from_secs(2);

/// Beside its title a player waits for stalls, and not without end. It gives up by itself before.
const PATIENCE: Duration = Duration::from_secs(90);

/// Plays a video over 20 Mbit/s between two network namespaces under each controller, beside TCP
/// flows and without any; prints what a viewer would have seen, and writes a page with plots.
#[derive(clap::Args)]
pub struct Arguments {
    /// How often each controller has its turn.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,

    /// How many TCP flows are beside the video, in each part.
    #[arg(long, value_name = "FLOWS,...", value_delimiter = ',', default_values_t = [0, 4, 16],
          value_parser = clap::value_parser!(u32).range(0..=64))]
    flows: Vec<u32>,

    /// How long the title is, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(4..=600))]
    seconds: u32,

    /// The bit rates of the title, as `imtcp-title --rates` takes them.
    #[arg(long, value_name = "RATE,...")]
    rates: Option<String>,

    /// How the player chooses bit rates: `throughput` or `bola`.
    #[arg(long, value_name = "RULE", default_value = "throughput")]
    abr: String,

    /// Let the player go by what the server says of the path.
    #[arg(long)]
    use_cmsd: bool,

    /// A folder for the page and the data, which must not exist yet. Without it, it is one of its
    /// own among the system's temporary files.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

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
    testbed::demand_root(&binaries)?;
    let interrupted = testbed::interruption()?;
    let folder = testbed::out_or_scratch(arguments.out.as_deref(), "video")?;
    let launcher = Launcher::new(binaries.clone(), !arguments.ordinary_priority, interrupted);
    let network = Network::create("video", LINK_MBPS)?;
    say!("{network}\n{launcher}\n")?;
    let stage = Stage {
        arguments,
        network: &network,
        launcher: &launcher,
        scratch: &folder,
    };
    stage.make_title()?;
    let plays = stage.play_all()?;
    say!("\n{}", figures::markdown(&plays))?;
    let page = page::page(&About {
        path: network.to_string(),
        link_mbps: f64::from(LINK_MBPS),
        title: stage.title_in_words(),
        plays: &plays,
    })?;
    let file = folder.join("demo-video.html");
    workspace::write(&file, &page)?;
    workspace::write(
        &folder.join("plays.json"),
        &serde_json::to_string_pretty(&plays)?,
    )?;
    say!(
        "\nThe page with the plots: {}\nBeside it are figures, segments, slots, estimates, and \
         what the programs said.",
        file.display()
    )?;
    Ok(ExitCode::SUCCESS)
}

/// With what the files of a play begin.
fn name_of(controller: &str, flows: u32, run: u32) -> String {
    format!("{controller}-{flows}-{run}")
}

fn binaries(named: Option<&Path>) -> Result<PathBuf> {
    let folder = testbed::binaries(named)?;
    if named.is_none() {
        testbed::build_player()?;
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
        let mut line = vec!["imtcp-title", &folder, "--synthetic", "--length", &length];
        if let Some(rates) = &self.arguments.rates {
            line.extend(["--rates", rates]);
        }
        let making = self
            .launcher
            .start_outside(&self.scratch.join("make-title"), &line)?;
        making.wait_until_it_ends(PATIENCE).context("no title")?;
        Ok(())
    }

    fn title_in_words(&self) -> String {
        let rates = self.arguments.rates.as_deref();
        format!(
            "A title of {} s in segments of 2 s; {}; choice by {}{}.",
            self.arguments.seconds,
            rates.map_or("six bit rates from 0.5 to 12 Mbit/s".to_owned(), |rates| {
                format!("bit rates {rates}")
            }),
            self.arguments.abr,
            if self.arguments.use_cmsd {
                ", with CMSD"
            } else {
                ""
            },
        )
    }

    /// Each controller in turn, so that other work of the machine hits all of them.
    fn play_all(&self) -> Result<Vec<Play>> {
        let (began, mut plays) = (Instant::now(), Vec::new());
        let of = self.arguments.runs as usize * self.arguments.flows.len() * CONTROLLERS.len();
        for run in 1..=self.arguments.runs {
            for flows in &self.arguments.flows {
                for controller in CONTROLLERS {
                    let play = self.play(controller, *flows, run)?;
                    let done = plays.len() + 1;
                    let each = began.elapsed().as_secs_f64() / done as f64;
                    let left = each * (of - done) as f64 / 60.0;
                    say!(
                        "[{done}/{of}, {left:.1} min left] {controller}, beside {}, run {run}: {}",
                        figures::beside(*flows),
                        play.qoe
                    )?;
                    plays.push(play);
                }
            }
        }
        Ok(plays)
    }

    fn play(&self, controller: &'static str, flows: u32, run: u32) -> Result<Play> {
        let name = |what: &str| format!("{}-{what}", name_of(controller, flows, run));
        let log = |what: &str| self.scratch.join(name(what));
        let server = self.serve(controller, &name)?;
        let rivals = (flows > 0).then(|| self.rivals(flows, &log)).transpose()?;
        let url = format!("https://{}:4433/manifest.mpd", Network::SERVER);
        let (segments, qoe) = (
            self.text(&name("segments.csv")),
            self.text(&name("qoe.json")),
        );
        let slots = self.text(&name("slots.csv"));
        let mut line = vec!["imtcp-play", &url, "--abr", &self.arguments.abr];
        line.extend(["--segments", &segments, "--json", &qoe]);
        if controller == "imtcp" {
            line.extend(["--server-slots", &slots]);
        }
        if self.arguments.use_cmsd {
            line.push("--use-cmsd");
        }
        let player = self
            .launcher
            .start(self.network.client(), &log("play"), &line)?;
        let bound = Duration::from_secs(u64::from(self.arguments.seconds)) * 2 + PATIENCE;
        player.wait_until_it_ends(bound)?;
        let mut play = Play {
            controller,
            flows,
            run,
            ..Play::default()
        };
        if let Some((sender, receiver)) = rivals {
            // The sender goes first. If the receiver went first, the sender would be reset.
            sender.stop()?;
            play.rivals_bps = Some(record::goodput(&receiver.stop()?)?);
        }
        server.end()?;
        play.read(&log)?;
        Ok(play)
    }

    fn serve(&self, controller: &str, name: &dyn Fn(&str) -> String) -> Result<Running> {
        let listen = format!("{}:4433", Network::SERVER);
        let (title, tls) = (self.text("title"), self.text("tls"));
        let (slots, estimates) = (
            self.text(&name("slots.csv")),
            self.text(&name("estimates.csv")),
        );
        let mut line = vec!["imtcp-serve", "--root", &title, "--tls-dir", &tls];
        line.extend(["--listen", &listen, "--cc", controller]);
        if controller == "imtcp" {
            line.extend(["--slots", &slots, "--estimates", &estimates]);
        }
        let log = self.scratch.join(name("serve"));
        let mut server = self.launcher.start(self.network.server(), &log, &line)?;
        server.wait_until_it_listens()?;
        Ok(server)
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
