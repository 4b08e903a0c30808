//! quiche's controller trait over [`ImTcp`].

use super::convert::{Origin, ack_info, ack_request, path_info, peer_acks, send_request};
use super::gaps::{GapObserver, Gaps};
use super::memory::{Legacy, Memory};
use super::peer::host;
#[cfg(feature = "qlog")]
use super::qlog::Recording;
use crate::config::Config;
use crate::event::Subscriber;
use crate::imtcp::ImTcp;
#[cfg(feature = "qlog")]
use crate::input::Input;
use crate::promise::{Bounds, Promise};
#[cfg(feature = "qlog")]
use crate::qlog::Parameters;
use crate::saved::SavedPath;
use crate::transport::{Acked, AckedPacket, LossInfo, Release, SentPacket};
use crate::units::{Bandwidth, Bytes, Timestamp};
use quiche::cc::{
    AckReceived, CongestionController, PacketSent, PacketSpace, PacketsLost, PathContext,
    SendContext,
};
use std::net::IpAddr;
#[cfg(feature = "qlog")]
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The controller of one path, as quiche sees it. Reach it through
/// [`quiche::Connection::congestion_controller`].
#[derive(Debug)]
pub struct Controller {
    pub(super) core: ImTcp,
    pub(super) origin: Origin,
    /// The round trip until one is measured, by which packets are then paced; `None` if they are
    /// not.
    initial_rtt: Option<Duration>,
    /// Packets marked by congested routers, as last reported.
    congestion_marks: u64,
    /// Whether packets may be marked.
    takes_marks: bool,
    /// The packets of the last acknowledgement. It keeps its memory.
    pub(super) acked: Vec<AckedPacket>,
    legacy: Legacy,
    gaps: Option<Gaps>,
    #[cfg(feature = "qlog")]
    pub(super) recording: Recording,
}

/// Says what the core is about to be fed, for a log that may want it.
#[cfg(feature = "qlog")]
macro_rules! feed {
    ($controller:expr, $now:expr, $input:expr) => {
        $controller.record($now, || $input)
    };
}

#[cfg(not(feature = "qlog"))]
macro_rules! feed {
    ($($unused:tt)*) => {};
}

/// Room from the start for the packets of one acknowledgement.
const USUAL_ACKED: usize = 32;

/// What the controllers of a connection's paths have in common.
struct Common {
    /// When the connection began. The reports of its promise come from all paths, so all count time
    /// from here.
    origin: Origin,
    /// Empty until the first controller is built.
    promise: OnceLock<Promise>,
    /// What is remembered of the connection's first path, with the peer that it leads to. A
    /// controller that quiche drops unused leaves it to the next one.
    remembered: OnceLock<(IpAddr, Option<SavedPath>)>,
    /// How many controllers were built.
    #[cfg(feature = "qlog")]
    built: AtomicU32,
}

impl Common {
    /// `None` if another kind of controller has taken the place.
    fn of(path: &PathContext) -> Option<&Self> {
        path.identity.common.get_or_init(|| Self {
            origin: Origin(path.now),
            promise: OnceLock::new(),
            remembered: OnceLock::new(),
            #[cfg(feature = "qlog")]
            built: AtomicU32::new(0),
        })
    }

    /// The number of the path whose controller is being built.
    #[cfg(feature = "qlog")]
    fn next_path(&self) -> u32 {
        self.built.fetch_add(1, Ordering::Relaxed)
    }
}

/// What an earlier connection knew of the path to this peer.
fn remembered(
    memory: Option<&Memory>,
    common: Option<&Common>,
    peer: IpAddr,
    now: Instant,
) -> Option<SavedPath> {
    let memory = memory?;
    let take = || (peer, memory.take(peer, now));
    let (whose, saved) = match common {
        Some(common) => *common.remembered.get_or_init(take),
        None => take(),
    };
    saved.filter(|_| whose == peer)
}

