//! The codec for tests and fuzz targets, on slices.

use std::ops::RangeInclusive;
use std::time::Duration;
use std::time::Instant;

use octets::Octets;
use octets::OctetsMut;

use super::codec;
pub use super::codec::Stamp;
use super::reader::Reader;
use super::recorder::Recorder;
use super::Parameters;
use crate::cc::ReceiveTime;
use crate::packet::Type;
use crate::ranges::RangeSet;
use crate::Result;

/// Parameters that ask for `max_per_ack` timestamps in units of 2^`exponent` microseconds.
pub fn parameters(max_per_ack: u64, exponent: u64) -> Parameters {
    Parameters {
        max_per_ack,
        exponent,
    }
}

/// Reads a sequence of transport parameters as a client would that knows of the extension.
///
/// # Errors
/// [`Error::InvalidTransportParam`](crate::Error::InvalidTransportParam), and quiche's own.
pub fn decode_parameters(raw: &[u8]) -> Result<Parameters> {
    crate::TransportParams::decode(raw, false, None)?;
    Parameters::find(raw)
}

/// The Receive Timestamps field with as many of `stamps`, from the first, as fit `room` bytes.
///
/// # Errors
/// [`Error::InvalidState`](crate::Error::InvalidState) when they are not in descending order of
/// time, or above `largest_acked`.
pub fn encode(largest_acked: u64, stamps: &[Stamp], room: usize) -> Result<Vec<u8>> {
    let count = codec::fitting(largest_acked, stamps, room);
    // An empty field is one byte, whatever the room.
    let mut bytes = vec![0; room.max(1)];
    let mut b = OctetsMut::with_slice(&mut bytes);
    codec::encode(&mut b, largest_acked, &stamps[..count])?;
    let length = b.off();
    bytes.truncate(length);
    Ok(bytes)
}

/// Reads a Receive Timestamps field. Returns the times in its own order, and its length.
///
/// # Errors
/// As the connection would close with.
pub fn decode(
    field: &[u8],
    largest_acked: u64,
    asked: &Parameters,
) -> Result<(Vec<ReceiveTime>, usize)> {
    let mut b = Octets::with_slice(field);
    let mut times = Vec::new();
    codec::decode(&mut b, largest_acked, asked, &mut times)?;
    Ok((times, b.off()))
}

/// Reads the frames of a packet as a connection would that `asked` for timestamps. The packet is a
/// 1-RTT packet, or else a Handshake packet. Returns the times of each frame by packet number.
///
/// # Errors
/// As the connection would close with.
pub fn read_frames(
    payload: &[u8],
    one_rtt: bool,
    asked: &Parameters,
) -> Result<Vec<Vec<ReceiveTime>>> {
    let ty = match one_rtt {
        true => Type::Short,
        false => Type::Handshake,
    };
    let mut b = Octets::with_slice(payload);
    let mut reader = Reader::new(*asked);
    let mut frames = Vec::new();
    while b.cap() > 0 {
        reader.read_frame(&mut b, ty)?;
        frames.push(reader.times().to_vec());
    }
    Ok(frames)
}

/// What one endpoint of a connection remembers of the packets it received.
pub struct Arrivals {
    start: Instant,
    recorder: Recorder,
    asked: Parameters,
}

impl Arrivals {
    /// Nothing has arrived, and the peer has `asked`.
    pub fn new(asked: Parameters) -> Self {
        let start = crate::clock::now();
        Self {
            start,
            recorder: Recorder::new(start),
            asked,
        }
    }

    /// A packet arrives, this long after the origin (which lies a microsecond before the start).
    pub fn on_packet(&mut self, packet_number: u64, since_basis: Duration) {
        let since_start = since_basis.saturating_sub(Duration::from_micros(1));
        self.recorder
            .record(packet_number, self.start + since_start, &self.asked);
    }

    /// What an ACK frame for these packets says, which is sent.
    pub fn on_ack(&mut self, acked: &[RangeInclusive<u64>]) -> Vec<Stamp> {
        let mut ranges = RangeSet::default();
        for range in acked {
            ranges.insert(*range.start()..*range.end() + 1);
        }
        let stamps = self.recorder.stamps(&ranges, &self.asked).to_vec();
        self.recorder.on_ack_sent();
        stamps
    }
}
