//! The texts of a log, whatever the format of its file.

use super::contained::{Contained, Part};
use super::input::Input;
use super::sequence::{SEPARATOR, Split, SplitError, Text};
use std::io::{self, BufRead, Read as _};

/// What the next text is.
#[derive(Debug)]
pub(super) enum Found<'r> {
    /// A header with the one of its trace; a sequence has the second inside the first.
    Header {
        top: Vec<u8>,
        trace: Option<Vec<u8>>,
        byte: u64,
    },
    /// A text that is an event, unless it is damaged.
    Text(Text<'r>),
    /// There is nothing more.
    End,
}

/// Why a file is no log.
#[derive(Debug)]
pub(super) enum Foreign {
    Failed(SplitError),
    Empty,
    /// It begins with these bytes.
    Begins(Vec<u8>),
}

/// How the records of a log stand in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A JSON text sequence (RFC 7464).
    Sequence,
    /// JSON lines.
    Lines,
    /// One JSON object with its traces.
    Object,
}

/// The texts of a file.
pub(super) enum Records {
    Split {
        split: Split<Input>,
        /// A header that was read already.
        header: Option<Vec<u8>>,
    },
    Contained(Contained<Input>),
}

/// The byte order mark, which some writers put first.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The next byte, which is not taken.
fn next_byte(input: &mut Input) -> io::Result<Option<u8>> {
    Ok(input.fill_buf()?.first().copied())
}

/// The first eight bytes, of which some were read already.
fn begins(mut bytes: Vec<u8>, input: &mut Input) -> Foreign {
    let more = 8 - bytes.len() as u64;
    match input.take(more).read_to_end(&mut bytes) {
        Ok(_) => Foreign::Begins(bytes),
        Err(error) => Foreign::Failed(SplitError::Read(error)),
    }
}

impl Records {
    /// Finds out what kind of file it is.
    pub(super) fn new(mut input: Input) -> Result<Self, Foreign> {
        let failed = |error| Foreign::Failed(SplitError::Read(error));
        let mut reached = 0;
        // A pipe may bring these bytes one by one.
        let mut mark = Vec::new();
        while mark.len() < MARK.len()
            && next_byte(&mut input).map_err(failed)? == Some(MARK[mark.len()])
        {
            mark.push(MARK[mark.len()]);
            input.consume(1);
            reached += 1;
        }
        if !mark.is_empty() && mark.len() < MARK.len() {
            return Err(begins(mark, &mut input));
        }
        let first = loop {
            let Some(first) = next_byte(&mut input).map_err(failed)? else {
                return Err(Foreign::Empty);
            };
            if !first.is_ascii_whitespace() {
                break first;
            }
            input.consume(1);
            reached += 1;
        };
        match first {
            SEPARATOR => Ok(Self::split(input, SEPARATOR, reached, None)),
            b'{' => Self::object(Contained::new(input, reached)),
            _ => Err(begins(Vec::new(), &mut input)),
        }
    }

    fn split(input: Input, delimiter: u8, reached: u64, header: Option<Vec<u8>>) -> Self {
        Self::Split {
            split: Split::new(input, delimiter, reached),
            header,
        }
    }

    /// The first object is a log with its traces, or the first of JSON lines.
    fn object(mut object: Contained<Input>) -> Result<Self, Foreign> {
        match object.advance() {
            Ok(Part::Lone) => {
                let (header, reached) = (object.top(), object.reached());
                Ok(Self::split(
                    object.into_input(),
                    b'\n',
                    reached,
                    Some(header),
                ))
            }
            // An object with traces: its first trace is told by `next`.
            Ok(_) => Ok(Self::Contained(object)),
            Err(error) => Err(Foreign::Failed(error)),
        }
    }

    pub(super) fn format(&self) -> Format {
        match self {
            Self::Split { split, .. } if split.delimiter() == SEPARATOR => Format::Sequence,
            Self::Split { .. } => Format::Lines,
            Self::Contained(_) => Format::Object,
        }
    }

    /// Whether it is an object with a list of traces that has none.
    pub(super) fn lacks_traces(&self) -> bool {
        matches!(self, Self::Contained(object) if !object.has_trace())
    }

    /// The offset that was reached.
    pub(super) fn reached(&self) -> u64 {
        match self {
            Self::Split { split, .. } => split.reached(),
            Self::Contained(object) => object.reached(),
        }
    }

    /// The first text, which should be a header.
    pub(super) fn first(&mut self) -> Result<Found<'_>, SplitError> {
        match self {
            Self::Split { split, header } => {
                if let Some(top) = header.take() {
                    let (trace, byte) = (None, 0);
                    return Ok(Found::Header { top, trace, byte });
                }
                Ok(match split.next_text()? {
                    Some(text) => Found::Header {
                        top: text.bytes.to_vec(),
                        trace: None,
                        byte: text.byte,
                    },
                    None => Found::End,
                })
            }
            Self::Contained(object) => Ok(Found::Header {
                top: object.top(),
                trace: Some(object.trace()),
                byte: object.reached(),
            }),
        }
    }

    /// The next text.
    pub(super) fn next(&mut self) -> Result<Found<'_>, SplitError> {
        match self {
            Self::Split { split, .. } => Ok(match split.next_text()? {
                Some(text) => Found::Text(text),
                None => Found::End,
            }),
            Self::Contained(object) => Ok(match object.advance()? {
                Part::Event => Found::Text(object.event()),
                Part::Trace => Found::Header {
                    top: object.top(),
                    trace: Some(object.trace()),
                    byte: object.reached(),
                },
                Part::Lone | Part::End => Found::End,
            }),
        }
    }
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records")
            .field("reached", &self.reached())
            .finish_non_exhaustive()
    }
}
