//! What is known of the path: the echoes of its packets, the capacity of its tight link, and the
//! residual capacity. This is the first room of the pipe. Acknowledgements go in, and echoes and
//! gaps come out.

pub(crate) mod ack;
pub(crate) mod capacity;
mod info;
mod line;
mod packet_size;
mod sliding_max;
mod view;

pub use info::{PathInfo, Role};
pub(crate) use view::PathView;

use crate::control::{Phase, Window};
use crate::loss_share::LossShare;
use crate::transport::{Acked, SentPacket};
use crate::units::{Bandwidth, Bytes, Nanos, Timestamp};
use ack::{CadenceDetector, Echo, EchoGap, EchoTiming, EchoTracker, Reading, ReceiveClock};
use capacity::{Capacity, ResidualCapacity};
use packet_size::PacketSize;
use std::time::Duration;

/// The times of acknowledgements can be read if they are off by at most a round trip divided by
/// this number.
const READABLE_DIVISOR: u32 = 8;

/// The largest lateness of a peer's host at which its acknowledgements can be read.
const LATEST_HOST: Duration = Duration::from_millis(4);

/// The number of packets over which the share of losses is an average.
const LOSS_PACKETS: f64 = 200.0;

/// The number of echoes of one acknowledgement for which there is room from the start. One that
/// covers more makes room when it comes for the first time.
const USUAL_ECHOES: usize = 32;

/// What was just learnt of the tight link's capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CapacityState {
    /// The new value in IP-layer bits per second, if it changed.
    pub(crate) changed: Option<Bandwidth>,
    /// When packets left that were the first to meet the new value. `None` if the link has not
    /// changed, and its capacity is only known better.
    pub(crate) since: Option<Timestamp>,
    /// Whether the value is only a lower bound.
    pub(crate) is_bound: bool,
    /// The share by which the value may be wrong, if it is more than little.
    pub(crate) doubt: f64,
}

/// The way in which echoes are read when a gap between two of them ends, and what the gap told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeardGap {
    pub(crate) timing: EchoTiming,
    pub(crate) jitter: Nanos,
    pub(crate) capacity: CapacityState,
}

/// What one acknowledgement told of the path. The parts are in the order in which they were learnt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard<'a> {
    pub(crate) now: Timestamp,
    /// Whether echoes are timed by another clock from now on. Times from before cannot be compared
    /// with times from now on.
    pub(crate) has_restarted: bool,
    /// Whether the path was found to be longer than it was. What gaps said of it is wrong.
    pub(crate) is_longer: bool,
    pub(crate) echoes: &'a [Echo],
    /// What the delivered bytes say of the capacity; `None` if the acknowledgement gave no echo.
    pub(crate) delivery: Option<CapacityState>,
    gaps: &'a [EchoGap],
    heard_gaps: &'a [HeardGap],
    /// The size of the acknowledged packets on the wire.
    pub(crate) bytes: Bytes,
    pub(crate) view: &'a PathView,
}

impl Heard<'_> {
    /// The gaps between echoes, and what each of them told.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = (&EchoGap, &HeardGap)> {
        self.gaps.iter().zip(self.heard_gaps)
    }
}

/// Follows one path.
#[derive(Debug)]
pub(crate) struct Path {
    tracker: EchoTracker,
    receive_clock: ReceiveClock,
    cadence: CadenceDetector,
    capacity: Capacity,
    residual: ResidualCapacity,
    /// `None` if all packets are full.
    packet_size: Option<PacketSize>,
    losses: LossShare,
    /// The echoes of the last acknowledgement. The memory is reused.
    echoes: Vec<Echo>,
    /// What the gaps of the last acknowledgement told. The memory is reused.
    heard_gaps: Vec<HeardGap>,
    view: PathView,
}

