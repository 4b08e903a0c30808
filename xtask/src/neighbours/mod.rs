//! `cargo xtask neighbours`: what a steady video leaves to others, on sockets and simulated.
//!
//! The scenario is that of the simulator's `m12`, after Spang et al., *Sammy: smoothing video
//! traffic to be a friendly internet neighbor* (SIGCOMM 2023): 40 Mbit/s, a round trip of 5 ms, a
//! queue of four bandwidth-delay products, and a player that fetches 3.3 Mbit/s of video, chunk
//! after chunk until its buffer is full. The video is carried by `imtcp`, which is asked for
//! exactly its rate, or by quiche's CUBIC, which takes what it gets. Beside it is a flow of the
//! kernel's CUBIC, or a call of 1 Mbit/s whose packets are timed.

#![expect(clippy::disallowed_methods, reason = "says how long the rest will take")]

mod probe;
mod report;
mod simulated;

pub use probe::{Arguments as ProbeArguments, run as probe};

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::demo_video::record::{SlotLine, goodput, rows};
use crate::testbed::{self, Launcher, Namespace, Running, parse};
use crate::workspace;

/// The path, as in the scenario.
const PATH: [&str; 6] = [
    "--rate-bps",
    "40000000",
    "--delay-us",
    "2500",
    "--queue-bytes",
    "100000",
];
const SERVER: &str = "198.18.0.1";
const CLIENT: &str = "198.18.0.2";

/// What is required of `imtcp`. The window is the one that `imtcp-serve` has.
const PROMISE: &str = "exactly 3.3 Mbit/s per 4 s";
const PROMISE_OF_SIMULATOR: &str =
    "{ promise = { rate = \"3300 kbit/s\", per = \"4 s\", demand = \"exactly\" } }";

/// The buffer of the player, and a title that it does not come to the end of.
const BUFFER_S: u32 = 240;

/// The video begins so long before the transfer beside it.
const HEAD_START: Duration = Duration::from_secs(2);

/// Beyond the time that it was given a program takes no longer than this.
const PATIENCE: Duration = Duration::from_secs(20);

/// Plays a video of 3.3 Mbit/s over an emulated path of 40 Mbit/s and 5 ms beside a TCP flow, and
/// beside a call; compares imtcp, asked for exactly that rate, with CUBIC, and both with the
/// simulator. Needs root. Fails where a neighbour is no better off on sockets.
#[derive(clap::Args)]
pub struct Arguments {
    /// How often each is measured.
    #[arg(long, value_name = "COUNT", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,

    /// How long a play takes, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(10..=200))]
    seconds: u32,

    /// How often each is simulated.
    #[arg(long, value_name = "COUNT", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,

    /// A folder for the data, which must not exist yet. Without it, it is one of its own among the
    /// system's temporary files.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Run the programs from this folder instead of building them.
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,
}

/// Who carries the video.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Carrier {
    Imtcp,
    Cubic,
}

/// Who is beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Neighbour {
    Tcp,
    Udp,
}

/// What came of one play.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Measured {
    /// What the transfer beside it got.
    tcp_bps: Option<f64>,
    /// How long the packets of the call were under way: the mean, and the 95th percentile.
    delay_ms: Option<(f64, f64)>,
    /// Slots of the promise, and those that were kept.
    slots: usize,
    kept: usize,
    /// What the slots achieved of what was required.
    achieved: Vec<f64>,
}

/// All plays of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct Kind {
    carrier: Carrier,
    neighbour: Neighbour,
    is_simulated: bool,
    runs: Vec<Measured>,
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Imtcp => "imtcp",
            Self::Cubic => "cubic",
        })
    }
}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

/// What is compared.
const KINDS: [(Carrier, Neighbour); 4] = [
    (Carrier::Imtcp, Neighbour::Tcp),
    (Carrier::Cubic, Neighbour::Tcp),
    (Carrier::Imtcp, Neighbour::Udp),
    (Carrier::Cubic, Neighbour::Udp),
];

