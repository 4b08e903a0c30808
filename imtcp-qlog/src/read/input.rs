//! The bytes of a file, decompressed if need be.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// How much is read at once.
const CHUNK: usize = 1 << 17;

/// The first bytes of a gzip member (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The first bytes of a zstd frame (RFC 8878, section 3.1.1).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The largest window of a zstd frame that is accepted, as a power of two: 128 MiB, which
/// `zstd --long` needs. It bounds the memory that a file can take.
const MOST_WINDOW_LOG: u32 = 27;

/// A source of bytes, decompressed.
pub type Input = Box<dyn BufRead + Send>;

/// Decompresses gzip and zstd, whatever the file is called. Other bytes pass as they are.
///
/// # Errors
/// The source fails.
pub fn decompressed(source: impl Read + Send + 'static) -> io::Result<Input> {
    let mut source = BufReader::with_capacity(CHUNK, source);
    let start = peek(&mut source)?;
    if start.starts_with(&GZIP) {
        let decoder = MultiGzDecoder::new(source);
        return Ok(Box::new(BufReader::with_capacity(CHUNK, decoder)));
    }
    if start.starts_with(&ZSTD) {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(source)?;
        decoder.window_log_max(MOST_WINDOW_LOG)?;
        return Ok(Box::new(BufReader::with_capacity(CHUNK, decoder)));
    }
    Ok(Box::new(source))
}

fn peek(source: &mut impl BufRead) -> io::Result<[u8; 4]> {
    let start = source.fill_buf()?;
    let mut first = [0; 4];
    let known = start.len().min(first.len());
    first[..known].copy_from_slice(&start[..known]);
    Ok(first)
}
