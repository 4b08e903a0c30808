//! Writes qlogs: takes what quiche writes, and makes of it a log that is smaller, and to the
//! letter of the newest drafts (draft-ietf-quic-qlog-main-schema-15, quic-events-14).
//!
//! ```
//! use imtcp_qlog::write::{Compression, Level, Writer};
//!
//! # fn main() -> std::io::Result<()> {
//! let file = Vec::new(); // or a file: `create` opens one
//! let writer = Writer::new(file, Level::Packets, Compression::Zstd)?;
//! // connection.set_qlog(Box::new(writer), title, description);
//! # drop(writer);
//! # Ok(())
//! # }
//! ```

mod encoder;
mod header;
mod level;
mod order;
mod record;

pub use encoder::Compression;
pub use level::Level;

use encoder::Encoder;
use level::Filter;
use order::Order;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The end of each record that quiche writes. Its JSON has no other line feed.
const END: u8 = b'\n';

/// Takes the records of quiche's qlog, one or a part of one at a time.
///
/// The log is complete when the writer is dropped, or after [`Writer::finish`], which tells errors.
/// A compressed log that was cut off can be read as far as the last [`Write::flush`], at least.
pub struct Writer<W: Write> {
    /// `None` when finished.
    sink: Option<Encoder<W>>,
    filter: Filter,
    order: Order,
    /// A record that is not complete yet.
    pending: Vec<u8>,
    is_header: bool,
}

impl<W: Write> Writer<W> {
    /// Writes to `sink`.
    ///
    /// # Errors
    /// The sink fails.
    pub fn new(sink: W, level: Level, compression: Compression) -> io::Result<Self> {
        Ok(Self {
            sink: Some(Encoder::new(sink, compression)?),
            filter: Filter::new(level),
            order: Order::default(),
            pending: Vec::new(),
            is_header: true,
        })
    }

    /// The same for a connection with a controller of quiche's own. Those log their pacing rate in
    /// bytes per second, and the draft wants bits, as controllers that are plugged in log it.
    #[must_use]
    pub fn of_quiches_controller(mut self) -> Self {
        self.filter.paces_in_bytes = true;
        self
    }

    /// Completes the log.
    ///
    /// # Errors
    /// The sink fails.
    pub fn finish(mut self) -> io::Result<()> {
        self.complete()
    }

    fn complete(&mut self) -> io::Result<()> {
        let Some(mut sink) = self.sink.take() else {
            return Ok(());
        };
        if let Some(last) = self.filter.finish()
            && let Some(before) = self.order.take(last)
        {
            sink.write_all(&before)?;
        }
        for record in self.order.finish() {
            sink.write_all(&record)?;
        }
        // A last record that was cut off stays as it is: readers know what to do with it.
        sink.write_all(&std::mem::take(&mut self.pending))?;
        sink.finish()
    }

    fn take_record(&mut self) -> io::Result<()> {
        let Some(sink) = &mut self.sink else {
            return Err(io::Error::other("the log is complete"));
        };
        if self.is_header {
            self.is_header = false;
            sink.write_all(&header::conformant(&self.pending))?;
        } else {
            let order = &mut self.order;
            self.filter
                .take(&self.pending, |record| match order.take(record.to_vec()) {
                    Some(before) => sink.write_all(&before),
                    None => Ok(()),
                })?;
        }
        self.pending.clear();
        Ok(())
    }
}

/// Creates a file, or empties it, and writes there. [`Compression::suffix`] has the ending of its
/// name.
///
/// # Errors
/// The file cannot be created.
pub fn create(
    path: &Path,
    level: Level,
    compression: Compression,
) -> io::Result<Writer<BufWriter<File>>> {
    Writer::new(BufWriter::new(File::create(path)?), level, compression)
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == END) {
            self.pending.extend_from_slice(&rest[..=end]);
            rest = &rest[end + 1..];
            self.take_record()?;
        }
        self.pending.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.as_mut().map_or(Ok(()), Encoder::flush)
    }
}

impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        let _ = self.complete();
    }
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("pending", &self.pending.len())
            .finish_non_exhaustive()
    }
}
