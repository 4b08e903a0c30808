//! Debian's packages that the guest is made of, downloaded and unpacked, not installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;

/// The package that depends on the newest kernel for virtual machines.
const NEWEST_KERNEL: &str = "linux-image-cloud-amd64";

const BUSYBOX: &str = "busybox-static";

/// What the guest is made of.
pub struct Packages {
    /// The kernel.
    pub kernel: PathBuf,
    /// Its modules, in a tree.
    pub modules: PathBuf,
    /// One program with all the small tools.
    pub busybox: PathBuf,
}

impl Packages {
    /// What an earlier run has downloaded, or else a download now.
    pub fn get() -> Result<Self> {
        let folder = workspace::target().join("netem");
        let root = folder.join("root");
        if let Ok(found) = Self::find(&root) {
            return Ok(found);
        }
        let kernel = kernel_package()?;
        // A half-unpacked tree would be found the next time.
        let unpacked = folder.join("unpacked");
        for old in [&root, &unpacked] {
            if old.exists() {
                fs::remove_dir_all(old).with_context(|| format!("emptying {}", old.display()))?;
            }
        }
        fs::create_dir_all(&unpacked)
            .with_context(|| format!("cannot make {}", unpacked.display()))?;
        for package in [kernel.as_str(), BUSYBOX] {
            say!("Downloading {package} into {}", folder.display())?;
            let file = download(&folder, package)?;
            let unpack = ["--extract".as_ref(), file.as_os_str(), unpacked.as_os_str()];
            output(Command::new("dpkg-deb").args(unpack))?;
        }
        fs::rename(&unpacked, &root).with_context(|| format!("cannot make {}", root.display()))?;
        Self::find(&root)
    }

    fn find(root: &Path) -> Result<Self> {
        let one = |pattern: &str| {
            let pattern = root.join(pattern);
            let mut found = glob::glob(&pattern.to_string_lossy())?.flatten();
            let found = found.next();
            found.with_context(|| format!("the packages have no {}", pattern.display()))
        };
        Ok(Self {
            kernel: one("boot/vmlinuz-*")?,
            modules: one("lib/modules/*/kernel")?,
            busybox: one("bin/busybox")?,
        })
    }
}

/// The kernel's own package has its version in its name.
fn kernel_package() -> Result<String> {
    let depends = output(Command::new("apt-cache").args(["depends", NEWEST_KERNEL]))?;
    kernel_in(&depends).with_context(|| {
        format!("apt-cache knows no kernel of {NEWEST_KERNEL}; run `apt-get update` first")
    })
}

fn kernel_in(depends: &str) -> Option<String> {
    let mut packages = depends.lines().filter_map(|line| {
        let package = line.trim().strip_prefix("Depends: ")?;
        package
            .starts_with("linux-image-")
            .then(|| package.to_owned())
    });
    packages.next()
}

/// apt checks what it downloads against its signed lists.
fn download(folder: &Path, package: &str) -> Result<PathBuf> {
    let mut apt = Command::new("apt-get");
    output(apt.current_dir(folder).args(["download", package]))?;
    let pattern = folder.join(format!("{package}_*.deb"));
    let mut files: Vec<PathBuf> = glob::glob(&pattern.to_string_lossy())?.flatten().collect();
    // Versions of one package differ at the end of the name only.
    files.sort();
    let newest = files.pop();
    newest.with_context(|| format!("apt-get has downloaded no {}", pattern.display()))
}

/// What a tool of Debian's prints.
pub fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("`{name}` is not there; the guest is made of Debian's packages, with its tools")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot start {name}")),
    };
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_what_the_newest_depends_on() {
        let depends = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n";
        let expected = Some("linux-image-6.1.0-56-cloud-amd64".to_owned());
        assert_eq!(kernel_in(depends), expected);
        assert_eq!(kernel_in("linux-image-cloud-amd64\n"), None);
    }

    #[test]
    fn a_missing_tool_is_named() {
        let error = output(&mut Command::new("no-such-tool")).expect_err("it is not there");
        assert!(error.to_string().contains("`no-such-tool`"), "{error}");
    }
}
