//! A log that is read from its beginning to its end, once.

use super::header::{self, Dialect, Header};
use super::input::{Input, decompressed, is_damage};
use super::parse;
use super::record::Record;
use super::records::{Foreign, Format, Found, Records};
use super::sequence::{SplitError, Text};
use crate::error::{Error, Position, Problems};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Times beyond this many milliseconds count from 1970, or from when a machine was started.
const ABSOLUTE_MS: f64 = 1e9;

/// What can be read.
const READABLE: &str = "give a qlog: JSON text sequences (.sqlog), JSON lines or one JSON object \
                        (.qlog), plain or compressed by gzip or zstd";

/// A log whose header has been read.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    records: Records,
    header: Header,
    dialect: Dialect,
    position: Position,
    clock: Clock,
    problems: Problems,
    strict: bool,
    /// A first record that was no header.
    pending: Option<Vec<u8>>,
}

impl Log {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or is no qlog.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Read {
            path: path.to_owned(),
            source,
        };
        if path == Path::new("-") {
            return Self::new(io::stdin(), path);
        }
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(failed(io::Error::from(ErrorKind::IsADirectory)));
        }
        Self::new(file, path)
    }

    /// Reads the header. `path` is named in errors.
    ///
    /// # Errors
    /// The input fails, or is no qlog.
    pub fn new(source: impl Read + Send + 'static, path: &Path) -> Result<Self, Error> {
        let path = path.to_owned();
        let input: Input = match decompressed(source) {
            Ok(input) => input,
            Err(source) => return Err(Error::Read { path, source }),
        };
        let records = match Records::new(input) {
            Ok(records) => records,
            Err(foreign) => return Err(refused(path, foreign)),
        };
        let mut log = Self {
            path,
            records,
            header: Header::default(),
            dialect: Dialect::default(),
            position: Position { record: 1, byte: 0 },
            clock: Clock::default(),
            problems: Problems::default(),
            strict: false,
            pending: None,
        };
        log.read_header()?;
        Ok(log)
    }

    /// The same, which stops at the first damaged record with an error. Otherwise such records are
    /// left out, and are among [`Log::problems`].
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    fn read_header(&mut self) -> Result<(), Error> {
        let (top, trace) = match self.records.first() {
            Ok(Found::Header { top, trace, byte }) => {
                self.position.byte = byte;
                (top, trace)
            }
            Ok(Found::Text(_) | Found::End) => return Err(refused(self.path(), Foreign::Empty)),
            Err(error) => return Err(refused(self.path(), Foreign::Failed(error))),
        };
        if let Some(parsed) = header::parse(&top, trace.as_deref()) {
            (self.header, self.dialect) = (parsed.header, parsed.dialect);
            let none = || "there is no trace in it, and so no event".to_owned();
            let lacks_traces = self.records.lacks_traces().then(none);
            for problem in parsed.problem.into_iter().chain(lacks_traces) {
                self.problems.add(self.position, problem);
            }
            return Ok(());
        }
        // A log whose header is lost can be read like any other, if it has events.
        match parse::parse(&top, true, &self.dialect) {
            Ok(_) => {
                let text = "the header is missing; the rest is read as the newest draft has it";
                self.problems.add(self.position, text.to_owned());
                self.position.record = 0;
                self.pending = Some(top);
                Ok(())
            }
            Err(error) => Err(Error::Foreign {
                path: self.path(),
                problem: format!(
                    "the first record is neither a qlog's header nor an event: {error}"
                ),
                remedy: READABLE,
            }),
        }
    }

    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The file's name.
    pub fn name(&self) -> &Path {
        &self.path
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the file's own times began with, in milliseconds, if they are large and so count from
    /// 1970 or from when a machine was started. It was subtracted from all times read so far.
    pub fn origin_ms(&self) -> Option<f64> {
        self.clock.origin_ms.filter(|origin| *origin != 0.0)
    }

    /// What was wrong so far, and was left out.
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    /// How the records stand in the file.
    pub fn format(&self) -> Format {
        self.records.format()
    }

    /// Visits every event, to the end of the file, or to where it is cut off or cannot be followed
    /// any more; then [`Log::problems`] says so. What `visit` says of a record's data is handled
    /// like damage.
    ///
    /// # Errors
    /// The input fails, or a record is damaged and the log is strict.
    pub fn for_each(
        &mut self,
        mut visit: impl FnMut(&Record<'_>) -> Result<(), String>,
    ) -> Result<(), Error> {
        self.for_each_until(|record| visit(record).map(ControlFlow::Continue))
    }

    /// The same, as long as `visit` wants more.
    ///
    /// # Errors
    /// The input fails, or a record is damaged and the log is strict.
    pub fn for_each_until(
        &mut self,
        mut visit: impl FnMut(&Record<'_>) -> Result<ControlFlow<()>, String>,
    ) -> Result<(), Error> {
        if let Some(first) = self.pending.take() {
            self.position.record = 1;
            let (bytes, byte, open) = (first.as_slice(), 0, true);
            let text = Text { bytes, byte, open };
            let visited = self.clock.take(&text, 1, &mut self.dialect, &mut visit);
            if self.settle(visited)?.is_break() {
                return Ok(());
            }
        }
        loop {
            let Self {
                records,
                clock,
                dialect,
                position,
                ..
            } = self;
            position.record += 1;
            let visited = match records.next() {
                Ok(Found::Text(text)) => {
                    position.byte = text.byte;
                    clock.take(&text, position.record, dialect, &mut visit)
                }
                Ok(Found::End) => return Ok(()),
                Ok(Found::Header { byte, .. }) => {
                    position.byte = byte;
                    let text = "another trace begins here; it is left out, and so is what follows. \
                                Give each trace a file of its own";
                    self.problems.add(self.position, text.to_owned());
                    return Ok(());
                }
                Err(error) => return self.broken(error),
            };
            if self.settle(visited)?.is_break() {
                return Ok(());
            }
        }
    }

    fn settle(
        &mut self,
        visited: Result<ControlFlow<()>, String>,
    ) -> Result<ControlFlow<()>, Error> {
        let problem = match visited {
            Ok(flow) => return Ok(flow),
            Err(problem) => problem,
        };
        if self.strict {
            return Err(Error::Content {
                path: self.path(),
                position: self.position,
                problem,
            });
        }
        self.problems
            .add(self.position, format!("{problem}; it was left out"));
        Ok(ControlFlow::Continue(()))
    }

    /// The file cannot be followed any further.
    fn broken(&mut self, error: SplitError) -> Result<(), Error> {
        self.position.byte = self.records.reached();
        let text = match error {
            SplitError::Read(source) if !is_damage(&source) => {
                let path = self.path();
                return Err(Error::Read { path, source });
            }
            SplitError::Read(error) if error.kind() == ErrorKind::UnexpectedEof => {
                "the compressed file is cut off; what came before was read".to_owned()
            }
            SplitError::Read(error) => {
                format!("the compressed file is damaged ({error}); what came before was read")
            }
            other => format!("{other}; what came before was read"),
        };
        if self.strict {
            return Err(Error::Content {
                path: self.path(),
                position: self.position,
                problem: text,
            });
        }
        self.problems.add(self.position, text);
        Ok(())
    }
}

/// Turns the times of a file into milliseconds since its beginning.
#[derive(Debug, Default)]
struct Clock {
    /// The time of the event before, in milliseconds of the file.
    last_ms: f64,
    /// What is subtracted from times; `None` before the first event.
    origin_ms: Option<f64>,
}

impl Clock {
    /// Reads a record and has it visited.
    ///
    /// # Errors
    /// What is wrong with it.
    fn take(
        &mut self,
        text: &Text<'_>,
        record: u64,
        dialect: &mut Dialect,
        visit: &mut impl FnMut(&Record<'_>) -> Result<ControlFlow<()>, String>,
    ) -> Result<ControlFlow<()>, String> {
        let raw = match parse::parse(text.bytes, text.open, dialect) {
            Ok(raw) => raw,
            Err(_) if text.open => return Err("the last record is cut off".to_owned()),
            Err(error) if error.is_data() => {
                return Err(format!("the record is not an event: {error}"));
            }
            Err(error) => return Err(format!("the record is not JSON: {error}")),
        };
        if raw.name.starts_with("imtcp:") {
            dialect.pacing_unit = 1.0;
        }
        let position = Position {
            record,
            byte: text.byte,
        };
        let Some(time_ms) = self.time(raw.time, dialect) else {
            return Err(format!("{}: its time is beyond all bounds", raw.name));
        };
        let record = Record::new(raw, text.bytes, position, time_ms, dialect);
        visit(&record).map_err(|problem| format!("{}: its data: {problem}", record.name))
    }

    /// Milliseconds since the beginning of the log; `None` if they are too many for a number.
    fn time(&mut self, time: f64, dialect: &Dialect) -> Option<f64> {
        let time = time * dialect.time_unit;
        let since = if dialect.is_delta { self.last_ms } else { 0.0 };
        let time = Some(since + time).filter(|time| time.is_finite())?;
        let first = if time.abs() > ABSOLUTE_MS { time } else { 0.0 };
        let since_origin = time - self.origin_ms.unwrap_or(first);
        if !since_origin.is_finite() {
            return None;
        }
        self.last_ms = time;
        self.origin_ms.get_or_insert(first);
        Some(since_origin)
    }
}

fn refused(path: PathBuf, foreign: Foreign) -> Error {
    let problem = match foreign {
        Foreign::Failed(SplitError::Read(source)) if is_damage(&source) => {
            return Error::Foreign {
                path,
                problem: format!("the compressed file is damaged at its beginning ({source})"),
                remedy: "nothing of it can be read; give a copy that is whole",
            };
        }
        Foreign::Failed(SplitError::Read(source)) => return Error::Read { path, source },
        Foreign::Failed(error) => error.to_string(),
        Foreign::Empty => "the file is empty".to_owned(),
        Foreign::Begins(bytes) => match bytes.as_slice() {
            [0xd4, 0xc3, 0xb2, 0xa1, ..]
            | [0xa1, 0xb2, 0xc3, 0xd4, ..]
            | [0x0a, 0x0d, 0x0d, 0x0a, ..] => "this is a packet capture, not a qlog".to_owned(),
            [b'B', b'Z', b'h', ..] => "this is compressed by bzip2".to_owned(),
            [0xfd, b'7', b'z', b'X', b'Z', ..] => "this is compressed by xz".to_owned(),
            [b'[', ..] => "this is a JSON array, not a qlog".to_owned(),
            bytes => {
                let shown: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!(
                    "this is not a qlog: it begins with the bytes {}",
                    shown.join(" ")
                )
            }
        },
    };
    Error::Foreign {
        path,
        problem,
        remedy: READABLE,
    }
}