/// Builds, simulates, measures, compares.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let binaries = binaries(arguments.binaries.as_deref())?;
    testbed::demand_root(&binaries)?;
    let interrupted = testbed::interruption()?;
    let folder = testbed::out_or_scratch(arguments.out.as_deref(), "neighbours")?;
    let simulator = binaries.join("imtcp-sim");
    let launcher = Launcher::new(binaries, true, interrupted);
    say!("{launcher}\n")?;
    let lengths = (arguments.seconds, arguments.seeds);
    let mut kinds = Vec::new();
    for (carrier, neighbour) in KINDS {
        launcher.ensure_not_interrupted()?;
        kinds.push(Kind {
            carrier,
            neighbour,
            is_simulated: true,
            runs: simulated::run(
                &launcher,
                &simulator,
                &folder,
                (carrier, neighbour),
                lengths,
            )?,
        });
    }
    kinds.extend(Stage::new(arguments, &launcher, &folder)?.play_all()?);
    workspace::write(
        &folder.join("neighbours.json"),
        &serde_json::to_string_pretty(&kinds)?,
    )?;
    say!(
        "\n{}\n\nEverything: {}",
        report::table(&kinds),
        folder.display()
    )?;
    let misses = report::misses(&kinds);
    for miss in &misses {
        say!("MISSED: {miss}")?;
    }
    Ok(match misses.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn binaries(named: Option<&Path>) -> Result<PathBuf> {
    let folder = testbed::binaries_of(named, &["imtcp-examples", "imtcp-sim"])?;
    if named.is_none() {
        testbed::build_player()?;
    }
    Ok(folder)
}

/// Where plays are made.
struct Stage<'a> {
    arguments: &'a Arguments,
    launcher: &'a Launcher,
    folder: &'a Path,
    server: Namespace,
    client: Namespace,
}

impl<'a> Stage<'a> {
    fn new(arguments: &'a Arguments, launcher: &'a Launcher, folder: &'a Path) -> Result<Self> {
        let stage = Self {
            arguments,
            launcher,
            folder,
            server: Namespace::create("near", "server")?,
            client: Namespace::create("near", "client")?,
        };
        let title = stage.text("title");
        let length = format!("{} s", BUFFER_S + arguments.seconds + 20);
        let mut line = vec!["imtcp-title", &title, "--synthetic", "--length", &length];
        line.extend(["--segment", "4 s", "--rates", "3300 kbit/s"]);
        let making = launcher.start_outside(&folder.join("make-title"), &line)?;
        making.wait_until_it_ends(PATIENCE).context("no title")?;
        Ok(stage)
    }

