//! One cell of the matrix: a client, a server and a case.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::cases::Case;
use super::checks::{self, Evidence};
use super::link::{CLIENT_CAPTURE, SERVER_CAPTURE, UNTRANSLATED_CAPTURE};
use super::materials;
use super::peers::{Peer, Task};
use super::play::{PORT, Run};
use super::trace::Trace;
use crate::testbed::{Launcher, Namespace};

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
        let ends = run.play(client_start, server_start)?;
        let unsupported = |code: Option<i32>| code == Some(UNSUPPORTED);
        if unsupported(ends.client) || unsupported(ends.server) {
            return Ok(Outcome::Unsupported {
                by_client: unsupported(ends.client),
                by_server: unsupported(ends.server),
            });
        }
        if let Some(failure) = ends.failure(case) {
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
