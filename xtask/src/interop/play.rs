//! Plays a cell: the network, both ends, and how they end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::cases::Case;
use super::cell::{Lane, Stage};
use super::link::Plan;
use super::peers::Start;
use super::probe;
use super::trace::{CLIENT_6, SERVER_6};
use crate::testbed::{Running, tool};

/// The server's port.
pub const PORT: u16 = 443;

/// The link: 10 Mbit/s and 25 packets, in every case.
const RATE_BPS: u64 = 10_000_000;
const QUEUE_PACKETS: usize = 25;

/// How often a server is asked whether it is there.
const PROBES: usize = 100;

/// How both ends ended, and the last thing that either said. There is no code of a server that was
/// ended, nor of a client that took too long.
#[derive(Default)]
pub struct Ends {
    /// Whether the client was started: only a server that answers gets one.
    had_client: bool,
    pub client: Option<i32>,
    pub server: Option<i32>,
    client_said: String,
    server_said: String,
}

impl Ends {
    /// Why the cell has failed, if that can be told from how they ended.
    pub fn failure(&self, case: Case) -> Option<String> {
        match (self.client, self.server) {
            (Some(0), _) => None,
            (_, Some(code)) if code != 0 || !self.had_client => Some(format!(
                "the server ended with code {code}: {}",
                self.server_said
            )),
            _ if !self.had_client => Some("the server does not answer".to_owned()),
            (Some(code), _) => Some(format!(
                "the client ended with code {code}: {}",
                self.client_said
            )),
            (None, _) => Some(format!("not done within {} s", case.timeout_s())),
        }
    }
}

/// What is to be played, and where.
pub struct Run<'a> {
    pub stage: &'a Stage<'a>,
    pub lane: &'a Lane,
    pub folder: &'a Path,
    pub case: Case,
    /// The client's URLs.
    pub requests: &'a [String],
}

impl Run<'_> {
    /// Starts the network and both ends, and waits for the client. Nothing of them runs afterwards.
    ///
    /// # Errors
    /// Something of the stage itself fails, or the user has had enough.
    pub fn play(&self, client: &Start, server: &Start) -> Result<Ends> {
        let network = self.network()?;
        let mut ends = Ends::default();
        let mut server = self.endpoint("server", self.case.told_server(), server)?;
        if self.wait_for(&mut server)? {
            ends.had_client = true;
            let mut client = self.endpoint("client", self.case.told_client(), client)?;
            let patience = Duration::from_secs(self.case.timeout_s());
            ends.client = client.wait_for_code(patience)?;
            if ends.client.is_none() {
                // Killed only if it does not end in order, so that its logs are whole.
                client.end_or_kill()?;
            }
        }
        ends.server = server.wait_for_code(Duration::ZERO)?;
        server.end_or_kill()?;
        network.end()?;
        ends.client_said = self.last_words("client");
        ends.server_said = self.last_words("server");
        Ok(ends)
    }

    /// The link, with the addresses of the runner's network at its ends.
    fn network(&self) -> Result<Running> {
        let Lane { client, server } = self.lane;
        let plan = Plan {
            client: client.name().to_owned(),
            server: server.name().to_owned(),
            rate_bps: RATE_BPS,
            delay_ms: self.case.delay_ms(),
            queue_packets: QUEUE_PACKETS,
            fault: self.case.fault(),
            seed: self.stage.seed,
            captures: self.folder.join("sim"),
        };
        let plan = serde_json::to_string(&plan)?;
        let log = self.folder.join("sim/link");
        let mut link = self
            .stage
            .launcher
            .start_own(&log, &["interop-link", &plan])?;
        link.wait_until_it_listens()?;
        for (namespace, six) in [(client, CLIENT_6), (server, SERVER_6)] {
            let name = namespace.name();
            tool(&format!(
                "ip -n {name} address add {six}/64 dev path0 nodad"
            ))?;
            tool(&format!("ip -n {name} route add 193.167.0.0/16 dev path0"))?;
            tool(&format!(
                "ip -n {name} -6 route add fd00:cafe:cafe::/48 dev path0"
            ))?;
        }
        Ok(link)
    }

    /// Starts an endpoint as the runner would, in a root of its own.
    fn endpoint(&self, role: &str, told: &str, start: &Start) -> Result<Running> {
        let namespace = match role {
            "client" => &self.lane.client,
            _ => &self.lane.server,
        };
        let root = self.folder.join("roots").join(role);
        fs::create_dir_all(&root)?;
        let logs = self.folder.join(format!("{role}_logs"));
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut words: Vec<String> = ["unshare", "--mount", "sh", "-c", include_str!("stage.sh")]
            .map(str::to_owned)
            .to_vec();
        words.extend([
            "stage".to_owned(),
            text(&root),
            text(self.folder),
            text(&logs),
        ]);
        words.push("env".to_owned());
        let requests = match role {
            "client" => self.requests.join(" "),
            _ => String::new(),
        };
        words.extend([
            format!("ROLE={role}"),
            format!("TESTCASE={told}"),
            format!("REQUESTS={requests}"),
            "SSLKEYLOGFILE=/logs/keys.log".to_owned(),
            "QLOGDIR=/logs/qlog/".to_owned(),
        ]);
        words.extend(
            start
                .variables
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        words.extend(start.program.iter().cloned());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let log = self.log(role);
        self.stage
            .launcher
            .start_at_ordinary_priority(namespace.name(), &log, &words)
    }

    fn log(&self, role: &str) -> PathBuf {
        self.folder.join(format!("{role}_logs/said"))
    }

    fn last_words(&self, role: &str) -> String {
        let said = fs::read_to_string(self.log(role).with_extension("err")).unwrap_or_default();
        said.lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("")
            .to_owned()
    }

    /// Asks the server for a version that nobody knows, as the runner does, until it answers. False
    /// if it ends first, or never answers.
    fn wait_for(&self, server: &mut Running) -> Result<bool> {
        let namespace = self.lane.server.name();
        for _ in 0..PROBES {
            self.stage.launcher.ensure_not_interrupted()?;
            if server.wait_for_code(Duration::ZERO)?.is_some() {
                return Ok(false);
            }
            if probe::answers(namespace)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_end_that_failed_and_what_that_end_said() {
        let ends = |had_client, client, server| Ends {
            had_client,
            client,
            server,
            client_said: "from the client".to_owned(),
            server_said: "from the server".to_owned(),
        };
        for (ends, expected) in [
            (ends(true, Some(0), None), None),
            (
                ends(true, Some(1), None),
                Some("the client ended with code 1: from the client"),
            ),
            (
                ends(true, Some(1), Some(101)),
                Some("the server ended with code 101: from the server"),
            ),
            (ends(true, None, None), Some("not done within 60 s")),
            (
                ends(false, None, Some(0)),
                Some("the server ended with code 0: from the server"),
            ),
            (ends(false, None, None), Some("the server does not answer")),
        ] {
            assert_eq!(ends.failure(Case::Transfer).as_deref(), expected);
        }
    }
}
