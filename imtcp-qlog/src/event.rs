//! The records of a qlog that matter here.

use crate::Error;
use crate::sequence::{Sequence, SequenceError, Text};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// What the header of a file of this kind says (draft-ietf-quic-qlog-main-schema).
const SCHEMA: &str = "urn:ietf:params:qlog:file:sequential";
/// The names of the controller's events begin like this.
const NAMESPACE: &str = "imtcp:";

/// A qlog whose header has been read.
#[derive(Debug)]
pub struct Log<R> {
    path: PathBuf,
    sequence: Sequence<R>,
    cut: Option<u64>,
}

/// Opens a file and reads its header.
///
/// # Errors
/// The file cannot be read, or is not a qlog in JSON-SEQ.
pub fn open(path: &Path) -> Result<Log<BufReader<File>>, Error> {
    let file = File::open(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    Log::new(BufReader::with_capacity(1 << 16, file), path)
}

#[derive(Deserialize)]
struct Header<'r> {
    #[serde(borrow)]
    file_schema: Cow<'r, str>,
}

/// A record of any event.
#[derive(Deserialize)]
struct Record<'r> {
    #[serde(rename = "time")]
    time_ms: f64,
    #[serde(borrow)]
    name: Cow<'r, str>,
    #[serde(borrow)]
    data: Option<&'r RawValue>,
}

/// An event, as far as it is of interest.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A packet left.
    PacketSent(Packet),
    /// A packet came.
    PacketReceived(Packet),
    /// The congestion window moved, or something beside it.
    Metrics(Metrics),
    /// An event of the controller. The name is without its namespace.
    Imtcp(String, serde_json::Map<String, serde_json::Value>),
    /// Any other event.
    Other,
}

/// A packet's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Packet {
    /// Its sizes; a log may leave them out.
    #[serde(default)]
    pub raw: Raw,
}

/// Sizes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Raw {
    /// Bytes of UDP payload.
    #[serde(default)]
    pub length: u64,
}

/// What loss recovery reports; what did not change is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Metrics {
    /// The congestion window, in bytes.
    pub congestion_window: Option<u64>,
}

/// An event, when it was, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    /// Milliseconds since the log's reference time.
    pub time_ms: f64,
    /// The line of the file, from 1.
    pub line: u64,
    /// What happened.
    pub event: Event,
}

impl<R: BufRead> Log<R> {
    /// Reads the header. `path` is named in errors.
    ///
    /// # Errors
    /// The input fails, or does not begin as a qlog in JSON-SEQ.
    pub fn new(input: R, path: &Path) -> Result<Self, Error> {
        let mut log = Self {
            path: path.to_owned(),
            sequence: Sequence::new(input),
            cut: None,
        };
        let schema = match log.sequence.next_text() {
            Ok(Some(text)) => serde_json::from_slice::<Header<'_>>(text.bytes)
                .map(|header| header.file_schema.into_owned())
                .map_err(|error| format!("the first record is not a qlog's header: {error}")),
            Ok(None) => Err("the file has no records".to_owned()),
            Err(error) => return Err(failed(&log.path, log.sequence.line(), error)),
        };
        match schema {
            Ok(schema) if schema == SCHEMA => Ok(log),
            Ok(schema) => Err(log.wrong(
                1,
                format!("the header's file_schema is `{schema}`; `{SCHEMA}` can be read"),
            )),
            Err(problem) => Err(log.wrong(1, problem)),
        }
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// The input fails, or a record is not what quiche or the controller writes.
    pub fn next_event(&mut self) -> Result<Option<Logged>, Error> {
        let Self {
            path,
            sequence,
            cut,
        } = self;
        let reached = sequence.line();
        let text = match sequence.next_text() {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(None),
            Err(error) => return Err(failed(path, reached, error)),
        };
        match parse(&text) {
            Ok(logged) => Ok(Some(logged)),
            // The writer was ended in the middle of a record.
            Err(Unreadable::Cut) => {
                *cut = Some(text.line);
                Ok(None)
            }
            Err(Unreadable::Wrong(problem)) => {
                let line = text.line;
                Err(self.wrong(line, problem))
            }
        }
    }

    /// The line of a last record that was cut off and left out; known at the end.
    pub fn cut(&self) -> Option<u64> {
        self.cut
    }

    /// An error about a record of this file.
    pub fn wrong(&self, line: u64, problem: String) -> Error {
        Error::Content {
            path: self.path.clone(),
            line,
            problem,
        }
    }
}

enum Unreadable {
    Cut,
    Wrong(String),
}

fn parse(text: &Text<'_>) -> Result<Logged, Unreadable> {
    let record: Record<'_> = serde_json::from_slice(text.bytes).map_err(|error| {
        if text.open {
            Unreadable::Cut
        } else if error.is_data() {
            Unreadable::Wrong(format!("the record is not an event: {error}"))
        } else {
            Unreadable::Wrong(format!("the record is not JSON: {error}"))
        }
    })?;
    let event = event(&record)
        .map_err(|error| Unreadable::Wrong(format!("{}: its data: {error}", record.name)))?;
    Ok(Logged {
        time_ms: record.time_ms,
        line: text.line,
        event,
    })
}

fn event(record: &Record<'_>) -> Result<Event, serde_json::Error> {
    let data = record.data.map_or("{}", RawValue::get);
    Ok(match record.name.as_ref() {
        "quic:packet_sent" => Event::PacketSent(serde_json::from_str(data)?),
        "quic:packet_received" => Event::PacketReceived(serde_json::from_str(data)?),
        "quic:recovery_metrics_updated" => Event::Metrics(serde_json::from_str(data)?),
        name => match name.strip_prefix(NAMESPACE) {
            Some(own) => Event::Imtcp(own.to_owned(), serde_json::from_str(data)?),
            None => Event::Other,
        },
    })
}

fn failed(path: &Path, line: u64, error: SequenceError) -> Error {
    let path = path.to_owned();
    match error {
        SequenceError::Read(source) => Error::Read { path, source },
        other => Error::Content {
            path,
            line,
            problem: other.to_string(),
        },
    }
}
