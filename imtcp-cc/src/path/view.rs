//! What is known of the path, as one value that the other rooms read.

use super::ack::{EchoCadence, EchoTiming};
use super::{LATEST_HOST, READABLE_DIVISOR};
use crate::transport::RoundTrip;
use crate::units::{Bandwidth, Bytes};
use std::time::Duration;

/// What is known of the path since the last acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathView {
    /// Known from the first acknowledgement of a 1-RTT packet on.
    pub(crate) rtt: Option<RoundTrip>,
    /// A full datagram: UDP payload.
    pub(crate) max_datagram: Bytes,
    header_overhead: Bytes,
    /// The IP-layer capacity of the tight link.
    pub(crate) capacity: Option<Bandwidth>,
    /// Whether the capacity is only a lower bound: the most that was delivered.
    pub(crate) is_bound: bool,
    /// The residual capacity, by RCE.
    pub(crate) residual: Option<Bandwidth>,
    /// What sets the echoes' time.
    pub(crate) timing: EchoTiming,
    /// How often the peer acknowledges.
    pub(crate) cadence: EchoCadence,
    /// Whether echoes are timed by the peer's clock.
    pub(crate) by_peer: bool,
}

impl PathView {
    pub(super) fn new(max_datagram: Bytes, header_overhead: Bytes) -> Self {
        Self {
            rtt: None,
            max_datagram,
            header_overhead,
            capacity: None,
            is_bound: false,
            residual: None,
            timing: EchoTiming::default(),
            cadence: EchoCadence::default(),
            by_peer: false,
        }
    }

    /// A UDP payload's size on the wire.
    pub(crate) fn on_wire(&self, payload: Bytes) -> Bytes {
        payload + self.header_overhead
    }

    /// A full packet on the wire.
    pub(crate) fn packet(&self) -> Bytes {
        self.on_wire(self.max_datagram)
    }

    /// The capacity that dispersions show. The most that was delivered is none: beside a slow
    /// source it would call everything faster impossible.
    pub(crate) fn shown_capacity(&self) -> Option<Bandwidth> {
        self.capacity.filter(|_| !self.is_bound)
    }

    /// P of PT (4): the capacity that dispersions show. It is that of the link itself, while RCE
    /// reads less the more evenly spread traffic there is. But a peer that acknowledges in large
    /// groups leaves no dispersions, and as a bound of what may be taken a value that is too small
    /// is a safe one.
    pub(crate) fn bound_of_taking(&self) -> Option<Bandwidth> {
        self.shown_capacity()
            .or_else(|| self.residual.max(self.capacity))
    }

    /// Echoes that are off by more than this cannot be read any more. The peer's clock times the
    /// packets themselves. An acknowledgement that is late by a small part of a round trip times
    /// them as well: hosts are late by that much. What the way back adds is not bounded by
    /// anything.
    pub(super) fn readable_jitter(&self) -> Duration {
        if self.by_peer {
            return Duration::MAX;
        }
        let round_trip = self.rtt.map_or(Duration::ZERO, |rtt| rtt.smoothed);
        (round_trip / READABLE_DIVISOR).min(LATEST_HOST)
    }
}
