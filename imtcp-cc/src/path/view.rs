//! What is known of the path, as one value that the other rooms read.

use super::ack::{EchoCadence, EchoTiming};
use super::{LATEST_HOST, READABLE_DIVISOR};
use crate::saved::SavedPath;
use crate::transport::RoundTrip;
use crate::units::{Bandwidth, Bytes};
use std::time::Duration;

/// What is known of the path since the last acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathView {
    /// The round trip; `None` before the first acknowledgement of a 1-RTT packet.
    pub(crate) rtt: Option<RoundTrip>,
    /// The size of a full datagram, in bytes of UDP payload.
    pub(crate) max_datagram: Bytes,
    /// The size of the datagrams that leave now, in bytes of UDP payload.
    pub(crate) datagram: Bytes,
    /// The share of packets that were lost lately, from 0 to 1.
    pub(crate) lost: f64,
    header_overhead: Bytes,
    /// The capacity of the tight link, in IP-layer bits per second.
    pub(crate) capacity: Option<Bandwidth>,
    /// Whether the capacity is only a lower bound, the highest rate that was delivered.
    pub(crate) is_bound: bool,
    /// The residual capacity by RCE, in IP-layer bits per second.
    pub(crate) residual: Option<Bandwidth>,
    /// What decides the times of echoes.
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
            datagram: max_datagram,
            lost: 0.0,
            header_overhead,
            capacity: None,
            is_bound: false,
            residual: None,
            timing: EchoTiming::default(),
            cadence: EchoCadence::default(),
            by_peer: false,
        }
    }

    /// The size on the wire of a datagram with this UDP payload.
    pub(crate) fn on_wire(&self, payload: Bytes) -> Bytes {
        payload + self.header_overhead
    }

    /// The UDP payload of full packets that have this size on the wire.
    pub(crate) fn payload_of(&self, on_wire: Bytes) -> Bytes {
        Bytes::from_f64(on_wire.as_f64() * self.payload_share())
    }

    fn payload_share(&self) -> f64 {
        self.max_datagram.as_f64() / self.packet().as_f64().max(1.0)
    }

    /// What is remembered of the path, with its rate in UDP payload.
    pub(crate) fn saved_as_payload(&self, saved: SavedPath) -> SavedPath {
        SavedPath {
            available: saved.available.scaled(self.payload_share()),
            ..saved
        }
    }

    /// The size of a full packet on the wire.
    pub(crate) fn packet(&self) -> Bytes {
        self.on_wire(self.max_datagram)
    }

    /// The capacity that dispersions show. A lower bound from delivery does not count: if the
    /// source is slow, the bound is far below the capacity.
    pub(crate) fn shown_capacity(&self) -> Option<Bandwidth> {
        self.capacity.filter(|_| !self.is_bound)
    }

    /// The bandwidth that bounds what a promise may take from others, in IP-layer bits per second
    /// (P of PT (4)). It is the capacity that dispersions show. RCE would read less than the
    /// capacity if the cross traffic is spread evenly. But if the peer acknowledges in large
    /// groups, there are no dispersions. The larger of RCE's value and the delivered rate then
    /// takes their place: as a bound, a value that is too small is safe.
    pub(crate) fn bound_of_taking(&self) -> Option<Bandwidth> {
        self.shown_capacity()
            .or_else(|| self.residual.max(self.capacity))
    }

    /// The largest jitter at which echoes can be read.
    ///
    /// There is no bound if the peer's clock times the packets themselves. Otherwise a small part
    /// of the least round trip is allowed, because the peer's host may be late by as much. Larger
    /// jitter comes from the way back, which may add any delay. A queue makes the round trip
    /// longer, and no host later.
    pub(super) fn readable_jitter(&self) -> Duration {
        if self.by_peer {
            return Duration::MAX;
        }
        let round_trip = self.rtt.map_or(Duration::ZERO, |rtt| rtt.min);
        (round_trip / READABLE_DIVISOR).min(LATEST_HOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_makes_no_jitter_readable() {
        let readable = |queue_ms: u64| {
            let mut view = PathView::new(Bytes::new(1350), Bytes::new(28));
            let round_trip = Duration::from_millis(16 + queue_ms);
            view.rtt = Some(RoundTrip {
                latest: round_trip,
                min: Duration::from_millis(16),
                smoothed: round_trip,
                variation: Duration::ZERO,
            });
            view.readable_jitter()
        };
        assert_eq!(readable(0), Duration::from_millis(2));
        assert_eq!(readable(100), Duration::from_millis(2));
    }
}
