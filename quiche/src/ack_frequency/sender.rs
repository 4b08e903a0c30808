//! What is requested of the peer (draft sections 4, 5 and 7).

use std::time::Duration;
use std::time::Instant;

use smallvec::SmallVec;

use super::receiver::MAX_ACK_DELAY_LIMIT;
use super::Request;
use crate::cc::AckFrequency;
use crate::cc::PeerAcks;
use crate::frame::Frame;
use crate::frame::MAX_STREAM_OVERHEAD;
use crate::packet::Epoch;
use crate::packet::Type;
use crate::recovery::Recovery;
use crate::recovery::RecoveryOps;

/// The number of requests whose fate is remembered one by one.
const MAX_IN_FLIGHT: usize = 8;

/// Keeps account of the requests, and of the delay that loss recovery has to expect of the peer.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    /// `None` until the peer's transport parameters are known.
    peer: Option<PeerAcks>,
    next_sequence: u64,
    /// The request sent last, unless it was lost.
    newest: Option<AckFrequency>,
    /// The largest sequence number that was acknowledged, and its delay.
    acked: Option<(u64, Duration)>,
    /// Sequence number and delay of each request since. One that was lost may have arrived all the
    /// same, and stays until a newer one is acknowledged.
    in_flight: Vec<(u64, Duration)>,
    injected: Vec<(Type, Request)>,
}

/// The packet being built.
pub(crate) struct Opportunity {
    pub(crate) now: Instant,
    pub(crate) ty: Type,
    pub(crate) epoch: Epoch,
    /// Application data waits for this packet.
    pub(crate) data: bool,
    /// Bytes left in it.
    pub(crate) left: usize,
    /// Length of the DATAGRAM frame's data that it will carry, if it fits.
    pub(crate) datagram: Option<usize>,
}

impl Opportunity {
    /// Whether frames of `length` bytes leave room for data. A datagram cannot be split: without
    /// room for the whole of it the packet would carry none, the frames would not be sent, and the
    /// next packet would be the same again.
    fn has_room_for(&self, length: usize) -> bool {
        let data = match self.datagram {
            Some(datagram) if datagram + DATAGRAM_OVERHEAD <= self.left => {
                datagram + DATAGRAM_OVERHEAD
            }
            _ => MAX_STREAM_OVERHEAD + 1,
        };
        length + data <= self.left
    }
}

/// Type and length of a DATAGRAM frame, as quiche writes it.
const DATAGRAM_OVERHEAD: usize = 3;

/// The frames that have room reserved in the packet being built.
pub(crate) struct Requests {
    frames: SmallVec<[Request; 2]>,
    /// They leave even if no application data does.
    unconditional: bool,
}

impl Sender {
    /// The peer's transport parameters.
    pub(crate) fn on_peer_acks(&mut self, peer: PeerAcks) {
        self.peer = Some(peer);
    }

    /// What a controller is to know of the peer.
    pub(crate) fn peer(&self) -> Option<PeerAcks> {
        self.peer
    }

    /// Asks the path's controller what to request with this packet.
    pub(crate) fn requests(&mut self, recovery: &mut Recovery, packet: &Opportunity) -> Requests {
        let mut requests = Requests::none();
        if !self.injected.is_empty() {
            return self.injected_for(packet);
        }
        let Some(min_ack_delay) = self.peer.and_then(|peer| peer.min_ack_delay) else {
            return requests;
        };
        if packet.ty != Type::Short || recovery.controller().is_none() {
            return requests;
        }
        if recovery.loss_probes(packet.epoch) > 0 {
            requests.unconditional = true;
            if self.is_delay_raised() && packet.left > 0 {
                requests.frames.push(Request::Immediate);
            }
            return requests;
        }
        if !packet.data || packet.left <= MAX_STREAM_OVERHEAD {
            return requests;
        }
        if let Some(wanted) = recovery.wanted_ack_frequency(packet.now) {
            let wanted = clamp(wanted, min_ack_delay);
            if self.newest != Some(wanted) {
                requests.push(frame(self.next_sequence, wanted), packet);
            }
        }
        let length = requests.wire_len() + Request::Immediate.wire_len();
        if packet.has_room_for(length) && recovery.wants_immediate_ack() {
            requests.push(Request::Immediate, packet);
        }
        requests
    }

    /// The peer was asked for more delay than its transport parameter says.
    fn is_delay_raised(&self) -> bool {
        let Some(peer) = self.peer else { return false };
        self.max_ack_delay() > Some(peer.max_ack_delay)
    }

    /// The longest delay to expect of the peer: the greatest of what is in force and of all that
    /// may be in flight (draft section 7). `None` before the peer's transport parameters are known.
    pub(crate) fn max_ack_delay(&self) -> Option<Duration> {
        let peer = self.peer?.max_ack_delay;
        let requested = self.in_flight.iter().map(|(_, delay)| *delay);
        let current = self.acked.map_or(peer, |(_, delay)| delay);
        requested.chain([current]).max()
    }

