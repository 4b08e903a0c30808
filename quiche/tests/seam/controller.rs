//! A controller that follows a script and writes down what it is told.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quiche::cc::{
    AckFrequency, AckReceived, CongestionController, Factory, LostPacket, PacketSent, PacketSpace,
    PacketsLost, PathContext, PeerAcks, ReceiveTime, Release, SendContext,
};

/// When packets are let out.
#[derive(Clone, Copy, Debug)]
pub enum Policy {
    /// At once.
    Free,
    /// One every so often.
    Paced(Duration),
    /// One at a time: nothing while anything is in flight.
    StopAndWait,
    /// The first asks are answered with Hold, whatever happens.
    HoldFirst(u32),
    /// This many packets, then nothing more.
    HoldAfter(u32),
}

#[derive(Clone, Debug)]
pub struct Script {
    pub window: usize,
    pub packet_size: Option<usize>,
    pub policy: Policy,
    /// Every so many released packets ask for an acknowledgement of their own.
    pub immediate_every: Option<u32>,
    /// The request to the peer, repeated whenever asked.
    pub frequency: Option<AckFrequency>,
    /// Routers may mark packets.
    pub takes_marks: bool,
    /// Whether the factory says that its controllers ask for acknowledgements.
    pub requests_acks: bool,
}

impl Script {
    pub fn new(policy: Policy) -> Self {
        Self {
            window: 60_000,
            packet_size: None,
            policy,
            immediate_every: None,
            frequency: None,
            takes_marks: false,
            requests_acks: true,
        }
    }

    pub fn takes_marks(self) -> Self {
        Self {
            takes_marks: true,
            ..self
        }
    }

    pub fn immediate_every(self, count: u32) -> Self {
        Self {
            immediate_every: Some(count),
            ..self
        }
    }

    pub fn frequency(self, request: AckFrequency) -> Self {
        Self {
            frequency: Some(request),
            ..self
        }
    }

    pub fn window(self, window: usize) -> Self {
        Self { window, ..self }
    }

    pub fn packet_size(self, size: usize) -> Self {
        Self {
            packet_size: Some(size),
            ..self
        }
    }
}

impl Factory for Script {
    fn build(&self, path: &PathContext) -> Box<dyn CongestionController> {
        assert_eq!(
            path.now,
            quiche::clock::now(),
            "a controller is built in its connection's time"
        );
        Box::new(Scripted {
            script: self.clone(),
            ..Scripted::default_for(path)
        })
    }

    fn requests_acks(&self) -> bool {
        self.requests_acks
    }
}

/// An ACK as the controller saw it.
#[derive(Clone, Debug)]
pub struct Acked {
    pub now: Instant,
    pub space: PacketSpace,
    pub packet_numbers: Vec<u64>,
    pub ack_delay: Duration,
    pub smoothed_rtt: Duration,
    pub ecn_ce: Option<u64>,
    pub receive_times: Vec<ReceiveTime>,
}

#[derive(Clone, Debug)]
pub struct Lost {
    pub packets: Vec<LostPacket>,
    pub persistent: bool,
}

#[derive(Debug)]
pub struct Scripted {
    pub script: Script,
    pub asked: Vec<(SendContext, Release)>,
    pub sent: Vec<PacketSent>,
    pub acks: Vec<Acked>,
    pub losses: Vec<Lost>,
    pub spurious: Vec<u64>,
    pub timeouts: Vec<u32>,
    pub discarded: Vec<(PacketSpace, usize)>,
    pub datagram_sizes: Vec<usize>,
    pub app_limited: usize,
    pub peer_acks: Vec<PeerAcks>,
    /// How often it was asked for an IMMEDIATE_ACK and for a request.
    pub immediate_asked: u32,
    pub frequency_asked: u32,
    /// How often it was asked whether it takes marks.
    pub marks_asked: AtomicU32,
    /// Packets that were to be acknowledged at once.
    pub immediate: Vec<u64>,
    wants_immediate: bool,
    next: Option<Instant>,
    released: u32,
    #[cfg_attr(not(feature = "qlog"), allow(dead_code, reason = "only qlog reads them"))]
    notes: VecDeque<(Instant, Note)>,
}

/// What goes to the log.
#[cfg_attr(not(feature = "qlog"), allow(dead_code, reason = "only qlog reads them"))]
#[derive(Clone, Copy, Debug)]
enum Note {
    Packet(u64),
    PathLeft,
    Closed,
}

impl Scripted {
    fn default_for(path: &PathContext) -> Self {
        Self {
            script: Script::new(Policy::Free),
            asked: Vec::new(),
            sent: Vec::new(),
            acks: Vec::new(),
            losses: Vec::new(),
            spurious: Vec::new(),
            timeouts: Vec::new(),
            discarded: Vec::new(),
            datagram_sizes: vec![path.max_datagram_size],
            app_limited: 0,
            peer_acks: Vec::new(),
            immediate_asked: 0,
            frequency_asked: 0,
            marks_asked: AtomicU32::new(0),
            immediate: Vec::new(),
            wants_immediate: false,
            next: None,
            released: 0,
            notes: VecDeque::new(),
        }
    }

