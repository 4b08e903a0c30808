//! The controller, overheard.

use super::ReleaseTiming;
use super::planner::Planner;
use crate::acknowledgements::Acknowledgements;
use imtcp_cc::quiche::Controller;
use quiche::cc::{
    AckFrequency, AckReceived, CongestionController, PacketSent, PacketSpace, PacketsLost,
    PeerAcks, Release, SendContext,
};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The name that the control unit gives its state while it sends a stream.
const SENDING_STREAM: &str = "send_stream";

/// A controller whose packets are timed and whose acknowledgements are counted.
#[derive(Debug)]
pub struct Timed {
    controller: Box<dyn CongestionController>,
    planner: Planner,
    account: Arc<Mutex<ReleaseTiming>>,
    acknowledgements: Arc<Mutex<Acknowledgements>>,
    number: u64,
    is_acknowledged: bool,
}

impl Timed {
    /// `controller` of path `number`, with its times kept in `account` and its acknowledgements in
    /// `acknowledgements`.
    pub fn new(
        number: u64,
        controller: Box<dyn CongestionController>,
        account: Arc<Mutex<ReleaseTiming>>,
        acknowledgements: Arc<Mutex<Acknowledgements>>,
    ) -> Self {
        Self {
            controller,
            planner: Planner::default(),
            account,
            acknowledgements,
            number,
            is_acknowledged: false,
        }
    }

    /// The number of the path, as logs have it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Something has been acknowledged: from then on the controller knows a round trip.
    pub fn is_acknowledged(&self) -> bool {
        self.is_acknowledged
    }

    /// This project's controller, if it is the one inside.
    pub fn controller(&self) -> Option<&Controller> {
        let inner: &dyn Any = &*self.controller;
        inner.downcast_ref()
    }

    fn acknowledgements(&self) -> MutexGuard<'_, Acknowledgements> {
        self.acknowledgements
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn sends_stream(&self) -> bool {
        self.controller()
            .is_some_and(|controller| controller.core().control_unit_state() == SENDING_STREAM)
    }
}

impl CongestionController for Timed {
    fn next_release(&mut self, context: &SendContext) -> Release {
        let inside_stream = self.sends_stream();
        let release = self.controller.next_release(context);
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        self.planner
            .on_answer(context.now, release, inside_stream, &mut account);
        release
    }

    fn on_packet_sent(&mut self, sent: &PacketSent) {
        if sent.space == PacketSpace::Application && sent.in_flight {
            let probe = sent.released && self.sends_stream();
            let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
            self.planner
                .on_sent(sent.now, sent.released, probe, &mut account);
        }
        self.controller.on_packet_sent(sent);
    }

    fn sends_singly(&self) -> bool {
        self.controller.sends_singly()
    }

    fn cwnd(&self) -> usize {
        self.controller.cwnd()
    }

    fn next_packet_size(&self) -> Option<usize> {
        self.controller.next_packet_size()
    }

    fn on_ack(&mut self, ack: &AckReceived<'_>) {
        self.acknowledgements().on_ack(ack);
        self.controller.on_ack(ack);
        self.is_acknowledged |= ack.space == PacketSpace::Application;
    }

    fn on_loss(&mut self, loss: &PacketsLost<'_>) {
        self.planner.on_loss();
        self.controller.on_loss(loss);
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
        let request = self.controller.ack_frequency(now);
        if request.is_some() {
            self.acknowledgements().on_request();
        }
        request
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
