//! Endpoints: ours, and those of other implementations, which are fetched and built when they are
//! first wanted.

mod aioquic;
mod ngtcp2;
mod ours;
mod quic_go;
mod quinn;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::cases::Case;
use crate::workspace;

/// An implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Peer {
    /// This project's.
    Ours,
    QuicGo,
    Aioquic,
    Quinn,
    Ngtcp2,
}

/// Those that ours is run against, itself among them.
pub const ALL: [Peer; 5] = [
    Peer::Ours,
    Peer::QuicGo,
    Peer::Aioquic,
    Peer::Quinn,
    Peer::Ngtcp2,
];

/// What an endpoint is to do.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    pub case: Case,
    /// `TESTCASE`.
    pub told: &'a str,
    /// The client's URLs.
    pub requests: &'a [String],
    /// The other end.
    pub other: Peer,
}

/// How an endpoint is started: a program with arguments, or a script for `sh`.
#[derive(Clone, Debug, Default)]
pub struct Start {
    pub program: Vec<String>,
    /// Variables besides those of the runner.
    pub variables: Vec<(String, String)>,
}

impl Start {
    fn script(text: String) -> Self {
        Self {
            program: ["sh", "-euc"]
                .map(str::to_owned)
                .into_iter()
                .chain([text])
                .collect(),
            variables: Vec::new(),
        }
    }
}

impl Peer {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "imtcp",
            Self::QuicGo => "quic-go",
            Self::Aioquic => "aioquic",
            Self::Quinn => "quinn",
            Self::Ngtcp2 => "ngtcp2",
        }
    }

    /// What a reader of the table has to know of it.
    pub fn remark(self) -> String {
        match self {
            Self::Ours => "this project's endpoint, the controller on, in both roles".to_owned(),
            Self::QuicGo => format!("{}, its own endpoint of the runner", quic_go::VERSION),
            Self::Aioquic => format!(
                "{}, the example client and server of its source distribution",
                aioquic::VERSION
            ),
            Self::Quinn => "0.11, a client and a server written for this table".to_owned(),
            Self::Ngtcp2 => "of Debian; its client and server know HTTP/3 alone, so all cases run \
                             over h3"
                .to_owned(),
        }
    }

    /// Builds it, unless it is there. What it needs stays in `cache`.
    pub fn prepare(self, cache: &Path) -> Result<()> {
        match self {
            Self::Ours => ours::prepare(),
            Self::QuicGo => quic_go::prepare(cache),
            Self::Aioquic => aioquic::prepare(cache),
            Self::Quinn => quinn::prepare(),
            Self::Ngtcp2 => ngtcp2::prepare(),
        }
    }

    /// Whether it speaks HTTP/3 alone.
    pub fn has_only_http3(self) -> bool {
        self == Self::Ngtcp2
    }

    /// How its client is started; `None` for a case that it does not carry.
    pub fn client(self, cache: &Path, task: &Task<'_>) -> Option<Start> {
        match self {
            Self::Ours => Some(ours::client(task)),
            Self::QuicGo => Some(quic_go::client(cache, task)),
            Self::Aioquic => aioquic::client(cache, task),
            Self::Quinn => Some(quinn::client(task)),
            Self::Ngtcp2 => ngtcp2::client(task),
        }
    }

    /// The same for its server.
    pub fn server(self, cache: &Path, task: &Task<'_>) -> Option<Start> {
        match self {
            Self::Ours => Some(ours::server()),
            Self::QuicGo => Some(quic_go::server(cache)),
            Self::Aioquic => aioquic::server(cache, task),
            Self::Quinn => Some(quinn::server()),
            Self::Ngtcp2 => ngtcp2::server(task),
        }
    }
}

/// Where a program of cargo's ends up. Built as in development: at 10 Mbit/s that is fast enough,
/// and BoringSSL is not compiled once more.
fn built(name: &str) -> PathBuf {
    workspace::target().join("debug").join(name)
}

/// Where a folder of the cache says which release it holds.
const RELEASE: &str = "release";

/// Whether a folder of the cache holds this release, all of it. An older one is replaced: the
/// table would name the wrong one.
fn holds(folder: &Path, release: &str) -> bool {
    fs::read_to_string(folder.join(RELEASE)).is_ok_and(|held| held == release)
}

/// Notes that it does.
fn note(folder: &Path, release: &str) -> Result<()> {
    workspace::write(&folder.join(RELEASE), release)
}

fn run(program: &str, folder: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    workspace::run(command.args(arguments).current_dir(folder))
        .with_context(|| format!("cannot prepare a peer in {}", folder.display()))
}

/// URLs in a script. The names of files are letters and digits.
fn words(requests: &[String]) -> String {
    requests.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_holds_the_release_that_was_noted_last_and_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("peer");
        assert!(!holds(&folder, "v1"), "nothing is there");
        note(&folder, "v1").expect("noted");
        assert!(holds(&folder, "v1") && !holds(&folder, "v2"));
    }
}