impl Controller {
    pub(super) fn new(
        config: Config,
        path: &PathContext,
        subscriber: Option<Arc<dyn Subscriber>>,
        memory: Option<Arc<Memory>>,
        bounds: &Bounds,
    ) -> Self {
        let info = path_info(&path.identity);
        let max_datagram = Bytes::from_usize(path.max_datagram_size);
        let packets = u32::try_from(path.initial_window_packets).unwrap_or(u32::MAX);
        let config = config.or_transport(packets, path.initial_rtt);
        let initial_rtt = config.initial_rtt().unwrap_or(path.initial_rtt);
        let initial_rtt = config.pacing().then_some(initial_rtt);
        let takes_marks = config.takes_marks();
        #[cfg(feature = "qlog")]
        let settings = config.clone();
        let core = ImTcp::new(config, max_datagram, subscriber);
        #[cfg(feature = "qlog")]
        let initial_window = core.cwnd();
        let common = Common::of(path);
        let own = core.promise();
        let promise = common.map(|common| common.promise.get_or_init(|| own.clone()));
        let core = match promise {
            Some(promise) if !promise.is_same(&own) => core.sharing(promise),
            _ => core,
        };
        let peer = info.peer.ip();
        let saved = remembered(memory.as_deref(), common, peer, path.now);
        let core = match saved {
            Some(saved) => core.remembering(saved),
            None => core,
        };
        let origin = common.map_or(Origin(path.now), |common| common.origin);
        Self {
            initial_rtt,
            core: core.on_path(info).bounded_by(bounds, host(peer)),
            origin,
            congestion_marks: 0,
            takes_marks,
            acked: Vec::new(),
            legacy: Legacy::new(memory, peer),
            gaps: None,
            #[cfg(feature = "qlog")]
            recording: Recording::new(
                origin.timestamp(path.now),
                common.map_or(0, Common::next_path),
                Parameters {
                    config: settings,
                    max_datagram,
                    saved,
                },
                initial_window,
            ),
        }
    }

    pub(super) fn observed_by(mut self, observer: Arc<dyn GapObserver>) -> Self {
        self.gaps = Some(Gaps::new(observer));
        self
    }

    /// The controller itself: estimates, capacity, state.
    pub fn core(&self) -> &ImTcp {
        &self.core
    }

    /// The handle of the connection's promise, for any thread. Each path has a controller of its
    /// own, and all have the same promise: it is carried over when the connection changes its path.
    pub fn promise(&self) -> Promise {
        self.core.promise()
    }

    /// An instant as the core's events, estimates and reports have it; what lies before the origin
    /// becomes the origin.
    pub fn timestamp(&self, at: Instant) -> Timestamp {
        self.origin.timestamp(at)
    }

    /// The origin of the core's timestamps: when the connection began.
    pub fn origin(&self) -> Instant {
        self.origin.0
    }

    /// The same before this path's controller is built, for whoever makes its subscriber then.
    pub fn origin_of(path: &PathContext) -> Instant {
        Common::of(path).map_or(path.now, |common| common.origin.0)
    }
}

impl CongestionController for Controller {
    fn cwnd(&self) -> usize {
        usize::try_from(self.core.cwnd().get()).unwrap_or(usize::MAX)
    }

    fn next_release(&mut self, context: &SendContext) -> quiche::cc::Release {
        let now = self.origin.timestamp(context.now);
        feed!(self, now, Input::Asked(send_request(context)));
        match self.core.next_release(now, &send_request(context)) {
            Release::Now => quiche::cc::Release::Now,
            Release::At(due) => quiche::cc::Release::At(self.origin.instant(due)),
            Release::Hold => quiche::cc::Release::Hold,
        }
    }

    fn next_packet_size(&self) -> Option<usize> {
        usize::try_from(self.core.packet_size().get()).ok()
    }

    fn on_packet_sent(&mut self, sent: &PacketSent) {
        if sent.space != PacketSpace::Application || !sent.in_flight {
            return;
        }
        let packet = SentPacket {
            number: sent.packet_number,
            size: Bytes::from_usize(sent.size),
            released: sent.released,
            bytes_in_flight: Bytes::from_usize(sent.bytes_in_flight),
        };
        let now = self.origin.timestamp(sent.now);
        feed!(self, now, Input::Sent(packet));
        let Some(gaps) = &mut self.gaps else {
            return self.core.on_packet_sent(now, &packet);
        };
        let due = self.core.due_in_sequence();
        self.core.on_packet_sent(now, &packet);
        if sent.released {
            gaps.on_sent(now, due, self.core.due_in_sequence().is_some());
        } else {
            gaps.on_unplanned();
        }
    }

    fn takes_marks(&self) -> bool {
        self.takes_marks
    }

    fn sends_singly(&self) -> bool {
        self.core.due_in_sequence().is_some()
    }

