//! Delayed acknowledgements, and requests about them (draft-ietf-quic-ack-frequency-14).
//!
//! A connection has two roles that do not depend on each other. As receiver of data a connection
//! follows the peer's requests ([`Receiver`]) if
//! [`Config::enable_ack_frequency()`](crate::Config::enable_ack_frequency) was called. As sender of
//! data it passes on what a path's [`CongestionController`](crate::cc::CongestionController) asks
//! for, if both sides advertise support: a peer may close the connection for requests of a side
//! that does not (picoquic's client does). A server whose controllers ask therefore answers a
//! client that advertises ([`answer`]). Requests to wait do not bind such a server.
//!
//! What is public here is for tests and fuzzing.

#![warn(clippy::all, missing_docs)]

mod answer;
mod config;
mod missing;
mod receiver;
mod request;
mod sender;

use std::time::Duration;
use std::time::Instant;

pub(crate) use answer::answer;
pub(crate) use config::Settings;
pub use receiver::Received;
pub use receiver::Receiver;
pub use request::Request;
pub(crate) use sender::Opportunity;

use crate::cc::PeerAcks;
use crate::extension_params;
use crate::extension_params::ExtensionParams;
use crate::frame::Frame;
use crate::packet::Epoch;
use crate::packet::Type;
use crate::recovery::RecoveryOps;
use crate::recovery::Sent;
use crate::BufFactory;
use crate::Config;
use crate::Connection;
use crate::Error;
use crate::Result;
use crate::TransportParams;
use sender::Sender;

/// Transport parameter `min_ack_delay` (draft section 3).
const MIN_ACK_DELAY: u64 = 0xff04_de1b;

/// Both roles of one connection.
#[derive(Debug)]
pub(crate) struct AckFrequency {
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
    /// The peer's delay that loss recovery counts with.
    max_ack_delay: Option<Duration>,
}

impl AckFrequency {
    pub(crate) fn new(config: &Config) -> Self {
        let max_ack_delay = Duration::from_millis(config.local_transport_params.max_ack_delay);
        let settings = config.ack_frequency;
        Self {
            receiver: Receiver::new(
                settings.min_ack_delay(max_ack_delay),
                settings.delayed_acks(),
                max_ack_delay,
            ),
            sender: Sender::default(),
            max_ack_delay: None,
        }
    }

    /// The transport parameters to send.
    pub(crate) fn transport_params(&self) -> ExtensionParams {
        let advertised = self.receiver.min_ack_delay();
        advertised
            .map(|delay| (MIN_ACK_DELAY, delay.as_micros() as u64))
            .into_iter()
            .collect()
    }

    /// The handshake has gone on with these parameters of ours. What was advertised is followed.
    pub(crate) fn on_sent_params(&mut self, params: &ExtensionParams) {
        if let Some(delay) = advertised(params) {
            self.receiver.advertise(delay);
        }
    }

    /// A peer is asked only if both sides advertise. If this side does not, the peer's value is not
    /// even judged.
    fn on_peer_transport_params(&mut self, raw: &[u8], params: &TransportParams) -> Result<()> {
        let peer = PeerAcks {
            min_ack_delay: match self.receiver.min_ack_delay() {
                Some(_) => min_ack_delay(raw, params)?,
                None => None,
            },
            max_ack_delay: Duration::from_millis(params.max_ack_delay),
        };
        self.sender.on_peer_acks(peer);
        Ok(())
    }
}

/// The `min_ack_delay` among our own parameters.
fn advertised(params: &ExtensionParams) -> Option<Duration> {
    let found = params.iter().find(|(id, _)| *id == MIN_ACK_DELAY);
    found.map(|(_, delay)| Duration::from_micros(*delay))
}

/// Reads and checks the peer's `min_ack_delay`.
fn min_ack_delay(raw: &[u8], params: &TransportParams) -> Result<Option<Duration>> {
    let delay = extension_params::find(raw, MIN_ACK_DELAY)?.map(Duration::from_micros);
    let longest = Duration::from_millis(params.max_ack_delay);
    match delay {
        Some(delay) if delay > longest => Err(Error::InvalidTransportParam),
        _ => Ok(delay),
    }
}

impl<F: BufFactory> Connection<F> {
    /// The peer's transport parameters were received in this handshake; those of a session that is
    /// resumed do not count (draft section 3).
    pub(crate) fn on_peer_ack_params(&mut self) -> Result<()> {
        let is_used = self.ack_frequency.receiver.min_ack_delay().is_some()
            || self.recovery_config.congestion_controller.is_some();
        if is_used {
            self.ack_frequency.on_peer_transport_params(
                self.handshake.quic_transport_params(),
                &self.peer_transport_params,
            )?;
        }
        Ok(())
    }

