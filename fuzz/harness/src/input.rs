//! Bytes as a list of choices, and back.
//!
//! Numbers are QUIC's variable-length integers (RFC 9000, section 16), on which an engine that
//! flips bits and splices bytes does well: one byte for what is small, eight for what is extreme.

use std::time::{Duration, Instant};

/// The largest number that an input can name.
pub const LARGEST: u64 = (1 << 62) - 1;

/// Reads choices off an input. Each returns `None` when the input is at its end.
#[derive(Debug)]
pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    /// From the first byte on.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    /// The next number, at most [`LARGEST`].
    pub fn number(&mut self) -> Option<u64> {
        let first = *self.rest.first()?;
        let (encoded, rest) = self.rest.split_at_checked(1 << (first >> 6))?;
        self.rest = rest;
        let whole = encoded
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        // The two bits that tell the length are not part of it.
        Some(whole & (u64::MAX >> (64 - 8 * encoded.len() + 2)))
    }

    /// The next number, brought below `limit`, which is not zero.
    pub fn below(&mut self, limit: u64) -> Option<u64> {
        Some(self.number()? % limit)
    }

    /// The next number, in microseconds.
    pub fn micros(&mut self) -> Option<Duration> {
        self.number().map(Duration::from_micros)
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
}

/// Writes what [`Input`] reads: for seeds.
#[derive(Clone, Debug, Default)]
pub struct Output {
    bytes: Vec<u8>,
}

impl Output {
    /// Nothing written.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes as they are.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Adds numbers, each in the fewest bytes. Above [`LARGEST`] they are cut.
    #[must_use]
    pub fn numbers(mut self, numbers: &[u64]) -> Self {
        for number in numbers {
            let number = (*number).min(LARGEST);
            let (prefix, length) = match number {
                0..0x40 => (0, 1),
                0x40..0x4000 => (1, 2),
                0x4000..0x4000_0000 => (2, 4),
                _ => (3, 8),
            };
            let encoded = (number | prefix << (8 * length - 2)).to_be_bytes();
            self.bytes.extend_from_slice(&encoded[8 - length..]);
        }
        self
    }

    /// Adds the same again and again, told which time it is.
    #[must_use]
    pub fn repeat(self, times: u64, mut more: impl FnMut(Self, u64) -> Self) -> Self {
        (0..times).fold(self, &mut more)
    }

    /// What was written.
    pub fn done(self) -> Vec<u8> {
        self.bytes
    }
}

/// An instant to count from. Which one it is changes nothing: all times are differences to it.
#[allow(clippy::disallowed_methods, reason = "only differences to it are used")]
pub fn origin() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let numbers = [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, LARGEST];
        let bytes = Output::new().numbers(&numbers).bytes(&[7]).done();
        let mut input = Input::new(&bytes);
        for number in numbers {
            assert_eq!(input.number(), Some(number));
        }
        assert_eq!((input.byte(), input.byte()), (Some(7), None));
        assert_eq!(Input::new(&[0x40]).number(), None, "cut off");
    }
}
