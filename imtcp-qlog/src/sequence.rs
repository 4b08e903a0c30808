//! JSON text sequences (RFC 7464): texts, each behind a separator.

use std::io::{self, BufRead, Read};

/// Stands before each text.
pub const SEPARATOR: u8 = 0x1e;

/// The longest text that is read, in bytes. quiche's longest are a thousand times shorter. It
/// bounds the memory that a file without separators takes.
pub const LONGEST_TEXT: usize = 16 << 20;

/// Why there is no next text.
#[derive(Debug, thiserror::Error)]
pub enum SequenceError {
    /// The input failed.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// It does not begin as a sequence does.
    #[error(
        "this is not a qlog in JSON-SEQ: it starts with the byte {0:#04x}, not with the record \
         separator {SEPARATOR:#04x}"
    )]
    NotASequence(u8),
    /// A text is longer than that.
    #[error("a record is longer than {LONGEST_TEXT} bytes")]
    TooLong,
}

/// A text and where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'s> {
    /// The text between two separators, without the white space around it.
    pub bytes: &'s [u8],
    /// The line of the input on which it begins, from 1.
    pub line: u64,
    /// Nothing comes after it, not even the line feed that ends a text. So it may have been cut
    /// off.
    pub open: bool,
}

/// Splits an input into its texts.
#[derive(Debug)]
pub struct Sequence<R> {
    input: R,
    buffer: Vec<u8>,
    /// The line on which the buffer's first byte stands.
    line: u64,
    started: bool,
}

impl<R: BufRead> Sequence<R> {
    /// Nothing is read yet.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            line: 1,
            started: false,
        }
    }

    /// The line that has been reached, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The next text; `None` at the end. White space between separators is no text.
    ///
    /// # Errors
    /// See [`SequenceError`]; a sequence that failed has to be given up.
    pub fn next_text(&mut self) -> Result<Option<Text<'_>>, SequenceError> {
        if !self.started {
            self.skip_first_separator()?;
            self.started = true;
        }
        loop {
            self.line += newlines(&self.buffer);
            self.buffer.clear();
            let limit = u64::try_from(LONGEST_TEXT + 1).unwrap_or(u64::MAX);
            let mut bounded = (&mut self.input).take(limit);
            if bounded.read_until(SEPARATOR, &mut self.buffer)? == 0 {
                return Ok(None);
            }
            let ended = self.buffer.last() == Some(&SEPARATOR);
            if !ended && self.buffer.len() > LONGEST_TEXT {
                return Err(SequenceError::TooLong);
            }
            if !self.content().is_empty() {
                break;
            }
        }
        Ok(Some(Text {
            bytes: self.content(),
            line: self.line,
            open: !matches!(self.buffer.last(), Some(&SEPARATOR | b'\n')),
        }))
    }

    fn content(&self) -> &[u8] {
        let text = self.buffer.strip_suffix(&[SEPARATOR]);
        text.unwrap_or(&self.buffer).trim_ascii()
    }

    fn skip_first_separator(&mut self) -> Result<(), SequenceError> {
        let mut first = [0];
        if self.input.read(&mut first)? == 0 {
            return Err(SequenceError::Empty);
        }
        match first {
            [SEPARATOR] => Ok(()),
            [other] => Err(SequenceError::NotASequence(other)),
        }
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(input: &[u8]) -> Vec<(String, u64, bool)> {
        let mut sequence = Sequence::new(input);
        let mut texts = Vec::new();
        while let Some(text) = sequence.next_text().expect("a sequence") {
            let content = String::from_utf8_lossy(text.bytes).into_owned();
            texts.push((content, text.line, text.open));
        }
        texts
    }

    #[test]
    fn texts_know_their_lines_even_where_they_have_several() {
        let found = texts(b"\x1ea\n\x1eb\nb\n\x1e\x1e\n\x1ec");
        let expected = [("a", 1, false), ("b\nb", 2, false), ("c", 5, true)];
        assert_eq!(
            found,
            expected.map(|(text, line, last)| (text.to_owned(), line, last))
        );
    }

    #[test]
    fn a_separator_alone_is_no_text() {
        assert_eq!(texts(b"\x1e"), []);
        assert_eq!(texts(b"\x1e\n\n"), []);
    }

    #[test]
    fn an_endless_text_is_given_up() {
        let endless = io::Cursor::new([SEPARATOR]).chain(io::repeat(b'x'));
        let mut sequence = Sequence::new(io::BufReader::new(endless));
        let outcome = sequence.next_text().map(|text| text.is_some());
        assert!(
            matches!(outcome, Err(SequenceError::TooLong)),
            "{outcome:?}"
        );
    }
}
