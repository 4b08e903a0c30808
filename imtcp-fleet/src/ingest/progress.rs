//! How far an ingestion is.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counts logs and bytes, for all readers.
#[derive(Clone, Debug)]
pub struct Progress {
    bar: ProgressBar,
    bytes: Arc<AtomicU64>,
    began: Instant,
}

impl Progress {
    /// A bar on standard error, if that is a terminal.
    #[expect(clippy::disallowed_methods, reason = "a program tells how long it took")]
    pub fn new(is_shown: bool) -> Self {
        let bar = if is_shown {
            ProgressBar::no_length()
        } else {
            ProgressBar::hidden()
        };
        let template = "{bar:30} {pos} of {len} logs, {msg}, {per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self {
            bar,
            bytes: Arc::default(),
            began: Instant::now(),
        }
    }

    /// There are more logs to read.
    pub fn expect(&self, logs: u64) {
        self.bar.inc_length(logs);
    }

    /// A log was read.
    pub fn log_ended(&self) {
        let megabytes = self.bytes() as f64 / 1e6;
        self.bar.set_message(format!("{megabytes:.0} MB"));
        self.bar.inc(1);
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// The bytes that were read so far, as they are stored.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Counts what is read.
    pub fn counted<R>(&self, inner: R) -> Counted<R> {
        let bytes = Arc::clone(&self.bytes);
        Counted { inner, bytes }
    }
}

/// A reader whose bytes are counted.
#[derive(Debug)]
pub struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
