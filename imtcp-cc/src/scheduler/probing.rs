//! One measurement after another: when it begins, which of its streams is next, and when it is over
//! (IM 3.2, 3.3).
//!
//! It tells each [`Step`], and the record of the measurement follows.

use super::{ControlUnit, Ready, SchedulerSettings, StoreTimer, Transition, Verdict};
use crate::measurement::Step;
use crate::measurement::plan::StreamPlan;
use crate::measurement::range::SearchRange;
use crate::path::ack::EchoCadence;
use crate::transport::RoundTrip;
use crate::units::{Bandwidth, Bytes, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

/// Echoes still missing this many smoothed RTTs after the last packet of a measurement will not
/// come: loss detection has had its time (RFC 9002, section 6.1.2: 9/8, twice, and some).
const ECHO_PATIENCE: u32 = 3;

/// Of this many packets, one is a probe at most, as far as [`LONGEST_ADAPTIVE_PAUSE`] lets it:
/// waiting for a stream to fill then costs well below a per cent of the throughput.
const PACKETS_PER_PROBE: u32 = 5;

/// The same where each probe costs an acknowledgement of its own: together with what the peer sends
/// anyway this is less than a third of RFC 9000's one for every second packet.
const PACKETS_PER_COSTLY_PROBE: u32 = 32;

/// The window's size stretches the pause between measurements to this at most: four results a
/// second are enough to notice a change within one.
const LONGEST_ADAPTIVE_PAUSE: Duration = Duration::from_millis(250);

/// After a measurement for which packets did not come in time, the next one is not tried for this
/// long, twice as long after each further one, up to the most: a source that never fills a stream
/// is hardly ever held back.
const PAUSE_AFTER_VAIN: Duration = Duration::from_millis(250);
const MOST_DOUBLINGS: u32 = 5;

/// Nor before so many packets have left: where packets are rare, fewer than one in twenty waits for
/// a stream, and the 95th percentile of their age is no higher.
const PACKETS_AFTER_VAIN: u32 = 32;

/// Room for the steps of one question.
const MOST_STEPS: usize = 8;

/// What is needed to begin a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    /// Where to look; none while nothing is known of the path, or no measurement is due.
    pub(crate) range: Option<SearchRange>,
    /// A, for the store timer.
    pub(crate) available: Option<Bandwidth>,
    /// The window over the smoothed RTT: how fast packets become ready at most.
    pub(crate) window_rate: Option<Bandwidth>,
    pub(crate) rtt: RoundTrip,
    /// A full packet on the wire.
    pub(crate) packet: Bytes,
    /// For how long a packet may be held back at all: T is never longer, nor the gap in a stream.
    pub(crate) longest_hold: Duration,
    /// How the peer acknowledges.
    pub(crate) cadence: EchoCadence,
    /// Each probe costs an acknowledgement that there would not be without it.
    pub(crate) costly: bool,
    /// False in loss recovery (IM 3.5.3), and while nothing may be held back.
    pub(crate) allowed: bool,
}

/// Where the present measurement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// None runs; the next one is due at this time.
    Idle { due: Timestamp },
    /// Streams are being sent; this one is next or under way.
    Sending { stream: u32, started: Timestamp },
    /// The last stream is out.
    AwaitingEchoes {
        since: Timestamp,
        started: Timestamp,
    },
}

