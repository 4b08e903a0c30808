//! What is known of the path: who echoes when, how fast the tight link is, and what is left of it
//! for others. First room of the pipe: acknowledgements go in, echoes and gaps come out.

pub(crate) mod ack;
pub(crate) mod capacity;
mod info;
mod sliding_max;
mod view;

pub use info::{PathInfo, Role};
pub(crate) use view::PathView;

use crate::transport::{Acked, SentPacket};
use crate::units::{Bandwidth, Bytes, Timestamp};
use ack::{CadenceDetector, Echo, EchoGap, EchoTiming, EchoTracker, Reading, ReceiveClock};
use capacity::{Capacity, ResidualCapacity};
use std::time::Duration;

/// Part of a round trip by which acknowledgements may be off and still be read.
const READABLE_DIVISOR: u32 = 8;

/// No host that is to be read wakes later than this.
const LATEST_HOST: Duration = Duration::from_millis(4);

/// Room for the echoes of one acknowledgement.
const MOST_ECHOES: usize = 128;

/// What was just learnt of the capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CapacityState {
    /// The new value, if it changed.
    pub(crate) changed: Option<Bandwidth>,
    /// Whether the value is only a lower bound.
    pub(crate) is_bound: bool,
}

/// A gap between echoes, and how echoes are read at that moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeardGap {
    pub(crate) gap: EchoGap,
    pub(crate) timing: EchoTiming,
    pub(crate) jitter: Duration,
    pub(crate) capacity: CapacityState,
}

/// What one acknowledgement told of the path. The parts are in the order in which they were learnt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard<'a> {
    pub(crate) now: Timestamp,
    /// Echoes are timed by another clock from now on: nothing before compares with anything after.
    pub(crate) has_restarted: bool,
    pub(crate) echoes: &'a [Echo],
    /// From the mere delivery of the packets; `None` if the acknowledgement was no clean echo.
    pub(crate) delivery: Option<CapacityState>,
    pub(crate) gaps: &'a [HeardGap],
    /// What was acknowledged, on the wire.
    pub(crate) bytes: Bytes,
    pub(crate) view: &'a PathView,
}

/// Follows one path.
#[derive(Debug)]
pub(crate) struct Path {
    tracker: EchoTracker,
    receive_clock: ReceiveClock,
    cadence: CadenceDetector,
    capacity: Capacity,
    residual: ResidualCapacity,
    /// Of the last acknowledgement. They keep their memory.
    echoes: Vec<Echo>,
    gaps: Vec<HeardGap>,
    view: PathView,
}

impl Path {
    /// A path on which nothing was sent yet. Its full datagrams are `max_datagram` bytes of UDP
    /// payload, to which headers add `header_overhead` bytes on the wire.
    pub(crate) fn new(max_datagram: Bytes, header_overhead: Bytes) -> Self {
        Self {
            tracker: EchoTracker::new(),
            receive_clock: ReceiveClock::default(),
            cadence: CadenceDetector::default(),
            capacity: Capacity::new(),
            residual: ResidualCapacity::default(),
            echoes: Vec::with_capacity(MOST_ECHOES),
            gaps: Vec::with_capacity(MOST_ECHOES),
            view: PathView::new(max_datagram, header_overhead),
        }
    }

    /// What is known now.
    pub(crate) fn view(&self) -> &PathView {
        &self.view
    }

    /// The path carries datagrams of another size.
    pub(crate) fn on_max_datagram(&mut self, max_datagram: Bytes) {
        self.view.max_datagram = max_datagram;
    }

    /// A packet left. Returns its size on the wire.
    pub(crate) fn on_sent(&mut self, now: Timestamp, packet: &SentPacket) -> Bytes {
        let size = self.view.on_wire(packet.size);
        let capacity = self.view.capacity;
        self.tracker.on_sent(packet.number, size, now, capacity);
        size
    }

