//! The crate outside this workspace: two programs that use tokio-quiche as it is published.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

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
    say!("A crate outside the workspace, in {}", scratch.display())?;
    let manifest = manifest(&root, tokio_quiche);
    workspace::write(&scratch.join("Cargo.toml"), &manifest)?;
    for (name, text) in PROGRAMS {
        let folder = scratch.join("src/bin").join(name);
        workspace::write(&folder.join("main.rs"), text)?;
    }
    let readme = readme_code(include_str!("../../../README.md"))?;
    workspace::write(
        &scratch.join("src/bin").join(SERVER).join("readme.rs"),
        readme,
    )?;
    workspace::share_lock_file(&scratch)?;
    workspace::run(workspace::cargo(&scratch).args(["build", "--release"]))?;
    Ok(workspace::release())
}

/// Tests the package for applications on tokio-quiche. It has a workspace, and so a lock file, of
/// its own.
pub fn test_helper() -> Result<()> {
    let folder = workspace::root().join("imtcp-tokio-quiche");
    say!("\nThe package in {}", folder.display())?;
    workspace::run(workspace::cargo(&folder).args(["test", "--release"]))
}

/// Where the certificates for tests are.
pub fn certificates() -> PathBuf {
    workspace::root().join("quiche/tests/data")
}

/// What README.md tells those who use tokio-quiche.
fn readme_code(readme: &str) -> Result<&str> {
    let blocks = readme.split("```rust,ignore\n").skip(1);
    blocks
        .filter_map(|rest| rest.split_once("```").map(|(code, _)| code))
        .find(|code| code.contains("use tokio_quiche::"))
        .context("README.md has no code for tokio-quiche")
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
    fn the_code_for_tokio_quiche_is_found_among_the_others() {
        let readme =
            "a\n```rust,ignore\nfn one() {}\n```\nb\n```rust,ignore\nuse tokio_quiche::two;\n```\n";
        assert_eq!(readme_code(readme).ok(), Some("use tokio_quiche::two;\n"));
        assert!(readme_code("```rust\n```").is_err());
    }

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