impl Path {
    /// A path on which nothing was sent yet. Its full datagrams are `max_datagram` bytes of UDP
    /// payload, of which `packet_overhead` are no data. On the wire headers add `header_overhead`.
    /// The papers' windows are of full packets, so Reno's stay full.
    pub(crate) fn new(
        max_datagram: Bytes,
        packet_overhead: Bytes,
        header_overhead: Bytes,
        window: Window,
    ) -> Self {
        let headers = header_overhead + packet_overhead;
        Self {
            tracker: EchoTracker::new(),
            receive_clock: ReceiveClock::default(),
            cadence: CadenceDetector::default(),
            capacity: Capacity::new(),
            residual: ResidualCapacity::default(),
            packet_size: (window != Window::Reno).then(|| PacketSize::new(headers)),
            losses: LossShare::over(LOSS_PACKETS),
            echoes: Vec::new(),
            heard_gaps: Vec::new(),
            view: PathView::new(max_datagram, header_overhead),
        }
    }

    /// What is known of the path now.
    pub(crate) fn view(&self) -> &PathView {
        &self.view
    }

    /// The size of the path's full datagrams changed, in bytes of UDP payload.
    pub(crate) fn on_max_datagram(&mut self, max_datagram: Bytes) {
        self.view.max_datagram = max_datagram;
        self.view.datagram = max_datagram;
    }

    /// A packet was lost.
    pub(crate) fn on_lost(&mut self) {
        if let Some(packet_size) = &mut self.packet_size {
            packet_size.on_lost();
        }
        self.losses.on_lost();
    }

    /// The window is this large from now on, and whether a rate is required.
    #[inline]
    pub(crate) fn on_window(&mut self, window: Bytes, phase: Phase, is_required: bool) {
        if let Some(packet_size) = &mut self.packet_size {
            let full = self.view.max_datagram;
            self.view.datagram = packet_size.fit(window, phase, full, is_required);
        }
        self.view.lost = self.losses.get();
    }

