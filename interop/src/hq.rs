//! HTTP/0.9 over QUIC, as the runner has it: `GET /name` and the end of the stream; the answer is
//! the file and the end of the stream.

use crate::downloads::Downloads;
use anyhow::{Context, Result, bail};
use imtcp_examples::serve::files::{Content, Root};
use quiche::{Connection, Error, Shutdown};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use url::Url;

/// The error code of a stream whose file is not there.
const MISSING: u64 = 0x1;

/// The longest request that is read: a name of 255 bytes, encoded.
const LONGEST_REQUEST: usize = 2048;

/// The requests of a connection.
#[derive(Debug)]
pub struct Requests {
    pub downloads: Downloads,
    /// The stream of the request that is being written, and how much of it is.
    opening: Option<(u64, usize)>,
    next_stream: u64,
}

impl Requests {
    /// These files, into `folder`.
    pub fn new(urls: &[Url], folder: &Path) -> Self {
        Self {
            downloads: Downloads::new(urls, folder),
            opening: None,
            next_stream: 0,
        }
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

    /// True if a request was written to its end.
    fn ask(&mut self, connection: &mut Connection) -> Result<bool> {
        let may_open = connection.peer_streams_left_bidi() > 0 && self.downloads.may_go_on();
        let Some(url) = self.downloads.next() else {
            return Ok(false);
        };
        if self.opening.is_none() {
            if !may_open {
                return Ok(false);
            }
            self.opening = Some((self.next_stream, 0));
            self.next_stream += 4;
        }
        let Some((stream, written)) = &mut self.opening else {
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
        self.downloads.on_asked(*stream)?;
        self.opening = None;
        Ok(true)
    }

    fn take(&mut self, connection: &mut Connection, stream: u64) -> Result<()> {
        loop {
            match connection.stream_recv(stream, self.downloads.buffer()) {
                Ok((count, is_end)) => {
                    self.downloads.take(stream, count)?;
                    if is_end {
                        self.downloads.on_end(stream);
                        return Ok(());
                    }
                }
                Err(Error::Done) => return Ok(()),
                Err(error) => bail!("the server does not send what was asked for: {error}"),
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
