//! A tool's measurements, one after the other.

use crate::network::{Direction, Ecn, Owner, Packet, Probe, ProbeKind, ToolId};
use crate::random::component_seed;
use crate::scenario::{Times, Tool};
use baselines::tools::{self, Answer, Settings, Step};
use imtcp_cc::units::{Bandwidth, Bytes, Timestamp};
use std::time::Duration;

/// The IP packet of a question or an answer: TCP with timestamps, and a few numbers.
const MESSAGE: Bytes = Bytes::new(64);
/// A question without an answer is asked again after this: RFC 6298, section 2.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A measurement's outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// When it began.
    pub begun: Timestamp,
    /// When it ended; `None` if the run ended first.
    pub ended: Option<Timestamp>,
    /// What it came to.
    pub answer: Option<Answer>,
    /// What it took.
    pub cost: Outcome,
}

/// What a measurement takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Probes that left.
    pub packets: u64,
    /// IP bytes of the probes.
    pub bytes: u64,
    /// IP bytes of questions, answers and echoes.
    pub other_bytes: u64,
    /// Probes that came to the far end.
    pub arrived: u64,
    /// The mean delay that the probes added to the queues of the path, in seconds.
    pub added_mean: f64,
    /// The greatest such delay.
    pub added_most: f64,
}

/// Packets to send and instants at which the tool wants to be asked.
#[derive(Debug, Default)]
pub struct Wishes {
    /// Packets that leave now, and the end that sends them.
    pub packets: Vec<(Direction, Packet)>,
    /// When the tool has something to do.
    pub wakes: Vec<Timestamp>,
}

/// A tool during a run.
#[derive(Debug)]
pub struct Runner {
    id: ToolId,
    settings: Tool,
    seed: u64,
    /// How many measurements have begun.
    begun: u32,
    running: Option<Running>,
    next: Option<Timestamp>,
    armed: Option<Timestamp>,
    measured: Vec<Measured>,
}

#[derive(Debug)]
struct Running {
    tool: Box<dyn tools::Tool>,
    begun: Timestamp,
    /// What the receiver has written down and not told.
    received: Vec<(u64, Timestamp)>,
    /// The last question, when it is asked again, and how much of what was received was told to it.
    question: Option<(u64, Timestamp)>,
    told: usize,
    questions: u64,
    cost: Outcome,
    /// The integral of the added delay when it began.
    added_before: f64,
    /// Answers that are written down, of a tool that follows the path.
    told_before: u64,
    /// The number of its first probe since the last of these answers.
    first: u64,
}

impl Runner {
    /// A tool that has not begun.
    pub fn new(id: ToolId, settings: &Tool, seed: u64) -> Self {
        Self {
            id,
            settings: settings.clone(),
            seed: component_seed(seed, &format!("tool.{}", settings.name)),
            begun: 0,
            running: None,
            next: Some(settings.start),
            armed: None,
            measured: Vec::new(),
        }
    }

    /// When it has something to do for the first time.
    pub fn start(&self) -> Timestamp {
        self.settings.start
    }

