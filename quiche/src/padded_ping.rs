//! Packets without data, as large as the caller wants, that the peer acknowledges.

#![warn(clippy::all, missing_docs)]

use crate::ack_frequency::Request;
use crate::cc::PeerAcks;
use crate::frame::Frame;
use crate::packet::Type;
use crate::BufFactory;
use crate::Connection;
use crate::Error;
use crate::Result;

/// Whether the next packet is one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PaddedPing {
    is_due: bool,
}

impl PaddedPing {
    /// What is due for a packet of this type. It is due once, and stays due where a packet cannot
    /// carry a frame: the congestion window may be full.
    pub(crate) fn take(&mut self, ty: Type, can_carry: bool) -> Self {
        if ty != Type::Short || !can_carry {
            return Self::default();
        }
        std::mem::take(self)
    }

    /// The frame that asks for an acknowledgement at once, if the peer understands it.
    pub(crate) fn immediate_ack(self, peer: Option<PeerAcks>) -> Option<Frame> {
        let understands = peer.is_some_and(|peer| peer.min_ack_delay.is_some());
        (self.is_due && understands).then_some(Frame::AckRequest(Request::Immediate))
    }

    /// Whether the packet is filled up.
    pub(crate) fn fills(self) -> bool {
        self.is_due
    }
}

impl<F: BufFactory> Connection<F> {
    /// Makes the next [`send()`](Self::send) write a 1-RTT packet that the peer has to acknowledge
    /// and that fills the buffer. So the buffer's length is the size of the packet. It has a PING
    /// frame, or an IMMEDIATE_ACK frame where the peer advertised `min_ack_delay` and this side has
    /// a controller of its own (draft-ietf-quic-ack-frequency-14), and padding. What waits to be
    /// sent goes along, and takes the place of padding.
    ///
    /// It counts towards the bytes in flight and is told to the controller like any other packet.
    /// No controller is asked whether it may leave: whoever probes a path keeps to a rate. Where
    /// the congestion window has no room, it waits until it has.
    ///
    /// # Errors
    /// [`Error::InvalidState`] before the connection is established, and when it has ended.
    pub fn send_padded_ping(&mut self) -> Result<()> {
        if !self.is_established() || self.is_closed() || self.is_draining() {
            return Err(Error::InvalidState);
        }
        self.send_ack_eliciting()?;
        self.padded_ping.is_due = true;
        Ok(())
    }
}
