//! Reads frames: plain ones as ever, and ACK_RECEIVE_TIMESTAMPS as an ACK frame with a list beside
//! it.

use std::cmp::Reverse;

use octets::Octets;

use super::codec;
use super::Parameters;
use crate::cc::ReceiveTime;
use crate::frame;
use crate::frame::Frame;
use crate::packet::Type;
use crate::Error;
use crate::Result;

/// Reads the frames of received packets.
///
/// The frame becomes an ordinary [`Frame::ACK`], so that it is acknowledged, logged and counted by
/// the code that does it for ACK frames; the times are kept here until the next frame.
pub(super) struct Reader {
    /// What this endpoint asked for.
    asked: Parameters,
    /// What the last frame said; the memory is kept.
    times: Vec<ReceiveTime>,
}

impl Reader {
    pub(super) fn new(asked: Parameters) -> Self {
        Self {
            asked,
            times: Vec::new(),
        }
    }

    /// The times that the last frame brought, by ascending packet number, each packet once.
    pub(super) fn times(&self) -> &[ReceiveTime] {
        &self.times
    }

    /// Reads the next frame of a packet of type `ty`.
    ///
    /// # Errors
    /// Those of [`Frame::from_bytes()`], of [`codec::decode()`], and [`Error::InvalidPacket`]
    /// (PROTOCOL_VIOLATION; RFC 9000, section 12.4) for timestamps outside 1-RTT packets.
    pub(super) fn read_frame(&mut self, payload: &mut Octets, ty: Type) -> Result<Frame> {
        self.times.clear();
        let Some(ack_type) = self.ack_type(payload)? else {
            return Frame::from_bytes(payload, ty);
        };
        if ty != Type::Short {
            return Err(Error::InvalidPacket);
        }
        payload.skip(codec::TYPE_LEN)?;
        // quiche reports a frame that is cut off as a PROTOCOL_VIOLATION; it is an encoding error.
        let ack = frame::parse_ack_frame(ack_type, payload).map_err(|_| Error::InvalidFrame)?;
        if let Frame::ACK { ranges, .. } = &ack {
            let largest_acked = ranges.last().ok_or(Error::InvalidFrame)?;
            codec::decode(payload, largest_acked, &self.asked, &mut self.times)?;
        }
        self.sort();
        Ok(ack)
    }

    /// The type that the coming frame would have as a plain ACK frame, if it is one of ours, and
    /// we asked for it.
    fn ack_type(&self, payload: &mut Octets) -> Result<Option<u64>> {
        if self.asked.max_per_ack() == 0 {
            return Ok(None);
        }
        let start = payload.off();
        let ty = payload.get_varint();
        let length = payload.off() - start;
        payload.rewind(length)?;
        Ok(match ty {
            // A type has to take the fewest bytes it can (RFC 9000, section 12.4).
            Ok(codec::TYPE) if length == codec::TYPE_LEN => Some(0x02),
            Ok(codec::TYPE_WITH_ECN) if length == codec::TYPE_LEN => Some(0x03),
            _ => None,
        })
    }

    /// Orders the times by packet number. If a packet is named twice, the first mention counts,
    /// which is the later time.
    fn sort(&mut self) {
        // Not the stable sort: it allocates.
        self.times
            .sort_unstable_by_key(|time| (time.packet_number, Reverse(time.since_basis)));
        self.times.dedup_by_key(|time| time.packet_number);
    }
}
