//! HTTP/0.9 over QUIC, as the runner has it: `GET /name` and the end of the stream; the answer is
//! the file and the end of the stream.

use crate::downloads::Downloads;
use crate::session;
use anyhow::{Context, Result, bail};
use imtcp_examples::serve::files::{Content, Root};
use quiche::{Connection, Error, Shutdown};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use url::Url;

/// The error code of a stream whose file is not there.
const MISSING: u64 = 0x1;

/// The error code of a stream whose request was taken back.
const CANCELLED: u64 = 0x2;

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
        while !session::is_ending(connection) && self.ask(connection)? {}
        for stream in connection.readable() {
            self.take(connection, stream)?;
        }
        Ok(())
    }

    /// True if a request was written to its end.
    fn ask(&mut self, connection: &mut Connection) -> Result<bool> {
        // Asked in any case, because the time for the next burst is over then.
        let may_go_on = self.downloads.may_go_on();
        let may_open = may_go_on && connection.peer_streams_left_bidi() > 0;
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
        loop {
            match connection.stream_recv(stream, &mut buffer) {
                Ok((count, is_end)) => {
                    if let Some(request) = self.take(stream, &buffer[..count], is_end) {
                        self.answer(connection, root, stream, &request);
                    }
                }
                Err(Error::StreamReset(_)) => return self.cancel(connection, stream),
                // Done, or the connection has ended, which shows elsewhere.
                Err(_) => return,
            }
        }
    }

    /// Takes a part of a request. Returns the request once it is complete.
    fn take(&mut self, stream: u64, part: &[u8], is_end: bool) -> Option<Vec<u8>> {
        if self.asked.contains(&stream) {
            // The end of the stream may come by itself, after the request.
            if is_end {
                self.asked.remove(&stream);
            }
            return None;
        }
        let request = self.asking.entry(stream).or_default();
        request.extend_from_slice(part);
        let is_complete = is_end || request.contains(&b'\n');
        if !is_complete && request.len() <= LONGEST_REQUEST {
            return None;
        }
        if !is_end {
            self.asked.insert(stream);
        }
        self.asking.remove(&stream)
    }

    fn answer(&mut self, connection: &mut Connection, root: &Root, stream: u64, request: &[u8]) {
        let content = path_of(request).and_then(|path| root.find(path).ok());
        match content {
            Some(content) => {
                self.pending.insert(stream, content);
            }
            // quiche says so only of a stream that has ended already.
            None => drop(connection.stream_shutdown(stream, Shutdown::Write, MISSING)),
        }
    }

    /// The client has taken its request back. A stream counts among those that it may open until
    /// both directions have ended, so this one ends here as well. One that was answered in full
    /// has.
    fn cancel(&mut self, connection: &mut Connection, stream: u64) {
        self.asking.remove(&stream);
        let is_pending = self.pending.remove(&stream).is_some();
        let is_answered = self.asked.remove(&stream) && !is_pending;
        if !is_answered {
            // An error means that it has ended already.
            let _ = connection.stream_shutdown(stream, Shutdown::Write, CANCELLED);
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
    use crate::pair::Pair;
    use std::time::Duration;

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

    #[test]
    fn requests_that_are_taken_back_use_up_no_streams_and_no_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a"), [7; 100]).expect("a file");
        std::fs::write(folder.path().join("long"), vec![7; 1 << 20]).expect("a file");
        let root = Root::open(folder.path()).expect("it is there");
        let mut pair = Pair::new();
        let mut responses = Responses::default();
        let kinds = ["GET /a", "GET /a\r\n", "GET /long\r\n"];
        // Three times as many as may be open at a time.
        for (number, request) in (0..300).zip(kinds.into_iter().cycle()) {
            let stream = number * 4;
            let sent = pair.client.stream_send(stream, request.as_bytes(), false);
            assert_eq!(sent, Ok(request.len()), "{number}");
            pair.exchange();
            responses.advance(&mut pair.server, &root);
            pair.exchange();
            for direction in [Shutdown::Write, Shutdown::Read] {
                let ended = pair.client.stream_shutdown(stream, direction, 0);
                assert!(matches!(ended, Ok(()) | Err(Error::Done)), "{ended:?}");
            }
            pair.exchange();
            responses.advance(&mut pair.server, &root);
            pair.exchange();
        }
        assert_eq!((responses.asking.len(), responses.asked.len()), (0, 0));
        assert_eq!(responses.pending.len(), 0);
    }

    #[test]
    fn a_client_that_waits_for_streams_waits_for_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let urls = (0..30).map(|name| Url::parse(&format!("https://server4:443/{name}")));
        let urls: Vec<Url> = urls.map(|url| url.expect("a URL")).collect();
        // As many streams as a burst has.
        let mut pair = Pair::with_streams(12);
        let mut requests = Requests::new(&urls, folder.path());
        requests.advance(&mut pair.client).expect("it asks");
        assert_eq!(pair.client.peer_streams_left_bidi(), 0);
        std::thread::sleep(Duration::from_millis(10));
        requests.advance(&mut pair.client).expect("it asks");
        let next = requests.downloads.next_burst();
        assert_eq!(next, None, "it would be woken all the time");
    }
}
