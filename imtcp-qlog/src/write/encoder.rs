//! Compresses while writing.

use clap::ValueEnum;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// How a log is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// By gzip, which everything can read.
    Gzip,
    /// By zstd, which is faster and smaller.
    Zstd,
}

impl Compression {
    /// The ending of the names of such files.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::None => ".sqlog",
            Self::Gzip => ".sqlog.gz",
            Self::Zstd => ".sqlog.zst",
        }
    }
}

/// zstd's fastest regular level. The next ones cost more and save little on records like these.
const ZSTD_LEVEL: i32 = 1;

pub(super) enum Encoder<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> Encoder<W> {
    pub(super) fn new(sink: W, compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::None => Self::Plain(sink),
            Compression::Gzip => {
                // Without a time in the header: the same run writes the same file.
                Self::Gzip(GzEncoder::new(sink, flate2::Compression::fast()))
            }
            Compression::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(sink, ZSTD_LEVEL)?),
        })
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut sink) => sink.flush(),
            Self::Gzip(encoder) => encoder.finish()?.flush(),
            Self::Zstd(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(sink) => sink.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(sink) => sink.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}
