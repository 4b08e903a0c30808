//! A server that runs beside a test, and clients of it.

use clap::Parser;
use imtcp_examples::fetch::{self, Fetched, fetch};
use imtcp_examples::serve::{self, Report, Server};
use std::future::pending;
use std::net::SocketAddr;
use std::path::Path;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet, LocalSet};

const SIZE: usize = 2_000_000;

#[derive(Parser)]
pub struct ServeLine {
    #[command(flatten)]
    pub options: serve::Options,
}

#[derive(Parser)]
pub struct FetchLine {
    #[command(flatten)]
    options: fetch::Options,
}

/// A server that runs beside the test.
pub struct Running {
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    outcome: JoinHandle<anyhow::Result<Report>>,
}

impl Running {
    /// Serves `root` with further options.
    pub fn start(root: &Path, more: &[&str]) -> Self {
        let mut line = vec!["serve", "--listen", "127.0.0.1:0", "--root"];
        line.push(root.to_str().expect("a readable path"));
        line.extend(more);
        let server = Server::bind(&ServeLine::parse_from(line).options).expect("it can listen");
        let (stop, stopped) = oneshot::channel();
        Self {
            address: server.local(),
            stop,
            outcome: tokio::task::spawn_local(server.run(async {
                let _ = stopped.await;
            })),
        }
    }

    pub fn url(&self, file: &str) -> String {
        format!("https://{}/{file}", self.address)
    }

    pub async fn stop(self) -> Report {
        self.stop.send(()).expect("it still runs");
        let outcome = self.outcome.await.expect("it does not panic");
        outcome.expect("it ends well")
    }
}

pub async fn fetch_with(line: &[&str]) -> anyhow::Result<Fetched> {
    let line = ["fetch"].iter().chain(line);
    fetch(&FetchLine::parse_from(line).options, pending()).await
}

pub fn on_one_thread<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    LocalSet::new().block_on(&runtime, test)
}

/// Bytes without a short period, so that a chunk that is lost or comes twice shows.
pub fn content() -> Vec<u8> {
    (0..SIZE as u64)
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56).to_le_bytes()[0])
        .collect()
}

/// A folder with one file, and those bytes.
pub fn folder() -> (TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = content();
    std::fs::write(folder.path().join("file"), &bytes).expect("a file");
    (folder, bytes)
}

/// Fetches the file `count` times at once and compares.
pub async fn fetch_in_parallel(server: &Running, folder: &Path, bytes: &[u8], count: usize) {
    let mut fetches = JoinSet::new();
    for number in 0..count {
        let output = folder.join(format!("copy-{number}"));
        let url = server.url("file");
        fetches.spawn_local(async move {
            let path = output.to_str().expect("a readable path");
            let fetched = fetch_with(&[&url, "--insecure", "--output", path]).await;
            (fetched.expect("it comes"), output)
        });
    }
    while let Some(fetched) = fetches.join_next().await {
        let (fetched, output) = fetched.expect("it does not panic");
        assert_eq!(fetched.bytes, bytes.len() as u64);
        let copy = std::fs::read(output).expect("the copy is there");
        assert!(copy == bytes, "the copy differs from the file");
    }
}
