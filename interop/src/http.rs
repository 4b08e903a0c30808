//! The client's side of HTTP/3. The server's is that of the examples.

use crate::downloads::Downloads;
use crate::session;
use anyhow::{Context, Result, bail, ensure};
use quiche::Connection;
use quiche::h3::{self, Event, Header, NameValue};
use std::collections::BTreeSet;
use std::path::Path;
use url::{Position, Url};

const AGENT: &[u8] = b"imtcp-interop";

/// The requests of a connection.
pub struct Requests {
    http: Option<h3::Connection>,
    pub downloads: Downloads,
    /// Streams on which the headers of an answer have come, and whose file is on its way.
    answered: BTreeSet<u64>,
}

impl Requests {
    /// These files, into `folder`.
    pub fn new(urls: &[Url], folder: &Path) -> Self {
        Self {
            http: None,
            downloads: Downloads::new(urls, folder),
            answered: BTreeSet::new(),
        }
    }

    /// Asks for what may be asked for now, and takes what has come.
    ///
    /// # Errors
    /// The server refuses a file, or one cannot be written.
    pub fn advance(&mut self, connection: &mut Connection) -> Result<()> {
        let is_ending = session::is_ending(connection);
        if self.http.is_none() && !is_ending {
            let config = h3::Config::new()?;
            self.http = Some(h3::Connection::with_transport(connection, &config)?);
        }
        while !is_ending && self.ask(connection)? {}
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
                Ok((stream, Event::Headers { list, .. })) => {
                    if !self.answered.contains(&stream) && is_answer(&list)? {
                        self.answered.insert(stream);
                    }
                }
                Ok((stream, Event::Data)) => {
                    let downloads = &mut self.downloads;
                    while let Ok(count) = http.recv_body(connection, stream, downloads.buffer()) {
                        downloads.take(stream, count)?;
                    }
                }
                Ok((stream, Event::Finished)) => {
                    let is_answered = self.answered.remove(&stream);
                    ensure!(is_answered, "the server ends a stream without an answer");
                    self.downloads.on_end(stream);
                }
                Ok((_, Event::Reset(code))) => bail!("the server gave a file up: {code:#x}"),
                // Requests on earlier streams are answered all the same (RFC 9114, section 5.2).
                Ok((from, Event::GoAway)) if self.downloads.is_any_from(from) => {
                    bail!("the server goes away, and answers no more requests")
                }
                Ok((_, Event::PriorityUpdate | Event::GoAway)) => {}
                Err(h3::Error::Done) => return Ok(()),
                Err(error) => return Err(error).context("HTTP/3 fails"),
            }
        }
    }
}

/// Whether these headers begin the answer. The first ones may be interim (RFC 9110, section 15.2),
/// and those behind it are trailers.
fn is_answer(headers: &[Header]) -> Result<bool> {
    let status = headers.iter().find(|header| header.name() == b":status");
    let status = status.map(NameValue::value).unwrap_or_default();
    if status.len() == 3 && status.starts_with(b"1") {
        return Ok(false);
    }
    let text = String::from_utf8_lossy(status);
    ensure!(status == b"200", "the server answers with status {text}");
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::pair::Pair;

    /// A client that has asked for a file, and the server's side of HTTP/3.
    struct Asked {
        pair: Pair,
        http: h3::Connection,
        requests: Requests,
        folder: tempfile::TempDir,
    }

    fn asked() -> Asked {
        let folder = tempfile::tempdir().expect("a folder");
        let mut pair = Pair::of(Case::Http3);
        let url = Url::parse("https://server4:443/a").expect("a URL");
        let mut requests = Requests::new(&[url], folder.path());
        requests.advance(&mut pair.client).expect("it asks");
        let config = h3::Config::new().expect("a configuration");
        let http = h3::Connection::with_transport(&mut pair.server, &config);
        let mut http = http.expect("it begins");
        pair.exchange();
        while http.poll(&mut pair.server).is_ok() {}
        Asked {
            pair,
            http,
            requests,
            folder,
        }
    }

    fn status(code: &[u8]) -> [Header; 1] {
        [Header::new(b":status", code)]
    }

    impl Asked {
        fn advance(&mut self) -> Result<()> {
            self.pair.exchange();
            self.requests.advance(&mut self.pair.client)
        }
    }

    #[test]
    fn what_surrounds_an_answer_does_not_end_a_download() {
        let mut asked = asked();
        let (http, server) = (&mut asked.http, &mut asked.pair.server);
        http.send_response(server, 0, &status(b"103"), false)
            .expect("sent");
        http.send_goaway(server, 4).expect("sent");
        http.send_additional_headers(server, 0, &status(b"200"), false, false)
            .expect("sent");
        assert_eq!(http.send_body(server, 0, b"all of it", false), Ok(9));
        let trailers = [Header::new(b"digest", b"x")];
        http.send_additional_headers(server, 0, &trailers, true, true)
            .expect("sent");
        asked.advance().expect("nothing is wrong");
        assert!(asked.requests.downloads.are_done());
        let read = std::fs::read(asked.folder.path().join("a")).expect("a file");
        assert_eq!(read, b"all of it");
    }

    #[test]
    fn without_an_answer_there_is_no_file() {
        let mut refused = asked();
        refused
            .http
            .send_goaway(&mut refused.pair.server, 0)
            .expect("sent");
        let error = refused.advance().expect_err("it will never come");
        assert!(error.to_string().contains("goes away"), "{error}");
        let mut interim = asked();
        interim
            .http
            .send_response(&mut interim.pair.server, 0, &status(b"103"), true)
            .expect("sent");
        let error = interim.advance().expect_err("there is no answer");
        assert!(error.to_string().contains("without an answer"), "{error}");
    }
}