    /// The peer sent a request. If we sent no transport parameter, the frame is unknown in any
    /// packet (RFC 9000, section 12.4). If we did, it is allowed in 1-RTT packets only.
    pub(crate) fn on_ack_request(&mut self, request: Request, ty: Type) -> Result<()> {
        if self.ack_frequency.receiver.min_ack_delay().is_some() && ty != Type::Short {
            return Err(Error::InvalidPacket);
        }
        self.ack_frequency.receiver.on_request(request)
    }

    /// A packet was processed; returns whether an acknowledgement is due.
    pub(crate) fn is_ack_due(
        &mut self,
        epoch: Epoch,
        packet_number: u64,
        ack_eliciting: bool,
        now: Instant,
    ) -> bool {
        if epoch != Epoch::Application {
            return ack_eliciting;
        }
        self.update_peer_max_ack_delay();
        let smoothed_rtt = self
            .paths
            .get_active()
            .map_or(Duration::ZERO, |path| path.recovery.rtt());
        self.ack_frequency.receiver.on_packet(&Received {
            now,
            packet_number,
            ack_eliciting,
            confirmed: self.handshake_confirmed,
            smoothed_rtt,
        })
    }

    /// A packet is about to leave. Called before loss recovery sets its timer.
    pub(crate) fn note_acks_and_requests(&mut self, packet: &Sent, epoch: Epoch, now: Instant) {
        if epoch != Epoch::Application {
            return;
        }
        for frame in &packet.frames {
            match frame {
                Frame::ACK { ranges, .. } => {
                    let largest = ranges.last().unwrap_or(0);
                    self.ack_frequency.receiver.on_ack_sent(largest, now);
                }
                Frame::AckRequest(request) => self.ack_frequency.sender.on_sent(*request),
                _ => (),
            }
        }
        self.update_peer_max_ack_delay();
    }

    /// Lets loss recovery of all paths, also those built later, count with the delay that the peer
    /// was asked for: for probe timeouts, and for what is taken off a round trip.
    fn update_peer_max_ack_delay(&mut self) {
        let in_vain = || {
            let mut paths = self.paths.iter();
            paths.any(|(_, path)| path.recovery.repeated_in_vain())
        };
        let sender = &self.ack_frequency.sender;
        let Some(delay) = sender.delay_to_count_with(in_vain) else {
            return;
        };
        if self.ack_frequency.max_ack_delay.replace(delay) != Some(delay) {
            self.recovery_config.max_ack_delay = delay;
            for (_, path) in self.paths.iter_mut() {
                path.recovery.update_max_ack_delay(delay);
            }
        }
    }

    /// Bytes of a packet that the largest datagram leaves to requests. An application that sends
    /// nothing else would otherwise leave them no room at all.
    pub(crate) fn ack_request_room(&self) -> usize {
        /// ACK_FREQUENCY with a two-byte type, two bytes for the sequence number, four for the
        /// delay and one for each threshold, and IMMEDIATE_ACK.
        const ROOM: usize = 11;
        let understood = self
            .ack_frequency
            .sender
            .peer()
            .is_some_and(|peer| peer.min_ack_delay.is_some());
        if understood && self.recovery_config.congestion_controller.is_some() {
            ROOM
        } else {
            0
        }
    }

    /// Puts a request into the next packet of a kind, whatever it asks for and whatever the peer
    /// advertised. This tests the other side, which has to survive it.
    #[doc(hidden)]
    pub fn inject_ack_request(&mut self, ty: Type, request: Request) {
        self.ack_frequency.sender.inject(ty, request);
    }
}

/// Parses a frame as a connection does. Returns a request, or `None` when it is another frame.
///
/// # Errors
/// As for any frame in a packet of this type.
#[doc(hidden)]
pub fn parse_frame(bytes: &[u8], ty: Type) -> Result<(Option<Request>, usize)> {
    let mut b = octets::Octets::with_slice(bytes);
    let frame = Frame::from_bytes(&mut b, ty)?;
    let request = match frame {
        Frame::AckRequest(request) => Some(request),
        _ => None,
    };
    Ok((request, b.off()))
}

/// Encodes a frame as a connection does.
///
/// # Errors
/// [`Error::BufferTooShort`] when `out` has no room for it.
#[doc(hidden)]
pub fn encode_frame(request: Request, out: &mut [u8]) -> Result<usize> {
    let frame = Frame::AckRequest(request);
    let length = frame.to_bytes(&mut octets::OctetsMut::with_slice(out))?;
    debug_assert_eq!(length, frame.wire_len());
    Ok(length)
}

/// Reads `min_ack_delay` from the transport parameters that a peer in the other role sent.
///
/// # Errors
/// [`Error::InvalidTransportParam`] when it is not an integer, or exceeds `max_ack_delay`; what
/// upstream's decoder says about the rest.
#[doc(hidden)]
pub fn parse_transport_params(raw: &[u8], is_server: bool) -> Result<Option<Duration>> {
    let params = TransportParams::decode(raw, is_server, None)?;
    min_ack_delay(raw, &params)
}
