//! One transfer over the path, and what both ends say of it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::LINK_MBPS;
use crate::testbed::estimates::{self, Estimate};
use crate::testbed::{Launcher, Network, Running, parse};

/// A path slower than expected by this factor has failed.
const SLOWEST: u32 = 3;

/// Ethernet, IPv4 and UDP headers, which the token bucket counts.
const HEADERS: u32 = 14 + 20 + 8;

/// UDP payload of a cross-traffic datagram.
const CROSS_PAYLOAD: u32 = 1200;

/// What a transfer is to be like.
#[derive(Clone, Copy)]
pub struct Transfer {
    /// Cross traffic, in Mbit/s of Ethernet frames; 0 is none.
    cross_mbps: u32,
    controller: &'static str,
}

impl Transfer {
    /// With measuring.
    pub fn measuring(cross_mbps: u32) -> Self {
        Self {
            cross_mbps,
            controller: "imtcp",
        }
    }

    /// The same controller without measuring.
    pub fn without_measuring(cross_mbps: u32) -> Self {
        Self {
            cross_mbps,
            controller: "imtcp-off",
        }
    }

    fn name(self) -> String {
        format!("{}-cross-{}", self.controller, self.cross_mbps)
    }
}

/// What a transfer yields.
pub struct Outcome {
    /// Both estimators' estimates, in the order in which they were made.
    pub estimates: Vec<Estimate>,
    /// Bits of the file per second.
    pub goodput_bps: f64,
    /// The server's account.
    pub server: ServerReport,
    /// Cross traffic that came through, in bits of Ethernet frames per second.
    pub cross_bps: f64,
}

/// What `serve --stats --json` prints, as far as it is of interest here.
#[derive(Deserialize)]
pub struct ServerReport {
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets lost.
    pub lost_packets: u64,
    /// Planned times against real ones.
    pub timing: Option<Timing>,
}

/// How exactly packets left.
#[derive(Clone, Copy, Deserialize)]
pub struct Timing {
    /// How late.
    pub lateness_us: Quantiles,
    /// Planned gaps in probe streams.
    pub planned_gap_us: Quantiles,
    /// How far real gaps were from the planned ones.
    pub gap_error_us: Quantiles,
}

/// A distribution of times in microseconds.
#[derive(Clone, Copy, Deserialize)]
pub struct Quantiles {
    /// How many.
    pub count: u64,
    /// The median.
    #[serde(rename = "p50")]
    pub p50_us: f64,
    /// 99 % are below.
    #[serde(rename = "p99")]
    pub p99_us: f64,
}

/// What `fetch --json` prints, as far as it is of interest here.
#[derive(Deserialize)]
struct Fetched {
    goodput_bps: f64,
}

/// What `crosstraffic receive` prints.
#[derive(Deserialize)]
struct Tally {
    datagrams: u64,
    seconds: f64,
}

/// Where transfers are made.
pub struct Bench<'a> {
    pub(super) network: &'a Network,
    pub(super) launcher: &'a Launcher,
    /// For files and logs; what is served is in the folder `root` below it.
    pub(super) scratch: &'a Path,
    /// How long a transfer takes, about.
    pub(super) seconds: u32,
}

impl<'a> Bench<'a> {
    /// Transfers of about `seconds`, with files and logs in `scratch`.
    pub fn new(
        network: &'a Network,
        launcher: &'a Launcher,
        scratch: &'a Path,
        seconds: u32,
    ) -> Result<Self> {
        let root = scratch.join("root");
        fs::create_dir_all(&root).with_context(|| format!("cannot make {}", root.display()))?;
        Ok(Self {
            network,
            launcher,
            scratch,
            seconds,
        })
    }