    /// Takes an acknowledgement.
    pub(crate) fn on_ack(&mut self, acked: &Acked<'_>) -> Heard<'_> {
        self.view.rtt = Some(acked.info.rtt);
        // A receiver cannot have held an acknowledgement for longer than the packet was out.
        let arrived = acked.now - acked.info.ack_delay.min(acked.info.rtt.latest);
        let (reading, has_restarted) = self.read_peer_clock(arrived, acked);
        let delivery = self.take_echoes(arrived, acked, reading != Reading::None);
        self.gaps.clear();
        for at in 0..self.tracker.gaps().len() {
            let gap = self.tracker.gaps()[at];
            let heard = self.take_gap(acked.now, gap);
            self.gaps.push(heard);
        }
        let bytes = self.follow_residual(acked);
        self.refresh();
        Heard {
            now: acked.now,
            has_restarted,
            echoes: &self.echoes,
            delivery,
            gaps: &self.gaps,
            bytes,
            view: &self.view,
        }
    }

    /// What is believed of the capacity is given up. What sets the echoes' time is another
    /// question, and stays known.
    pub(crate) fn forget_capacity(&mut self) {
        self.capacity.forget();
        self.refresh();
    }

    fn refresh(&mut self) {
        self.view.capacity = self.capacity.get();
        self.view.is_bound = self.capacity.is_bound();
        self.view.residual = self.residual.get();
        self.view.timing = self.tracker.timing();
        self.view.cadence = self.cadence.get();
    }

    /// Takes the peer's receive times, if it tells them. The second part is true if echoes have
    /// just begun or ceased to be timed by them. What was learnt by one clock does not go with the
    /// other, and what came of times that are not believed any more is worth no more than they.
    fn read_peer_clock(&mut self, arrived: Timestamp, acked: &Acked<'_>) -> (Reading, bool) {
        let theirs = acked
            .packets
            .iter()
            .rev()
            .find_map(|packet| packet.received);
        let latest = acked.info.rtt.latest;
        let reading = self.receive_clock.on_ack(arrived, theirs, latest);
        let by_peer = match reading {
            // An acknowledgement without times among others with times is no echo.
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

    /// From acknowledged packets to echoes. They are in `self.echoes` then. The peer's times count
    /// if they are believed.
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
        let changed = self.capacity.on_delivered(&echo, bytes, packets, jitter);
        Some(self.capacity_news(changed))
    }

    fn take_gap(&mut self, now: Timestamp, gap: EchoGap) -> HeardGap {
        let timing = self.tracker.timing();
        let news = self.capacity.on_gap(&gap, timing != EchoTiming::Own);
        if news.contradiction {
            self.tracker.distrust(now, self.view.readable_jitter());
        } else if timing == EchoTiming::Foreign {
            self.tracker.reconsider(self.view.readable_jitter());
        }
        HeardGap {
            gap,
            timing,
            jitter: self.tracker.jitter(),
            capacity: self.capacity_news(news.changed),
        }
    }

    fn capacity_news(&mut self, changed: Option<Bandwidth>) -> CapacityState {
        let is_bound = self.capacity.is_bound();
        self.tracker.set_bound(is_bound);
        CapacityState { changed, is_bound }
    }

    /// Returns what was acknowledged, on the wire.
    fn follow_residual(&mut self, acked: &Acked<'_>) -> Bytes {
        let mut size = Bytes::ZERO;
        let mut newest = None;
        for packet in acked.packets {
            size += self.view.on_wire(packet.size);
            newest = newest.max(Some(packet.sent));
        }
        if let Some(newest_sent) = newest {
            // RFC 6298, section 2, without its floor of a second: that is for timers, not for
            // slots.
            let rtt = &acked.info.rtt;
            let timeout = rtt.smoothed.saturating_add(rtt.variation.saturating_mul(4));
            let _ = self.residual.on_ack(acked.now, newest_sent, size, timeout);
        }
        size
    }
}
