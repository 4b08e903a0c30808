//! JSON text sequences (RFC 7464), and JSON lines: texts behind separators, or before line feeds.

use std::io::{self, BufRead, Read};

/// Stands before each text of a sequence.
pub const SEPARATOR: u8 = 0x1e;

/// The longest text that is read, in bytes. quiche's longest are a thousand times shorter. It
/// bounds the memory that a file without separators takes.
pub const LONGEST_TEXT: usize = 16 << 20;

/// Why there is no next text.
#[derive(Debug, thiserror::Error)]
pub enum SplitError {
    /// The input failed.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// A text is longer than that.
    #[error("a record is longer than {LONGEST_TEXT} bytes")]
    TooLong,
    /// The brackets of a contained log do not match.
    #[error("this is not JSON: {0}")]
    Malformed(&'static str),
}

/// A text and where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'s> {
    /// The text, without the white space around it.
    pub bytes: &'s [u8],
    /// The offset at which it was found.
    pub byte: u64,
    /// Nothing comes after it, not even the line feed that ends a text. So it may have been cut
    /// off.
    pub open: bool,
}

/// Splits an input at a byte.
#[derive(Debug)]
pub struct Split<R> {
    input: R,
    buffer: Vec<u8>,
    delimiter: u8,
    /// The offset of the first byte behind the buffer.
    reached: u64,
}

impl<R: BufRead> Split<R> {
    /// Splits what is left of `input`, of which `reached` bytes were read.
    pub fn new(input: R, delimiter: u8, reached: u64) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            delimiter,
            reached,
        }
    }

    /// The offset that was reached.
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// What the input is split at.
    pub fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// The next text; `None` at the end. White space between delimiters is no text.
    ///
    /// # Errors
    /// See [`SplitError`]; an input that failed has to be given up.
    pub fn next_text(&mut self) -> Result<Option<Text<'_>>, SplitError> {
        let mut start;
        loop {
            start = self.reached;
            self.buffer.clear();
            let limit = u64::try_from(LONGEST_TEXT + 1).unwrap_or(u64::MAX);
            let mut bounded = (&mut self.input).take(limit);
            // What was read before an error is kept: it is the text that was cut off.
            let outcome = bounded.read_until(self.delimiter, &mut self.buffer);
            self.reached += self.buffer.len() as u64;
            outcome?;
            if self.buffer.is_empty() {
                return Ok(None);
            }
            let ended = self.buffer.last() == Some(&self.delimiter);
            if !ended && self.buffer.len() > LONGEST_TEXT {
                return Err(SplitError::TooLong);
            }
            if !self.content().is_empty() {
                break;
            }
        }
        Ok(Some(Text {
            bytes: self.content(),
            byte: start,
            open: !matches!(self.buffer.last(), Some(&SEPARATOR | b'\n')),
        }))
    }

    fn content(&self) -> &[u8] {
        let text = self.buffer.strip_suffix(&[self.delimiter]);
        let text = text.unwrap_or(&self.buffer).trim_ascii();
        // Some writers put a separator before each line.
        text.strip_prefix(&[SEPARATOR]).unwrap_or(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(input: &[u8]) -> Vec<(String, u64, bool)> {
        let mut sequence = Split::new(input, SEPARATOR, 0);
        let mut texts = Vec::new();
        while let Some(text) = sequence.next_text().expect("a sequence") {
            let content = String::from_utf8_lossy(text.bytes).into_owned();
            texts.push((content, text.byte, text.open));
        }
        texts
    }

    #[test]
    fn texts_know_where_they_begin() {
        let found = texts(b"\x1ea\n\x1eb\nb\n\x1e\x1e\n\x1ec");
        let expected = [("a", 1, false), ("b\nb", 4, false), ("c", 12, true)];
        assert_eq!(
            found,
            expected.map(|(text, byte, open)| (text.to_owned(), byte, open))
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
        let mut sequence = Split::new(io::BufReader::new(endless), SEPARATOR, 0);
        let outcome = sequence.next_text().map(|text| text.is_some());
        assert!(matches!(outcome, Err(SplitError::TooLong)), "{outcome:?}");
    }
}