    /// Makes one transfer.
    pub fn run(&self, transfer: Transfer) -> Result<Outcome> {
        say!(
            "{} s with {}, {} Mbit/s of cross traffic",
            self.seconds,
            transfer.controller,
            transfer.cross_mbps
        )?;
        let file = self.make_file(transfer)?;
        let cross = CrossTraffic::start(self, transfer)?;

        let estimates = self.log(transfer, "estimates.csv");
        let server = self.serve(
            transfer.controller,
            &self.log(transfer, "serve"),
            &["--estimates", &estimates.to_string_lossy()],
        )?;
        let url = format!("https://{}:4433/{file}", Network::SERVER);
        let client = self.launcher.start(
            self.network.client(),
            &self.log(transfer, "fetch"),
            &["fetch", &url, "--insecure", "--json"],
        )?;
        let fetched: Fetched = parse(&client.wait_until_it_ends(self.patience())?)?;
        let cross_bps = cross.map_or(Ok(0.0), CrossTraffic::stop)?;
        let server = parse(&server.stop()?)?;
        Ok(Outcome {
            estimates: estimates::read(&estimates)?,
            goodput_bps: fetched.goodput_bps,
            server,
            cross_bps,
        })
    }

    /// Starts a server of the folder `root`, with further options.
    pub(super) fn serve(&self, controller: &str, log: &Path, more: &[&str]) -> Result<Running> {
        let listen = format!("{}:4433", Network::SERVER);
        let root = self.scratch.join("root");
        let root = root.to_string_lossy();
        let mut line = vec!["serve", "--root", &root, "--listen", &listen];
        line.extend(["--controller", controller, "--link-header", "14"]);
        line.extend(["--stats", "--json"]);
        line.extend(more);
        let mut server = self.launcher.start(self.network.server(), log, &line)?;
        server.wait_until_it_listens()?;
        Ok(server)
    }

    /// How long a transfer may take.
    pub(super) fn patience(&self) -> Duration {
        Duration::from_secs((SLOWEST * self.seconds).into())
    }

    fn log(&self, transfer: Transfer, what: &str) -> PathBuf {
        self.scratch.join(format!("{}-{what}", transfer.name()))
    }

    /// Makes a file that takes the wanted time at the rate that is left for it. The file has no
    /// blocks on the disk.
    fn make_file(&self, transfer: Transfer) -> Result<String> {
        let name = transfer.name();
        let path = self.scratch.join("root").join(&name);
        let bytes_per_second = (LINK_MBPS - transfer.cross_mbps) * 1_000_000 / 8;
        let file = File::create(&path);
        let file = file.with_context(|| format!("cannot create {}", path.display()))?;
        file.set_len(u64::from(self.seconds) * u64::from(bytes_per_second))?;
        Ok(name)
    }
}

/// Both ends of the cross traffic.
struct CrossTraffic {
    sender: Running,
    receiver: Running,
}

impl CrossTraffic {
    fn start(bench: &Bench<'_>, transfer: Transfer) -> Result<Option<Self>> {
        if transfer.cross_mbps == 0 {
            return Ok(None);
        }
        let address = format!("{}:9", Network::CLIENT);
        let mut receiver = bench.launcher.start(
            bench.network.client(),
            &bench.log(transfer, "cross-receive"),
            &["crosstraffic", "receive", "--listen", &address],
        )?;
        receiver.wait_until_it_listens()?;
        let send = [
            "crosstraffic",
            "send",
            "--to",
            &address,
            "--rate",
            &transfer.cross_mbps.to_string(),
            "--payload",
            &CROSS_PAYLOAD.to_string(),
            "--header",
            &HEADERS.to_string(),
        ];
        let sender = bench.launcher.start(
            bench.network.server(),
            &bench.log(transfer, "cross-send"),
            &send,
        )?;
        Ok(Some(Self { sender, receiver }))
    }

    /// Ends it and returns what came through, in bits of frames per second.
    fn stop(self) -> Result<f64> {
        self.sender.stop()?;
        let tally: Tally = parse(&self.receiver.stop()?)?;
        let frame_bits = f64::from((CROSS_PAYLOAD + HEADERS) * 8);
        Ok(tally.datagrams as f64 * frame_bits / tally.seconds)
    }
}
