//! The server under test, and how it is looked at.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cost::process::Process;
use crate::testbed::{Launcher, Running};

/// The server answers at once, or is ill.
const PATIENCE: Duration = Duration::from_secs(5);

/// A look at the server.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Resident memory, in bytes.
    pub memory: u64,
    /// Open files and sockets.
    pub files: usize,
    /// Connections, by its own account.
    pub connections: u64,
    /// Connections since its start.
    pub served: u64,
}

/// A server that runs.
pub struct Server {
    running: Running,
    log: PathBuf,
    /// Where it listens: `https://127.0.0.1:PORT/`.
    pub url: String,
    metrics: String,
}

impl Server {
    /// Starts one over loopback.
    pub fn start(launcher: &Launcher, scratch: &Path) -> Result<Self> {
        let text = |name: &str| scratch.join(name).display().to_string();
        let (root, tls) = (text("root"), text("tls"));
        let mut line = vec!["imtcp-serve", "--root", &root, "--tls-dir", &tls];
        line.extend(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
        line.extend(["--idle", "10 s", "--promise", "4 Mbit/s per 2 s"]);
        line.extend(["--log", "json"]);
        let log = scratch.join("serve");
        let mut running = launcher.start_outside(&log, &line)?;
        running.wait_until_it_listens()?;
        // The second address is printed right after the first.
        std::thread::sleep(Duration::from_millis(200));
        let printed = running.printed();
        let find = |before: &str, after: &str| {
            let (_, rest) = printed.split_once(before)?;
            let (found, _) = rest.split_once(after)?;
            Some(found.to_owned())
        };
        let url = find("listening on ", "\n").context("the server does not say where it is")?;
        let metrics = find("metrics on http://", "/metrics");
        Ok(Self {
            running,
            log: log.with_extension("err"),
            url,
            metrics: metrics.context("the server does not say where its metrics are")?,
        })
    }

    /// Looks at it.
    pub fn sample(&mut self) -> Result<Sample> {
        self.running.ensure_it_runs()?;
        let process = Process(self.running.id());
        let page = self.page()?;
        let value = |name: &str| {
            let found = page.lines().find_map(|line| line.strip_prefix(name));
            let text = found.with_context(|| format!("{name} is no metric"))?;
            text.trim().parse().context("no number")
        };
        Ok(Sample {
            memory: process.memory()?,
            files: process.files()?,
            connections: value("imtcp_serve_open_connections ")?,
            served: value("imtcp_serve_connections_total ")?,
        })
    }

    fn page(&self) -> Result<String> {
        let asked = || format!("no metrics at {}", self.metrics);
        let mut stream = TcpStream::connect(&self.metrics).with_context(asked)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let request = format!(
            "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.metrics
        );
        stream.write_all(request.as_bytes()).with_context(asked)?;
        let mut page = String::new();
        stream.read_to_string(&mut page).with_context(asked)?;
        Ok(page)
    }

    /// Lines of its log that tell an error or a panic.
    pub fn errors(&self) -> Result<Vec<String>> {
        let log = std::fs::read_to_string(&self.log).context("the server has no log")?;
        let is_bad = |line: &&str| line.contains("\"ERROR\"") || line.contains("panicked");
        Ok(log.lines().filter(is_bad).map(str::to_owned).collect())
    }

    /// Ends it in order.
    pub fn end(self) -> Result<()> {
        self.running.stop().map(drop)
    }
}
