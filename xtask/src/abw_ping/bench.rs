//! A path, and measurements on it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use crate::testbed::{Launcher, Network, Running, parse};

/// Ethernet, IPv4 and UDP headers, which the token bucket counts.
const HEADERS: u32 = 14 + 20 + 8;

/// UDP payload of a cross-traffic datagram.
const CROSS_PAYLOAD: u32 = 1200;

/// The size of a probe packet, and of its Ethernet header, which the bucket counts too.
const PACKET: f64 = 1000.0;
const ETHERNET: f64 = 14.0;

/// Cross traffic runs for so long before a measurement begins.
const LEAD: Duration = Duration::from_millis(300);

/// The longest measurement is bound to 30 s.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a path is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Trains of echo requests.
    Echo,
    /// The paper's search by echo requests.
    Search,
    /// Trains of padded PING packets towards a QUIC server.
    Quic,
}

impl Way {
    /// In the order of the table.
    pub const ALL: [Self; 3] = [Self::Echo, Self::Search, Self::Quic];

    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Search => "echo, the paper's search",
            Self::Quic => "quic",
        }
    }
}

/// What `abw-ping --json` prints, as far as it is of interest here.
#[derive(Clone, Deserialize)]
pub struct Reading {
    /// Bits of IP packets per second.
    pub available_bps: Option<f64>,
    /// The interval.
    pub low_bps: Option<f64>,
    /// The interval.
    pub high_bps: Option<f64>,
    /// How long it took.
    pub seconds: f64,
    /// What it sent, IP headers included.
    pub bytes_sent: f64,
    /// How long its packets waited on average.
    pub mean_wait_ms: f64,
    /// How long one waited at most.
    pub longest_wait_ms: f64,
}

/// A path of one rate, with a QUIC server behind the tight link.
pub struct Bench<'a> {
    launcher: &'a Launcher,
    scratch: &'a Path,
    rate_mbps: u32,
    // The server ends before the namespaces go.
    _server: Running,
    network: Network,
}

impl<'a> Bench<'a> {
    /// The path, and the server on it.
    pub fn new(launcher: &'a Launcher, scratch: &'a Path, rate_mbps: u32) -> Result<Self> {
        let network = Network::create("ping", rate_mbps)?;
        let listen = format!("{}:4433", Network::CLIENT);
        let root = scratch.to_string_lossy();
        let log = scratch.join(format!("{rate_mbps}-serve"));
        let mut server = launcher.start(
            network.client(),
            &log,
            &["serve", "--root", &root, "--listen", &listen],
        )?;
        server.wait_until_it_listens()?;
        Ok(Self {
            launcher,
            scratch,
            rate_mbps,
            _server: server,
            network,
        })
    }

    /// What joins both ends.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Measures `runs` times beside cross traffic of this share of the link.
    pub fn run(&self, way: Way, cross_percent: u32, runs: u32) -> Result<Vec<Reading>> {
        let cross = self.cross_traffic(cross_percent)?;
        let readings = (0..runs).map(|run| self.measure(way, cross_percent, run));
        let readings = readings.collect::<Result<Vec<_>>>()?;
        if let Some([sender, receiver]) = cross {
            sender.end()?;
            receiver.end()?;
        }
        Ok(readings)
    }

    fn measure(&self, way: Way, cross_percent: u32, run: u32) -> Result<Reading> {
        let server = format!("{}:4433", Network::CLIENT);
        let line: &[&str] = match way {
            Way::Echo => &["abw-ping", Network::CLIENT, "--json"],
            Way::Search => &["abw-ping", Network::CLIENT, "--json", "--method", "search"],
            Way::Quic => &[
                "abw-ping", &server, "--json", "--quic", "--bytes", "500000", "--time", "2",
            ],
        };
        let name = format!(
            "{}-{cross_percent}-{run}",
            way.name().replace([' ', ',', '\''], "")
        );
        let log = self.log(&name);
        let mut program = self.launcher.start(self.network.server(), &log, line)?;
        program.wait_for_code(PATIENCE)?;
        let printed = program.printed();
        // Without a value it fails, and says so in its line. What fails without a line is an error.
        parse(&match printed.is_empty() {
            true => program.wait_until_it_ends(PATIENCE)?,
            false => printed,
        })
    }

    fn log(&self, name: &str) -> PathBuf {
        self.scratch.join(format!("{}-{name}", self.rate_mbps))
    }

    /// Sender and receiver of datagrams at even distances.
    fn cross_traffic(&self, percent: u32) -> Result<Option<[Running; 2]>> {
        if percent == 0 {
            return Ok(None);
        }
        let address = format!("{}:9", Network::CLIENT);
        let mut receiver = self.launcher.start(
            self.network.client(),
            &self.log("cross-receive"),
            &["crosstraffic", "receive", "--listen", &address],
        )?;
        receiver.wait_until_it_listens()?;
        let rate = f64::from(self.rate_mbps * percent) / 100.0;
        let sender = self.launcher.start(
            self.network.server(),
            &self.log("cross-send"),
            &[
                "crosstraffic",
                "send",
                "--to",
                &address,
                "--rate",
                &rate.to_string(),
                "--payload",
                &CROSS_PAYLOAD.to_string(),
                "--header",
                &HEADERS.to_string(),
            ],
        )?;
        std::thread::sleep(LEAD);
        Ok(Some([sender, receiver]))
    }
}

/// What the link leaves for probe packets, in bits of IP packets per second.
pub fn truth_bps(rate_mbps: u32, cross_percent: u32) -> f64 {
    let frames = f64::from(rate_mbps) * 1e6 * f64::from(100 - cross_percent) / 100.0;
    frames * PACKET / (PACKET + ETHERNET)
}

#[cfg(test)]
mod tests {
    use super::truth_bps;

    #[test]
    fn frames_of_cross_traffic_and_ethernet_headers_are_not_available() {
        // 20 Mbit/s less 40 % are 12 Mbit/s of frames of 1014 bytes, with packets of 1000.
        assert!((truth_bps(20, 40) - 12e6 / 1.014).abs() < 1.0);
        assert!((truth_bps(5, 0) - 5e6 / 1.014).abs() < 1.0);
    }
}
