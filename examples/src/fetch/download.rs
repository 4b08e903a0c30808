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
    asked: Option<Instant>,
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
            asked: None,
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
        if !connection.is_established() {
            return Ok(());
        }
        let mut http = match self.http.take() {
            Some(http) => http,
            None => self.ask(connection)?,
        };
        loop {
            match http.poll(connection) {
                Ok((_, Event::Headers { list, .. })) => self.on_headers(&list)?,
                Ok((stream, Event::Data)) => self.take(&mut http, connection, stream)?,
                Ok((_, Event::Finished)) => self.completed = Some(Instant::now()),
                Ok((_, Event::Reset(code))) => bail!("the server gave up: error {code:#x}"),
                Ok((_, Event::GoAway)) => bail!("the server takes no more requests"),
                Ok((_, Event::PriorityUpdate)) => {}
                Err(h3::Error::Done) => break,
                Err(error) => bail!("the server's HTTP/3 is broken: {error}"),
            }
        }
        self.http = Some(http);
        Ok(())
    }

    fn ask(&mut self, connection: &mut Connection) -> Result<h3::Connection> {
        let mut http = h3::Connection::with_transport(connection, &h3::Config::new()?)?;
        http.send_request(connection, &self.request, true)
            .context("cannot send the request")?;
        self.asked = Some(Instant::now());
        Ok(http)
    }

    fn on_headers(&mut self, headers: &[Header]) -> Result<()> {
        let value = |name: &[u8]| {
            let header = headers.iter().find(|header| header.name() == name)?;
            std::str::from_utf8(header.value()).ok()
        };
        let status = value(b":status").unwrap_or("nothing");
        ensure!(
            status == "200",
            "the server answers {status} to {}",
            self.path
        );
        self.expected = value(b"content-length").and_then(|length| length.parse().ok());
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

fn request(target: &Target) -> Vec<Header> {
    vec![
        Header::new(b":method", b"GET"),
        Header::new(b":scheme", b"https"),
        Header::new(b":authority", target.authority().as_bytes()),
        Header::new(b":path", target.path.as_bytes()),
        Header::new(b"user-agent", AGENT.as_bytes()),
    ]
}
