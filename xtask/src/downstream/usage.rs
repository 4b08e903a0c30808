//! What a server takes of the processor and of the kernel during a transfer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::testbed::{Launcher, Running};

/// perf notices within a second that the program which it watches has ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// What perf needs to begin.
const BEGINNING: Duration = Duration::from_millis(200);

/// The tracepoint that every system call passes.
const SYSTEM_CALLS: &str = "raw_syscalls:sys_enter";

/// Watches a program.
pub struct Watch {
    process: u32,
    cpu_before_s: f64,
    perf: Option<(Running, PathBuf)>,
}

/// What the program has taken.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Processor time, in seconds.
    pub cpu_s: f64,
    /// System calls, where perf can count them.
    pub calls: Option<f64>,
}

/// Whether perf is there and may count system calls.
pub fn can_count_calls() -> bool {
    let mut perf = Command::new("perf");
    perf.args(["stat", "-e", SYSTEM_CALLS, "true"]);
    let status = perf.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

impl Watch {
    /// Begins.
    pub fn start(launcher: &Launcher, scratch: &Path, process: u32, counts: bool) -> Result<Self> {
        let perf = if counts {
            let file = scratch.join("system-calls.csv");
            let (id, path) = (process.to_string(), file.to_string_lossy().into_owned());
            let line = [
                "perf",
                "stat",
                "-x",
                ",",
                "-e",
                SYSTEM_CALLS,
                "-o",
                &path,
                "-p",
                &id,
            ];
            let perf = launcher.start_tool(&scratch.join("perf"), &line)?;
            sleep(BEGINNING);
            Some((perf, file))
        } else {
            None
        };
        Ok(Self {
            process,
            cpu_before_s: cpu_s(process)?,
            perf,
        })
    }

    /// Ends the program, and tells.
    pub fn stop(self, server: Running) -> Result<Usage> {
        let cpu_s = cpu_s(self.process)? - self.cpu_before_s;
        server.end()?;
        let calls = self.perf.map(|(perf, file)| {
            perf.wait_until_it_ends(PATIENCE)?;
            let text = fs::read_to_string(&file).context("cannot read what perf counted")?;
            counted(&text).with_context(|| format!("perf wrote `{}`", text.trim()))
        });
        Ok(Usage {
            cpu_s,
            calls: calls.transpose()?,
        })
    }
}

/// The first field of the line of the event.
fn counted(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains(SYSTEM_CALLS))?;
    line.split(',').next()?.parse().ok()
}

/// The time that all threads of a process have run, to the nanosecond.
fn cpu_s(process: u32) -> Result<f64> {
    let folder = PathBuf::from(format!("/proc/{process}/task"));
    let threads = fs::read_dir(&folder).context("the server is gone")?;
    let mut total = 0.0;
    for thread in threads {
        let text = fs::read_to_string(thread?.path().join("schedstat"));
        let text = text.context("the kernel does not tell the time of threads (schedstat)")?;
        let run: Option<f64> = text
            .split_whitespace()
            .next()
            .and_then(|ns| ns.parse().ok());
        total += run.with_context(|| format!("schedstat says `{text}`"))? / 1e9;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_out_of_what_perf_writes() {
        let text = "# started on Sun\n\n4711,,raw_syscalls:sys_enter,1000,100.00,,\n";
        assert_eq!(counted(text), Some(4711.0));
        assert_eq!(
            counted("<not counted>,,raw_syscalls:sys_enter,0,0.00,,"),
            None
        );
    }

    #[test]
    fn a_process_that_works_takes_time() {
        // Threads of this process come and go with other tests, and take their time with them.
        let mut shell = std::process::Command::new("sh");
        let mut child = shell.args(["-c", "while :; do :; done"]).spawn();
        let child = child.as_mut().expect("a shell starts");
        let before = cpu_s(child.id());
        let mut now = cpu_s(child.id());
        while matches!((&before, &now), (Ok(before), Ok(now)) if now <= before) {
            now = cpu_s(child.id());
        }
        child.kill().expect("it still runs");
        child.wait().expect("it has ended");
        assert!(now.expect("it still runs") > before.expect("it runs"));
    }
}