    /// A packet left. Returns its size on the wire.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) -> Bytes {
        let size = self.view.on_wire(packet.size);
        let capacity = self.view.capacity;
        self.tracker.on_sent(packet.number, size, now, capacity);
        size
    }

    /// Makes room once and for all, now that the peer has shown that it is where it says.
    #[cold]
    fn reserve(&mut self) {
        self.echoes.reserve_exact(USUAL_ECHOES);
        self.heard_gaps.reserve_exact(USUAL_ECHOES);
        self.tracker.reserve();
        self.residual.reserve();
    }

    /// Takes an acknowledgement.
    #[inline]
    pub(crate) fn on_ack(&mut self, acked: &Acked<'_>) -> Heard<'_> {
        if self.view.rtt.replace(acked.info.rtt).is_none() {
            self.reserve();
        }
        // The peer cannot have delayed an acknowledgement for longer than the round trip.
        let arrived = acked.now - acked.info.ack_delay.min(acked.info.rtt.latest);
        let (reading, has_restarted) = self.read_peer_clock(arrived, acked);
        let delivery = self.take_echoes(arrived, acked, reading != Reading::None);
        self.heard_gaps.clear();
        for at in 0..self.tracker.gaps().len() {
            let heard = self.take_gap(acked.now, at);
            self.heard_gaps.push(heard);
        }
        let bytes = self.follow_residual(acked);
        let packets = u32::try_from(acked.packets.len()).unwrap_or(u32::MAX);
        if let Some(packet_size) = &mut self.packet_size {
            packet_size.on_acked(acked.now, packets, bytes);
        }
        self.losses.on_acked(packets.into());
        self.refresh();
        Heard {
            now: acked.now,
            has_restarted,
            is_longer: self.tracker.is_longer(),
            echoes: &self.echoes,
            delivery,
            gaps: self.tracker.gaps(),
            heard_gaps: &self.heard_gaps,
            bytes,
            view: &self.view,
        }
    }

    /// Forgets the capacity. What is known of the timing of echoes stays, because it does not
    /// depend on the capacity.
    pub(crate) fn forget_capacity(&mut self) {
        self.capacity.forget();
        self.refresh();
    }

    #[inline]
    fn refresh(&mut self) {
        self.view.capacity = self.capacity.get();
        self.view.is_bound = self.capacity.is_bound();
        self.view.residual = self.residual.get();
        self.view.timing = self.tracker.timing();
        self.view.cadence = self.cadence.get();
    }

    /// Takes the peer's receive times, if it tells them. The second part is true if echoes have
    /// just begun or ceased to be timed by them. Then everything that was learnt by the other clock
    /// is dropped: the two clocks cannot be compared, and times that are no longer believed prove
    /// nothing.
    #[inline]
    fn read_peer_clock(&mut self, arrived: Timestamp, acked: &Acked<'_>) -> (Reading, bool) {
        let theirs = acked
            .packets
            .iter()
            .rev()
            .find_map(|packet| packet.received);
        let latest = acked.info.rtt.latest;
        let reading = self.receive_clock.on_ack(arrived, theirs, latest);
        let by_peer = match reading {
            // If other acknowledgements had receive times, one without them gives no echo.
            Reading::None => self.view.by_peer && self.receive_clock.is_trusted(),
            Reading::Restarted | Reading::Continued => true,
        };
        let has_restarted = reading == Reading::Restarted || by_peer != self.view.by_peer;
        if has_restarted {
            self.tracker.restart();
            self.capacity = Capacity::new();
            self.view.capacity = None;
        }
        self.view.by_peer = by_peer;
        (reading, has_restarted)
    }

    /// Turns the acknowledged packets into echoes, which are in `self.echoes` afterwards. The
    /// peer's receive times are used if `is_believed`. Returns what the delivered bytes say of the
    /// capacity.
    #[inline]
    fn take_echoes(
        &mut self,
        arrived: Timestamp,
        acked: &Acked<'_>,
        is_believed: bool,
    ) -> Option<CapacityState> {
        let Self {
            tracker,
            receive_clock,
            echoes,
            view,
            ..
        } = self;
        let timed = acked.packets.iter().map(|packet| {
            let theirs = packet.received;
            let at = theirs.and_then(|theirs| receive_clock.arrival(packet.sent, theirs));
            (packet.number, at.filter(|_| is_believed))
        });
        let by_ack = (!view.by_peer).then_some(arrived);
        let (now, largest) = (acked.now, acked.info.largest);
        echoes.clear();
        let outcome = tracker.on_ack(by_ack, now, largest, timed, view.capacity, |echo| {
            echoes.push(*echo);
        });
        self.cadence.on_ack(outcome.packets);
        let echo = outcome.echo?;
        let (bytes, packets) = (outcome.bytes, outcome.packets);
        let jitter = self.tracker.jitter();
        let changed = self.capacity.on_delivered(echo, bytes, packets, jitter);
        Some(self.capacity_news(changed, None))
    }

    /// Takes one of the gaps that the tracker has found.
    #[inline]
    fn take_gap(&mut self, now: Timestamp, place: usize) -> HeardGap {
        let timing = self.tracker.timing();
        let gap = &self.tracker.gaps()[place];
        let news = self.capacity.on_gap(gap, timing != EchoTiming::Own);
        if news.contradiction {
            self.tracker.distrust(now, self.view.readable_jitter());
        } else if timing == EchoTiming::Foreign {
            self.tracker.reconsider(self.view.readable_jitter());
        }
        if let Some(capacity) = news.changed.filter(|_| news.since.is_some()) {
            self.tracker.on_changed_link(capacity);
        }
        HeardGap {
            timing,
            jitter: self.tracker.jitter(),
            capacity: self.capacity_news(news.changed, news.since),
        }
    }

    #[inline]
    fn capacity_news(
        &mut self,
        changed: Option<Bandwidth>,
        since: Option<Timestamp>,
    ) -> CapacityState {
        let is_bound = self.capacity.is_bound();
        self.tracker.set_bound(is_bound);
        CapacityState {
            changed,
            since,
            is_bound,
            doubt: self.capacity.doubt(),
        }
    }

    /// Updates the residual capacity. Returns the size of the acknowledged packets on the wire.
    #[inline]
    fn follow_residual(&mut self, acked: &Acked<'_>) -> Bytes {
        let mut size = Bytes::ZERO;
        let mut newest = None;
        for packet in acked.packets {
            size += self.view.on_wire(packet.size);
            newest = newest.max(Some(packet.sent));
        }
        if let Some(newest_sent) = newest {
            // The timeout of RFC 6298, section 2, without its least value of a second: that value
            // is for timers, and RCE needs the length of a slot.
            let rtt = &acked.info.rtt;
            let timeout = || rtt.smoothed.saturating_add(rtt.variation.saturating_mul(4));
            let _ = self.residual.on_ack(acked.now, newest_sent, size, timeout);
        }
        size
    }
}
