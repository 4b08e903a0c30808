//! One cell of the matrix: a client, a server and a case.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::cases::Case;
use super::checks::{self, Evidence};
use super::link::{CLIENT_CAPTURE, Plan, SERVER_CAPTURE, UNTRANSLATED_CAPTURE};
use super::peers::{Peer, Start, Task};
use super::trace::{CLIENT_6, SERVER_6, Trace};
use super::{materials, probe};
use crate::testbed::{Launcher, Namespace, Running, tool};

/// The server's port.
pub const PORT: u16 = 443;

/// The link: 10 Mbit/s and 25 packets, in every case.
const RATE_BPS: u64 = 10_000_000;
const QUEUE_PACKETS: usize = 25;

/// How often a server is asked whether it is there.
const PROBES: usize = 100;

/// What endpoints say by their exit code.
const UNSUPPORTED: i32 = 127;

/// Who is to do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub client: Peer,
    pub server: Peer,
    pub case: Case,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            client,
            server,
            case,
        } = self;
        write!(f, "{} to {}, {}", client.name(), server.name(), case.name())
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// All checks hold. With a remark, such as the goodput.
    Passed(String),
    /// An endpoint says that it does not carry the case (127), or has no way to be told of it.
    Unsupported { by_client: bool, by_server: bool },
    /// Why not.
    Failed(String),
}

/// A pair of namespaces, which a lane uses for one cell after the other.
pub struct Lane {
    pub client: Namespace,
    pub server: Namespace,
}

/// What all cells need.
pub struct Stage<'a> {
    pub launcher: &'a Launcher,
    pub cache: &'a Path,
    pub out: &'a Path,
    /// Random faults are drawn from it.
    pub seed: u64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed(remark) if remark.is_empty() => f.write_str("passed"),
            Self::Passed(remark) => write!(f, "passed, {remark}"),
            Self::Unsupported {
                by_client,
                by_server,
            } => {
                let who = match (by_client, by_server) {
                    (true, true) => "either end",
                    (true, false) => "the client",
                    _ => "the server",
                };
                write!(f, "not supported by {who}")
            }
            Self::Failed(reason) => write!(f, "FAILED: {reason}"),
        }
    }
}

impl Stage<'_> {
    fn folder(&self, cell: Cell) -> PathBuf {
        let pair = format!("{}-{}", cell.client.name(), cell.server.name());
        self.out.join(pair).join(cell.case.name())
    }

    /// Removes what a cell left.
    pub fn clear(&self, cell: Cell) -> Result<()> {
        let folder = self.folder(cell);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        Ok(())
    }
}

impl Cell {
    /// Runs it and checks what it left.
    ///
    /// # Errors
    /// Something of the stage itself fails, or the user has had enough.
    pub fn run(self, stage: &Stage<'_>, lane: &Lane) -> Result<Outcome> {
        let Self {
            client,
            server,
            case,
        } = self;
        let folder = stage.folder(self);
        let files = materials::prepare(&folder, case)?;
        let host = case.host();
        let requests: Vec<String> = files
            .iter()
            .map(|name| format!("https://{host}:{PORT}/{name}"))
            .collect();
        let task = |told, other| Task {
            case,
            told,
            requests: &requests,
            other,
        };
        let starts = (
            client.client(stage.cache, &task(case.told_client(), server)),
            server.server(stage.cache, &task(case.told_server(), client)),
        );
        let (Some(client_start), Some(server_start)) = &starts else {
            return Ok(Outcome::Unsupported {
                by_client: starts.0.is_none(),
                by_server: starts.1.is_none(),
            });
        };
        let run = Run {
            stage,
            lane,
            folder: &folder,
            case,
            requests: &requests,
        };
        let codes = run.play(client_start, server_start)?;
        let unsupported = |code: Option<i32>| code == Some(UNSUPPORTED);
        if unsupported(codes.client) || unsupported(codes.server) {
            return Ok(Outcome::Unsupported {
                by_client: unsupported(codes.client),
                by_server: unsupported(codes.server),
            });
        }
        if let Some(failure) = codes.failure(case) {
            return Ok(Outcome::Failed(failure));
        }
        Ok(judge(&folder, case, &files))
    }
}

fn judge(folder: &Path, case: Case, files: &[String]) -> Outcome {
    let keys = Trace::key_log([&folder.join("client_logs"), &folder.join("server_logs")]);
    let trace = |name: &str| Trace {
        capture: folder.join("sim").join(name),
        keys: keys.clone(),
    };
    let evidence = Evidence {
        case,
        files,
        www: &folder.join("www"),
        downloads: &folder.join("downloads"),
        client: trace(CLIENT_CAPTURE),
        server: trace(SERVER_CAPTURE),
        untranslated: trace(UNTRANSLATED_CAPTURE),
    };
    match checks::check(&evidence) {
        Ok(()) if case == Case::Goodput => match checks::goodput_mbps(&evidence) {
            Ok(mbps) => Outcome::Passed(format!("{mbps:.2} Mbit/s")),
            Err(error) => Outcome::Failed(format!("{error:#}")),
        },
        Ok(()) => Outcome::Passed(String::new()),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

/// The exit codes of both ends; none for the server where it was ended, and for a client that took
/// too long.
struct Codes {
    client: Option<i32>,
    server: Option<i32>,
    said: String,
}

impl Codes {
    fn failure(&self, case: Case) -> Option<String> {
        match (self.client, self.server) {
            (Some(0), _) => None,
            (_, Some(code)) if code != 0 => {
                Some(format!("the server ended with code {code}: {}", self.said))
            }
            (Some(code), _) => Some(format!("the client ended with code {code}: {}", self.said)),
            (None, _) => Some(format!("not done within {} s", case.timeout_s())),
        }
    }
}

struct Run<'a> {
    stage: &'a Stage<'a>,
    lane: &'a Lane,
    folder: &'a Path,
    case: Case,
    requests: &'a [String],
}

impl Run<'_> {
    fn play(&self, client: &Start, server: &Start) -> Result<Codes> {
        let network = self.network()?;
        let mut server = self.endpoint("server", self.case.told_server(), server)?;
        let mut codes = Codes {
            client: None,
            server: None,
            said: String::new(),
        };
        if !self.wait_for(&mut server)? {
            codes.server = server.wait_for_code(Duration::ZERO)?;
            codes.said = self.last_words("server");
            if codes.server.is_none() {
                codes.said = "the server does not answer".to_owned();
                codes.server = Some(1);
            }
            network.end()?;
            return Ok(codes);
        }
        let mut client = self.endpoint("client", self.case.told_client(), client)?;
        let patience = Duration::from_secs(self.case.timeout_s());
        codes.client = client.wait_for_code(patience)?;
        codes.server = server.wait_for_code(Duration::ZERO)?;
        if codes.client.is_none() {
            // Killed only if it does not end in order, so that its logs are whole.
            client.end_or_kill()?;
        }
        codes.said = self.last_words("client");
        server.end_or_kill()?;
        network.end()?;
        Ok(codes)
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

/// That the tools are there.
pub fn demand_tools() -> Result<()> {
    for (name, package) in [
        ("tshark", "tshark"),
        ("openssl", "openssl"),
        ("unshare", "util-linux"),
        ("ip", "iproute2"),
    ] {
        let found = std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).any(|folder| folder.join(name).exists())
        });
        ensure!(
            found,
            "`{name}` is missing; on Debian: apt-get install {package}"
        );
    }
    Ok(())
}
