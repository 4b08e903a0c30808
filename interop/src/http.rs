//! The client's side of HTTP/3. The server's is that of the examples.

use crate::downloads::Downloads;
use anyhow::{Context, Result, bail, ensure};
use quiche::Connection;
use quiche::h3::{self, Event, Header, NameValue};
use std::path::Path;
use url::{Position, Url};

const AGENT: &[u8] = b"imtcp-interop";

/// The requests of a connection.
pub struct Requests {
    http: Option<h3::Connection>,
    pub downloads: Downloads,
}

impl Requests {
    /// These files, into `folder`.
    pub fn new(urls: &[Url], folder: &Path) -> Self {
        Self {
            http: None,
            downloads: Downloads::new(urls, folder),
        }
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

    /// True if a request was sent.
    fn ask(&mut self, connection: &mut Connection) -> Result<bool> {
        if !self.downloads.may_go_on() {
            return Ok(false);
        }
        let (Some(http), Some(url)) = (&mut self.http, self.downloads.next()) else {
            return Ok(false);
        };
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
        self.downloads.on_asked(stream)?;
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
                    let downloads = &mut self.downloads;
                    while let Ok(count) = http.recv_body(connection, stream, downloads.buffer()) {
                        downloads.take(stream, count)?;
                    }
                }
                Ok((stream, Event::Finished)) => self.downloads.on_end(stream),
                Ok((_, Event::Reset(code))) => bail!("the server gave a file up: {code:#x}"),
                Ok((_, Event::PriorityUpdate | Event::GoAway)) => {}
                Err(h3::Error::Done) => return Ok(()),
                Err(error) => return Err(error).context("HTTP/3 fails"),
            }
        }
    }
}
