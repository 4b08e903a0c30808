//! Reads qlogs one record at a time: JSON text sequences, JSON lines and contained JSON, each of
//! them plain or compressed by gzip or zstd.

mod contained;
mod header;
mod input;
mod log;
mod parse;
mod record;
mod records;
mod sequence;

pub use header::{Dialect, Header, Writer};
pub use input::{Input, decompressed};
pub use log::Log;
pub use record::{Ack, Kind, Metrics, Packet, Record, Space};
pub use records::Format;
pub use sequence::LONGEST_TEXT;
