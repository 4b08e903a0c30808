//! The other flows on the path: the kernel's TCP, with its CUBIC.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::cells::Cell;
use super::transfer::Bench;
use crate::testbed::{Launcher, Namespace, Running, parse};

/// They have the path to themselves for this time before the transfer begins.
const HEAD_START: Duration = Duration::from_secs(2);

/// They are checked once in this time meanwhile.
const GLANCE: Duration = Duration::from_millis(100);

/// Both ends of the flows.
pub struct Rivals {
    sender: Running,
    receiver: Running,
}

/// What `crosstraffic tcp-receive` prints.
#[derive(Deserialize)]
struct Tally {
    bytes: u64,
    seconds: f64,
}

impl Rivals {
    /// Starts those of the cell, from the server's side to the client's.
    pub fn start(
        launcher: &Launcher,
        server: &Namespace,
        client: &Namespace,
        cell: &Cell,
        log: &Path,
    ) -> Result<Option<Self>> {
        if cell.rivals == 0 {
            return Ok(None);
        }
        let address = format!("{}:9", Bench::CLIENT);
        let mut receiver = launcher.start(
            client.name(),
            &log.with_file_name("rivals-receive"),
            &["crosstraffic", "tcp-receive", "--listen", &address],
        )?;
        receiver.wait_until_it_listens()?;
        let flows = cell.rivals.to_string();
        let mut line = vec!["crosstraffic", "tcp-send", "--to", &address];
        line.extend(["--flows", &flows, "--congestion-control", "cubic"]);
        let log = log.with_file_name("rivals-send");
        let mut sender = launcher.start(server.name(), &log, &line)?;
        let mut waited = Duration::ZERO;
        while waited < HEAD_START {
            launcher.ensure_not_interrupted()?;
            sender.ensure_it_runs()?;
            sleep(GLANCE);
            waited += GLANCE;
        }
        Ok(Some(Self { sender, receiver }))
    }

    /// Ends them and returns what they got, in bits of data per second.
    pub fn stop(self) -> Result<f64> {
        let tally: Tally = parse(&self.receiver.stop()?)?;
        // Its connections are gone, so it has ended by itself or is about to.
        drop(self.sender);
        Ok(tally.bytes as f64 * 8.0 / tally.seconds)
    }
}
