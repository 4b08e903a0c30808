//! The extension's part of a connection: what was agreed upon, times in, times out.

use octets::Octets;
use octets::OctetsMut;
use smallvec::SmallVec;
use std::time::Instant;

use super::codec;
use super::codec::TYPE;
use super::codec::TYPE_LEN;
use super::codec::TYPE_WITH_ECN;
use super::reader::Reader;
use super::recorder::Recorder;
use super::Parameters;
use super::Settings;
use crate::cc::ReceiveTime;
use crate::frame::Frame;
use crate::packet::Epoch;
use crate::packet::Type;
use crate::recovery::Sent;
use crate::Config;
use crate::Result;

/// Bytes left free for the small frames that go with acknowledgements: flow control, path
/// validation, a PING. If these found no room, the timestamps would cost a packet after all.
const RESERVED: usize = 64;
/// Where data waits for the packet, an ACK frame with timestamps takes one part in so many of it.
const SHARE_BESIDE_DATA: usize = 8;

/// What the connection knows about the packet that it is about to put an ACK frame into.
pub(crate) struct AckPacket {
    pub(crate) ty: Type,
    /// Stream and datagram bytes that this packet could carry.
    pub(crate) queued_bytes: usize,
    /// What congestion control allows for the packet's frames.
    pub(crate) cwnd_available: usize,
}

pub(crate) struct ReceiveTimestamps {
    settings: Settings,
    /// What the peer asked for, as far as this endpoint answers.
    answered: Parameters,
    recorder: Recorder,
    reader: Reader,
}

impl ReceiveTimestamps {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            settings: config.receive_timestamps,
            answered: Parameters::default(),
            recorder: Recorder::new(crate::clock::now()),
            reader: Reader::new(config.receive_timestamps.asked),
        }
    }

    /// The transport parameters to send, by ID and value.
    pub(crate) fn transport_params(&self) -> impl Iterator<Item = (u64, u64)> {
        self.settings.asked.to_send()
    }

    /// Whether this endpoint knows of the extension.
    pub(super) fn is_used(&self) -> bool {
        self.settings.answers || self.settings.asked.max_per_ack() > 0
    }

    /// The peer's transport parameters are known.
    pub(super) fn on_peer_parameters(&mut self, asked: Parameters) {
        if self.settings.answers {
            self.answered = asked;
        }
    }

    pub(super) fn answered(&self) -> Option<Parameters> {
        (self.answered.max_per_ack() > 0).then_some(self.answered)
    }

    /// A packet of the application's packet number space was taken in. The time is noted for 1-RTT
    /// packets only, because 0-RTT packets may have waited for their keys.
    pub(crate) fn on_packet_received(&mut self, ty: Type, packet_number: u64, now: Instant) {
        if ty == Type::Short && self.answered.max_per_ack() > 0 {
            self.recorder.record(packet_number, now, &self.answered);
        }
    }

    /// Reads the next frame of a packet; see [`Reader::read_frame()`].
    pub(crate) fn read_frame(&mut self, payload: &mut Octets, ty: Type) -> Result<Frame> {
        self.reader.read_frame(payload, ty)
    }

    /// The times that the last frame brought, by ascending packet number.
    pub(crate) fn reported(&self) -> &[ReceiveTime] {
        self.reader.times()
    }

    /// A packet leaves. Told here and not when its ACK frame is written: a packet that is begun may
    /// still be given up.
    pub(crate) fn on_packet_sent(&mut self, packet: &Sent, epoch: Epoch) {
        let is_ack = |frame: &Frame| matches!(frame, Frame::ACK { .. });
        if epoch == Epoch::Application && packet.frames.iter().any(is_ack) {
            self.recorder.on_ack_sent();
        }
    }

    /// Puts an ACK frame into a packet, with receive timestamps where the peer wants them and there
    /// is room to spare. Returns false if even the plain frame does not fit.
    pub(crate) fn push_ack(
        &mut self,
        ack: Frame,
        b: &mut OctetsMut,
        frames: &mut SmallVec<[Frame; 1]>,
        left: &mut usize,
        packet: &AckPacket,
    ) -> Result<bool> {
        let size = ack.wire_len();
        if size > *left {
            return Ok(false);
        }
        let start = b.off();
        if packet.ty != Type::Short || !self.put_with_timestamps(&ack, size, *left, b, packet)? {
            ack.to_bytes(b)?;
        }
        *left -= b.off() - start;
        frames.push(ack);
        Ok(true)
    }

    /// Writes the frame with timestamps, unless there are none to write.
    fn put_with_timestamps(
        &mut self,
        ack: &Frame,
        size: usize,
        left: usize,
        b: &mut OctetsMut,
        packet: &AckPacket,
    ) -> Result<bool> {
        let Frame::ACK {
            ranges, ecn_counts, ..
        } = ack
        else {
            return Ok(false);
        };
        let (Some(asked), Some(largest_acked)) = (self.answered(), ranges.last()) else {
            return Ok(false);
        };
        let stamps = self.recorder.stamps(ranges, &asked);
        let room = packet.room_for_timestamps(size, left);
        let stamps = &stamps[..codec::fitting(largest_acked, stamps, room)];
        let some = !stamps.is_empty();
        if some {
            let ty = match ecn_counts {
                Some(_) => TYPE_WITH_ECN,
                None => TYPE,
            };
            put_ack_as(ty, ack, b)?;
            codec::encode(b, largest_acked, stamps)?;
        }
        Ok(some)
    }
}

impl AckPacket {
    /// The bytes that the Receive Timestamps field may take, beside an ACK frame of `ack_size`
    /// bytes and whatever else wants to go into the `left` bytes of the packet.
    fn room_for_timestamps(&self, ack_size: usize, left: usize) -> usize {
        let alone = self.cwnd_available <= ack_size;
        let for_all = match alone {
            // Congestion control lets nothing else into the packet, and does not bind this.
            true => left.saturating_sub(RESERVED),
            false if self.queued_bytes > 0 => left.min(self.cwnd_available) / SHARE_BESIDE_DATA,
            false => left.min(self.cwnd_available).saturating_sub(RESERVED),
        };
        let ack_size = ack_size + TYPE_LEN - 1;
        for_all.saturating_sub(ack_size)
    }
}

/// Writes an ACK frame under another type.
fn put_ack_as(ty: u64, ack: &Frame, b: &mut OctetsMut) -> Result<()> {
    let start = b.off();
    // The frame writes its own type, of one byte, where ours ends.
    b.skip(TYPE_LEN - 1)?;
    ack.to_bytes(b)?;
    let size = b.off() - start;
    b.rewind(size)?;
    b.put_varint(ty)?;
    b.skip(size - TYPE_LEN)?;
    Ok(())
}
