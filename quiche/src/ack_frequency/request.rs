//! The two frames (draft sections 4 and 5).

use std::time::Duration;

#[cfg(feature = "qlog")]
use qlog::events::quic::QuicFrame;

use crate::Error;
use crate::Result;

/// Type of the ACK_FREQUENCY frame; two bytes on the wire.
pub(crate) const ACK_FREQUENCY: u64 = 0xaf;
/// Type of the IMMEDIATE_ACK frame.
pub(crate) const IMMEDIATE_ACK: u64 = 0x1f;

/// An ACK_FREQUENCY or IMMEDIATE_ACK frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// ACK_FREQUENCY: acknowledge like this from now on.
    Frequency {
        /// Grows with each request; smaller ones are obsolete.
        sequence: u64,
        /// Ack-eliciting packets that may arrive without an acknowledgement.
        ack_eliciting_threshold: u64,
        /// Microseconds that an acknowledgement may be held back.
        max_ack_delay: u64,
        /// Reordering that elicits an acknowledgement at once; 0 for never.
        reordering_threshold: u64,
    },
    /// IMMEDIATE_ACK: acknowledge this packet now.
    Immediate,
}

impl Request {
    /// Parses what follows the frame type.
    ///
    /// # Errors
    /// [`Error::InvalidFrame`] (FRAME_ENCODING_ERROR) when a field is missing or cut short.
    pub(crate) fn from_bytes(frame_type: u64, b: &mut octets::Octets) -> Result<Self> {
        if frame_type == IMMEDIATE_ACK {
            return Ok(Self::Immediate);
        }
        let mut field = || b.get_varint().map_err(|_| Error::InvalidFrame);
        Ok(Self::Frequency {
            sequence: field()?,
            ack_eliciting_threshold: field()?,
            max_ack_delay: field()?,
            reordering_threshold: field()?,
        })
    }

    /// Appends the frame, type included.
    ///
    /// # Errors
    /// [`Error::BufferTooShort`] when there is no room for it.
    pub(crate) fn to_bytes(self, b: &mut octets::OctetsMut) -> Result<()> {
        let (fields, count) = self.fields();
        for field in &fields[..count] {
            b.put_varint(*field)?;
        }
        Ok(())
    }

    /// Bytes on the wire, type included.
    pub(crate) fn wire_len(self) -> usize {
        let (fields, count) = self.fields();
        fields[..count]
            .iter()
            .map(|field| octets::varint_len(*field))
            .sum()
    }

    /// The integers that make up the frame, and how many of them are used.
    fn fields(self) -> ([u64; 5], usize) {
        match self {
            Self::Immediate => ([IMMEDIATE_ACK, 0, 0, 0, 0], 1),
            Self::Frequency {
                sequence,
                ack_eliciting_threshold,
                max_ack_delay,
                reordering_threshold,
            } => {
                let fields = [
                    ACK_FREQUENCY,
                    sequence,
                    ack_eliciting_threshold,
                    max_ack_delay,
                    reordering_threshold,
                ];
                (fields, fields.len())
            }
        }
    }

    /// The requested delay.
    pub(crate) fn max_ack_delay(self) -> Option<Duration> {
        match self {
            Self::Frequency { max_ack_delay, .. } => Some(Duration::from_micros(max_ack_delay)),
            Self::Immediate => None,
        }
    }

    /// qlog's main schema has no name for either frame: type, and the whole frame as `raw`.
    #[cfg(feature = "qlog")]
    pub(crate) fn to_qlog(self) -> QuicFrame {
        let mut bytes = [0; 40];
        let mut b = octets::OctetsMut::with_slice(&mut bytes);
        // Five varints always fit into 40 bytes.
        self.to_bytes(&mut b).ok();
        let (encoded, _) = bytes.split_at(self.wire_len());
        QuicFrame::Unknown {
            frame_type_bytes: Some(self.fields().0[0]),
            raw: Some(Box::new(qlog::events::RawInfo {
                length: Some(encoded.len() as u64),
                payload_length: None,
                data: qlog::HexSlice::maybe_string(Some(encoded)).map(Box::new),
            })),
        }
    }
}
