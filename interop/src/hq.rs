//! HTTP/0.9 over QUIC, as the runner has it: `GET /name` and the end of the stream; the answer is
//! the file and the end of the stream.

use crate::bursts::Bursts;
use crate::environment::file_name;
use anyhow::{Context, Result, bail};
use imtcp_examples::serve::files::{Content, Root};
use quiche::{Connection, Error, Shutdown};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use url::Url;

/// The error code of a stream whose file is not there.
const MISSING: u64 = 0x1;

/// The longest request that is read: a name of 255 bytes, encoded.
const LONGEST_REQUEST: usize = 2048;

/// How much is read of a stream at a time.
const CHUNK: usize = 64 << 10;

/// The requests of a connection.
#[derive(Debug)]
pub struct Requests {
    waiting: VecDeque<Url>,
    bursts: Bursts,
    /// The request that is being written, and how much of it is.
    opening: Option<(u64, Url, usize)>,
    next_stream: u64,
    files: BTreeMap<u64, File>,
    folder: PathBuf,
    buffer: Vec<u8>,
}

impl Requests {
    /// These files, into `folder`.
    pub fn new(urls: &[Url], folder: &Path) -> Self {
        Self {
            waiting: urls.iter().cloned().collect(),
            bursts: Bursts::new(),
            opening: None,
            next_stream: 0,
            files: BTreeMap::new(),
            folder: folder.to_owned(),
            buffer: vec![0; CHUNK],
        }
    }

    /// Whether all files are there.
    pub fn are_done(&self) -> bool {
        self.waiting.is_empty() && self.opening.is_none() && self.files.is_empty()
    }

    /// Asks for what may be asked for now, and takes what has come.
    ///
    /// # Errors
    /// The server refuses a file, or one cannot be written.
    pub fn advance(&mut self, connection: &mut Connection) -> Result<()> {
        while self.ask(connection)? {}
        for stream in connection.readable() {
            self.take(connection, stream)?;
        }
        Ok(())
    }

    /// When there may be more requests, if any wait for that.
    pub fn next_burst(&self) -> Option<Instant> {
        self.bursts.next().filter(|_| !self.waiting.is_empty())
    }

    /// True if a request was written to its end.
    fn ask(&mut self, connection: &mut Connection) -> Result<bool> {
        if self.opening.is_none() {
            if connection.peer_streams_left_bidi() == 0 || !self.bursts.may_go_on() {
                return Ok(false);
            }
            let Some(url) = self.waiting.pop_front() else {
                return Ok(false);
            };
            self.opening = Some((self.next_stream, url, 0));
            self.next_stream += 4;
        }
        let Some((stream, url, written)) = &mut self.opening else {
            return Ok(false);
        };
        let request = format!("GET {}\r\n", url.path());
        match connection.stream_send(*stream, &request.as_bytes()[*written..], true) {
            Ok(count) => *written += count,
            Err(Error::Done) => return Ok(false),
            Err(error) => return Err(error).with_context(|| format!("cannot ask for {url}")),
        }
        if *written < request.len() {
            return Ok(false);
        }
        let path = self.folder.join(file_name(url)?);
        let file = File::create(&path);
        let file = file.with_context(|| format!("cannot create {}", path.display()))?;
        self.files.insert(*stream, file);
        self.opening = None;
        self.bursts.add();
        Ok(true)
    }

    fn take(&mut self, connection: &mut Connection, stream: u64) -> Result<()> {
        loop {
            let (count, is_end) = match connection.stream_recv(stream, &mut self.buffer) {
                Ok(received) => received,
                Err(Error::Done) => return Ok(()),
                Err(error) => bail!("the server does not send what was asked for: {error}"),
            };
            let Some(file) = self.files.get_mut(&stream) else {
                return Ok(());
            };
            file.write_all(&self.buffer[..count])
                .context("cannot write a file")?;
            if is_end {
                self.files.remove(&stream);
                return Ok(());
            }
        }
    }
}

/// The responses of a connection, by stream. quiche's limit of streams bounds them.
#[derive(Debug, Default)]
pub struct Responses {
    asking: BTreeMap<u64, Vec<u8>>,
    /// Those that were asked for by a whole line, and whose stream has not ended yet.
    asked: BTreeSet<u64>,
    pending: BTreeMap<u64, Content>,
}

impl Responses {
    /// Accepts requests that have arrived, and sends what the connection takes.
    pub fn advance(&mut self, connection: &mut Connection, root: &Root) {
        for stream in connection.readable() {
            self.read(connection, root, stream);
        }
        self.pending
            .retain(|stream, content| push(connection, *stream, content));
    }

    fn read(&mut self, connection: &mut Connection, root: &Root, stream: u64) {
        let mut buffer = [0; LONGEST_REQUEST];
        while let Ok((count, is_end)) = connection.stream_recv(stream, &mut buffer) {
            if self.asked.contains(&stream) {
                // The end of the stream may come by itself, after the request.
                if is_end {
                    self.asked.remove(&stream);
                }
                continue;
            }
            let request = self.asking.entry(stream).or_default();
            request.extend_from_slice(&buffer[..count]);
            let is_complete = is_end || request.contains(&b'\n');
            if !is_complete && request.len() <= LONGEST_REQUEST {
                continue;
            }
            let request = self.asking.remove(&stream).unwrap_or_default();
            if !is_end {
                self.asked.insert(stream);
            }
            let content = path_of(&request).and_then(|path| root.find(path).ok());
            match content {
                Some(content) => {
                    self.pending.insert(stream, content);
                }
                // quiche says so only of a stream that has ended already.
                None => drop(connection.stream_shutdown(stream, Shutdown::Write, MISSING)),
            }
        }
    }
}

/// The path of `GET /path`, with or without an end of the line.
fn path_of(request: &[u8]) -> Option<&[u8]> {
    let line = request.split(|byte| *byte == b'\n').next()?;
    let path = line.trim_ascii_end().strip_prefix(b"GET ")?;
    path.starts_with(b"/").then_some(path)
}

/// True if there is more to send.
fn push(connection: &mut Connection, stream: u64, content: &mut Content) -> bool {
    loop {
        let remaining = content.remaining();
        let Ok(chunk) = content.chunk() else {
            let _ = connection.stream_shutdown(stream, Shutdown::Write, MISSING);
            return false;
        };
        let is_end = chunk.len() as u64 == remaining;
        match connection.stream_send(stream, chunk, is_end) {
            Ok(count) => content.consume(count),
            Err(Error::Done) => return true,
            Err(_) => return false,
        }
        if content.remaining() == 0 {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_get_and_a_path() {
        for (request, path) in [
            (&b"GET /a\r\n"[..], Some(&b"/a"[..])),
            (b"GET /a", Some(b"/a")),
            (b"GET /a\nrest", Some(b"/a")),
            (b"PUT /a\r\n", None),
            (b"GET a", None),
            (b"", None),
        ] {
            assert_eq!(path_of(request), path, "{request:?}");
        }
    }
}
