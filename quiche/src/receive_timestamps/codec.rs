//! The Receive Timestamps field of an ACK_RECEIVE_TIMESTAMPS frame (draft-ietf-quic-receive-ts-02,
//! section 4.1).
//!
//! The field has ranges of packets that came one after the other, the latest first. A range counts
//! down from its first packet number. Times go down throughout, so each is written as its
//! difference from the one before, and the very first as it is.

use std::time::Duration;

use octets::varint_len;
use octets::Octets;
use octets::OctetsMut;

use super::Parameters;
use crate::cc::ReceiveTime;
use crate::Error;
use crate::Result;

/// Frame type without ECN counts.
pub(super) const TYPE: u64 = 0x0317_8307;
/// Frame type with ECN counts.
pub(super) const TYPE_WITH_ECN: u64 = 0x0317_8308;
/// Bytes that either type takes.
pub(super) const TYPE_LEN: usize = 4;

/// When a packet arrived, in the unit that its sender asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The packet's number.
    pub packet_number: u64,
    /// Units since the origin, rounded down.
    pub ticks: u64,
}

/// How many of `stamps`, from the first, take no more than `room` bytes.
pub(super) fn fitting(largest_acked: u64, stamps: &[Stamp], room: usize) -> usize {
    // What is complete: numbers of ranges and deltas. The two counts may still grow by a byte.
    let mut bytes = 0;
    let (mut ranges, mut count) = (0, 0);
    for (index, stamp) in stamps.iter().enumerate() {
        let previous = index.checked_sub(1).map(|previous| stamps[previous]);
        if previous.is_some_and(|previous| follows(&previous, stamp)) {
            count += 1;
        } else {
            if ranges > 0 {
                bytes += varint_len(count);
            }
            (ranges, count) = (ranges + 1, 1);
            bytes += varint_len(largest_acked.saturating_sub(stamp.packet_number));
        }
        let delta = match previous {
            Some(previous) => previous.ticks.saturating_sub(stamp.ticks),
            None => stamp.ticks,
        };
        bytes += varint_len(delta);
        if varint_len(ranges) + bytes + varint_len(count) > room {
            return index;
        }
    }
    stamps.len()
}

/// Whether `next` belongs into the range of `stamp`.
fn follows(stamp: &Stamp, next: &Stamp) -> bool {
    stamp.packet_number.checked_sub(1) == Some(next.packet_number)
}

/// Writes `stamps`, which have to be in descending order of time, and none above `largest_acked`.
///
/// # Errors
/// [`Error::BufferTooShort`]; [`Error::InvalidState`] when they are not.
pub(super) fn encode(b: &mut OctetsMut, largest_acked: u64, stamps: &[Stamp]) -> Result<()> {
    let ranges = || stamps.chunk_by(follows);
    b.put_varint(ranges().count() as u64)?;
    let mut previous: Option<u64> = None;
    for range in ranges() {
        let first = largest_acked.checked_sub(range[0].packet_number);
        b.put_varint(first.ok_or(Error::InvalidState)?)?;
        b.put_varint(range.len() as u64)?;
        for stamp in range {
            let delta = match previous {
                Some(previous) => previous.checked_sub(stamp.ticks),
                None => Some(stamp.ticks),
            };
            b.put_varint(delta.ok_or(Error::InvalidState)?)?;
            previous = Some(stamp.ticks);
        }
    }
    Ok(())
}

/// Reads the field and adds what it says to `times`, in the order of the frame. Memory grows with
/// what has been read, never with what a count promises.
///
/// # Errors
/// [`Error::InvalidFrame`] (FRAME_ENCODING_ERROR) when it ends too early, or names a packet below
/// number 0, or a time before the origin or too large for 64 bits of microseconds.
///
/// [`Error::InvalidPacket`] (PROTOCOL_VIOLATION) when it has more timestamps than `asked` allows.
/// The draft does not say which error this is; such a frame is well formed and breaks an agreement,
/// as a DATAGRAM frame above the agreed size does, which is a PROTOCOL_VIOLATION (RFC 9221, section
/// 3).
pub(super) fn decode(
    b: &mut Octets,
    largest_acked: u64,
    asked: &Parameters,
    times: &mut Vec<ReceiveTime>,
) -> Result<()> {
    let mut allowed = asked.max_per_ack();
    let mut previous: Option<u64> = None;
    for _ in 0..varint(b)? {
        let delta_largest = varint(b)?;
        let largest = largest_acked
            .checked_sub(delta_largest)
            .ok_or(Error::InvalidFrame)?;
        let count = varint(b)?;
        allowed = allowed.checked_sub(count).ok_or(Error::InvalidPacket)?;
        for offset in 0..count {
            let packet_number = largest.checked_sub(offset).ok_or(Error::InvalidFrame)?;
            let delta = varint(b)?;
            let ticks = match previous {
                Some(previous) => previous.checked_sub(delta).ok_or(Error::InvalidFrame)?,
                None => delta,
            };
            previous = Some(ticks);
            times.push(ReceiveTime {
                packet_number,
                since_basis: to_duration(ticks, asked.exponent())?,
            });
        }
    }
    Ok(())
}

fn varint(b: &mut Octets) -> Result<u64> {
    b.get_varint().map_err(|_| Error::InvalidFrame)
}

fn to_duration(ticks: u64, exponent: u32) -> Result<Duration> {
    ticks
        .checked_mul(1 << exponent)
        .map(Duration::from_micros)
        .ok_or(Error::InvalidFrame)
}