    fn on_ack(&mut self, ack: &AckReceived<'_>) {
        if ack.space != PacketSpace::Application {
            return;
        }
        self.legacy.on_ack();
        let now = self.origin.timestamp(ack.now);
        let mut received = ack.receive_times;
        self.acked.clear();
        self.acked.reserve_exact(USUAL_ACKED);
        for packet in ack.acked {
            if packet.size > 0 {
                self.acked.push(self.origin.acked(packet, &mut received));
            }
        }
        #[cfg(feature = "qlog")]
        self.record_acked(now, || ack_info(ack));
        self.core.on_ack(&Acked {
            now,
            info: ack_info(ack),
            packets: &self.acked,
        });
        let marks = ack.ecn_ce.unwrap_or(self.congestion_marks);
        if marks > self.congestion_marks {
            self.congestion_marks = marks;
            if let Some(newest) = ack.acked.last() {
                let sent = self.origin.timestamp(newest.time_sent);
                feed!(self, now, Input::Marked(sent));
                self.core.on_congestion_experienced(now, sent);
            }
        }
    }

    fn on_loss(&mut self, loss: &PacketsLost<'_>) {
        let now = self.origin.timestamp(loss.now);
        #[cfg(feature = "qlog")]
        for packet in loss.lost {
            self.record_lost(now, loss.space, packet.packet_number);
        }
        if loss.space != PacketSpace::Application {
            return;
        }
        let (Some(oldest), Some(newest)) = (loss.lost.first(), loss.lost.last()) else {
            return;
        };
        let info = LossInfo {
            oldest_sent: self.origin.timestamp(oldest.time_sent),
            newest_sent: self.origin.timestamp(newest.time_sent),
            persistent_congestion: loss.persistent_congestion,
        };
        let numbers = loss.lost.iter().map(|packet| packet.packet_number);
        feed!(
            self,
            now,
            Input::Lost {
                info,
                numbers: numbers.clone().collect(),
            }
        );
        self.core.on_loss(now, &info, numbers);
    }

    fn on_spurious_loss(&mut self, _now: Instant, space: PacketSpace, packet_number: u64) {
        if space == PacketSpace::Application {
            feed!(
                self,
                self.origin.timestamp(_now),
                Input::Spurious(packet_number)
            );
            self.core.on_spurious_loss(packet_number);
        }
    }

    fn on_space_discarded(&mut self, now: Instant, space: PacketSpace, _bytes: usize) {
        // The keys of 1-RTT packets are never discarded: the connection leaves the path.
        if space == PacketSpace::Application {
            self.legacy.leave(self.core.saved_path(), now);
            let now = self.origin.timestamp(now);
            feed!(self, now, Input::PathLeft);
            self.core.on_path_left(now);
        }
    }

    fn on_closed(&mut self, now: Instant) {
        self.legacy.leave(self.core.saved_path(), now);
        let now = self.origin.timestamp(now);
        feed!(self, now, Input::Closed);
        self.core.on_closed(now);
    }

    fn on_max_datagram_size(&mut self, size: usize) {
        let size = Bytes::from_usize(size);
        feed!(self, self.recording.latest(), Input::MaxDatagram(size));
        self.core.on_max_datagram(size);
    }

    fn on_app_limited(&mut self, _now: Instant) {
        feed!(self, self.origin.timestamp(_now), Input::ApplicationLimited);
        self.core.on_application_limited();
    }

    fn on_peer_acks(&mut self, peer: &quiche::cc::PeerAcks) {
        feed!(
            self,
            self.recording.latest(),
            Input::PeerAcks(peer_acks(peer))
        );
        self.core.on_peer_acks(peer_acks(peer));
    }

    fn immediate_ack(&mut self) -> bool {
        feed!(self, self.recording.latest(), Input::ImmediateAck);
        self.core.immediate_ack()
    }

    fn ack_frequency(&mut self, now: Instant) -> Option<quiche::cc::AckFrequency> {
        let now = self.origin.timestamp(now);
        feed!(self, now, Input::AckRequest);
        let request = self.core.ack_request(now)?;
        Some(ack_request(&request))
    }

    fn state(&self) -> &'static str {
        self.core.phase().name()
    }

    fn ssthresh(&self) -> Option<usize> {
        let threshold = self.core.ssthresh()?;
        Some(usize::try_from(threshold.get()).unwrap_or(usize::MAX))
    }

    fn pacing_rate(&self) -> Option<u64> {
        let unmeasured = || Bandwidth::from_bytes_over(self.core.cwnd(), self.initial_rtt?);
        let rate = self.core.pacing_rate().or_else(unmeasured);
        rate.map(Bandwidth::as_bps)
    }

    #[cfg(feature = "qlog")]
    fn drain_qlog_events(&mut self, emit: &mut dyn FnMut(Instant, &str, serde_json::Value)) {
        self.drain(emit);
    }
}
