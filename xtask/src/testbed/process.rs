//! Programs inside namespaces that end with this one.

#![expect(clippy::disallowed_methods, reason = "programs outside run by the real clock")]

use std::fmt;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// How often a program that is waited for is looked at.
const GLANCE: Duration = Duration::from_millis(20);

/// A program gets this time to begin, and to end once it is told to.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a program has started gets this time to end after it.
const MOMENT: Duration = Duration::from_millis(200);

/// A priority above all programs without real-time priority, and below the kernel's own threads.
const REAL_TIME_PRIORITY: &str = "10";

/// The priority of an emulated link. A late sender is part of what is measured; a late link is an
/// error.
const FIRST_PRIORITY: &str = "20";

/// Starts programs.
pub struct Launcher {
    binaries: PathBuf,
    real_time: bool,
    interrupted: Arc<AtomicBool>,
}

impl Launcher {
    /// Programs from the folder `binaries`, until `interrupted` is set.
    pub fn new(binaries: PathBuf, wants_real_time: bool, interrupted: Arc<AtomicBool>) -> Self {
        Self {
            binaries,
            real_time: wants_real_time && has_real_time(),
            interrupted,
        }
    }

    /// Starts a program in a namespace. What it says goes into files named `log`.out and `log`.err.
    pub fn start(&self, namespace: &str, log: &Path, program: &[&str]) -> Result<Running> {
        let [name, arguments @ ..] = program else {
            bail!("no program to start");
        };
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]);
        if self.real_time {
            command.args(["chrt", "--fifo", REAL_TIME_PRIORITY]);
        }
        command.arg(self.binaries.join(name)).args(arguments);
        self.launch(name, log, command)
    }

    /// The same for a program that has its own way with priorities. It is named by its path.
    pub fn start_at_ordinary_priority(
        &self,
        namespace: &str,
        log: &Path,
        program: &[&str],
    ) -> Result<Running> {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]).args(program);
        self.launch(program[0], log, command)
    }

    /// Whether programs run at real-time priority.
    pub fn has_real_time(&self) -> bool {
        self.real_time
    }

    /// Complains if Ctrl-C or its like came.
    pub fn ensure_not_interrupted(&self) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }

    /// Starts a program outside of all namespaces.
    pub fn start_outside(&self, log: &Path, program: &[&str]) -> Result<Running> {
        let [name, arguments @ ..] = program else {
            bail!("no program to start");
        };
        let mut command = Command::new(self.binaries.join(name));
        command.args(arguments);
        self.launch(name, log, command)
    }

    /// Starts a program of the system's, outside of all namespaces.
    pub fn start_tool(&self, log: &Path, program: &[&str]) -> Result<Running> {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]);
        self.launch(program[0], log, command)
    }

    /// Starts this program with other arguments, outside of all namespaces, before all others that
    /// want the processor.
    pub fn start_own(&self, log: &Path, arguments: &[&str]) -> Result<Running> {
        let own = std::env::current_exe().context("cannot tell where this program is")?;
        let mut command = if has_real_time() {
            let mut command = Command::new("chrt");
            command.args(["--fifo", FIRST_PRIORITY]).arg(own);
            command
        } else {
            Command::new(own)
        };
        command.args(arguments);
        self.launch(arguments[0], log, command)
    }

    fn launch(&self, name: &str, log: &Path, mut command: Command) -> Result<Running> {
        let create = |extension: &str| {
            let path = log.with_extension(extension);
            let file = File::create(&path);
            file.with_context(|| format!("cannot create {}", path.display()))
        };
        // `ip` and `chrt` become the program, so its id is the child's. It has a process group of
        // its own, so that what it starts ends with it. Ctrl-C does not reach that group: this
        // program hears of it, and ends the other.
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(create("out")?)
            .stderr(create("err")?)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        Ok(Running {
            name: name.to_owned(),
            log: log.to_owned(),
            child,
            interrupted: Arc::clone(&self.interrupted),
        })
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.real_time {
            "The programs run at real-time priority, undisturbed by what else this machine does."
        } else {
            "The programs run at ordinary priority: what else this machine does shows in the gaps."
        })
    }
}

