//! The control unit: turns application packets into probe streams (IM 3.3, 3.4, 3.5.3).
//!
//! ```text
//!                 m packets ready                N packets sent, last stream
//!   StorePacket ------------------> SendStream ------------------------------> PassPacket
//!     |    ^                           |                                           |
//!     | T expired,                     | N packets sent, or packets did not come   |
//!     | window < N                     v in time                                   |
//!     '----------------------> EmptyBuffer                                         |
//!          ^                        |                                              |
//!          '------------------------'                                              |
//!          everything stored is out                                                |
//!          <-----------------------------------------------------------------------'
//!               echoes are back and the next measurement is due
//! ```
//!
//! The paper's letters: m is the number of ready packets that starts a stream, N is the number of
//! packets of a stream, and T is the longest time that a packet waits for a stream to fill.
//!
//! The unit stores no built packets. Application data waits in the transport's stream buffers, and
//! the unit only says when the next packet may be built. "Stored" packets are those that data and
//! window would let leave now.

use super::StoreTarget;
use crate::measurement::plan::StreamPlan;
use crate::units::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// The number of measurements in a row that must succeed before the store target m falls by one
/// (IM 3.4.1, the paper's F).
const SUCCESSES_TO_LOWER: u32 = 2;

/// The least store target m, in packets (IM 3.4.1).
const LEAST_STORE_TARGET: u32 = 2;

/// The number of attempts to send a stream. After the last one the measurement is given up until
/// the next is due. Without this bound, each packet of a source that sends one now and then would
/// be held for the store timer T.
pub(super) const MOST_ATTEMPTS: u32 = 4;

/// Room for the transitions of one question.
const MOST_TRANSITIONS: usize = 4;

/// What may leave now, in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The number of full packets that data and window allow now.
    pub packets: u32,
    /// The number of packets in which all of that leaves, at most. Counted too low, the last
    /// packets of a burst would wait for the next stream.
    pub stored: u32,
    /// The congestion window, in full packets.
    pub window: u32,
}

/// What the control unit says of the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet belongs to no stream, so the pacer decides.
    Pass,
    /// The packet leaves now, as a packet of the stream.
    Probe,
    /// The packet waits until this time, or until something happens.
    At(Timestamp),
    /// The packet waits until something happens.
    Hold,
}

/// A change of state that others have to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Enough packets are ready: a stream begins.
    StreamStarted {
        /// How long the first packet had waited.
        waited: Duration,
        /// The longest time that it was allowed to wait (IM 3.4.2, the paper's T).
        limit: Duration,
    },
    /// A stream ended before its last packet, because the application's packets did not come in
    /// time.
    StreamAbandoned {
        /// How many packets of the stream had left.
        sent: u32,
    },
    /// All N packets of the stream have left.
    StreamSent,
    /// The last attempt to send a stream has failed.
    MeasurementGivenUp,
}

#[derive(Clone, Debug)]
enum State {
    /// Everything passes.
    PassPacket,
    /// Packets are held until enough of them are ready.
    StorePacket {
        plan: StreamPlan,
        since: Option<Timestamp>,
        limit: Duration,
    },
    /// Packets leave at the times of the plan.
    SendStream {
        plan: StreamPlan,
        started: Timestamp,
        sent: u32,
        on_time: bool,
        limit: Duration,
    },
    /// Stored packets leave. Then packets are stored for the stream in `next`, if there is one.
    EmptyBuffer {
        left: Option<u32>,
        next: Option<StreamPlan>,
        limit: Duration,
    },
}

/// Decides when the packets of probe streams leave.
#[derive(Debug)]
pub struct ControlUnit {
    state: State,
    stream_packets: u32,
    policy: StoreTarget,
    /// The number of ready packets that starts a stream (IM 3.4.1, the paper's m).
    store_target: u32,
    successes: u32,
    /// The number of further attempts to send the present stream.
    attempts: u32,
    /// Transitions that have not been taken yet.
    told: VecDeque<Transition>,
}

