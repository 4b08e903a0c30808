//! Packs series for a page: differences of integers in few bytes each, all of it compressed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use std::io::{self, Write};

/// Where a series is in the packed data.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Place {
    /// The offset of the times; values follow.
    at: usize,
    /// How many points.
    count: usize,
    /// What an integer of the values stands for.
    unit: f64,
}

/// Packed series.
#[derive(Debug, Default)]
pub(super) struct Packer {
    bytes: Vec<u8>,
}

/// Times are whole microseconds.
const TICKS_PER_MS: f64 = 1e3;

impl Packer {
    /// Adds a series whose values are multiples of `unit`.
    pub(super) fn add(&mut self, points: &[(f64, f64)], unit: f64) -> Place {
        let place = Place {
            at: self.bytes.len(),
            count: points.len(),
            unit,
        };
        let times = points.iter().map(|point| point.0 * TICKS_PER_MS);
        self.differences(times);
        self.differences(points.iter().map(|point| point.1 / unit));
        place
    }

    fn differences(&mut self, values: impl Iterator<Item = f64>) {
        let mut last = 0;
        for value in values {
            #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
            let value = value.round() as i64;
            // What is too large for the page's integers is not worth being drawn.
            let value = value.clamp(-MOST, MOST);
            self.number(value - last);
            last = value;
        }
    }

    /// Seven bits at a time, the lowest first; small negative numbers are small, too.
    fn number(&mut self, value: i64) {
        let mut rest = (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned();
        loop {
            let low = u8::try_from(rest & 0x7f).unwrap_or(0);
            rest >>= 7;
            if rest == 0 {
                self.bytes.push(low);
                return;
            }
            self.bytes.push(low | 0x80);
        }
    }

    /// The data as text.
    pub(super) fn finish(self) -> io::Result<String> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&self.bytes)?;
        Ok(STANDARD.encode(encoder.finish()?))
    }
}

/// A number that JavaScript keeps exactly, with room for differences.
const MOST: i64 = 1 << 51;

/// The latest time that is drawn, in milliseconds: 71 years, the most microseconds that a series
/// has. What is later stands there, as the points of series do. With a time of 10^300 ms a browser
/// was busy without an end.
pub(super) const LATEST_MS: f64 = MOST as f64 / TICKS_PER_MS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_differences_take_a_byte() {
        let mut packer = Packer::default();
        let place = packer.add(&[(0.0, 100.0), (0.001, 99.0), (0.063, 163.0)], 1.0);
        // 0, 1, 62; then 100, -1, 64, of which two take two bytes.
        assert_eq!(packer.bytes, [0, 2, 124, 200, 1, 1, 128, 1]);
        assert_eq!((place.at, place.count), (0, 3));
    }
}
