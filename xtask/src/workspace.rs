//! Where things are, and how other programs are run.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The workspace's root folder.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// Cargo's target folder. Scratch crates share it, so that BoringSSL is compiled once.
pub fn target() -> PathBuf {
    let from_environment = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(from_environment.unwrap_or_else(|| PathBuf::from("target")))
}

/// Where [`cargo`] puts what is built for release, whatever workspace it is of.
pub fn release() -> PathBuf {
    target().join("release")
}

/// A folder below the target folder, empty.
pub fn scratch(name: &str) -> Result<PathBuf> {
    let folder = target().join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("emptying {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    Ok(folder)
}

/// Writes a file of a scratch crate.
pub fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// Lets a scratch crate start from the versions that this workspace has locked, BoringSSL's among
/// them.
pub fn share_lock_file(scratch: &Path) -> Result<()> {
    let lock = root().join("Cargo.lock");
    fs::copy(&lock, scratch.join("Cargo.lock"))
        .with_context(|| format!("copying {}", lock.display()))?;
    Ok(())
}

/// A cargo command in a scratch crate.
pub fn cargo(folder: &Path) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target());
    // Set by the `cargo run` that started this program, about this program.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&*name);
        }
    }
    command
}

/// Runs a command that prints for itself.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("starting {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_any_workspace_builds_is_where_it_is_looked_for() {
        let command = cargo(&root().join("imtcp-serve"));
        let mut variables = command.get_envs();
        let target = variables.find(|(name, _)| *name == "CARGO_TARGET_DIR");
        let target = target.and_then(|(_, folder)| folder).expect("it is set");
        assert_eq!(Path::new(target).join("release"), release());
    }
}
