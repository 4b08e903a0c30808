//! quic-go's own endpoint of the runner, fetched by Go's tool.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Start, Task, holds, note, run};

/// Go checks it against its public log of checksums.
pub const VERSION: &str = "v0.65.0";
const MODULE: &str = "github.com/quic-go/quic-go";

fn folder(cache: &Path) -> PathBuf {
    cache.join("quic-go")
}

pub fn prepare(cache: &Path) -> Result<()> {
    let folder = folder(cache);
    if holds(&folder, VERSION) {
        return Ok(());
    }
    fs::create_dir_all(&folder).context("cannot make a folder for quic-go")?;
    if !folder.join("go.mod").exists() {
        run("go", &folder, &["mod", "init", "peers"])?;
    }
    for role in ["client", "server"] {
        let package = format!("{MODULE}/interop/{role}");
        run("go", &folder, &["get", &format!("{package}@{VERSION}")])?;
        run("go", &folder, &["build", "-o", role, &package])?;
    }
    note(&folder, VERSION)
}

fn program(cache: &Path, role: &str) -> Start {
    Start {
        program: vec![folder(cache).join(role).to_string_lossy().into_owned()],
        variables: Vec::new(),
    }
}

pub fn client(cache: &Path, task: &Task<'_>) -> Start {
    let mut start = program(cache, "client");
    start.program.extend(task.requests.iter().cloned());
    start
}

pub fn server(cache: &Path) -> Start {
    program(cache, "server")
}
