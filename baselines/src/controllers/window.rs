//! What window laws that go by losses have in common: slow start, one reduction for each round
//! trip with losses, growth only where the window is used (RFC 9002, section 7 and appendix B).

use imtcp_cc::Phase;
use imtcp_cc::units::{Bytes, Timestamp};
use imtcp_cc::unstable::WindowUsage;
use quiche::cc::{
    AckReceived, CongestionController, PacketSent, PacketsLost, PathContext, Release, SendContext,
};
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// The least window in packets (RFC 9002, section 7.2).
const LEAST: f64 = 2.0;

/// What differs. Windows are in packets.
pub trait Law: Debug + Send + Sync + 'static {
    /// By how many packets the window grows in a round trip of congestion avoidance.
    fn growth(&self, window: f64) -> f64;

    /// The slow start threshold after a loss.
    fn threshold(&self, reduced: &Reduced) -> f64;

    /// The window after a loss.
    fn window(&self, _reduced: &Reduced, threshold: f64) -> f64 {
        threshold
    }

    /// A packet left.
    fn on_sent(&mut self, _sent: &PacketSent) {}

    /// An acknowledgement came. It is told before the window grows.
    fn on_ack(&mut self, _ack: &AckReceived<'_>) {}
}

/// What is known at a loss.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reduced {
    /// The window in packets.
    pub window: f64,
    /// The shortest round trip.
    pub min_rtt: Duration,
    /// Bytes of a packet, UDP payload.
    pub packet: f64,
}

/// The controller of one path.
#[derive(Debug)]
pub struct LossBased<L> {
    law: L,
    origin: Instant,
    /// Bytes of a packet, UDP payload; not 0.
    packet: f64,
    /// In packets. Growth by parts of a packet adds up.
    window: f64,
    /// In packets.
    threshold: Option<f64>,
    min_rtt: Duration,
    /// Losses of packets that left by then belong to the last reduction.
    recovery_start: Option<Instant>,
    in_recovery: bool,
    usage: WindowUsage,
}

impl<L: Law> LossBased<L> {
    /// A controller of a path that nothing is known of.
    pub fn new(path: &PathContext, law: L) -> Self {
        Self {
            law,
            origin: path.now,
            packet: path.max_datagram_size.max(1) as f64,
            window: (path.initial_window_packets as f64).max(LEAST),
            threshold: None,
            min_rtt: path.initial_rtt,
            recovery_start: None,
            in_recovery: false,
            usage: WindowUsage::default(),
        }
    }

    fn timestamp(&self, at: Instant) -> Timestamp {
        Timestamp::from_origin(at.saturating_duration_since(self.origin))
    }

    fn phase(&self) -> Phase {
        if self.in_recovery {
            Phase::Recovery
        } else if self
            .threshold
            .is_none_or(|threshold| self.window < threshold)
        {
            Phase::SlowStart
        } else {
            Phase::CongestionAvoidance
        }
    }

    fn window_bytes(&self) -> Bytes {
        Bytes::from_f64(self.window * self.packet)
    }

    fn is_unused(&self, phase: Phase) -> bool {
        let packet = Bytes::from_f64(self.packet);
        self.usage.is_underused(self.window_bytes(), phase, packet)
    }

    fn grow(&mut self, acked: f64) {
        let phase = self.phase();
        if self.is_unused(phase) {
            return;
        }
        match (phase, self.threshold) {
            (Phase::SlowStart, threshold) => {
                let grown = self.window + acked;
                self.window = grown.min(threshold.unwrap_or(f64::INFINITY).max(self.window));
            }
            _ => self.window += self.law.growth(self.window) * acked / self.window,
        }
    }

    fn reduce(&mut self) {
        let reduced = Reduced {
            window: self.window,
            min_rtt: self.min_rtt,
            packet: self.packet,
        };
        let threshold = self.law.threshold(&reduced).max(LEAST);
        self.threshold = Some(threshold);
        self.window = self.law.window(&reduced, threshold).max(LEAST);
    }
}

impl<L: Law> CongestionController for LossBased<L> {
    fn cwnd(&self) -> usize {
        usize::try_from(self.window_bytes().get()).unwrap_or(usize::MAX)
    }

    fn next_release(&mut self, _: &SendContext) -> Release {
        Release::Now
    }

    fn on_packet_sent(&mut self, sent: &PacketSent) {
        self.usage.on_sent(Bytes::from_usize(sent.bytes_in_flight));
        self.law.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &AckReceived<'_>) {
        self.law.on_ack(ack);
        self.min_rtt = ack.rtt.min;
        let now = self.timestamp(ack.now);
        let in_flight = Bytes::from_usize(ack.bytes_in_flight);
        self.usage.on_ack(now, in_flight, ack.rtt.smoothed);
        for packet in ack.acked {
            if self
                .recovery_start
                .is_some_and(|start| packet.time_sent <= start)
            {
                continue;
            }
            self.in_recovery = false;
            self.grow(packet.size as f64 / self.packet);
        }
    }

    fn on_loss(&mut self, loss: &PacketsLost<'_>) {
        let newest = loss.lost.iter().map(|packet| packet.time_sent).max();
        if newest > self.recovery_start {
            self.reduce();
            self.recovery_start = Some(loss.now);
            self.in_recovery = true;
        }
        if loss.persistent_congestion {
            self.window = LEAST;
            self.recovery_start = None;
            self.in_recovery = false;
        }
    }

    fn on_max_datagram_size(&mut self, size: usize) {
        // The window keeps its bytes.
        let bytes = self.window * self.packet;
        self.packet = size.max(1) as f64;
        self.window = (bytes / self.packet).max(LEAST);
    }

    fn state(&self) -> &'static str {
        self.phase().name()
    }

    fn ssthresh(&self) -> Option<usize> {
        let bytes = Bytes::from_f64(self.threshold? * self.packet);
        usize::try_from(bytes.get()).ok()
    }
}
