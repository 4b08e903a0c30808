//! A log that is one JSON object: `{..., "traces": [{..., "events": [...]}, ...]}`. It is walked
//! down to its events, which are handed out one by one, so it need not fit into the memory.

use super::sequence::{LONGEST_TEXT, SplitError, Text};
use std::io::BufRead;

/// Where in the object the reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Top,
    Traces,
    Trace,
    Events,
    End,
}

/// What comes next in the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The object is over, and it had no traces: it is a record among JSON lines.
    Lone,
    /// A trace begins, whose events follow.
    Trace,
    /// An event is in the buffer.
    Event,
    /// There is nothing more.
    End,
}

/// Walks an object.
#[derive(Debug)]
pub struct Contained<R> {
    input: R,
    reached: u64,
    level: Level,
    has_traces: bool,
    /// The members of the object but for its traces, as JSON text.
    top: Vec<u8>,
    /// The members of the present trace but for its events, as far as they stand before these.
    trace: Vec<u8>,
    value: Vec<u8>,
    value_at: u64,
}

impl<R: BufRead> Contained<R> {
    /// The object begins with the next byte of `input`, of which `reached` bytes were read.
    pub fn new(input: R, reached: u64) -> Self {
        Self {
            input,
            reached,
            level: Level::Top,
            has_traces: false,
            top: Vec::new(),
            trace: Vec::new(),
            value: Vec::new(),
            value_at: reached,
        }
    }

    /// The offset that was reached.
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// The object without its traces, as JSON text.
    pub fn top(&self) -> Vec<u8> {
        closed(&self.top)
    }

    /// The present trace without its events, as JSON text. Before the first one it has nothing.
    pub fn trace(&self) -> Vec<u8> {
        if self.has_trace() {
            closed(&self.trace)
        } else {
            b"{}".to_vec()
        }
    }

    /// Whether a trace has begun so far.
    pub fn has_trace(&self) -> bool {
        !self.trace.is_empty()
    }

    /// The input behind the object.
    pub fn into_input(self) -> R {
        self.input
    }

    /// The event of the last [`Part::Event`].
    pub fn event(&self) -> Text<'_> {
        Text {
            bytes: &self.value,
            byte: self.value_at,
            open: false,
        }
    }

    /// Goes on to the next event or trace.
    ///
    /// # Errors
    /// The input fails, or ends too early, or the brackets do not match.
    pub fn advance(&mut self) -> Result<Part, SplitError> {
        loop {
            let byte = self.visible()?;
            match (self.level, byte) {
                (Level::End, _) => return Ok(Part::End),
                (Level::Top, None) if self.top.is_empty() => return Ok(Part::End),
                (_, None) => return Err(SplitError::Malformed("the file ends too early")),
                (_, Some(b',')) => self.skip(),
                (Level::Top, Some(b'{')) if self.top.is_empty() => {
                    self.skip();
                    self.top.push(b'{');
                }
                (Level::Top, Some(b'}')) => {
                    self.skip();
                    self.level = Level::End;
                    return Ok(if self.has_traces {
                        Part::End
                    } else {
                        Part::Lone
                    });
                }
                (Level::Top, Some(b'"')) => self.member()?,
                (Level::Traces, Some(b'{')) => {
                    self.skip();
                    self.level = Level::Trace;
                    self.trace.clear();
                    self.trace.push(b'{');
                }
                (Level::Traces, Some(b']')) => self.leave(Level::Top),
                (Level::Trace, Some(b'"')) => {
                    self.member()?;
                    if self.level == Level::Events {
                        return Ok(Part::Trace);
                    }
                }
                (Level::Trace, Some(b'}')) => self.leave(Level::Traces),
                (Level::Events, Some(b']')) => self.leave(Level::Trace),
                (Level::Events, Some(b'{' | b'[')) => {
                    self.value.clear();
                    self.value_at = self.reached;
                    self.take_value()?;
                    return Ok(Part::Event);
                }
                _ => return Err(SplitError::Malformed("a bracket is missing")),
            }
        }
    }

    fn leave(&mut self, level: Level) {
        self.skip();
        self.level = level;
    }

    /// A key and its value. The value is kept, unless it is what this walks through.
    fn member(&mut self) -> Result<(), SplitError> {
        self.value.clear();
        self.take_value()?;
        let key = std::mem::take(&mut self.value);
        if self.visible()? != Some(b':') {
            return Err(SplitError::Malformed("a colon is missing"));
        }
        self.skip();
        let is_array = self.visible()? == Some(b'[');
        match (self.level, key.as_slice()) {
            (Level::Top, b"\"traces\"") if is_array => {
                self.has_traces = true;
                self.leave(Level::Traces);
            }
            (Level::Trace, b"\"events\"") if is_array => self.leave(Level::Events),
            (level, _) => {
                self.take_value()?;
                let members = match level {
                    Level::Top => &mut self.top,
                    _ => &mut self.trace,
                };
                if members.len() + self.value.len() > LONGEST_TEXT {
                    return Err(SplitError::TooLong);
                }
                if members.len() > 1 {
                    members.push(b',');
                }
                members.extend_from_slice(&key);
                members.push(b':');
                members.append(&mut self.value);
            }
        }
        Ok(())
    }

    /// The next byte that is no white space, which is not taken.
    fn visible(&mut self) -> Result<Option<u8>, SplitError> {
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let skipped = chunk.iter().take_while(|byte| byte.is_ascii_whitespace());
            let skipped = skipped.count();
            let found = chunk.get(skipped).copied();
            self.input.consume(skipped);
            self.reached += skipped as u64;
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    fn skip(&mut self) {
        self.input.consume(1);
        self.reached += 1;
    }

    /// Appends the value that begins with the next byte to `self.value`. Whether it is JSON
    /// through and through is found out by whoever reads it.
    fn take_value(&mut self) -> Result<(), SplitError> {
        let mut scan = Scan::default();
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Err(SplitError::Malformed("the file ends too early"));
            }
            let (taken, is_over) = scan.take(chunk);
            self.value.extend_from_slice(&chunk[..taken]);
            self.input.consume(taken);
            self.reached += taken as u64;
            if is_over {
                return Ok(());
            }
            if self.value.len() > LONGEST_TEXT {
                return Err(SplitError::TooLong);
            }
        }
    }
}

