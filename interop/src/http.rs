//! The client's side of HTTP/3. The server's is that of the examples.

use crate::bursts::Bursts;
use crate::environment::file_name;
use anyhow::{Context, Result, bail, ensure};
use quiche::Connection;
use quiche::h3::{self, Event, Header, NameValue};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use url::{Position, Url};

const AGENT: &[u8] = b"imtcp-interop";

/// How much is read of a body at a time.
const CHUNK: usize = 64 << 10;

/// The requests of a connection.
pub struct Requests {
    http: Option<h3::Connection>,
    waiting: VecDeque<Url>,
    bursts: Bursts,
    files: BTreeMap<u64, File>,
    folder: PathBuf,
    buffer: Vec<u8>,
}

impl Requests {
    /// These files, into `folder`.
    pub fn new(urls: &[Url], folder: &Path) -> Self {
        Self {
            http: None,
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

    /// Asks for what may be asked for now, and takes what has come.
    ///
    /// # Errors
    /// The server refuses a file, or one cannot be written.
    pub fn advance(&mut self, connection: &mut Connection) -> Result<()> {
        if self.http.is_none() {
            let config = h3::Config::new()?;
            self.http = Some(h3::Connection::with_transport(connection, &config)?);
        }
        while self.ask(connection)? {}
        self.take(connection)
    }

    /// When there may be more requests, if any wait for that.
    pub fn next_burst(&self) -> Option<Instant> {
        self.bursts.next().filter(|_| !self.waiting.is_empty())
    }

    /// True if a request was sent.
    fn ask(&mut self, connection: &mut Connection) -> Result<bool> {
        let (Some(http), Some(url)) = (&mut self.http, self.waiting.front()) else {
            return Ok(false);
        };
        if !self.bursts.may_go_on() {
            return Ok(false);
        }
        let request = [
            Header::new(b":method", b"GET"),
            Header::new(b":scheme", url.scheme().as_bytes()),
            Header::new(
                b":authority",
                url[Position::BeforeHost..Position::AfterPort].as_bytes(),
            ),
            Header::new(b":path", url[Position::BeforePath..].as_bytes()),
            Header::new(b"user-agent", AGENT),
        ];
        let stream = match http.send_request(connection, &request, true) {
            Ok(stream) => stream,
            // Later: the server has not granted so much yet.
            Err(
                h3::Error::StreamBlocked
                | h3::Error::TransportError(quiche::Error::StreamLimit | quiche::Error::Done),
            ) => return Ok(false),
            Err(error) => return Err(error).with_context(|| format!("cannot ask for {url}")),
        };
        let path = self.folder.join(file_name(url)?);
        let file = File::create(&path);
        let file = file.with_context(|| format!("cannot create {}", path.display()))?;
        self.files.insert(stream, file);
        self.waiting.pop_front();
        self.bursts.add();
        Ok(true)
    }

    fn take(&mut self, connection: &mut Connection) -> Result<()> {
        let Some(http) = &mut self.http else {
            return Ok(());
        };
        loop {
            match http.poll(connection) {
                Ok((_, Event::Headers { list, .. })) => {
                    let status = list.iter().find(|header| header.name() == b":status");
                    let status = status.map(NameValue::value).unwrap_or_default();
                    let text = String::from_utf8_lossy(status);
                    ensure!(status == b"200", "the server answers with status {text}");
                }
                Ok((stream, Event::Data)) => {
                    let Some(file) = self.files.get_mut(&stream) else {
                        continue;
                    };
                    while let Ok(count) = http.recv_body(connection, stream, &mut self.buffer) {
                        file.write_all(&self.buffer[..count])
                            .context("cannot write a file")?;
                    }
                }
                Ok((stream, Event::Finished)) => drop(self.files.remove(&stream)),
                Ok((_, Event::Reset(code))) => bail!("the server gave a file up: {code:#x}"),
                Ok((_, Event::PriorityUpdate | Event::GoAway)) => {}
                Err(h3::Error::Done) => return Ok(()),
                Err(error) => return Err(error).context("HTTP/3 fails"),
            }
        }
    }
}
