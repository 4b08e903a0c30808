//! What a controller is fed, as data: a log of it runs the controller again without its transport.

use crate::imtcp::ImTcp;
use crate::transport::{AckInfo, Acked, AckedPacket, LossInfo, PeerAcks, SendRequest, SentPacket};
use crate::units::{Bytes, Timestamp};

/// A call to [`ImTcp`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// [`ImTcp::next_release`].
    Asked(SendRequest),
    /// [`ImTcp::on_packet_sent`].
    Sent(SentPacket),
    /// [`ImTcp::on_ack`].
    Acked {
        /// What the acknowledgement says of the path.
        info: AckInfo,
        /// The packets that it newly covers.
        packets: Vec<AckedPacket>,
    },
    /// [`ImTcp::on_loss`].
    Lost {
        /// What the transport says of the loss.
        info: LossInfo,
        /// The numbers of the packets.
        numbers: Vec<u64>,
    },
    /// [`ImTcp::on_spurious_loss`].
    Spurious(u64),
    /// [`ImTcp::on_congestion_experienced`]; the newest marked packet left then.
    Marked(Timestamp),
    /// [`ImTcp::on_max_datagram`].
    MaxDatagram(Bytes),
    /// [`ImTcp::on_application_limited`].
    ApplicationLimited,
    /// [`ImTcp::on_peer_acks`].
    PeerAcks(PeerAcks),
    /// [`ImTcp::immediate_ack`].
    ImmediateAck,
    /// [`ImTcp::ack_request`].
    AckRequest,
    /// [`ImTcp::on_path_left`].
    PathLeft,
    /// [`ImTcp::on_closed`].
    Closed,
}

impl ImTcp {
    /// Makes the call that `input` stands for, at `now`. What the call answers is dropped: in a
    /// replay the packets have left already.
    pub fn apply(&mut self, now: Timestamp, input: &Input) {
        match input {
            Input::Asked(request) => {
                let _ = self.next_release(now, request);
            }
            Input::Sent(packet) => self.on_packet_sent(now, packet),
            Input::Acked { info, packets } => self.on_ack(&Acked {
                now,
                info: *info,
                packets,
            }),
            Input::Lost { info, numbers } => self.on_loss(now, info, numbers.iter().copied()),
            Input::Spurious(number) => self.on_spurious_loss(*number),
            Input::Marked(newest_sent) => self.on_congestion_experienced(now, *newest_sent),
            Input::MaxDatagram(size) => self.on_max_datagram(*size),
            Input::ApplicationLimited => self.on_application_limited(),
            Input::PeerAcks(peer) => self.on_peer_acks(*peer),
            Input::ImmediateAck => {
                let _ = self.immediate_ack();
            }
            Input::AckRequest => {
                let _ = self.ack_request(now);
            }
            Input::PathLeft => self.on_path_left(now),
            Input::Closed => self.on_closed(now),
        }
    }
}
