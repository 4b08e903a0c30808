//! `cargo xtask downstream`: does somebody else's crate work with two lines in its manifest?
//!
//! The crate is made outside this workspace, depends on tokio-quiche as it is published, and
//! transfers a megabyte over loopback with the controller chosen by its name.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::workspace;

/// Compiles and runs a crate outside the workspace that uses stock tokio-quiche with the controller.
#[derive(clap::Args)]
pub struct Arguments {
    /// The release of tokio-quiche to use.
    #[arg(long, default_value = "=0.20.1")]
    tokio_quiche: String,
}

/// Makes, compiles and runs the crate; fails when it does.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = workspace::root();
    let scratch = workspace::scratch("downstream")?;
    workspace::write(
        &scratch.join("Cargo.toml"),
        &manifest(&root, &arguments.tokio_quiche),
    )?;
    workspace::write(
        &scratch.join("src/main.rs"),
        include_str!("../downstream/main.rs"),
    )?;
    workspace::share_lock_file(&scratch)?;
    println!("A crate outside the workspace, in {}", scratch.display());
    let certificates = root.join("quiche/tests/data");
    workspace::run(
        workspace::cargo(&scratch)
            .arg("run")
            .env("CERTIFICATES", certificates),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn manifest(root: &Path, tokio_quiche: &str) -> String {
    include_str!("../downstream/Cargo.toml.in")
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
