//! The crate outside this workspace: two programs that use tokio-quiche as it is published.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::workspace;

/// Its programs, and what they are in this repository.
const PROGRAMS: [(&str, &str); 2] = [
    (TWO_LINES, include_str!("../../downstream/two_lines.rs")),
    (SERVER, include_str!("../../downstream/server.rs")),
];

/// Does it work with two lines in its manifest?
pub const TWO_LINES: &str = "downstream-two-lines";

/// The server that everything else is measured with.
pub const SERVER: &str = "downstream-server";

/// Makes and compiles the crate. Returns the folder of its programs.
pub fn build(tokio_quiche: &str) -> Result<PathBuf> {
    let root = workspace::root();
    let scratch = workspace::scratch("downstream")?;
    println!("A crate outside the workspace, in {}", scratch.display());
    let manifest = manifest(&root, tokio_quiche);
    workspace::write(&scratch.join("Cargo.toml"), &manifest)?;
    for (name, text) in PROGRAMS {
        let path = scratch.join("src/bin").join(name);
        workspace::write(&path.with_extension("rs"), text)?;
    }
    workspace::share_lock_file(&scratch)?;
    workspace::run(workspace::cargo(&scratch).args(["build", "--release"]))?;
    Ok(workspace::target().join("release"))
}

/// Where the certificates for tests are.
pub fn certificates() -> PathBuf {
    workspace::root().join("quiche/tests/data")
}

fn manifest(root: &Path, tokio_quiche: &str) -> String {
    include_str!("../../downstream/Cargo.toml.in")
        .replace("@ROOT@", &root.display().to_string())
        .replace("@TOKIO_QUICHE@", tokio_quiche)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_has_the_two_lines_and_no_place_holder() {
        let manifest = manifest(Path::new("/somewhere/imtcp"), "=0.20.1");
        let lines = "[patch.crates-io]\nquiche = { path = \"/somewhere/imtcp/quiche\" }\n";
        assert!(manifest.contains(lines), "{manifest}");
        assert!(
            manifest.contains("tokio-quiche = \"=0.20.1\"") && !manifest.contains('@'),
            "{manifest}"
        );
    }
}
