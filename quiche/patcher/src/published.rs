use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{Error, Result};

/// Names the folder of the published source, where cargo cannot find it.
pub const SOURCE_VARIABLE: &str = "QUICHE_PUBLISHED_SOURCE";

/// The folder of the published quiche as pinned by `manifest` and the lock file beside it: in
/// cargo's registry cache, or in a vendored copy of it. Cargo fetches it when it is not there.
///
/// Cargo is run in `config_from`, whose `.cargo/config.toml` it reads, and those of the folders
/// above. A build script's `OUT_DIR` lies below the program's own, with the sources that `cargo
/// vendor` put in the registry's place.
///
/// # Errors
/// Cargo cannot be run, or does not find the crate.
pub fn published_source(manifest: &Path, config_from: Option<&Path>) -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os(SOURCE_VARIABLE) {
        return named(PathBuf::from(folder));
    }
    let fail = |reason: String| Error::Metadata {
        manifest: manifest.to_owned(),
        reason,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut metadata = Command::new(cargo);
    if let Some(folder) = config_from {
        metadata.current_dir(folder);
    }
    let output = metadata
        .args([
            "metadata",
            "--locked",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(manifest)
        .output()
        .map_err(|error| fail(error.to_string()))?;
    if !output.status.success() {
        return Err(fail(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| fail(error.to_string()))?;
    manifest_of(&metadata, "quiche")
        .and_then(|path| path.parent().map(Path::to_owned))
        .ok_or_else(|| fail("its answer names no package `quiche`".to_owned()))
}

/// The folder that somebody has named. A build script is started in the folder of its package, so a
/// path from elsewhere has to be a whole one.
fn named(folder: PathBuf) -> Result<PathBuf> {
    if folder.join("src/lib.rs").is_file() {
        return Ok(folder);
    }
    Err(Error::NoSource { folder })
}

fn manifest_of(metadata: &Value, name: &str) -> Option<PathBuf> {
    let packages = metadata["packages"].as_array()?;
    let package = packages.iter().find(|package| package["name"] == name)?;
    package["manifest_path"].as_str().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_the_source_is_told_with_the_variable_that_names_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = named(folder.path().to_owned()).expect_err("it is empty");
        let message = error.to_string();
        let path = folder.path().display().to_string();
        for part in [SOURCE_VARIABLE, &path, "src/lib.rs", "Remedy"] {
            assert!(message.contains(part), "`{part}` is missing in:\n{message}");
        }
        std::fs::create_dir(folder.path().join("src")).expect("made");
        std::fs::write(folder.path().join("src/lib.rs"), "").expect("written");
        assert!(named(folder.path().to_owned()).is_ok());
    }
}
