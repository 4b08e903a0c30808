//! Python with what the test needs of it, in the target folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::program::Program;
use crate::workspace;

/// DuckDB, and a server of object storage for tests.
const PACKAGES: [&str; 2] = ["duckdb==2.0.0", "moto[s3,server]==5.2.5"];

/// The interpreter. The network is used if something is missing.
pub fn environment(fleet: &Program) -> Result<PathBuf> {
    let folder = workspace::target().join("fleet-test-python");
    let python = folder.join("bin/python");
    if !has_packages(&python) {
        let mut venv = Command::new("python3");
        fleet
            .said(venv.args(["-m", "venv"]).arg(&folder))
            .context("making an environment; on Debian: apt-get install python3-venv")?;
        let mut pip = Command::new(&python);
        fleet.said(pip.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))?;
    }
    Ok(python)
}

fn has_packages(python: &Path) -> bool {
    let versions = "import sys, importlib.metadata as m\n\
                    want = [p.replace('[s3,server]', '').split('==') for p in sys.argv[1:]]\n\
                    sys.exit(any(m.version(name) != version for name, version in want))";
    let mut command = Command::new(python);
    let silent = command
        .args(["-c", versions])
        .args(PACKAGES)
        .stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// A script of the crate.
pub fn script(name: &str) -> PathBuf {
    workspace::root().join("imtcp-fleet/python").join(name)
}
