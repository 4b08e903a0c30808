//! Estimators watch a connection whose controller is behind the seam.
//!
//! [`Watching`] wraps the factory of any controller. Each controller that it builds is a
//! [`Watched`] one, which does what the controller inside does, and tells a set of estimators what
//! happens. Reach it through `quiche::Connection::congestion_controller::<Watched>()`.
//!
//! quiche's own algorithms are not behind the seam, and cannot be watched so.

use crate::estimators::{Estimator, Kind};
use imtcp_cc::transport::{AckInfo, Acked, AckedPacket, SentPacket};
use imtcp_cc::units::{Bandwidth, Bytes};
use imtcp_cc::unstable::{Origin, round_trip};
use quiche::cc::{
    AckFrequency, AckReceived, CongestionController, Factory, PacketSent, PacketSpace, PacketsLost,
    PathContext, PeerAcks, Release, SendContext,
};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// What IPv4 and UDP add to a QUIC packet.
pub const IPV4_HEADERS: Bytes = Bytes::new(28);

/// Turns quiche's events into those of the library's core.
#[derive(Debug)]
pub struct Feed {
    origin: Origin,
    /// Added to the size of each packet.
    headers: Bytes,
    /// The packets of the last acknowledgement. The memory is reused.
    acked: Vec<AckedPacket>,
}

impl Feed {
    /// Times count from `origin`, and `headers` are added to the size of each packet.
    pub fn new(origin: Instant, headers: Bytes) -> Self {
        Self {
            origin: Origin(origin),
            headers,
            acked: Vec::new(),
        }
    }

    /// A packet left. Handshake packets, and packets that are not in flight, are not told.
    pub fn on_sent<'e>(
        &self,
        sent: &PacketSent,
        estimators: impl Iterator<Item = &'e mut Box<dyn Estimator>>,
    ) {
        if sent.space != PacketSpace::Application || !sent.in_flight {
            return;
        }
        let packet = SentPacket {
            number: sent.packet_number,
            size: Bytes::from_usize(sent.size) + self.headers,
            released: sent.released,
            bytes_in_flight: Bytes::from_usize(sent.bytes_in_flight),
        };
        let now = self.origin.timestamp(sent.now);
        for estimator in estimators {
            estimator.on_sent(now, &packet);
        }
    }

    /// An acknowledgement came.
    pub fn on_ack<'e>(
        &mut self,
        ack: &AckReceived<'_>,
        estimators: impl Iterator<Item = &'e mut Box<dyn Estimator>>,
    ) {
        if ack.space != PacketSpace::Application {
            return;
        }
        let (origin, headers) = (self.origin, self.headers);
        let mut received = ack.receive_times;
        let counted = ack.acked.iter().filter(|packet| packet.size > 0);
        self.acked.clear();
        self.acked.extend(counted.map(|packet| {
            let packet = origin.acked(packet, &mut received);
            AckedPacket {
                size: packet.size + headers,
                ..packet
            }
        }));
        let acked = Acked {
            now: origin.timestamp(ack.now),
            info: AckInfo {
                largest: ack.largest_acked,
                ack_delay: ack.ack_delay,
                rtt: round_trip(&ack.rtt),
                bytes_in_flight: Bytes::from_usize(ack.bytes_in_flight),
            },
            packets: &self.acked,
        };
        for estimator in estimators {
            estimator.on_acked(&acked);
        }
    }
}

/// Builds watched controllers.
#[derive(Clone, Debug)]
pub struct Watching {
    inner: Arc<dyn Factory>,
    kinds: Vec<Kind>,
    headers: Bytes,
}

impl Watching {
    /// Controllers of `inner`, watched by one estimator of each kind. Rates are of IPv4 packets.
    pub fn new(inner: Arc<dyn Factory>, kinds: &[Kind]) -> Self {
        Self {
            inner,
            kinds: kinds.to_vec(),
            headers: IPV4_HEADERS,
        }
    }
}

impl Factory for Watching {
    fn build(&self, path: &PathContext) -> Box<dyn CongestionController> {
        Box::new(Watched {
            inner: self.inner.build(path),
            feed: Feed::new(path.now, self.headers),
            kinds: self.kinds.clone(),
            estimators: self.kinds.iter().map(|kind| kind.build()).collect(),
        })
    }

    fn requests_acks(&self) -> bool {
        self.inner.requests_acks()
    }
}

/// A controller that estimators watch.
#[derive(Debug)]
pub struct Watched {
    inner: Box<dyn CongestionController>,
    feed: Feed,
    kinds: Vec<Kind>,
    estimators: Vec<Box<dyn Estimator>>,
}

impl Watched {
    /// What each estimator says now, in bits per second of IPv4 packets.
    pub fn estimates(&self) -> impl Iterator<Item = (Kind, Option<Bandwidth>)> {
        let estimates = self.estimators.iter().map(|estimator| estimator.estimate());
        self.kinds.iter().copied().zip(estimates)
    }

    /// The controller inside, if it is of this type.
    pub fn inner<T: CongestionController>(&self) -> Option<&T> {
        let inner: &dyn Any = &*self.inner;
        inner.downcast_ref()
    }
}

impl CongestionController for Watched {
    fn on_packet_sent(&mut self, sent: &PacketSent) {
        self.feed.on_sent(sent, self.estimators.iter_mut());
        self.inner.on_packet_sent(sent);
    }

    fn on_ack(&mut self, ack: &AckReceived<'_>) {
        self.feed.on_ack(ack, self.estimators.iter_mut());
        self.inner.on_ack(ack);
    }

    fn cwnd(&self) -> usize {
        self.inner.cwnd()
    }

    fn next_release(&mut self, context: &SendContext) -> Release {
        self.inner.next_release(context)
    }

    fn next_packet_size(&self) -> Option<usize> {
        self.inner.next_packet_size()
    }

    fn sends_singly(&self) -> bool {
        self.inner.sends_singly()
    }

    fn on_loss(&mut self, loss: &PacketsLost<'_>) {
        self.inner.on_loss(loss);
    }

    fn on_spurious_loss(&mut self, now: Instant, space: PacketSpace, packet_number: u64) {
        self.inner.on_spurious_loss(now, space, packet_number);
    }

    fn on_pto(&mut self, now: Instant, count: u32) {
        self.inner.on_pto(now, count);
    }

    fn on_space_discarded(&mut self, now: Instant, space: PacketSpace, bytes: usize) {
        self.inner.on_space_discarded(now, space, bytes);
    }

    fn on_closed(&mut self, now: Instant) {
        self.inner.on_closed(now);
    }

    fn on_max_datagram_size(&mut self, size: usize) {
        self.inner.on_max_datagram_size(size);
    }

    fn on_app_limited(&mut self, now: Instant) {
        self.inner.on_app_limited(now);
    }

    fn on_peer_acks(&mut self, peer: &PeerAcks) {
        self.inner.on_peer_acks(peer);
    }

    fn immediate_ack(&mut self) -> bool {
        self.inner.immediate_ack()
    }

    fn ack_frequency(&mut self, now: Instant) -> Option<AckFrequency> {
        self.inner.ack_frequency(now)
    }

    fn takes_marks(&self) -> bool {
        self.inner.takes_marks()
    }

    fn state(&self) -> &'static str {
        self.inner.state()
    }

    fn ssthresh(&self) -> Option<usize> {
        self.inner.ssthresh()
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.inner.pacing_rate()
    }

    fn drain_qlog_events(&mut self, emit: &mut dyn FnMut(Instant, &str, serde_json::Value)) {
        self.inner.drain_qlog_events(emit);
    }
}
