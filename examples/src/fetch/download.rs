//! The request and the bytes that answer it.

use super::arrivals::Arrivals;
use super::options::{Options, Target};
use anyhow::{Context, Result, bail, ensure};
use quiche::Connection;
use quiche::h3::{self, Event, Header, NameValue};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const AGENT: &str = concat!("imtcp-examples/", env!("CARGO_PKG_VERSION"));

/// One request.
pub(super) struct Download {
    request: Vec<Header>,
    path: String,
    http: Option<h3::Connection>,
    output: Option<BufWriter<File>>,
    arrivals: Option<Arrivals>,
    /// No longer than so.
    limit: Option<Duration>,
    buffer: Vec<u8>,
    /// Of the request.
    stream: u64,
    asked: Option<Instant>,
    /// The headers of the answer have come.
    is_answered: bool,
    completed: Option<Instant>,
    /// What the server has announced.
    expected: Option<u64>,
    received: u64,
}

impl Download {
    pub(super) fn new(target: &Target, options: &Options) -> Result<Self> {
        let create = |path: &Path| {
            let file = File::create(path);
            file.with_context(|| format!("cannot create the output {}", path.display()))
        };
        let output = options.output.as_deref();
        Ok(Self {
            request: request(target),
            path: target.path.clone(),
            http: None,
            output: output.map(create).transpose()?.map(BufWriter::new),
            arrivals: options
                .arrivals
                .as_deref()
                .map(Arrivals::create)
                .transpose()?,
            limit: options
                .seconds
                .map(|seconds| Duration::from_secs(seconds.into())),
            buffer: vec![0; 64 << 10],
            stream: 0,
            asked: None,
            is_answered: false,
            completed: None,
            expected: None,
            received: 0,
        })
    }

    pub(super) fn is_complete(&self) -> bool {
        self.completed.is_some()
    }

    /// When it stops, complete or not.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        Some(self.asked? + self.limit?)
    }

    /// Takes what is there for the whole if its time is over.
    pub(super) fn stop_if_due(&mut self, now: Instant) {
        if self.completed.is_none() && self.ends_at().is_some_and(|end| now >= end) {
            self.completed = Some(now);
            self.expected = None;
        }
    }

    /// Asks, once that is possible, and takes what has come.
    pub(super) fn advance(&mut self, connection: &mut Connection) -> Result<()> {
        let mut http = match self.http.take() {
            Some(http) => http,
            // Who has closed the connection says why in the connection's errors.
            None if !connection.is_established() || is_ending(connection) => return Ok(()),
            None => self.ask(connection)?,
        };
        loop {
            match http.poll(connection) {
                Ok((_, Event::Headers { list, .. })) => self.on_headers(&list)?,
                Ok((stream, Event::Data)) => self.take(&mut http, connection, stream)?,
                Ok((_, Event::Finished)) => self.on_end()?,
                Ok((_, Event::Reset(code))) => bail!("the server gave up: error {code:#x}"),
                // Requests on earlier streams are answered all the same (RFC 9114, section 5.2).
                Ok((from, Event::GoAway)) if from <= self.stream => {
                    bail!("the server takes no more requests")
                }
                Ok((_, Event::GoAway | Event::PriorityUpdate)) => {}
                Err(h3::Error::Done) => break,
                Err(error) => bail!("the server's HTTP/3 is broken: {error}"),
            }
        }
        self.http = Some(http);
        Ok(())
    }

    fn ask(&mut self, connection: &mut Connection) -> Result<h3::Connection> {
        let mut http = h3::Connection::with_transport(connection, &h3::Config::new()?)?;
        self.stream = http
            .send_request(connection, &self.request, true)
            .context("cannot send the request")?;
        self.asked = Some(Instant::now());
        Ok(http)
    }

    fn on_headers(&mut self, headers: &[Header]) -> Result<()> {
        if self.is_answered {
            // Trailers.
            return Ok(());
        }
        let value = |name: &[u8]| {
            let header = headers.iter().find(|header| header.name() == name)?;
            std::str::from_utf8(header.value()).ok()
        };
        let status = value(b":status").unwrap_or("nothing");
        if status.len() == 3 && status.starts_with('1') {
            // The answer is still to come (RFC 9110, section 15.2).
            return Ok(());
        }
        ensure!(
            status == "200",
            "the server answers {status} to {}",
            self.path
        );
        self.expected = value(b"content-length").and_then(|length| length.parse().ok());
        self.is_answered = true;
        Ok(())
    }

    fn on_end(&mut self) -> Result<()> {
        ensure!(
            self.is_answered,
            "the server ends the stream of {} without an answer",
            self.path
        );
        self.completed = Some(Instant::now());
        Ok(())
    }

    fn take(
        &mut self,
        http: &mut h3::Connection,
        connection: &mut Connection,
        stream: u64,
    ) -> Result<()> {
        while let Ok(length) = http.recv_body(connection, stream, &mut self.buffer) {
            self.received += length as u64;
            if let Some(output) = &mut self.output {
                output
                    .write_all(&self.buffer[..length])
                    .context("cannot write the output")?;
            }
            if let (Some(arrivals), Some(asked)) = (&mut self.arrivals, self.asked) {
                arrivals.add(asked.elapsed(), self.received)?;
            }
        }
        Ok(())
    }

    /// The length of the body, and the time it took from the request on.
    pub(super) fn finish(mut self) -> Result<(u64, Duration)> {
        if let Some(output) = &mut self.output {
            output.flush().context("cannot write the output")?;
        }
        if let Some(expected) = self.expected {
            ensure!(
                expected == self.received,
                "{} of {expected} bytes came",
                self.received
            );
        }
        let span = self.asked.zip(self.completed);
        let (asked, completed) = span.context("the file is not complete")?;
        let span = completed - asked;
        if let Some(arrivals) = self.arrivals {
            arrivals.finish(span, self.received)?;
        }
        Ok((self.received, span))
    }
}

