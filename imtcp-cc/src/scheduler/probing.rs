//! One measurement after another: when it begins, which of its streams is next, and when it is over
//! (IM 3.2, 3.3).
//!
//! Each [`Step`] is reported, and the record of the measurement follows the steps.

use super::conditions::Conditions;
use super::pause::{PAUSE_AFTER_VAIN, Pause};
use super::{ControlUnit, Ready, SchedulerSettings, StoreTimer, Transition, Verdict};
use crate::measurement::plan::StreamPlan;
use crate::measurement::range::SearchRange;
use crate::measurement::{MAX_STREAM_PACKETS, Step};
use crate::transport::RoundTrip;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// How long echoes are awaited after the last packet of a measurement, in smoothed RTTs. Loss
/// detection has decided by then: it takes 9/8 of an RTT (RFC 9002, section 6.1.2), perhaps twice.
const ECHO_PATIENCE: u32 = 3;

/// A stream is slow if its slowest rate is below the capacity by more than this factor. While no
/// capacity is shown, each is.
const SLOW: u64 = 4;

/// Room for the steps of one question.
const MOST_STEPS: usize = 8;

/// Where the present measurement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// No measurement runs. The next one is due at this time.
    Idle { due: Timestamp },
    /// Streams are being sent. `stream` is the next one, or the one under way.
    Sending { stream: u32, started: Timestamp },
    /// The last stream was sent, and its echoes are awaited.
    AwaitingEchoes {
        since: Timestamp,
        started: Timestamp,
    },
}

/// Begins and ends measurements, and sends their streams through the control unit.
#[derive(Debug)]
pub(crate) struct Probing {
    unit: ControlUnit,
    progress: Progress,
    /// The range that the present measurement searches.
    range: SearchRange,
    /// Steps that have not been taken yet.
    steps: VecDeque<Step>,
    count: u64,
    limit: Duration,
    packet: Bytes,
    /// The number of packets of a stream if the peer acknowledges each packet (IM 3.2.3, the
    /// paper's N).
    base_packets: u32,
    /// The number of packets of a stream for this peer; it is larger if acknowledgements are
    /// delayed (IM 3.5.1). No plan has more than [`MAX_STREAM_PACKETS`].
    stream_packets: u32,
    sub_ranges: u32,
    /// Whether the estimator that drives reads all packets. The paper's reads streams alone, which
    /// are then sent as often as they may be.
    reads_all_packets: bool,
    timer: StoreTimer,
    pause: Pause,
    /// The number of packets that have left since there was nothing to send.
    of_burst: u32,
}

impl Probing {
    pub(crate) fn new(settings: &SchedulerSettings) -> Self {
        Self {
            unit: ControlUnit::new(settings.stream_packets, settings.store_target),
            progress: Progress::Idle {
                due: Timestamp::ZERO,
            },
            range: SearchRange::first(Bandwidth::ZERO),
            steps: VecDeque::with_capacity(MOST_STEPS),
            count: 0,
            limit: Duration::ZERO,
            packet: Bytes::ZERO,
            base_packets: settings.stream_packets,
            stream_packets: settings.stream_packets,
            sub_ranges: settings.sub_ranges,
            reads_all_packets: settings.reads_all_packets,
            timer: settings.store_timer,
            pause: Pause::new(settings),
            of_burst: 0,
        }
    }

    /// The oldest step that has not been taken yet.
    pub(crate) fn take_step(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    pub(crate) fn state_name(&self) -> &'static str {
        self.unit.state_name()
    }

    /// When the next packet of the stream under way is due; `None` if no packet of it has left.
    pub(crate) fn due_in_stream(&self) -> Option<Timestamp> {
        self.unit.due_in_stream()
    }

    /// The number of packets of a measurement.
    pub(crate) fn packets(&self) -> u64 {
        u64::from(self.sub_ranges * self.stream_packets)
    }

    /// Whether the next packet will be one of a stream.
    pub(crate) fn is_sending(&self) -> bool {
        self.unit.is_sending()
    }

