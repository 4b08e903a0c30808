//! What a process uses, by the kernel's account.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// A program whose use is read. Threads that have ended count.
#[derive(Clone, Copy, Debug)]
pub struct Process(pub u32);

impl Process {
    /// The time on processors so far.
    pub fn cpu(self) -> Result<Duration> {
        let gone = || format!("process {} is gone", self.0);
        let clock = clock_getcpuclockid(Pid::from_raw(self.0.try_into()?)).with_context(gone)?;
        Ok(clock_gettime(clock).with_context(gone)?.into())
    }

    /// The memory that it has, in bytes.
    pub fn memory(self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.0);
        let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        memory_of(&status).with_context(|| format!("{path} does not tell VmRSS"))
    }

    /// How many files and sockets it has open.
    pub fn files(self) -> Result<usize> {
        let path = format!("/proc/{}/fd", self.0);
        let listed = fs::read_dir(&path).with_context(|| format!("cannot read {path}"))?;
        Ok(listed.count())
    }
}

fn memory_of(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_understood() {
        assert_eq!(
            memory_of("Name:\tx\nVmRSS:\t   12 kB\nVmSwap: 0 kB"),
            Some(12 << 10)
        );
        let own = Process(std::process::id());
        assert!(own.cpu().expect("it runs") > Duration::ZERO);
        assert!(own.memory().expect("it runs") > 0);
        assert!(own.files().expect("it runs") > 2);
    }
}
