//! What a client asks for and takes, whatever the protocol: names that wait for their turn, and
//! files that are being written.

use crate::bursts::Bursts;
use crate::environment::file_name;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use url::Url;

/// How much is read of a stream at a time.
const CHUNK: usize = 64 << 10;

/// The files of a connection.
#[derive(Debug)]
pub struct Downloads {
    waiting: VecDeque<Url>,
    bursts: Bursts,
    files: BTreeMap<u64, File>,
    folder: PathBuf,
    buffer: Vec<u8>,
}

impl Downloads {
    /// These files, into `folder`.
    pub fn new(urls: &[Url], folder: &Path) -> Self {
        Self {
            waiting: urls.iter().cloned().collect(),
            bursts: Bursts::new(),
            files: BTreeMap::new(),
            folder: folder.to_owned(),
            buffer: vec![0; CHUNK],
        }
    }

    /// Whether all files are there.
    pub fn are_done(&self) -> bool {
        self.waiting.is_empty() && self.files.is_empty()
    }

    /// When there may be more requests, if any wait for that.
    pub fn next_burst(&self) -> Option<Instant> {
        self.bursts.next().filter(|_| !self.waiting.is_empty())
    }

    /// Whether another request may be begun.
    pub fn may_go_on(&mut self) -> bool {
        self.bursts.may_go_on()
    }

    /// What to ask for next. It stays the same until it [was asked for](Self::on_asked).
    pub fn next(&self) -> Option<&Url> {
        self.waiting.front()
    }

    /// The next file was asked for, whole, on this stream.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn on_asked(&mut self, stream: u64) -> Result<()> {
        if let Some(url) = self.waiting.pop_front() {
            let path = self.folder.join(file_name(&url)?);
            let file = File::create(&path);
            let file = file.with_context(|| format!("cannot create {}", path.display()))?;
            self.files.insert(stream, file);
            self.bursts.add();
        }
        Ok(())
    }

    /// Whether a file is on its way on this stream or a later one.
    pub fn is_any_from(&self, stream: u64) -> bool {
        self.files.range(stream..).next().is_some()
    }

    /// Where to read data to, before it is [taken](Self::take).
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// The first `count` bytes of the buffer came on this stream. What nobody asked for is dropped.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn take(&mut self, stream: u64, count: usize) -> Result<()> {
        match self.files.get_mut(&stream) {
            Some(file) => file.write_all(&self.buffer[..count]),
            None => Ok(()),
        }
        .context("cannot write a file")
    }

    /// The stream has ended, and its file is whole.
    pub fn on_end(&mut self, stream: u64) {
        self.files.remove(&stream);
    }
}
