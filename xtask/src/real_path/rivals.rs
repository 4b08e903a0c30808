//! The kernel's TCP with its CUBIC: the other flows on the path, or the one that comes late.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::Signal;
use serde::Deserialize;

use super::transfer::Bench;
use crate::testbed::{Launcher, Namespace, Running, parse};

/// Flows that run are checked once in this time.
const GLANCE: Duration = Duration::from_millis(100);

/// Both ends of some flows.
pub struct Flows<'a> {
    launcher: &'a Launcher,
    sender: Running,
    receiver: Running,
}

/// What `crosstraffic tcp-receive` prints.
#[derive(Deserialize)]
struct Tally {
    bytes: u64,
    seconds: f64,
}

impl<'a> Flows<'a> {
    /// Starts so many, from the server's side to a port on the client's.
    pub fn start(
        launcher: &'a Launcher,
        [server, client]: [&Namespace; 2],
        port: u16,
        count: u16,
        log: &Path,
    ) -> Result<Self> {
        let address = format!("{}:{port}", Bench::CLIENT);
        let log = |side: &str| log.with_file_name(format!("tcp-{port}-{side}"));
        let mut receiver = launcher.start(
            client.name(),
            &log("receive"),
            &["crosstraffic", "tcp-receive", "--listen", &address],
        )?;
        receiver.wait_until_it_listens()?;
        let count = count.to_string();
        let mut line = vec!["crosstraffic", "tcp-send", "--to", &address];
        line.extend(["--flows", &count, "--congestion-control", "cubic"]);
        let sender = launcher.start(server.name(), &log("send"), &line)?;
        Ok(Self {
            launcher,
            sender,
            receiver,
        })
    }

    /// Lets them run for so long.
    pub fn run(&mut self, span: Duration) -> Result<()> {
        let mut waited = Duration::ZERO;
        while waited < span {
            self.launcher.ensure_not_interrupted()?;
            self.sender.ensure_it_runs()?;
            sleep(GLANCE);
            waited += GLANCE;
        }
        Ok(())
    }

    /// Counts what they get from now on. Until then they had the path to themselves.
    pub fn count_anew(&self) -> Result<()> {
        self.receiver.signal(Signal::SIGUSR1)
    }

    /// Ends them and returns what they got, in bits of data per second, since the beginning or
    /// since it was counted anew.
    pub fn stop(self) -> Result<f64> {
        let tally: Tally = parse(&self.receiver.stop()?)?;
        // Its connections are gone, so it has ended by itself or is about to.
        drop(self.sender);
        Ok(tally.bytes as f64 * 8.0 / tally.seconds)
    }
}