    /// The same where a probe timeout `repeated_in_vain` what had arrived. A delay that was asked
    /// for and is short makes the timeout short. Then hardly more than a round trip passes before a
    /// lone packet is sent again whose acknowledgement was lost, or left out by a path that thins
    /// them. The peer's transport parameter, as without requests, leaves room for the next one.
    pub(crate) fn delay_to_count_with(
        &self,
        repeated_in_vain: impl FnOnce() -> bool,
    ) -> Option<Duration> {
        let (asked, peer) = (self.max_ack_delay()?, self.peer?.max_ack_delay);
        let is_too_short = asked < peer && repeated_in_vain();
        Some(if is_too_short { peer } else { asked })
    }

    /// A request left.
    pub(crate) fn on_sent(&mut self, request: Request) {
        let Request::Frequency {
            sequence,
            ack_eliciting_threshold,
            max_ack_delay,
            reordering_threshold,
        } = request
        else {
            return;
        };
        let max_ack_delay = Duration::from_micros(max_ack_delay);
        self.next_sequence = self.next_sequence.max(sequence.saturating_add(1));
        self.newest = Some(AckFrequency {
            ack_eliciting_threshold,
            max_ack_delay,
            reordering_threshold,
        });
        if self.in_flight.len() == MAX_IN_FLIGHT {
            // The two oldest become one. It stands for the longer delay until the newer of them is
            // settled.
            let (_, oldest) = self.in_flight.remove(0);
            self.in_flight[0].1 = self.in_flight[0].1.max(oldest);
        }
        self.in_flight.push((sequence, max_ack_delay));
    }

    /// A packet with this request was acknowledged.
    pub(crate) fn on_acked(&mut self, request: Request) {
        let (Request::Frequency { sequence, .. }, Some(delay)) = (request, request.max_ack_delay())
        else {
            return;
        };
        if self.acked.is_none_or(|(newest, _)| sequence > newest) {
            self.acked = Some((sequence, delay));
            self.in_flight.retain(|(other, _)| *other > sequence);
        }
    }

    /// A packet with this request was lost. If it is the newest request, it is sent again under a
    /// new number.
    pub(crate) fn on_lost(&mut self, request: Request) {
        if let Request::Frequency { sequence, .. } = request {
            if sequence.checked_add(1) == Some(self.next_sequence) {
                self.newest = None;
            }
        }
    }

    /// Puts a frame into the next packet of a type, whatever it asks for.
    pub(super) fn inject(&mut self, ty: Type, request: Request) {
        self.injected.push((ty, request));
    }

    fn injected_for(&mut self, packet: &Opportunity) -> Requests {
        let mut requests = Requests::none();
        requests.unconditional = true;
        let mut left = packet.left;
        self.injected.retain(|(ty, request)| {
            let fits = *ty == packet.ty && request.wire_len() < left;
            if fits {
                left -= request.wire_len();
                requests.frames.push(*request);
            }
            !fits
        });
        requests
    }
}

impl Requests {
    fn none() -> Self {
        Self {
            frames: SmallVec::new(),
            unconditional: false,
        }
    }

    /// Adds a frame if there is room for it and for some data.
    fn push(&mut self, request: Request, packet: &Opportunity) {
        if packet.has_room_for(self.wire_len() + request.wire_len()) {
            self.frames.push(request);
        }
    }

    /// The bytes to reserve.
    pub(crate) fn wire_len(&self) -> usize {
        self.frames.iter().map(|request| request.wire_len()).sum()
    }

    /// The frames to add to a packet that carries `frames` so far: none if it got no data after
    /// all.
    pub(crate) fn for_packet(self, frames: &[Frame]) -> impl Iterator<Item = Frame> {
        let is_data = |frame: &Frame| {
            matches!(
                frame,
                Frame::StreamHeader { .. } | Frame::DatagramHeader { .. }
            )
        };
        let leave = self.unconditional || frames.iter().any(is_data);
        self.frames
            .into_iter()
            .filter(move |_| leave)
            .map(Frame::AckRequest)
    }
}

/// Brings a request into the ranges of draft section 4.
fn clamp(wanted: AckFrequency, min_ack_delay: Duration) -> AckFrequency {
    let limit = MAX_ACK_DELAY_LIMIT - Duration::from_micros(1);
    let micros = wanted
        .max_ack_delay
        .max(min_ack_delay)
        .min(limit)
        .as_micros();
    AckFrequency {
        ack_eliciting_threshold: wanted.ack_eliciting_threshold.min(octets::MAX_VAR_INT),
        max_ack_delay: Duration::from_micros(micros as u64),
        reordering_threshold: wanted.reordering_threshold.min(octets::MAX_VAR_INT),
    }
}

fn frame(sequence: u64, wanted: AckFrequency) -> Request {
    Request::Frequency {
        sequence,
        ack_eliciting_threshold: wanted.ack_eliciting_threshold,
        max_ack_delay: wanted.max_ack_delay.as_micros() as u64,
        reordering_threshold: wanted.reordering_threshold,
    }
}