    /// The longest time that packets of the latest measurement waited for a stream to fill
    /// (IM 3.4.2, the paper's T).
    pub(crate) fn store_limit(&self) -> Duration {
        self.limit
    }

    /// The stream whose packets are being sent, or for which packets are being stored.
    pub(crate) fn current_stream(&self) -> Option<u32> {
        match self.progress {
            Progress::Sending { stream, .. } => Some(stream),
            _ => None,
        }
    }

    /// Whether packets pass and no measurement is due. This is true for nearly all packets.
    pub(crate) fn is_resting(&self, now: Timestamp) -> bool {
        self.unit.is_passing() && !self.is_due(now)
    }

    /// Whether a measurement may begin, if the conditions allow one.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        self.pause.has_passed() && matches!(self.progress, Progress::Idle { due } if due <= now)
    }

    /// Says what happens to the next packet. It begins a measurement if one is due.
    pub(crate) fn next(
        &mut self,
        now: Timestamp,
        ready: Ready,
        conditions: &Conditions,
    ) -> Verdict {
        self.begin_if_due(now, ready, conditions);
        let is_sending = matches!(self.progress, Progress::Sending { .. });
        if is_sending && self.slows_a_burst(ready, &self.range, self.stream_packets, conditions) {
            // The rest of the burst came after its first packets.
            self.abandon(now, conditions.rtt);
        }
        let verdict = self.unit.next(now, ready);
        self.follow(now, conditions.rtt);
        verdict
    }

    fn begin_if_due(&mut self, now: Timestamp, ready: Ready, conditions: &Conditions) {
        if !self.is_due(now) {
            return;
        }
        let Some(range) = conditions.range else {
            return;
        };
        let range = conditions.sendable(range);
        let stream_packets = conditions
            .cadence
            .stream_packets(self.base_packets)
            .min(MAX_STREAM_PACKETS);
        if !conditions.allowed || ready.packets == 0 || ready.window < stream_packets {
            return;
        }
        // Timers later than the gaps would make the stream slower than the link, and with it the
        // burst that it is sent from.
        let slowest = range.low().time_for(conditions.packet);
        if self.reads_all_packets && slowest <= conditions.lateness {
            let due = now + PAUSE_AFTER_VAIN;
            self.progress = Progress::Idle { due };
            return;
        }
        if self.slows_a_burst(ready, &range, stream_packets, conditions)
            || self.ends_a_burst(ready, stream_packets)
        {
            return;
        }
        self.stream_packets = stream_packets;
        self.range = range;
        self.count += 1;
        self.pause.on_begin(ready.window, conditions.costly);
        self.packet = conditions.packet;
        self.limit = conditions.store_limit(self.timer, &range, stream_packets);
        self.progress = Progress::Sending {
            stream: 1,
            started: now,
        };
        let attempts = self.pause.attempts();
        self.unit.begin(self.plan(1), self.limit, attempts);
        self.steps.push_back(Step::MeasurementStarted {
            measurement: self.count,
            range,
            stream_packets,
            cadence: conditions.cadence,
        });
    }

    /// Whether a burst would wait for a stream at a rate far below the link's own. Trains of the
    /// burst tell as much, and leave at that pace.
    fn slows_a_burst(
        &self,
        ready: Ready,
        range: &SearchRange,
        stream_packets: u32,
        conditions: &Conditions,
    ) -> bool {
        let is_burst = self.of_burst.saturating_add(ready.packets) > stream_packets;
        let is_slow = |capacity: Bandwidth| range.low().as_bps() < capacity.as_bps() / SLOW;
        self.reads_all_packets && is_burst && conditions.shown_capacity.is_none_or(is_slow)
    }

    /// Whether the end of a burst would wait for more packets to fill a stream. Whoever waits for
    /// the burst would wait for nothing.
    fn ends_a_burst(&self, ready: Ready, stream_packets: u32) -> bool {
        self.reads_all_packets && self.of_burst > 0 && ready.packets < stream_packets
    }

    fn plan(&self, stream: u32) -> StreamPlan {
        StreamPlan::new(
            &self.range,
            self.sub_ranges,
            stream,
            self.stream_packets,
            self.packet,
        )
    }

    /// Reports what the control unit did, and moves the measurement on.
    fn follow(&mut self, now: Timestamp, rtt: RoundTrip) {
        while let Some(transition) = self.unit.take_transition() {
            self.follow_one(now, rtt, transition);
        }
    }

    fn follow_one(&mut self, now: Timestamp, rtt: RoundTrip, transition: Transition) {
        let Progress::Sending { stream, started } = self.progress else {
            return;
        };
        let measurement = self.count;
        match transition {
            Transition::StreamStarted { waited, limit } => {
                self.steps.push_back(Step::StreamStarted {
                    measurement,
                    stream,
                    waited,
                    limit,
                });
            }
            Transition::StreamAbandoned { sent } => {
                self.steps.push_back(Step::StreamAbandoned {
                    measurement,
                    stream,
                    sent,
                });
            }
            Transition::StreamSent if stream < self.sub_ranges => {
                self.progress = Progress::Sending {
                    stream: stream + 1,
                    started,
                };
                self.unit.continue_with(self.plan(stream + 1), self.limit);
            }
            Transition::StreamSent => self.succeed(now, started),
            Transition::MeasurementGivenUp => {
                self.abandon(now, rtt);
                let due = self.pause.after_vain(now);
                self.progress = Progress::Idle { due };
            }
        }
    }

    /// Nothing is left to send.
    #[inline]
    pub(crate) fn on_drained(&mut self) {
        self.unit.on_drained();
        self.of_burst = 0;
    }

    /// A packet with application data left.
    pub(crate) fn on_sent(&mut self, now: Timestamp, number: u64, size: Bytes, rtt: RoundTrip) {
        self.pause.on_sent();
        self.of_burst = self.of_burst.saturating_add(1);
        let stream = self.current_stream();
        if self.unit.on_sent()
            && let Some(stream) = stream
        {
            self.pause.on_probe();
            self.steps.push_back(Step::ProbeSent {
                stream,
                number,
                size,
                at: now,
            });
        }
        self.follow(now, rtt);
    }

    /// Ends the measurement early: its remaining streams are not needed (IM 3.2.3).
    pub(crate) fn stop_early(&mut self, now: Timestamp) {
        if let Progress::Sending { started, .. } = self.progress {
            self.unit.pass();
            self.succeed(now, started);
        }
    }

    /// All streams that are needed were sent.
    fn succeed(&mut self, now: Timestamp, started: Timestamp) {
        self.pause.on_success();
        self.unit.on_success();
        self.progress = Progress::AwaitingEchoes {
            since: now,
            started,
        };
    }

    /// True once per measurement: when all its echoes are in (`is_settled`), or when the missing
    /// ones are not expected any more. `is_told` says whether a value is known.
    pub(crate) fn take_settled(
        &mut self,
        now: Timestamp,
        rtt: RoundTrip,
        is_told: impl FnOnce() -> bool,
        is_settled: impl FnOnce() -> bool,
    ) -> bool {
        let Progress::AwaitingEchoes { since, started } = self.progress else {
            return false;
        };
        let patience = ECHO_PATIENCE * rtt.smoothed;
        if now.saturating_since(since) < patience && !is_settled() {
            return false;
        }
        self.pause.on_settled(is_told());
        self.rest(now, started, rtt);
        self.steps.push_back(Step::MeasurementEnded);
        true
    }

    /// Ends the measurement without a result, after a loss or because the source is too slow.
    pub(crate) fn abandon(&mut self, now: Timestamp, rtt: RoundTrip) {
        if matches!(self.progress, Progress::Idle { .. }) {
            return;
        }
        self.unit.pass();
        self.rest(now, now, rtt);
        self.steps.push_back(Step::MeasurementAbandoned {
            measurement: self.count,
        });
    }

    /// Sets when the next measurement is due.
    fn rest(&mut self, now: Timestamp, started: Timestamp, rtt: RoundTrip) {
        let probes = self.sub_ranges * self.stream_packets;
        let due = self.pause.after(started, probes, rtt).max(now);
        self.progress = Progress::Idle { due };
    }
}

#[cfg(test)]
mod tests;
