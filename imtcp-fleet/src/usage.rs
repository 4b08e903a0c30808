//! What this process used, by the kernel's account.

use std::fs;

/// The kernel counts time on processors in hundredths of a second, on every machine there is.
const TICKS: f64 = 100.0;

/// The time on processors in seconds, where the kernel tells it.
pub fn processor_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in parentheses, may have spaces.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS)
}

/// The most memory that it ever had, in bytes, where the kernel tells it.
pub fn peak_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
