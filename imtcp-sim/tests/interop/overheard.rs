//! The project's own controller, overheard: which packets were probes, and how each was
//! acknowledged.

use imtcp_cc::Config;
use imtcp_cc::quiche::{Controller, Factory};
use quiche::cc::{
    AckFrequency, AckReceived, CongestionController, PacketSent, PacketSpace, PacketsLost,
    PathContext, PeerAcks, Release, SendContext,
};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The name that the control unit gives its state while it sends a stream.
const SENDING_STREAM: &str = "send_stream";

/// The record of what was overheard.
#[derive(Debug, Default)]
pub struct Log {
    /// Packets of probe streams, whatever they asked for.
    pub probes: BTreeSet<u64>,
    /// The delay in each ACK frame that acknowledged something new, by its largest number.
    pub acks: BTreeMap<u64, Duration>,
    /// Packets declared lost.
    pub lost: BTreeSet<u64>,
}

/// Registers the controller, overheard, for [`quiche::Config::set_cc_algorithm_name`].
pub fn register(name: &str) -> Arc<Mutex<Log>> {
    let log = Arc::new(Mutex::new(Log::default()));
    let factory = Overhearing { log: log.clone() };
    quiche::cc::register(name, Arc::new(factory)).expect("each test has a name of its own");
    log
}

#[derive(Debug)]
struct Overhearing {
    log: Arc<Mutex<Log>>,
}

impl quiche::cc::Factory for Overhearing {
    fn build(&self, path: &PathContext) -> Box<dyn CongestionController> {
        Box::new(Overheard {
            controller: Factory::new(Config::default()).build(path),
            log: self.log.clone(),
        })
    }
}

#[derive(Debug)]
struct Overheard {
    controller: Box<dyn CongestionController>,
    log: Arc<Mutex<Log>>,
}

impl Overheard {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sends_stream(&self) -> bool {
        let inner: &dyn Any = &*self.controller;
        let controller: &Controller = inner.downcast_ref().expect("it was built so");
        controller.core().control_unit_state() == SENDING_STREAM
    }
}

impl CongestionController for Overheard {
    fn on_packet_sent(&mut self, sent: &PacketSent) {
        if sent.space == PacketSpace::Application && sent.released && self.sends_stream() {
            self.log().probes.insert(sent.packet_number);
        }
        self.controller.on_packet_sent(sent);
    }

    fn on_ack(&mut self, ack: &AckReceived<'_>) {
        if ack.space == PacketSpace::Application {
            // If several frames have the same largest number, the first one acknowledged it.
            let delay = ack.ack_delay;
            self.log().acks.entry(ack.largest_acked).or_insert(delay);
        }
        self.controller.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &PacketsLost<'_>) {
        if loss.space == PacketSpace::Application {
            let numbers = loss.lost.iter().map(|packet| packet.packet_number);
            self.log().lost.extend(numbers);
        }
        self.controller.on_loss(loss);
    }

    fn cwnd(&self) -> usize {
        self.controller.cwnd()
    }

    fn next_release(&mut self, context: &SendContext) -> Release {
        self.controller.next_release(context)
    }

    fn next_packet_size(&self) -> Option<usize> {
        self.controller.next_packet_size()
    }

    fn on_spurious_loss(&mut self, now: Instant, space: PacketSpace, packet_number: u64) {
        self.controller.on_spurious_loss(now, space, packet_number);
    }

    fn on_pto(&mut self, now: Instant, count: u32) {
        self.controller.on_pto(now, count);
    }

    fn on_space_discarded(&mut self, now: Instant, space: PacketSpace, bytes: usize) {
        self.controller.on_space_discarded(now, space, bytes);
    }

    fn on_closed(&mut self, now: Instant) {
        self.controller.on_closed(now);
    }

    fn on_max_datagram_size(&mut self, size: usize) {
        self.controller.on_max_datagram_size(size);
    }

    fn on_app_limited(&mut self, now: Instant) {
        self.controller.on_app_limited(now);
    }

    fn on_peer_acks(&mut self, peer: &PeerAcks) {
        self.controller.on_peer_acks(peer);
    }

    fn immediate_ack(&mut self) -> bool {
        self.controller.immediate_ack()
    }

    fn ack_frequency(&mut self, now: Instant) -> Option<AckFrequency> {
        self.controller.ack_frequency(now)
    }

    fn state(&self) -> &'static str {
        self.controller.state()
    }

    fn ssthresh(&self) -> Option<usize> {
        self.controller.ssthresh()
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.controller.pacing_rate()
    }

    fn drain_qlog_events(&mut self, emit: &mut dyn FnMut(Instant, &str, serde_json::Value)) {
        self.controller.drain_qlog_events(emit);
    }
}
