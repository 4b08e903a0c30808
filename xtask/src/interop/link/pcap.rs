//! A capture file: the classic format of pcap with nanoseconds, of IP packets without a link layer.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

/// Times in nanoseconds, in this machine's order of bytes.
const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: [u16; 2] = [2, 4];
/// The longest packet.
const SNAP: u32 = 65_535;
/// `LINKTYPE_RAW`: IPv4 or IPv6, as its first byte says.
const RAW: u32 = 101;

/// A capture that is being written.
pub struct Capture(BufWriter<File>);

impl Capture {
    /// Creates the file.
    pub fn create(path: &Path) -> Result<Self> {
        let begin = || -> io::Result<Self> {
            let mut file = BufWriter::new(File::create(path)?);
            file.write_all(&MAGIC.to_ne_bytes())?;
            for part in VERSION {
                file.write_all(&part.to_ne_bytes())?;
            }
            for part in [0, 0, SNAP, RAW] {
                file.write_all(&part.to_ne_bytes())?;
            }
            Ok(Self(file))
        };
        begin().with_context(|| format!("cannot create {}", path.display()))
    }

    /// Adds a packet, seen at a time since 1970.
    pub fn add(&mut self, at: Duration, packet: &[u8]) -> io::Result<()> {
        let seconds = u32::try_from(at.as_secs()).unwrap_or(u32::MAX);
        let length = u32::try_from(packet.len()).unwrap_or(SNAP);
        for part in [seconds, at.subsec_nanos(), length, length] {
            self.0.write_all(&part.to_ne_bytes())?;
        }
        self.0.write_all(packet)
    }

    /// Completes the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}
