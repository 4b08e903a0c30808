//! One measurement after another: which streams are sent, what came of them (IM 3.2, 3.3).
//!
//! Wires the control unit (when) to the measurement record (what happened). It knows neither
//! window nor estimators: the search range comes in, the finished record goes out.

use crate::ack::Echo;
use crate::config::{Config, StoreTimer};
use crate::estimate::EstimatorKind;
use crate::event::Event;
use crate::measurement::pairs::EchoCadence;
use crate::measurement::plan::StreamPlan;
use crate::measurement::range::SearchRange;
use crate::measurement::record::{Arrival, MeasurementRecord, PacketRecord};
use crate::scheduler::{ControlUnit, Ready, Transition, Verdict};
use crate::transport::RoundTrip;
use crate::units::{Bandwidth, Bytes, Timestamp};
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
    record: MeasurementRecord,
    progress: Progress,
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
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            unit: ControlUnit::new(config.stream_packets(), config.store_target()),
            record: MeasurementRecord::new(config.sub_ranges(), config.stream_packets()),
            progress: Progress::Idle {
                due: Timestamp::ZERO,
            },
            count: 0,
            limit: Duration::ZERO,
            packet: Bytes::ZERO,
            base_packets: config.stream_packets(),
            stream_packets: config.stream_packets(),
            sub_ranges: config.sub_ranges(),
            interval_rtts: config.measurement_interval_rtts(),
            adaptive_pause: config.estimator() == EstimatorKind::Statistical,
            window: 0,
            packets_per_probe: PACKETS_PER_PROBE,
            timer: config.store_timer(),
            vain: 0,
            packets_to_pass: 0,
        }
    }

    pub(crate) fn record(&self) -> &MeasurementRecord {
        &self.record
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
        emit: &mut dyn FnMut(Event),
    ) -> Verdict {
        self.begin_if_due(now, ready, conditions, emit);
        let verdict = self.unit.next(now, ready);
        self.follow(now, conditions.rtt, emit);
        verdict
    }

    fn begin_if_due(
        &mut self,
        now: Timestamp,
        ready: Ready,
        conditions: &Conditions,
        emit: &mut dyn FnMut(Event),
    ) {
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
        if stream_packets != self.stream_packets {
            self.stream_packets = stream_packets;
            self.record.set_stream_packets(stream_packets);
        }
        self.count += 1;
        self.window = ready.window;
        self.packets_per_probe = if conditions.costly {
            PACKETS_PER_COSTLY_PROBE
        } else {
            PACKETS_PER_PROBE
        };
        self.packet = conditions.packet;
        self.limit = self.limit_for(conditions, &range);
        self.record.begin(self.count, range, conditions.cadence);
        self.progress = Progress::Sending {
            stream: 1,
            started: now,
        };
        self.unit.begin(self.plan(1), self.limit);
        emit(Event::MeasurementStarted {
            measurement: self.count,
            low: range.low(),
            high: range.high(),
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
        let range = self.record.range();
        StreamPlan::new(
            &range,
            self.sub_ranges,
            stream,
            self.stream_packets,
            self.packet,
        )
    }

    /// Reports what the control unit did and moves on with it.
    fn follow(&mut self, now: Timestamp, rtt: RoundTrip, emit: &mut dyn FnMut(Event)) {
        let Some(transition) = self.unit.take_transition() else {
            return;
        };
        let Progress::Sending { stream, started } = self.progress else {
            return;
        };
        let measurement = self.count;
        match transition {
            Transition::StreamStarted { waited, limit } => {
                self.record.begin_stream(stream);
                emit(Event::StreamStarted {
                    measurement,
                    stream,
                    waited,
                    limit,
                });
            }
            Transition::StreamAbandoned { sent } => {
                self.record.begin_stream(stream);
                emit(Event::StreamAbandoned {
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
                self.abandon(now, rtt, emit);
                let due = now + PAUSE_AFTER_VAIN * (1 << self.vain);
                self.progress = Progress::Idle { due };
                self.vain = (self.vain + 1).min(MOST_DOUBLINGS);
                self.packets_to_pass = PACKETS_AFTER_VAIN;
            }
        }
    }

    /// A packet with application data left.
    pub(crate) fn on_sent(
        &mut self,
        now: Timestamp,
        number: u64,
        size: Bytes,
        rtt: RoundTrip,
        emit: &mut dyn FnMut(Event),
    ) {
        self.packets_to_pass = self.packets_to_pass.saturating_sub(1);
        let stream = self.current_stream();
        if self.unit.on_sent()
            && let Some(stream) = stream
        {
            self.record
                .on_sent(stream, PacketRecord::sent(number, size, now));
        }
        self.follow(now, rtt, emit);
    }

    /// The echo of a packet came. Returns the stream that it completed, if it did.
    pub(crate) fn on_echo(&mut self, echo: &Echo) -> Option<u32> {
        if matches!(self.progress, Progress::Idle { .. }) {
            return None;
        }
        let arrival = Arrival {
            at: echo.arrived,
            quality: echo.quality,
        };
        let stream = self.record.on_echo(echo.packet_number, arrival)?;
        let record = self.record.stream(stream)?;
        (record.is_complete() && record.is_settled()).then_some(stream)
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

    /// True once when all echoes of the measurement are in, or are not to be expected any more.
    pub(crate) fn take_settled(&mut self, now: Timestamp, rtt: RoundTrip) -> bool {
        let Progress::AwaitingEchoes { since, started } = self.progress else {
            return false;
        };
        let patience = ECHO_PATIENCE * rtt.smoothed;
        if !self.record.is_settled() && now.saturating_since(since) < patience {
            return false;
        }
        self.rest(now, started, rtt);
        true
    }

    /// Loss, or a source too slow: the measurement ends without a result.
    pub(crate) fn abandon(&mut self, now: Timestamp, rtt: RoundTrip, emit: &mut dyn FnMut(Event)) {
        if matches!(self.progress, Progress::Idle { .. }) {
            return;
        }
        self.unit.pass();
        self.rest(now, now, rtt);
        emit(Event::MeasurementAbandoned {
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
