//! How much of the file was there when, in a CSV file.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// Between two lines at least, unless nothing came after the first of them for as long.
const INTERVAL: Duration = Duration::from_millis(2);

/// Writes the file.
pub(super) struct Arrivals {
    file: BufWriter<File>,
    next: Duration,
    /// What came since the last line.
    waiting: Option<(Duration, u64)>,
}

impl Arrivals {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path)
            .with_context(|| format!("cannot create the file of arrivals, {}", path.display()))?;
        let mut file = BufWriter::new(file);
        writeln!(file, "seconds,bytes")?;
        Ok(Self {
            file,
            next: Duration::ZERO,
            waiting: None,
        })
    }

    /// So long after the request so many bytes are there.
    pub(super) fn add(&mut self, at: Duration, bytes: u64) -> Result<()> {
        if at < self.next {
            self.waiting = Some((at, bytes));
            return Ok(());
        }
        if let Some((before, bytes)) = self.waiting.take().filter(|(it, _)| *it + INTERVAL <= at) {
            self.write(before, bytes)?;
        }
        self.next = at + INTERVAL;
        self.write(at, bytes)
    }

    /// The same at the end.
    pub(super) fn finish(mut self, at: Duration, bytes: u64) -> Result<()> {
        self.write(at, bytes)?;
        self.file
            .flush()
            .context("cannot write the file of arrivals")
    }

    fn write(&mut self, at: Duration, bytes: u64) -> Result<()> {
        writeln!(self.file, "{:.6},{bytes}", at.as_secs_f64())
            .context("cannot write the file of arrivals")
    }
}
