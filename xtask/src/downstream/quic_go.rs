//! A client of somebody else's making: quic-go, fetched by Go's own tool.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::workspace;

/// The client's name beside the other programs.
pub const CLIENT: &str = "quic-go-client";

/// The release of quic-go. Go checks it against its public log of checksums.
const QUIC_GO: &str = "github.com/quic-go/quic-go@v0.65.0";

/// Builds the client into `folder`. `None` where Go is missing, which it says.
pub fn build(folder: &Path) -> Result<Option<PathBuf>> {
    if !has_go() {
        say!(
            "SKIPPED: everything with quic-go's client, because Go is missing (`go version` does \
             not run).\n\
             On Debian: apt-get install golang-go. quic-go needs a recent one; Go fetches it by \
             itself."
        )?;
        return Ok(None);
    }
    let scratch = workspace::scratch("downstream-client")?;
    let source = include_str!("../../downstream/client.go");
    workspace::write(&scratch.join("main.go"), source)?;
    let client = folder.join(CLIENT);
    go(&scratch, &["mod", "init", "client"])?;
    go(&scratch, &["get", QUIC_GO])?;
    go(&scratch, &["mod", "tidy"])?;
    go(&scratch, &["build", "-o", &client.to_string_lossy(), "."])?;
    Ok(Some(client))
}

fn has_go() -> bool {
    let mut go = Command::new("go");
    let status = go.arg("version").stdout(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn go(folder: &Path, arguments: &[&str]) -> Result<()> {
    workspace::run(Command::new("go").args(arguments).current_dir(folder))
}