impl ControlUnit {
    /// A unit that passes every packet until a measurement begins. `stream_packets` is the number
    /// of packets of a stream (the paper's N).
    pub fn new(stream_packets: u32, policy: StoreTarget) -> Self {
        let store_target = match policy {
            StoreTarget::Dynamic => stream_packets,
            StoreTarget::Fixed(m) => m,
        };
        Self {
            state: State::PassPacket,
            stream_packets,
            policy,
            store_target,
            successes: 0,
            attempts: 0,
            told: VecDeque::with_capacity(MOST_TRANSITIONS),
        }
    }

    /// Whether everything passes.
    pub fn is_passing(&self) -> bool {
        matches!(self.state, State::PassPacket)
    }

    /// Whether a stream is being sent.
    pub fn is_sending(&self) -> bool {
        matches!(self.state, State::SendStream { .. })
    }

    /// When the next packet of the stream under way is due; `None` if no packet of it has left.
    pub fn due_in_stream(&self) -> Option<Timestamp> {
        match &self.state {
            State::SendStream {
                plan,
                started,
                sent: sent @ 1..,
                ..
            } => Some(*started + plan.offset(*sent + 1)?),
            _ => None,
        }
    }

    /// The name of the state, in the paper's words.
    pub fn state_name(&self) -> &'static str {
        match self.state {
            State::PassPacket => "pass_packet",
            State::StorePacket { .. } => "store_packet",
            State::SendStream { .. } => "send_stream",
            State::EmptyBuffer { .. } => "empty_buffer",
        }
    }

    /// Begins to store packets for the first stream of a measurement, which is tried so many times.
    /// No packet waits for longer than `limit` (the paper's T).
    pub fn begin(&mut self, plan: StreamPlan, limit: Duration, attempts: u32) {
        self.attempts = attempts;
        let since = None;
        self.transition(State::StorePacket { plan, since, limit }, None);
    }

    /// The stream was sent, and `plan` is the next one of the same measurement.
    pub fn continue_with(&mut self, plan: StreamPlan, limit: Duration) {
        self.attempts = MOST_ATTEMPTS;
        self.empty_buffer(Some(plan), limit, None);
    }

    /// The measurement is over. All stored packets pass.
    pub fn pass(&mut self) {
        self.transition(State::PassPacket, None);
    }

    fn empty_buffer(
        &mut self,
        next: Option<StreamPlan>,
        limit: Duration,
        told: Option<Transition>,
    ) {
        let left = None;
        self.transition(State::EmptyBuffer { left, next, limit }, told);
    }

    /// The oldest transition that has not been taken yet.
    pub fn take_transition(&mut self) -> Option<Transition> {
        self.told.pop_front()
    }

    /// Enters another state. All changes of state pass here, and `told` reports the change to the
    /// other rooms.
    fn transition(&mut self, to: State, told: Option<Transition>) {
        self.state = to;
        self.told.extend(told);
    }

    /// Says what happens to the next packet. Call it whenever there is something to send. The same
    /// question at the same time gets the same answer.
    pub fn next(&mut self, now: Timestamp, ready: Ready) -> Verdict {
        // Each state is left at most once per question.
        for _ in 0..4 {
            if let Some(verdict) = self.step(now, ready) {
                return verdict;
            }
        }
        Verdict::Pass
    }

    /// The verdict of the present state; `None` if the state changed, and the new one has to be
    /// asked.
    fn step(&mut self, now: Timestamp, ready: Ready) -> Option<Verdict> {
        match &mut self.state {
            State::PassPacket => Some(Verdict::Pass),
            State::StorePacket { plan, since, limit } => {
                if ready.packets == 0 {
                    return Some(Verdict::Hold);
                }
                let since = *since.get_or_insert(now);
                let (plan, limit) = (plan.clone(), *limit);
                self.store(now, ready, plan, (since, limit))
            }
            State::SendStream {
                plan,
                started,
                sent,
                on_time,
                limit,
            } => {
                let due = *started + plan.offset(*sent + 1).unwrap_or(Duration::ZERO);
                if now <= due {
                    *on_time |= ready.packets > 0;
                }
                if now < due {
                    return Some(Verdict::At(due));
                }
                // If a packet was ready in time and left late, a timer was late. The stream goes
                // on, and the real send time counts. If the packet was not ready in time, it may
                // be late by the gap before it: the real rate is then at least half of the planned
                // one. After that the stream breaks.
                let is_soon = |gap| now.saturating_since(due) <= gap;
                if *on_time || plan.gap_before(*sent + 1).is_none_or(is_soon) {
                    return Some(match ready.packets {
                        0 => Verdict::Hold,
                        _ => Verdict::Probe,
                    });
                }
                let told = Transition::StreamAbandoned { sent: *sent };
                let (plan, limit) = (plan.clone(), *limit);
                if self.policy == StoreTarget::Dynamic {
                    self.store_target = (self.store_target + 1).min(self.stream_packets);
                }
                self.miss(plan, limit, Some(told));
                None
            }
            State::EmptyBuffer { left, next, limit } => {
                let remaining = *left.get_or_insert(ready.stored);
                if remaining > 0 && ready.packets > 0 {
                    return Some(Verdict::Pass);
                }
                let (next, since, limit) = (next.take(), None, *limit);
                let to = next.map_or(State::PassPacket, |plan| State::StorePacket {
                    plan,
                    since,
                    limit,
                });
                self.transition(to, None);
                None
            }
        }
    }

    /// Packets are ready, and the first has waited since then for the stream of `plan`. None waits
    /// for longer than `limit` (the paper's T).
    fn store(
        &mut self,
        now: Timestamp,
        ready: Ready,
        plan: StreamPlan,
        (since, limit): (Timestamp, Duration),
    ) -> Option<Verdict> {
        let waited = now.saturating_since(since);
        // After the store timer T no packet is stored, even if others were released meanwhile.
        if ready.window < plan.packets() || waited > limit {
            self.miss(plan, limit, None);
        } else if ready.packets >= self.store_target {
            let begun = State::SendStream {
                plan,
                started: now,
                sent: 0,
                on_time: true,
                limit,
            };
            self.transition(begun, Some(Transition::StreamStarted { waited, limit }));
        } else if waited >= limit {
            self.lower_to(ready.packets);
            self.miss(plan, limit, None);
        } else {
            return Some(Verdict::At(since + limit));
        }
        None
    }

    /// Within the store timer T only this many packets came. The next attempt starts with as many,
    /// because the other packets of the stream may come while it is being sent.
    fn lower_to(&mut self, packets: u32) {
        if self.policy == StoreTarget::Dynamic {
            self.store_target = self.store_target.min(packets.max(LEAST_STORE_TARGET));
        }
    }

    /// The stream failed. The stored packets leave, and then the stream is tried again, if there
    /// are attempts left.
    fn miss(&mut self, plan: StreamPlan, limit: Duration, told: Option<Transition>) {
        self.successes = 0;
        self.attempts = self.attempts.saturating_sub(1);
        let next = (self.attempts > 0).then_some(plan);
        let given_up = next.is_none().then_some(Transition::MeasurementGivenUp);
        self.empty_buffer(next, limit, told);
        self.told.extend(given_up);
    }

    /// Nothing is left to send, so everything stored is out.
    pub fn on_drained(&mut self) {
        if let State::EmptyBuffer {
            left: Some(left), ..
        } = &mut self.state
        {
            *left = 0;
        }
    }

    /// A packet with application data left. True if it was a packet of a stream.
    pub fn on_sent(&mut self) -> bool {
        match &mut self.state {
            State::SendStream {
                plan,
                sent,
                on_time,
                ..
            } => {
                *sent += 1;
                *on_time = false;
                if *sent == plan.packets() {
                    self.transition(State::PassPacket, Some(Transition::StreamSent));
                }
                true
            }
            State::EmptyBuffer {
                left: Some(left), ..
            } => {
                *left = left.saturating_sub(1);
                false
            }
            _ => false,
        }
    }

    /// All streams of a measurement were sent. The store target m falls by one after
    /// [`SUCCESSES_TO_LOWER`] such measurements in a row (IM 3.4.1).
    pub fn on_success(&mut self) {
        self.successes += 1;
        if self.successes == SUCCESSES_TO_LOWER {
            self.successes = 0;
            if self.policy == StoreTarget::Dynamic {
                self.store_target = (self.store_target - 1).max(LEAST_STORE_TARGET);
            }
        }
    }
}

#[cfg(test)]
mod tests;