fn is_ending(connection: &Connection) -> bool {
    connection.local_error().is_some() || connection.is_draining() || connection.is_closed()
}

fn request(target: &Target) -> Vec<Header> {
    vec![
        Header::new(b":method", b"GET"),
        Header::new(b":scheme", b"https"),
        Header::new(b":authority", target.authority().as_bytes()),
        Header::new(b":path", target.path.as_bytes()),
        Header::new(b"user-agent", AGENT.as_bytes()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::scripted::{BODY, Scripted};

    fn advance(scripted: &mut Scripted) -> Result<()> {
        scripted.pair.exchange();
        scripted.download.advance(&mut scripted.pair.client)
    }

    fn assert_is_whole(scripted: Scripted) {
        assert!(scripted.download.is_complete());
        let (bytes, _) = scripted.download.finish().expect("it came whole");
        assert_eq!(bytes, BODY.len() as u64);
    }

    #[test]
    fn a_server_that_goes_away_answers_what_it_has_taken() {
        let mut scripted = Scripted::asked();
        let connection = &mut scripted.pair.server;
        scripted.http.send_goaway(connection, 4).expect("sent");
        advance(&mut scripted).expect("the request is below that");
        scripted.answer();
        advance(&mut scripted).expect("it is answered");
        assert_is_whole(scripted);

        let mut scripted = Scripted::asked();
        let connection = &mut scripted.pair.server;
        scripted.http.send_goaway(connection, 0).expect("sent");
        let error = advance(&mut scripted).expect_err("it is not taken");
        assert_eq!(error.to_string(), "the server takes no more requests");
    }

    #[test]
    fn what_comes_before_and_after_the_answer_is_not_the_answer() {
        let mut scripted = Scripted::asked();
        let Scripted {
            pair, http, stream, ..
        } = &mut scripted;
        let early = [
            Header::new(b":status", b"103"),
            Header::new(b"link", b"</style.css>; rel=preload"),
        ];
        let answer = [
            Header::new(b":status", b"200"),
            Header::new(b"content-length", BODY.len().to_string().as_bytes()),
        ];
        let trailers = [Header::new(b"checksum", b"1")];
        let (server, stream) = (&mut pair.server, *stream);
        http.send_response(server, stream, &early, false)
            .and_then(|()| http.send_additional_headers(server, stream, &answer, false, false))
            .expect("sent");
        http.send_body(server, stream, BODY, false).expect("sent");
        http.send_additional_headers(server, stream, &trailers, true, true)
            .expect("sent");
        advance(&mut scripted).expect("it is answered");
        assert_is_whole(scripted);
    }

    #[test]
    fn a_stream_that_ends_before_the_answer_is_an_error() {
        let mut scripted = Scripted::asked();
        let early = [Header::new(b":status", b"103")];
        let (http, connection) = (&mut scripted.http, &mut scripted.pair.server);
        http.send_response(connection, scripted.stream, &early, true)
            .expect("sent");
        let error = advance(&mut scripted).expect_err("no answer");
        let error = error.to_string();
        assert!(error.contains("/file without an answer"), "{error}");
    }
}