fn closed(members: &[u8]) -> Vec<u8> {
    let mut text = members.to_vec();
    text.push(b'}');
    text
}

/// Finds the end of a value.
#[derive(Debug, Default)]
struct Scan {
    depth: u32,
    in_string: bool,
    escaped: bool,
    began: bool,
}

impl Scan {
    /// How many bytes of `chunk` belong to the value, and whether it ends with them.
    fn take(&mut self, chunk: &[u8]) -> (usize, bool) {
        for (at, byte) in chunk.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return (at + 1, true);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' | b',' if self.depth == 0 => return (at, true),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (at + 1, true);
                    }
                }
                byte if self.depth == 0 && self.began && byte.is_ascii_whitespace() => {
                    return (at, true);
                }
                _ => {}
            }
            self.began = true;
        }
        (chunk.len(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    const LOG: &str = r#" {"qlog_version":"0.3","traces":[{"title":"a]}\"","events":
        [{"time":1,"data":{"x":[1,2]}}, [0,"transport","packet_sent",{}] ],"vantage_point":{}},
        {"events":[{"time":2}]}],"description":null} "#;

    /// The parts of a log, read in pieces of `size` bytes.
    fn parts(text: &str, size: usize) -> Result<Vec<String>, SplitError> {
        let mut log = Contained::new(BufReader::with_capacity(size, text.as_bytes()), 0);
        let mut parts = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        loop {
            parts.push(match log.advance()? {
                Part::Trace => text(&log.trace()),
                Part::Event => text(log.event().bytes),
                Part::Lone | Part::End => {
                    parts.push(text(&log.top()));
                    return Ok(parts);
                }
            });
        }
    }

    #[test]
    fn events_come_one_by_one_however_the_file_is_cut_into_pieces() {
        let expected = [
            r#"{"title":"a]}\""}"#,
            r#"{"time":1,"data":{"x":[1,2]}}"#,
            r#"[0,"transport","packet_sent",{}]"#,
            "{}",
            r#"{"time":2}"#,
            r#"{"qlog_version":"0.3","description":null}"#,
        ];
        for size in [1, 2, 7, 64, 4096] {
            assert_eq!(parts(LOG, size).expect("it is whole"), expected, "{size}");
        }
    }

    #[test]
    fn a_log_that_is_cut_off_says_so() {
        for length in 2..LOG.trim_end().len() {
            let outcome = parts(&LOG[..length], 64);
            assert!(
                matches!(outcome, Err(SplitError::Malformed(_))),
                "{length}: {outcome:?}"
            );
        }
    }
}
