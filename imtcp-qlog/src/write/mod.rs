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
pub(crate) use header::FORMAT;
pub use level::Level;

use crate::read::LONGEST_TEXT;
use encoder::Encoder;
use level::Filter;
use order::Order;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The end of each record that quiche writes. Its JSON has no other line feed.
const END: u8 = b'\n';

/// Takes the records of quiche's qlog, one or a part of one at a time.
///
/// The log is complete when the writer is dropped, or after [`Writer::finish`], which tells errors.
/// A compressed log that was cut off can be read as far as the last [`Write::flush`], at least, but
/// for the last records before it: up to 64 wait until nothing can overtake them any more, and so
/// do metrics that are not due yet.
///
/// After the first error the writer takes nothing more, and says so each time.
pub struct Writer<W: Write> {
    /// `None` when finished, and after an error.
    sink: Option<Encoder<W>>,
    outcome: Outcome,
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
            outcome: Outcome::default(),
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

    /// What becomes of the log, for whoever gives the writer away.
    pub fn outcome(&self) -> Outcome {
        self.outcome.clone()
    }

    /// Completes the log.
    ///
    /// # Errors
    /// The sink fails, or failed before.
    pub fn finish(mut self) -> io::Result<()> {
        self.complete()
    }

    fn complete(&mut self) -> io::Result<()> {
        let Some(mut sink) = self.sink.take() else {
            return self.outcome.result();
        };
        let written = self.write_rest(&mut sink).and_then(|()| sink.finish());
        self.settled(written)
    }

    fn write_rest(&mut self, sink: &mut Encoder<W>) -> io::Result<()> {
        if let Some(last) = self.filter.finish()
            && let Some(before) = self.order.take(last)
        {
            sink.write_all(&before)?;
        }
        for record in self.order.finish() {
            sink.write_all(&record)?;
        }
        // A last record that was cut off stays as it is: readers know what to do with it.
        sink.write_all(&std::mem::take(&mut self.pending))
    }

    /// Takes bytes that end no record.
    fn take_part(&mut self, part: &[u8]) -> io::Result<()> {
        if self.pending.len() + part.len() > LONGEST_TEXT {
            let problem = format!("a record is longer than {LONGEST_TEXT} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        self.pending.extend_from_slice(part);
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == END) {
            self.take_part(&rest[..=end])?;
            rest = &rest[end + 1..];
            self.take_record()?;
        }
        self.take_part(rest)
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

    /// Gives up if something failed: what is kept would only grow.
    fn settled<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            self.outcome.fail(error);
            self.sink = None;
            self.pending = Vec::new();
            self.order = Order::default();
        }
        result
    }
}

/// What became of a log whose writer was given away. It is known when the writer is dropped.
#[derive(Clone, Debug, Default)]
pub struct Outcome(Arc<OnceLock<(io::ErrorKind, String)>>);

impl Outcome {
    fn fail(&self, error: &io::Error) {
        // The first error counts.
        let _ = self.0.set((error.kind(), error.to_string()));
    }

    /// Whether all was written so far.
    ///
    /// # Errors
    /// The first error of the sink.
    pub fn result(&self) -> io::Result<()> {
        match self.0.get() {
            Some((kind, problem)) => Err(io::Error::new(*kind, problem.clone())),
            None => Ok(()),
        }
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
        self.outcome.result()?;
        let taken = self.take(bytes);
        self.settled(taken).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.outcome.result()?;
        let flushed = self.sink.as_mut().map_or(Ok(()), Encoder::flush);
        self.settled(flushed)
    }
}

impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        // Whoever kept the outcome learns of an error.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Takes so many bytes, and no more.
    #[derive(Clone)]
    struct Small(Arc<Mutex<usize>>);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut room = self.0.lock().expect("one thread");
            if *room < bytes.len() {
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            *room -= bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn small(room: usize, compression: Compression) -> Writer<Small> {
        let sink = Small(Arc::new(Mutex::new(room)));
        Writer::new(sink, Level::All, compression).expect("nothing is written yet")
    }

    #[test]
    fn a_writer_gives_up_after_the_first_error_and_keeps_nothing() {
        let mut writer = small(1000, Compression::None);
        let outcome = writer.outcome();
        let record = b"\x1e{\"time\":1,\"name\":\"quic:packet_lost\",\"data\":{}}\n";
        let mut failures = 0;
        for _ in 0..10_000 {
            failures += u32::from(writer.write(record).is_err());
        }
        assert!(failures > 9_000, "{failures}");
        let held = writer.pending.capacity();
        assert!(held < 1000 && writer.order.finish().count() == 0, "{held}");
        let kind = |result: io::Result<()>| result.map_err(|error| error.kind());
        assert_eq!(kind(outcome.result()), Err(io::ErrorKind::StorageFull));
        assert_eq!(kind(writer.finish()), Err(io::ErrorKind::StorageFull));
    }

    #[test]
    fn an_error_at_the_end_is_known_to_whoever_asks() {
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            let mut writer = small(20, compression);
            let outcome = writer.outcome();
            let record = b"\x1e{\"time\":1,\"name\":\"quic:packet_lost\",\"data\":{}}";
            writer.write_all(record).expect("it waits");
            assert!(outcome.result().is_ok());
            drop(writer);
            assert!(outcome.result().is_err(), "{compression:?}");
        }
    }

    #[test]
    fn a_record_without_an_end_is_given_up() {
        let mut writer = Writer::new(io::sink(), Level::All, Compression::None).expect("a sink");
        let chunk = vec![b'x'; 1 << 20];
        let taken = (0..20).take_while(|_| writer.write(&chunk).is_ok()).count();
        assert_eq!(taken, LONGEST_TEXT >> 20);
        assert_eq!(writer.pending.capacity(), 0);
    }
}