    /// The measurements that are over, and the one that is under way.
    pub fn measured(&self) -> impl Iterator<Item = Measured> + '_ {
        let running = self.running.as_ref().map(|running| Measured {
            begun: running.begun,
            ended: None,
            answer: None,
            cost: running.cost,
        });
        self.measured.iter().copied().chain(running)
    }

    /// The tool may act. `capacity` is that of the narrowest link now, and `added` the integral of
    /// the delays that tools have added.
    pub fn wake(&mut self, now: Timestamp, capacity: Bandwidth, added: f64, out: &mut Wishes) {
        if self.armed.is_some_and(|armed| armed <= now) {
            self.armed = None;
        }
        if self.running.is_none() && self.next.is_some_and(|next| next <= now) {
            self.begin(now, capacity, added);
        }
        self.act(now, added, out);
        let due = match &self.running {
            Some(running) => running.question.map(|(_, again)| again),
            None => self.next,
        };
        if let Some(due) = due {
            self.arm(due, out);
        }
    }

    /// A packet of the tool came to one of its ends.
    pub fn receive(
        &mut self,
        now: Timestamp,
        direction: Direction,
        packet: &Packet,
        out: &mut Wishes,
    ) {
        let Some(probe) = packet.probe else { return };
        let (id, measurement, echo) = (self.id, self.begun, self.settings.echo);
        let Some(running) = &mut self.running else {
            return;
        };
        if probe.measurement != measurement {
            return;
        }
        match (direction, probe.kind) {
            (Direction::Forward, ProbeKind::Probe(number)) => {
                // One from before the last answer was lost to that, and says nothing of this one.
                running.cost.arrived += u64::from(number >= running.first);
                match echo {
                    true => running.reply(id, packet.size, probe, out),
                    false => running.received.push((number, now)),
                }
            }
            (Direction::Reverse, ProbeKind::Probe(number)) => running.tool.on_arrival(number, now),
            (Direction::Forward, ProbeKind::Question(number)) => {
                if running.question.is_some_and(|(asked, _)| asked == number) {
                    running.told = running.received.len();
                }
                running.reply(id, MESSAGE, probe, out);
            }
            (Direction::Reverse, ProbeKind::Question(number)) => running.answered(now, number),
        }
    }

    /// The delay that tools add now.
    pub fn notice(&mut self, seconds: f64) {
        if let Some(running) = &mut self.running {
            running.cost.added_most = running.cost.added_most.max(seconds);
        }
    }

    fn begin(&mut self, now: Timestamp, capacity: Bandwidth, added: f64) {
        let settings = Settings {
            capacity: self.settings.capacity.unwrap_or(capacity),
            seed: component_seed(self.seed, &self.begun.to_string()),
        };
        self.begun += 1;
        self.next = None;
        self.running = Some(Running {
            tool: self.settings.kind.build(&settings, self.settings.follow),
            begun: now,
            received: Vec::new(),
            question: None,
            told: 0,
            questions: 0,
            cost: Outcome::default(),
            added_before: added,
            told_before: 0,
            first: 0,
        });
    }

    fn act(&mut self, now: Timestamp, added: f64, out: &mut Wishes) {
        let (id, measurement) = (self.id, self.begun);
        while let Some(running) = &mut self.running {
            running.ask_again(id, measurement, now, out);
            let step = running.tool.step(now);
            if self.settings.follow && running.tool.told() > running.told_before {
                running.told_before = running.tool.told();
                self.measured.push(running.take(now, added));
            }
            match step {
                Step::Send { number, size } => {
                    running.cost.packets += 1;
                    running.cost.bytes += size.get();
                    let kind = ProbeKind::Probe(number);
                    out.packets.push(forward(id, measurement, size, kind));
                }
                Step::Ask => running.ask(id, measurement, now, out),
                Step::WaitUntil(at) => return self.arm(at, out),
                Step::WaitForReport => return,
                Step::Done => self.end(now, added),
            }
        }
    }

    fn end(&mut self, now: Timestamp, added: f64) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        self.measured.push(running.take(now, added));
        let more = match self.settings.times {
            Times::Count(count) => self.begun < count,
            Times::Unbounded => true,
        };
        let next = now + self.settings.pause.max(Duration::from_micros(1));
        let in_time = self.settings.stop.is_none_or(|stop| next < stop);
        self.next = (more && in_time).then_some(next);
    }

    fn arm(&mut self, at: Timestamp, out: &mut Wishes) {
        if self.armed.is_none_or(|armed| at < armed) {
            self.armed = Some(at);
            out.wakes.push(at);
        }
    }
}

impl Running {
    /// The measurement as it is now; the next one begins.
    fn take(&mut self, now: Timestamp, added: f64) -> Measured {
        let mut cost = std::mem::take(&mut self.cost);
        self.first += cost.packets;
        let seconds = now.saturating_since(self.begun).as_secs_f64();
        if seconds > 0.0 {
            cost.added_mean = (added - self.added_before) / seconds;
        }
        self.added_before = added;
        Measured {
            begun: std::mem::replace(&mut self.begun, now),
            ended: Some(now),
            answer: self.tool.answer(),
            cost,
        }
    }

    fn ask(&mut self, id: ToolId, measurement: u32, now: Timestamp, out: &mut Wishes) {
        self.questions += 1;
        self.question = Some((self.questions, now + ASK_AGAIN));
        self.told = 0;
        self.cost.other_bytes += MESSAGE.get();
        let kind = ProbeKind::Question(self.questions);
        out.packets.push(forward(id, measurement, MESSAGE, kind));
    }

    fn ask_again(&mut self, id: ToolId, measurement: u32, now: Timestamp, out: &mut Wishes) {
        if self.question.is_some_and(|(_, again)| again <= now) {
            self.ask(id, measurement, now, out);
        }
    }

    fn answered(&mut self, now: Timestamp, number: u64) {
        if self.question.is_some_and(|(asked, _)| asked == number) {
            self.question = None;
            for (number, arrived) in self.received.drain(..self.told) {
                self.tool.on_arrival(number, arrived);
            }
            self.tool.on_report(now);
        }
    }

    fn reply(&mut self, id: ToolId, size: Bytes, probe: Probe, out: &mut Wishes) {
        self.cost.other_bytes += size.get();
        out.packets
            .push((Direction::Reverse, packet(id, size, probe)));
    }
}

fn forward(id: ToolId, measurement: u32, size: Bytes, kind: ProbeKind) -> (Direction, Packet) {
    let probe = Probe { measurement, kind };
    (Direction::Forward, packet(id, size, probe))
}

fn packet(id: ToolId, size: Bytes, probe: Probe) -> Packet {
    Packet {
        size,
        owner: Owner::Tool(id),
        ecn: Ecn::NotCapable,
        datagram: None,
        probe: Some(probe),
    }
}