    fn text(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Each kind in turn, so that other work of the machine hits all of them.
    fn play_all(&self) -> Result<Vec<Kind>> {
        let mut kinds = KINDS.map(|(carrier, neighbour)| Kind {
            carrier,
            neighbour,
            is_simulated: false,
            runs: Vec::new(),
        });
        let (began, mut done) = (Instant::now(), 0);
        let of = self.arguments.runs * u32::try_from(KINDS.len())?;
        for run in 1..=self.arguments.runs {
            for kind in &mut kinds {
                let measured = self.play(kind.carrier, kind.neighbour, run)?;
                done += 1;
                let left = began.elapsed().as_secs_f64() / f64::from(done) * f64::from(of - done);
                say!(
                    "[{done}/{of}, {:.1} min left] {}, run {run}: {}",
                    left / 60.0,
                    kind.carrier,
                    report::in_words(&measured)
                )?;
                kind.runs.push(measured);
            }
        }
        Ok(kinds.to_vec())
    }

    fn play(&self, carrier: Carrier, neighbour: Neighbour, run: u32) -> Result<Measured> {
        let name = |what: &str| format!("{carrier}-{neighbour}-{run}-{what}");
        let log = |what: &str| self.folder.join(name(what));
        let path = self.path(&log("path"))?;
        let slots = self.text(&name("slots.csv"));
        let server = self.serve(carrier, &log("serve"), &slots)?;
        let url = format!("https://{SERVER}:4433/manifest.mpd");
        let buffer = format!("{BUFFER_S} s");
        let line = ["imtcp-play", &url, "--cmcd", "off", "--buffer", &buffer];
        let mut player = self
            .launcher
            .start(self.client.name(), &log("play"), &line)?;
        let mut measured = Measured::default();
        match neighbour {
            Neighbour::Tcp => measured.tcp_bps = Some(self.transfer(&log)?),
            Neighbour::Udp => measured.delay_ms = Some(self.call(&log("call"))?),
        }
        player.ensure_it_runs()?;
        player.end()?;
        server.end()?;
        path.end()?;
        if carrier == Carrier::Imtcp {
            measured.add_slots(&rows(&log("slots.csv"))?);
        }
        Ok(measured)
    }

    fn path(&self, log: &Path) -> Result<Running> {
        let mut line = vec!["path-emulator"];
        line.extend(["--left", self.server.name(), SERVER]);
        line.extend(["--right", self.client.name(), CLIENT]);
        line.extend(PATH);
        let mut path = self.launcher.start_own(log, &line)?;
        path.wait_until_it_listens()?;
        Ok(path)
    }

    fn serve(&self, carrier: Carrier, log: &Path, slots: &str) -> Result<Running> {
        let (title, tls) = (self.text("title"), self.text("tls"));
        let (listen, carrier_name) = (format!("{SERVER}:4433"), carrier.to_string());
        let mut line = vec!["imtcp-serve", "--root", &title, "--tls-dir", &tls];
        line.extend(["--listen", &listen, "--cc", &carrier_name]);
        // The player goes without a word, and nobody waits for what it has not got.
        line.extend(["--drain", "1 s"]);
        if carrier == Carrier::Imtcp {
            line.extend(["--promise", PROMISE, "--slots", slots]);
        }
        let mut server = self.launcher.start(self.server.name(), log, &line)?;
        server.wait_until_it_listens()?;
        Ok(server)
    }

    /// A flow of the kernel's CUBIC, once the video has begun; its goodput.
    fn transfer(&self, log: &dyn Fn(&str) -> PathBuf) -> Result<f64> {
        sleep(HEAD_START);
        let address = format!("{CLIENT}:9");
        let line = ["crosstraffic", "tcp-receive", "--listen", &address];
        let mut receiver = self
            .launcher
            .start(self.client.name(), &log("receive"), &line)?;
        receiver.wait_until_it_listens()?;
        let mut line = vec!["crosstraffic", "tcp-send", "--to", &address, "--flows", "1"];
        line.extend(["--congestion-control", "cubic"]);
        let mut sender = self
            .launcher
            .start(self.server.name(), &log("send"), &line)?;
        let end = Instant::now() + Duration::from_secs(self.arguments.seconds.into()) - HEAD_START;
        while Instant::now() < end {
            self.launcher.ensure_not_interrupted()?;
            sender.ensure_it_runs()?;
            sleep(Duration::from_millis(100));
        }
        sender.stop()?;
        goodput(&receiver.stop()?)
    }

    /// A call; the delay of its packets.
    fn call(&self, log: &Path) -> Result<(f64, f64)> {
        let (seconds, address) = (self.arguments.seconds.to_string(), format!("{CLIENT}:7"));
        let mut line = vec!["delay-probe", "--seconds", &seconds, "--address", &address];
        line.extend(["--from", self.server.name(), "--to", self.client.name()]);
        let call = self.launcher.start_own(log, &line)?;
        let patience = Duration::from_secs(self.arguments.seconds.into()) + PATIENCE;
        let told: probe::Delays = parse(&call.wait_until_it_ends(patience)?)?;
        Ok((told.mean_ms, told.p95_ms))
    }
}

impl Measured {
    fn add_slots(&mut self, lines: &[SlotLine]) {
        for line in lines.iter().filter(|line| line.event == "slot") {
            self.slots += 1;
            self.kept += usize::from(line.what != "missed");
            if let (Some(achieved), Some(required)) = (line.achieved_bps, line.required_bps) {
                self.achieved.push(achieved / required);
            }
        }
    }
}
