//! A controller with a window of one size that asks for acknowledgements by a script and writes
//! down what it gets.

use quiche::cc::{
    AckFrequency, AckReceived, CongestionController, Factory, PacketSent, PacketSpace, PacketsLost,
    PathContext, PeerAcks, Release, SendContext,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes in flight: 35 packets, which a path of 10 Mbit/s and 41 ms with a queue of 50 KB takes
/// without a loss.
const WINDOW: usize = 48_000;

/// What to ask for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Script {
    /// One packet in so many, counted from the first, carries an IMMEDIATE_ACK.
    pub immediate_every: Option<u64>,
    /// An ACK_FREQUENCY from the start.
    pub frequency: Option<AckFrequency>,
}

/// What the controller saw.
#[derive(Debug, Default)]
pub struct Log {
    pub peer: Option<PeerAcks>,
    /// Packets with application data.
    pub sent: Vec<u64>,
    /// Those of them that asked to be acknowledged at once.
    pub immediate: Vec<u64>,
    /// The largest number and the delay in each ACK frame that acknowledged something new.
    pub acks: Vec<(u64, Duration)>,
    pub lost: usize,
    /// What the controller was told of marks in these frames.
    pub marks: Vec<Option<u64>>,
}

/// Builds controllers of one script that share a log.
#[derive(Debug)]
pub struct Scripts {
    script: Script,
    log: Arc<Mutex<Log>>,
}

impl Scripts {
    /// Registers the script under a name for [`quiche::Config::set_cc_algorithm_name`].
    pub fn register(name: &str, script: Script) -> Arc<Mutex<Log>> {
        let log = Arc::new(Mutex::new(Log::default()));
        let scripts = Self {
            script,
            log: log.clone(),
        };
        quiche::cc::register(name, Arc::new(scripts)).expect("each test has a name of its own");
        log
    }
}

/// The log, whatever happened to a test that held it.
pub fn read(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Factory for Scripts {
    fn build(&self, _: &PathContext) -> Box<dyn CongestionController> {
        Box::new(Scripted {
            script: self.script,
            log: self.log.clone(),
            asked: 0,
            immediate: false,
        })
    }
}

#[derive(Debug)]
struct Scripted {
    script: Script,
    log: Arc<Mutex<Log>>,
    asked: u64,
    /// The next packet with data carries an IMMEDIATE_ACK.
    immediate: bool,
}

impl CongestionController for Scripted {
    fn cwnd(&self) -> usize {
        WINDOW
    }

    fn next_release(&mut self, _: &SendContext) -> Release {
        Release::Now
    }

    fn on_packet_sent(&mut self, sent: &PacketSent) {
        if sent.space != PacketSpace::Application || !sent.app_data {
            return;
        }
        let mut log = read(&self.log);
        log.sent.push(sent.packet_number);
        if std::mem::take(&mut self.immediate) {
            log.immediate.push(sent.packet_number);
        }
    }

    fn on_ack(&mut self, ack: &AckReceived<'_>) {
        if ack.space == PacketSpace::Application {
            let mut log = read(&self.log);
            log.acks.push((ack.largest_acked, ack.ack_delay));
            log.marks.push(ack.ecn_ce);
        }
    }

    fn on_loss(&mut self, loss: &PacketsLost<'_>) {
        read(&self.log).lost += loss.lost.len();
    }

    fn on_max_datagram_size(&mut self, _: usize) {}

    fn on_peer_acks(&mut self, peer: &PeerAcks) {
        read(&self.log).peer = Some(*peer);
    }

    fn immediate_ack(&mut self) -> bool {
        self.asked += 1;
        let every = self.script.immediate_every;
        self.immediate |= every.is_some_and(|every| self.asked.is_multiple_of(every));
        self.immediate
    }

    fn ack_frequency(&mut self, _: Instant) -> Option<AckFrequency> {
        self.script.frequency
    }

    fn state(&self) -> &'static str {
        "scripted"
    }
}