/// Runs measurements.
#[derive(Debug)]
pub(crate) struct Probing {
    unit: ControlUnit,
    progress: Progress,
    /// What the present measurement searches.
    range: SearchRange,
    /// Steps that nobody has taken yet.
    steps: VecDeque<Step>,
    count: u64,
    limit: Duration,
    packet: Bytes,
    /// N for a peer that acknowledges each packet, and for this peer.
    base_packets: u32,
    stream_packets: u32,
    sub_ranges: u32,
    interval_rtts: u32,
    /// Whether a small window stretches the pause between measurements: the paper's own driver
    /// measures as often as it may.
    adaptive_pause: bool,
    /// The congestion window when the measurement began, in packets.
    window: u32,
    packets_per_probe: u32,
    timer: StoreTimer,
    /// Measurements in a row for which packets did not come in time.
    vain: u32,
    /// Packets that have to leave before the next measurement.
    packets_to_pass: u32,
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
            interval_rtts: settings.measurement_interval_rtts,
            adaptive_pause: settings.reads_all_packets,
            window: 0,
            packets_per_probe: PACKETS_PER_PROBE,
            timer: settings.store_timer,
            vain: 0,
            packets_to_pass: 0,
        }
    }

    /// The oldest step that nobody has taken yet.
    pub(crate) fn take_step(&mut self) -> Option<Step> {
        self.steps.pop_front()
    }

    pub(crate) fn state_name(&self) -> &'static str {
        self.unit.state_name()
    }

    /// The packets of a measurement.
    pub(crate) fn packets(&self) -> u64 {
        u64::from(self.sub_ranges * self.stream_packets)
    }

    /// Whether the next packet will be one of a stream.
    pub(crate) fn is_sending(&self) -> bool {
        self.unit.is_sending()
    }

    /// T, as of the latest measurement.
    pub(crate) fn store_limit(&self) -> Duration {
        self.limit
    }

    /// The stream whose packets are being sent or stored for.
    pub(crate) fn current_stream(&self) -> Option<u32> {
        match self.progress {
            Progress::Sending { stream, .. } => Some(stream),
            _ => None,
        }
    }

    /// Whether packets pass, and no measurement is due: true for nearly all of them.
    pub(crate) fn is_resting(&self, now: Timestamp) -> bool {
        self.unit.is_passing() && !self.is_due(now)
    }

    /// Whether a measurement may begin, if the conditions allow one.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        self.packets_to_pass == 0 && matches!(self.progress, Progress::Idle { due } if due <= now)
    }

    /// May the next packet leave? Begins a measurement when one is due.
    pub(crate) fn next(
        &mut self,
        now: Timestamp,
        ready: Ready,
        conditions: &Conditions,
    ) -> Verdict {
        self.begin_if_due(now, ready, conditions);
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
        let range = Self::sendable(range, conditions);
        let stream_packets = conditions.cadence.stream_packets(self.base_packets);
        if !conditions.allowed || ready.packets == 0 || ready.window < stream_packets {
            return;
        }
        self.stream_packets = stream_packets;
        self.range = range;
        self.count += 1;
        self.window = ready.window;
        self.packets_per_probe = if conditions.costly {
            PACKETS_PER_COSTLY_PROBE
        } else {
            PACKETS_PER_PROBE
        };
        self.packet = conditions.packet;
        self.limit = self.limit_for(conditions, &range);
        self.progress = Progress::Sending {
            stream: 1,
            started: now,
        };
        self.unit.begin(self.plan(1), self.limit);
        self.steps.push_back(Step::MeasurementStarted {
            measurement: self.count,
            range,
            stream_packets,
            cadence: conditions.cadence,
        });
    }

    /// The part of a range whose streams hold no packet longer than T may ever be.
    fn sendable(range: SearchRange, conditions: &Conditions) -> SearchRange {
        let slowest = Bandwidth::from_bytes_over(conditions.packet, conditions.longest_hold)
            .unwrap_or(Bandwidth::MAX.scaled(0.5));
        if range.low() >= slowest {
            return range;
        }
        SearchRange::spanning(slowest, range.high().max(slowest.saturating_add(slowest)))
    }

    /// T = (M / A)(N - 1) + 4 D_RTT (IM 3.4.2).
    ///
    /// A stands there for the connection's own rate, which self-clocking ties to it. Where the
    /// window allows less than A, packets become ready more slowly, and T follows: with A alone no
    /// stream could be filled from a range that is far too high, and the range would stay.
    fn limit_for(&self, conditions: &Conditions, range: &SearchRange) -> Duration {
        match self.timer {
            StoreTimer::Fixed(limit) => limit,
            StoreTimer::Adaptive => {
                let available = conditions.available.unwrap_or(range.low());
                let rate = available.min(conditions.window_rate.unwrap_or(available));
                let gap = rate
                    .time_for(conditions.packet)
                    .min(conditions.longest_hold);
                let filling = gap.saturating_mul(self.stream_packets - 1);
                filling
                    .saturating_add(4 * conditions.rtt.variation)
                    .min(conditions.longest_hold)
            }
        }
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

    /// Reports what the control unit did and moves on with it.
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
            Transition::StreamSent => {
                self.vain = 0;
                self.unit.on_success();
                self.progress = Progress::AwaitingEchoes {
                    since: now,
                    started,
                };
            }
            Transition::MeasurementGivenUp => {
                self.abandon(now, rtt);
                let due = now + PAUSE_AFTER_VAIN * (1 << self.vain);
                self.progress = Progress::Idle { due };
                self.vain = (self.vain + 1).min(MOST_DOUBLINGS);
                self.packets_to_pass = PACKETS_AFTER_VAIN;
            }
        }
    }

    /// A packet with application data left.
    pub(crate) fn on_sent(&mut self, now: Timestamp, number: u64, size: Bytes, rtt: RoundTrip) {
        self.packets_to_pass = self.packets_to_pass.saturating_sub(1);
        let stream = self.current_stream();
        if self.unit.on_sent()
            && let Some(stream) = stream
        {
            self.steps.push_back(Step::ProbeSent {
                stream,
                number,
                size,
                at: now,
            });
        }
        self.follow(now, rtt);
    }

    /// The remaining streams need not be sent (IM 3.2.3).
    pub(crate) fn stop_early(&mut self, now: Timestamp) {
        if let Progress::Sending { started, .. } = self.progress {
            self.unit.pass();
            self.unit.on_success();
            self.progress = Progress::AwaitingEchoes {
                since: now,
                started,
            };
        }
    }

    /// True once when all echoes of the measurement are in (`is_settled`), or are not to be
    /// expected any more.
    pub(crate) fn take_settled(
        &mut self,
        now: Timestamp,
        rtt: RoundTrip,
        is_settled: bool,
    ) -> bool {
        let Progress::AwaitingEchoes { since, started } = self.progress else {
            return false;
        };
        let patience = ECHO_PATIENCE * rtt.smoothed;
        if !is_settled && now.saturating_since(since) < patience {
            return false;
        }
        self.rest(now, started, rtt);
        self.steps.push_back(Step::MeasurementEnded);
        true
    }

    /// Loss, or a source too slow: the measurement ends without a result.
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

    /// At most one measurement per RTT (IM 3.3), counted from start to start, and fewer while the
    /// window is small: what a stream waits for is not in flight meanwhile.
    fn rest(&mut self, now: Timestamp, started: Timestamp, rtt: RoundTrip) {
        let probes = self.sub_ranges * self.stream_packets;
        let sparse = (probes * self.packets_per_probe).div_ceil(self.window.max(1));
        let pause = if self.adaptive_pause {
            rtt.smoothed
                .saturating_mul(sparse)
                .min(LONGEST_ADAPTIVE_PAUSE)
        } else {
            Duration::ZERO
        };
        let due = started + pause.max(rtt.smoothed.saturating_mul(self.interval_rtts));
        self.progress = Progress::Idle { due: due.max(now) };
    }
}