fn has_real_time() -> bool {
    let mut probe = Command::new("chrt");
    probe.args(["--fifo", REAL_TIME_PRIORITY, "true"]);
    let status = probe.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// A program that runs; dropping it ends it.
pub struct Running {
    name: String,
    log: PathBuf,
    child: Child,
    interrupted: Arc<AtomicBool>,
}

impl Running {
    /// Waits until it has said that it listens.
    pub fn wait_until_it_listens(&mut self) -> Result<()> {
        let give_up = Instant::now() + PATIENCE;
        while !self.says_that_it_listens() {
            ensure!(Instant::now() < give_up, "{} does not begin", self.name);
            self.ensure_it_runs()?;
            self.glance()?;
        }
        Ok(())
    }

    /// The system's number for it.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed so far.
    pub fn printed(&self) -> String {
        self.said("out")
    }

    /// Complains if it has ended already.
    pub fn ensure_it_runs(&mut self) -> Result<()> {
        self.ensure_no_end(|_| true)
    }

    /// Complains if it has failed. It may run, and it may have ended well.
    pub fn ensure_it_has_not_failed(&mut self) -> Result<()> {
        self.ensure_no_end(|status| !status.success())
    }

    /// Complains if it has ended in such a way.
    fn ensure_no_end(&mut self, is_bad: fn(&ExitStatus) -> bool) -> Result<()> {
        if let Some(status) = self.exit_status()?.filter(is_bad) {
            bail!(
                "{} ended ({status}): {}",
                self.name,
                self.said("err").trim()
            );
        }
        Ok(())
    }

    /// Waits for its end and returns what it has printed.
    pub fn wait_until_it_ends(mut self, patience: Duration) -> Result<String> {
        self.watch_until_it_ends(patience, |_| Ok(()))
    }

    /// The same; meanwhile `tell` is given all that it has printed so far, again and again.
    pub fn watch_until_it_ends(
        &mut self,
        patience: Duration,
        mut tell: impl FnMut(&str) -> Result<()>,
    ) -> Result<String> {
        let give_up = Instant::now() + patience;
        loop {
            tell(&self.said("out"))?;
            if let Some(status) = self.exit_status()? {
                ensure!(
                    status.success(),
                    "{} failed: {}",
                    self.name,
                    self.said("err").trim()
                );
                return Ok(self.said("out"));
            }
            ensure!(
                Instant::now() < give_up,
                "{} did not end within {} s",
                self.name,
                patience.as_secs()
            );
            self.glance()?;
        }
    }

    /// Tells it to end and returns what it has printed.
    pub fn stop(self) -> Result<String> {
        self.signal(Signal::SIGTERM)?;
        self.wait_until_it_ends(PATIENCE)
    }

    /// Tells it to end, and ignores how it ends.
    pub fn end(mut self) -> Result<()> {
        self.signal(Signal::SIGTERM)?;
        let give_up = Instant::now() + PATIENCE;
        while self.exit_status()?.is_none() {
            ensure!(Instant::now() < give_up, "{} does not end", self.name);
            self.glance()?;
        }
        Ok(())
    }

    /// Its exit code, once it has ended within this time.
    pub fn wait_for_code(&mut self, patience: Duration) -> Result<Option<i32>> {
        let give_up = Instant::now() + patience;
        loop {
            if let Some(status) = self.exit_status()? {
                return Ok(Some(status.code().unwrap_or(-1)));
            }
            if Instant::now() >= give_up {
                return Ok(None);
            }
            self.glance()?;
        }
    }

    /// Tells it to end, and kills it if it does not within [`PATIENCE`]. What it has started ends
    /// with it, or is killed a moment later.
    pub fn end_or_kill(mut self) -> Result<()> {
        if self.exit_status()?.is_none() {
            self.signal(Signal::SIGTERM)?;
            self.wait_for_code(PATIENCE)?;
        }
        let give_up = Instant::now() + MOMENT;
        while Instant::now() < give_up && self.signal(None::<Signal>).is_ok() {
            sleep(GLANCE);
        }
        // This fails if nothing of the group is left.
        let _ = self.signal(Signal::SIGKILL);
        Ok(())
    }

    /// Its whole group is told: a shell that ends leaves behind what it has started.
    /// `None` tells it nothing, and fails where nobody of it is left.
    pub fn signal(&self, signal: impl Into<Option<Signal>>) -> Result<()> {
        let group = Pid::from_raw(self.child.id().try_into()?);
        killpg(group, signal).with_context(|| format!("cannot end {}", self.name))
    }

    fn exit_status(&mut self) -> Result<Option<ExitStatus>> {
        let status = self.child.try_wait();
        status.with_context(|| format!("cannot wait for {}", self.name))
    }

    /// Some say it where they log, and some where they answer.
    fn says_that_it_listens(&self) -> bool {
        let mut said = ["err", "out"].iter().map(|extension| self.said(extension));
        said.any(|text| text.contains("listening on"))
    }

    fn said(&self, extension: &str) -> String {
        fs::read_to_string(self.log.with_extension(extension)).unwrap_or_default()
    }

    fn glance(&self) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
        sleep(GLANCE);
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // This fails only if the program has just ended.
            let _ = self.signal(Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that nobody has waited for is a zombie, and runs no more.
    fn runs(id: &str) -> bool {
        let status = fs::read_to_string(format!("/proc/{id}/stat"));
        status.is_ok_and(|status| !status.contains(") Z "))
    }

    #[test]
    fn what_a_program_has_started_ends_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let launcher = Launcher::new(PathBuf::new(), false, Arc::default());
        let ends: [fn(Running) -> Result<()>; 2] = [Running::end_or_kill, |running| {
            drop(running);
            Ok(())
        }];
        for end in ends {
            let program = ["sh", "-c", "sleep 600 & echo $!; wait"];
            let running = launcher.start_tool(&folder.path().join("shell"), &program);
            let running = running.expect("a shell");
            let id = first_line(&running);
            end(running).expect("it ends");
            ensure_it_is_gone(&id);
        }
    }

    #[test]
    fn a_line_whose_shell_ends_first_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let launcher = Launcher::new(PathBuf::new(), false, Arc::default());
        let line = "X=1; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.05; done'; true";
        let running = launcher.start_tool(&folder.path().join("shell"), &["sh", "-c", line]);
        let running = running.expect("a shell");
        let id = first_line(&running);
        running.end_or_kill().expect("it ends");
        ensure_it_is_gone(&id);
    }

    fn first_line(running: &Running) -> String {
        loop {
            if let Some(line) = running.printed().strip_suffix('\n') {
                return line.to_owned();
            }
            sleep(GLANCE);
        }
    }

    /// It takes a moment to die.
    fn ensure_it_is_gone(id: &str) {
        let is_gone = (0..250).any(|_| {
            sleep(GLANCE);
            !runs(id)
        });
        let _ = Command::new("kill").args(["-KILL", id]).status();
        assert!(is_gone, "{id} still runs");
    }
}