    /// The packets that the script let out.
    pub fn released(&self) -> impl Iterator<Item = &PacketSent> {
        self.sent.iter().filter(|packet| packet.released)
    }

    pub fn lost_numbers(&self) -> Vec<u64> {
        self.losses
            .iter()
            .flat_map(|loss| &loss.packets)
            .map(|packet| packet.packet_number)
            .collect()
    }

    fn answer(&self, context: &SendContext) -> Release {
        match self.script.policy {
            Policy::Free => Release::Now,
            Policy::Paced(_) => self.next.map_or(Release::Now, Release::At),
            Policy::StopAndWait if context.bytes_in_flight > 0 => Release::Hold,
            Policy::StopAndWait => Release::Now,
            Policy::HoldFirst(count) if self.asked.len() < count as usize => Release::Hold,
            Policy::HoldFirst(_) => Release::Now,
            Policy::HoldAfter(count) if self.released >= count => Release::Hold,
            Policy::HoldAfter(_) => Release::Now,
        }
    }
}

impl CongestionController for Scripted {
    fn sends_singly(&self) -> bool {
        matches!(self.script.policy, Policy::Paced(_))
    }

    fn cwnd(&self) -> usize {
        self.script.window
    }

    fn next_release(&mut self, context: &SendContext) -> Release {
        let release = self.answer(context);
        self.asked.push((*context, release));
        release
    }

    fn next_packet_size(&self) -> Option<usize> {
        self.script.packet_size
    }

    fn on_packet_sent(&mut self, sent: &PacketSent) {
        if sent.released {
            self.released += 1;
            if std::mem::take(&mut self.wants_immediate) {
                self.immediate.push(sent.packet_number);
            }
            if let Policy::Paced(gap) = self.script.policy {
                self.next = Some(sent.now + gap);
            }
        }
        self.notes
            .push_back((sent.now, Note::Packet(sent.packet_number)));
        self.sent.push(*sent);
    }

    fn on_ack(&mut self, ack: &AckReceived<'_>) {
        self.acks.push(Acked {
            now: ack.now,
            space: ack.space,
            packet_numbers: ack
                .acked
                .iter()
                .map(|packet| packet.packet_number)
                .collect(),
            ack_delay: ack.ack_delay,
            smoothed_rtt: ack.rtt.smoothed,
            ecn_ce: ack.ecn_ce,
            receive_times: ack.receive_times.to_vec(),
        });
    }

    fn on_loss(&mut self, loss: &PacketsLost<'_>) {
        self.losses.push(Lost {
            packets: loss.lost.to_vec(),
            persistent: loss.persistent_congestion,
        });
    }

    fn on_spurious_loss(&mut self, _now: Instant, _space: PacketSpace, packet_number: u64) {
        self.spurious.push(packet_number);
    }

    fn on_pto(&mut self, _now: Instant, count: u32) {
        self.timeouts.push(count);
    }

    fn on_space_discarded(&mut self, now: Instant, space: PacketSpace, bytes: usize) {
        if space == PacketSpace::Application {
            self.notes.push_back((now, Note::PathLeft));
        }
        self.discarded.push((space, bytes));
    }

    fn on_closed(&mut self, now: Instant) {
        self.notes.push_back((now, Note::Closed));
    }

    fn on_max_datagram_size(&mut self, size: usize) {
        self.datagram_sizes.push(size);
    }

    fn on_app_limited(&mut self, _now: Instant) {
        self.app_limited += 1;
    }

    fn on_peer_acks(&mut self, peer: &PeerAcks) {
        self.peer_acks.push(*peer);
    }

    fn immediate_ack(&mut self) -> bool {
        self.immediate_asked += 1;
        let every = self.script.immediate_every;
        self.wants_immediate =
            every.is_some_and(|every| self.immediate_asked.is_multiple_of(every));
        self.wants_immediate
    }

    fn ack_frequency(&mut self, _now: Instant) -> Option<AckFrequency> {
        self.frequency_asked += 1;
        self.script.frequency
    }

    fn takes_marks(&self) -> bool {
        self.marks_asked.fetch_add(1, Ordering::Relaxed);
        self.script.takes_marks
    }

    fn state(&self) -> &'static str {
        "scripted"
    }

    fn ssthresh(&self) -> Option<usize> {
        Some(12_345)
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(1_000_000)
    }

    #[cfg(feature = "qlog")]
    fn drain_qlog_events(&mut self, emit: &mut dyn FnMut(Instant, &str, serde_json::Value)) {
        for (time, note) in self.notes.drain(..) {
            let (name, data) = match note {
                Note::Packet(number) => (
                    "scripted:packet_noted",
                    serde_json::json!({ "packet_number": number }),
                ),
                Note::PathLeft => ("scripted:path_left", serde_json::json!({})),
                Note::Closed => ("scripted:closed", serde_json::json!({})),
            };
            emit(time, name, data);
        }
    }
}

/// The script as quiche wants it.
pub fn factory(script: Script) -> Arc<dyn Factory> {
    Arc::new(script)
}
