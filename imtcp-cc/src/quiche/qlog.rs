//! What the controller writes to quiche's qlog: its own events, what quiche never logs, and, if it
//! is asked to, all that the core is fed.

use super::Controller;
use crate::control::Window;
use crate::input::Input;
use crate::log::Logged;
use crate::qlog::{CORE_INPUT, PARAMETERS_SET, Parameters, input, parameters, record};
use crate::transport::AckInfo;
use crate::units::{Bytes, Timestamp};
use quiche::cc::PacketSpace;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::Instant;

/// How much a controller logs, while the connection writes a qlog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The controller's events with its parameters, what became of its probe streams, and what
    /// quiche itself never logs.
    #[default]
    Events,
    /// Also every state of the control unit, and all that the core is fed, with which
    /// `imtcp-qlog replay` runs it again. This doubles the log. The connection's log has to begin
    /// with the connection.
    Replay,
}

/// How many entries may wait for the log. quiche takes them with each packet that comes or goes.
const MOST_WAITING: usize = 1 << 14;

/// The same before they were taken for the first time. If nobody takes so many, the connection has
/// no log.
const MOST_BEFORE: usize = 1 << 8;

/// What is to be logged, in the order in which it happened.
#[derive(Debug)]
pub(super) struct Recording {
    detail: Detail,
    /// The number of the path.
    path: u32,
    parameters: Parameters,
    initial_window: Bytes,
    waiting: VecDeque<(Timestamp, Entry)>,
    /// Whether an input was dropped. Later ones are then worth nothing.
    is_broken: bool,
    has_begun: bool,
    began: Timestamp,
    /// When the core was last fed.
    latest: Timestamp,
    control_state: &'static str,
}

#[derive(Debug)]
enum Entry {
    Input(Input),
    Lost(PacketSpace, u64),
    ControlState(&'static str),
    Logged(Logged),
}

impl Recording {
    /// That of a controller which is built `now` for the path with this number, and whose window
    /// begins so.
    pub(super) fn new(
        now: Timestamp,
        path: u32,
        parameters: Parameters,
        initial_window: Bytes,
    ) -> Self {
        Self {
            detail: Detail::default(),
            path,
            parameters,
            initial_window,
            waiting: VecDeque::new(),
            is_broken: false,
            has_begun: false,
            began: now,
            latest: now,
            control_state: "",
        }
    }

    pub(super) fn set_detail(&mut self, detail: Detail) {
        self.detail = detail;
    }

    /// When the core was last fed, for calls that come without a time.
    pub(super) fn latest(&self) -> Timestamp {
        self.latest
    }

    fn push(&mut self, now: Timestamp, entry: Entry) {
        let most = if self.has_begun {
            MOST_WAITING
        } else {
            MOST_BEFORE
        };
        if self.waiting.len() >= most {
            self.is_broken = true;
            self.waiting.clear();
            self.waiting.shrink_to_fit();
        }
        if !(self.is_broken && matches!(entry, Entry::Input(_))) {
            self.waiting.push_back((now, entry));
        }
    }

    /// The data of an event, which says of which path it is.
    fn of_path(&self, name: &str, mut data: Value) -> Value {
        if self.path > 0 && name.starts_with("imtcp:") {
            data["path"] = json!(self.path);
        }
        data
    }
}

impl Controller {
    pub(super) fn logging(mut self, detail: Detail) -> Self {
        self.recording.set_detail(detail);
        self
    }

    /// The core is about to be fed this.
    pub(super) fn record(&mut self, now: Timestamp, input: impl FnOnce() -> Input) {
        if self.recording.detail == Detail::Replay && !self.recording.is_broken {
            self.collect();
            let state = self.core.control_unit_state();
            if state != self.recording.control_state {
                self.recording.control_state = state;
                let since = self.recording.latest;
                self.recording.push(since, Entry::ControlState(state));
            }
            self.recording.latest = now;
            self.recording.push(now, Entry::Input(input()));
        }
    }

    /// The packets of an acknowledgement are about to be told to the core.
    pub(super) fn record_acked(&mut self, now: Timestamp, info: impl FnOnce() -> AckInfo) {
        let packets = std::mem::take(&mut self.acked);
        self.record(now, || Input::Acked {
            info: info(),
            packets: packets.clone(),
        });
        self.acked = packets;
    }

    /// Packets were declared lost.
    pub(super) fn record_lost(&mut self, now: Timestamp, space: PacketSpace, number: u64) {
        if self.recording.has_begun {
            self.collect();
            self.recording.push(now, Entry::Lost(space, number));
        }
    }

    /// Takes what the core has logged since, so that it keeps its place among the inputs.
    fn collect(&mut self) {
        while let Some((at, entry)) = self.core.take_logged() {
            self.recording.push(at, Entry::Logged(entry));
        }
    }

    /// Passes what happened since the last call to `emit`.
    pub(super) fn drain(&mut self, emit: &mut dyn FnMut(Instant, &str, Value)) {
        self.core.keep_log_of_streams();
        if !self.recording.has_begun {
            self.recording.has_begun = true;
            let now = self.origin.instant(self.recording.began);
            let set = &self.recording.parameters;
            let data = recovery(set, self.recording.initial_window);
            emit(now, "quic:recovery_parameters_set", data);
            let set = self.recording.of_path(PARAMETERS_SET, parameters(set));
            emit(now, PARAMETERS_SET, set);
        }
        self.collect();
        while let Some((at, entry)) = self.recording.waiting.pop_front() {
            let (name, data) = match &entry {
                Entry::Input(fed) => (CORE_INPUT, input(at, fed)),
                Entry::Lost(space, number) => ("quic:packet_lost", lost(*space, *number)),
                Entry::ControlState(new) => ("imtcp:control_state_updated", json!({ "new": new })),
                Entry::Logged(entry) => record(entry),
            };
            emit(
                self.origin.instant(at),
                name,
                self.recording.of_path(name, data),
            );
        }
    }
}

/// What quiche's loss detection and the window begin with (RFC 9002, appendices A.2 and B.2).
fn recovery(set: &Parameters, initial_window: Bytes) -> Value {
    let datagram = set.max_datagram.get();
    let mut data = json!({
        "reordering_threshold": 3,
        "time_threshold": 1.125,
        "timer_granularity": 1,
        "max_datagram_size": datagram,
        "initial_congestion_window": initial_window.get(),
        "minimum_congestion_window": datagram * 2,
        "loss_reduction_factor": match set.config.window() {
            Window::Cubic => 0.7,
            Window::Reno => 0.5,
        },
        "persistent_congestion_threshold": 3,
    });
    if let Some(rtt) = set.config.initial_rtt() {
        data["initial_rtt"] = json!(rtt.as_secs_f64() * 1e3);
    }
    data
}

fn lost(space: PacketSpace, number: u64) -> Value {
    let kind = match space {
        PacketSpace::Initial => "initial",
        PacketSpace::Handshake => "handshake",
        PacketSpace::Application => "1RTT",
    };
    json!({ "header": { "packet_type": kind, "packet_number": number } })
}
