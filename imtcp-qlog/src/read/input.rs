//! The bytes of a file, decompressed if need be.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::{error, fmt};

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

/// An error of what the bytes come from: a disk, a network. Decoders pass it on, and have errors of
/// their own, which are damage of the file.
#[derive(Debug)]
struct SourceFailed(io::Error);

impl fmt::Display for SourceFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl error::Error for SourceFailed {}

/// The source, whose errors can be told from those of decoders.
struct Source<R>(R);

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let marked = |error: io::Error| io::Error::new(error.kind(), SourceFailed(error));
        self.0.read(buffer).map_err(marked)
    }
}

/// Whether a decoder complains, and not the source.
pub(super) fn is_damage(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_none_or(|inner| !inner.is::<SourceFailed>())
}

/// Decompresses gzip and zstd, whatever the file is called. Other bytes pass as they are.
///
/// # Errors
/// The source fails.
pub fn decompressed(source: impl Read + Send + 'static) -> io::Result<Input> {
    let mut source = Source(source);
    // A pipe may bring these bytes one by one.
    let mut start = Vec::new();
    let most = u64::try_from(ZSTD.len()).unwrap_or(0);
    source.by_ref().take(most).read_to_end(&mut start)?;
    let is_gzip = start.starts_with(&GZIP);
    let is_zstd = start.starts_with(&ZSTD);
    let source = BufReader::with_capacity(CHUNK, Cursor::new(start).chain(source));
    if is_gzip {
        let decoder = MultiGzDecoder::new(source);
        return Ok(Box::new(BufReader::with_capacity(CHUNK, decoder)));
    }
    if is_zstd {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(source)?;
        decoder.window_log_max(MOST_WINDOW_LOG)?;
        return Ok(Box::new(BufReader::with_capacity(CHUNK, decoder)));
    }
    Ok(Box::new(source))
}
