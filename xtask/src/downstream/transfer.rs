//! One transfer from a server of stock tokio-quiche, or from `serve`, and what it took.

#![expect(clippy::disallowed_methods, reason = "transfers are timed from outside")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::usage::{Usage, Watch};
use super::{crates, quic_go};
use crate::testbed::{Launcher, Network, Running, parse};

/// Transfers that are not done by then count as not done.
pub const PATIENCE: Duration = Duration::from_secs(60);

const PORT: u16 = 4433;
const LOOPBACK: &str = "127.0.0.1";

/// Who serves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// A stranger's, on tokio-quiche.
    Stranger,
    /// This project's `serve`.
    Serve,
}

/// Who fetches.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Client {
    /// quic-go's.
    QuicGo,
    /// This project's `fetch`.
    Fetch,
}

impl Client {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::QuicGo => "quic-go",
            Self::Fetch => "fetch",
        }
    }
}

/// What to transfer.
#[derive(Clone, Copy)]
pub struct Transfer<'a> {
    /// The path; loopback if there is none.
    pub network: Option<&'a Network>,
    /// Who serves.
    pub server: Server,
    /// By the name of its congestion controller.
    pub controller: &'a str,
    /// Who fetches.
    pub client: Client,
    /// How many connections at a time.
    pub connections: usize,
    /// How many bytes on each.
    pub bytes: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Until the last byte, in seconds.
    pub seconds: f64,
    /// All bytes that were fetched.
    pub bytes: f64,
    /// What the server took.
    pub usage: Usage,
    /// The estimates that the server printed, every 100 ms, in bit/s.
    pub estimates: Vec<f64>,
}

/// Where transfers are made.
pub struct Bench<'a> {
    /// Starts programs.
    pub launcher: &'a Launcher,
    /// For files and logs.
    pub scratch: &'a Path,
    /// Whether perf can count system calls.
    pub counts_calls: bool,
}

/// What both clients print.
#[derive(Deserialize)]
struct Fetched {
    bytes: u64,
    seconds: f64,
}

impl Bench<'_> {
    /// Makes one transfer; an error if it does not come to its end.
    pub fn run(&self, transfer: Transfer<'_>) -> Result<Measured> {
        let server = self.serve(transfer)?;
        let watch = Watch::start(self.launcher, self.scratch, server.id(), self.counts_calls)?;
        let fetched = self.fetch(transfer);
        let estimates = estimates(&server.printed());
        let usage = watch.stop(server)?;
        let (bytes, seconds) = fetched?;
        let expected = transfer.bytes * transfer.connections as u64;
        ensure!(bytes == expected, "{bytes} of {expected} bytes came");
        Ok(Measured {
            seconds,
            bytes: bytes as f64,
            usage,
            estimates,
        })
    }

    /// Starts a server of tokio-quiche on loopback.
    pub fn serve_on_loopback(&self, controller: &str) -> Result<Running> {
        let address = format!("{LOOPBACK}:{PORT}");
        let certificates = crates::certificates();
        let certificates = certificates.to_string_lossy();
        let line = [crates::SERVER, &address, controller, &certificates];
        let mut server = self.launcher.start_outside(&self.log("server"), &line)?;
        server.wait_until_it_listens()?;
        Ok(server)
    }

    fn serve(&self, transfer: Transfer<'_>) -> Result<Running> {
        let address = match transfer.network {
            Some(_) => format!("{}:{PORT}", Network::SERVER),
            None => format!("{LOOPBACK}:{PORT}"),
        };
        let certificates = crates::certificates();
        let certificates = certificates.to_string_lossy();
        let root = self.file(transfer.bytes)?;
        let root = root.to_string_lossy();
        let controller = transfer.controller;
        let stranger = [crates::SERVER, &address, controller, &certificates];
        let own = [
            "serve",
            "--root",
            &root,
            "--listen",
            &address,
            "--controller",
            controller,
        ];
        let line: &[&str] = match transfer.server {
            Server::Stranger => &stranger,
            Server::Serve => &own,
        };
        let log = self.log("server");
        let mut server = match transfer.network {
            Some(network) => self.launcher.start(network.server(), &log, line)?,
            None => self.launcher.start_outside(&log, line)?,
        };
        server.wait_until_it_listens()?;
        Ok(server)
    }

    fn fetch(&self, transfer: Transfer<'_>) -> Result<(u64, f64)> {
        let host = transfer.network.map_or(LOOPBACK, |_| Network::SERVER);
        let url = format!("https://{host}:{PORT}/{}", transfer.bytes);
        let count = transfer.connections.to_string();
        let (processes, line) = match transfer.client {
            Client::QuicGo => (1, vec![quic_go::CLIENT, "-connections", &count, &url]),
            Client::Fetch => (
                transfer.connections,
                vec!["fetch", "--insecure", "--json", &url],
            ),
        };
        let started = Instant::now();
        let mut clients = Vec::new();
        for number in 0..processes {
            let log = self.log(&format!("client-{number}"));
            clients.push(match transfer.network {
                Some(network) => self.launcher.start(network.client(), &log, &line)?,
                None => self.launcher.start_outside(&log, &line)?,
            });
        }
        let mut bytes = 0;
        let mut seconds = 0.0;
        for client in clients {
            let left = PATIENCE.saturating_sub(started.elapsed());
            let fetched: Fetched = parse(&client.wait_until_it_ends(left)?)?;
            bytes += fetched.bytes;
            seconds = fetched.seconds.max(seconds);
        }
        if processes > 1 {
            seconds = started.elapsed().as_secs_f64();
        }
        Ok((bytes, seconds))
    }

    /// A file whose name is its size, for `serve`. It has no blocks on the disk.
    fn file(&self, bytes: u64) -> Result<PathBuf> {
        let root = self.scratch.join("root");
        fs::create_dir_all(&root).with_context(|| format!("cannot make {}", root.display()))?;
        let file = File::create(root.join(bytes.to_string())).context("cannot make a file")?;
        file.set_len(bytes)?;
        Ok(root)
    }

    /// The log of the latest program of that kind.
    pub fn log(&self, what: &str) -> PathBuf {
        self.scratch.join(what)
    }
}

fn estimates(printed: &str) -> Vec<f64> {
    let lines = printed.lines();
    lines
        .filter_map(|line| line.strip_prefix("estimate ")?.parse().ok())
        .collect()
}
