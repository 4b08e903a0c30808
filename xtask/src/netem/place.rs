//! Where a script runs: on this machine if its kernel has netem, else in a guest.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use nix::unistd::Uid;

use super::initramfs;
use super::packages::{Packages, output};
use super::path::NODES;
use super::script::{DONE, PROGRESS};
use crate::testbed::{Launcher, Namespace, Running, tool};

/// The emulator. It counts the guest's instructions as nanoseconds, and jumps over idle time. So
/// the guest's time is virtual, and what else this machine does is not in the figures.
const QEMU: &str = "qemu-system-x86_64 -accel tcg -cpu max -icount shift=0,sleep=off -m 1024 \
                    -nographic -no-reboot -nodefaults -serial stdio";

/// The kernel's parameters: it ends where it would stop, and goes by the counted instructions.
const PARAMETERS: &str = "console=ttyS0 quiet panic=-1 tsc=reliable clocksource=tsc";

/// Where scripts run.
pub enum Place {
    /// Namespaces of this machine.
    Here,
    /// An emulated machine with Debian's kernel.
    Guest(Packages),
}

/// Which place is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Wanted {
    /// Here if this kernel has netem and this is root, else in the guest.
    Auto,
    /// In namespaces of this machine.
    Here,
    /// In an emulated machine.
    Guest,
}

impl Place {
    /// Finds one, and gets what it needs.
    pub fn find(wanted: Wanted) -> Result<Self> {
        let is_here = match wanted {
            Wanted::Auto => Uid::effective().is_root() && has_netem()?,
            Wanted::Here => {
                ensure!(
                    Uid::effective().is_root(),
                    "only root can make network namespaces"
                );
                true
            }
            Wanted::Guest => false,
        };
        if is_here {
            return Ok(Self::Here);
        }
        let name = QEMU.split(' ').next().unwrap_or_default();
        if Command::new(name).arg("--version").output().is_err() {
            bail!(
                "this kernel has no netem, and `{name}` is not installed to emulate one that has; \
                 on Debian: apt-get install --no-install-recommends qemu-system-x86"
            );
        }
        Packages::get().map(Self::Guest)
    }

    /// Runs a script; what it writes is in `folder`/out afterwards.
    pub fn run(&self, launcher: &Launcher, run: &Run<'_>) -> Result<()> {
        let printed = match self {
            Self::Here => run.here(launcher)?,
            Self::Guest(packages) => run.in_guest(launcher, packages)?,
        };
        ensure!(
            run.folder.join("out").join(DONE).is_file(),
            "the run did not come to its end; it said:\n{}",
            last_lines(&printed)
        );
        Ok(())
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Here => f.write_str("in namespaces of this machine"),
            Self::Guest(packages) => {
                let kernel = packages.kernel.file_name().unwrap_or_default();
                write!(f, "in a guest with {}", kernel.to_string_lossy())
            }
        }
    }
}

/// A script, and what it needs.
pub struct Run<'a> {
    /// The script.
    pub script: &'a str,
    /// Our programs.
    pub binaries: &'a Path,
    /// For everything that it leaves.
    pub folder: &'a Path,
    /// It is ended after so long.
    pub limit: Duration,
}

impl Run<'_> {
    fn here(&self, launcher: &Launcher) -> Result<String> {
        let namespaces: Vec<Namespace> = NODES
            .iter()
            .map(|node| Namespace::create("netem", node))
            .collect::<Result<_>>()?;
        let first = namespaces[0].name();
        let prefix = first.strip_suffix("-server").unwrap_or(first);
        let out = self.folder.join("out");
        for folder in [&out, &self.folder.join("root")] {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let script = self.folder.join("script");
        let text = format!(
            "IP=ip TC=tc NS={prefix} BIN={} OUT={}\n{}",
            quoted(&std::path::absolute(self.binaries)?),
            quoted(&std::path::absolute(&out)?),
            self.script
        );
        std::fs::write(&script, text)
            .with_context(|| format!("cannot write {}", script.display()))?;
        let script = script.to_string_lossy();
        let mut shell = launcher.start_tool(&self.folder.join("console"), &["sh", &script])?;
        let outcome = self.watch(&mut shell);
        if outcome.is_err() {
            // The script ends what it has started, if it is still there.
            let _ = shell.end();
        }
        outcome
    }

    fn in_guest(&self, launcher: &Launcher, packages: &Packages) -> Result<String> {
        let archive = self.folder.join("initramfs");
        let entries = initramfs::entries(packages, self.binaries, self.script)?;
        initramfs::write(&entries, self.folder, &archive)?;
        let results = self.folder.join("results.tar.gz");
        let [kernel, archive, port] = [
            packages.kernel.to_string_lossy(),
            archive.to_string_lossy(),
            format!("file:{}", results.display()).into(),
        ];
        let mut line: Vec<&str> = QEMU.split_whitespace().collect();
        line.extend(["-serial", &port, "-kernel", &kernel]);
        line.extend(["-initrd", &archive, "-append", PARAMETERS]);
        let mut guest = launcher.start_tool(&self.folder.join("console"), &line)?;
        let printed = self.watch(&mut guest)?;
        let unpack = [
            "xzf".as_ref(),
            results.as_os_str(),
            "-C".as_ref(),
            self.folder.as_os_str(),
        ];
        output(Command::new("tar").args(unpack))
            .with_context(|| format!("the guest said:\n{}", last_lines(&printed)))?;
        Ok(printed)
    }

    /// Waits for the end, and passes on how far it is.
    fn watch(&self, running: &mut Running) -> Result<String> {
        let mut told = 0;
        running.watch_until_it_ends(self.limit, |printed| {
            let steps: Vec<&str> = progress(printed).collect();
            for step in &steps[told.min(steps.len())..] {
                say!("    {step}")?;
            }
            told = steps.len();
            Ok(())
        })
    }
}

/// A path as one word of the shell, whatever is in it.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

/// The whole lines that are for the user.
fn progress(printed: &str) -> impl Iterator<Item = &str> {
    let whole = printed.rfind('\n').map_or("", |end| &printed[..end]);
    whole
        .lines()
        .filter_map(|line| Some(line.split_once(PROGRESS)?.1.trim_end()))
}

fn last_lines(printed: &str) -> String {
    const MOST: usize = 20;
    let lines: Vec<&str> = printed.lines().collect();
    lines[lines.len().saturating_sub(MOST)..].join("\n")
}

/// Tries it: a module may be there and not loaded yet.
fn has_netem() -> Result<bool> {
    let namespace = Namespace::create("netem", "trial")?;
    let line = format!(
        "tc -n {} qdisc add dev lo root netem delay 1ms",
        namespace.name()
    );
    Ok(tool(&line).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_the_shell() {
        let path = "/tmp/two words/it's $HOME; \"x\"";
        let line = format!("OUT={}; printf %s \"$OUT\"", quoted(Path::new(path)));
        let output = Command::new("sh").args(["-c", &line]).output();
        let output = output.expect("a shell");
        assert_eq!(String::from_utf8_lossy(&output.stdout), path);
    }

    #[test]
    fn progress_is_told_line_by_whole_line() {
        let printed =
            "Booting\r\nprogress: 2 of 20 s\r\nerror: no\nprogress: 4 of 20 s\nprogress: 6";
        let told: Vec<&str> = progress(printed).collect();
        assert_eq!(told, ["2 of 20 s", "4 of 20 s"]);
        assert_eq!(progress("progress: 2").count(), 0);
    }
}
