//! The pause between two measurements: how long it lasts, and how many packets leave meanwhile.

use super::SchedulerSettings;
use super::control_unit::MOST_ATTEMPTS;
use crate::transport::RoundTrip;
use crate::units::Timestamp;
use std::time::Duration;

/// At most one packet in this many is a probe, unless [`LONGEST_ADAPTIVE_PAUSE`] asks for more.
/// Waiting for streams to fill then costs well below a per cent of the throughput.
const PACKETS_PER_PROBE: u32 = 5;

/// The same if each probe costs an acknowledgement of its own. Together with the acknowledgements
/// that the peer sends anyway, there are then less than a third of RFC 9000's one for every second
/// packet.
const PACKETS_PER_COSTLY_PROBE: u32 = 32;

/// The longest pause to which a small window stretches the time between two measurements. Four
/// results in a second are enough to notice a change within a second.
const LONGEST_ADAPTIVE_PAUSE: Duration = Duration::from_millis(250);

/// The pause after a measurement for which packets did not come in time. It doubles after each
/// further one. A source that never fills a stream is hardly ever held back.
pub(super) const PAUSE_AFTER_VAIN: Duration = Duration::from_millis(250);

/// How often that pause doubles at most.
const MOST_DOUBLINGS: u32 = 5;

/// After so many measurements in a row without a value the pause is as after measurements in vain:
/// echoes that cannot be read tell nothing, however many packets wait for streams.
const MOST_UNTOLD: u32 = 16;

/// The number of packets that must leave after such a measurement before the next one. If packets
/// are rare, fewer than one in twenty then waits for a stream, and the 95th percentile of the
/// packets' age stays the same.
pub(super) const PACKETS_AFTER_VAIN: u32 = 32;

/// The pause after a measurement, as it follows from what the measurement cost.
#[derive(Debug)]
pub(super) struct Pause {
    interval_rtts: u32,
    /// Whether the estimator that drives reads all packets. The paper's reads streams alone, which
    /// are then sent as often as they may be.
    reads_all_packets: bool,
    /// The congestion window when the measurement began, in packets.
    window: u32,
    packets_per_probe: u32,
    /// The number of measurements in a row for which packets did not come in time, up to
    /// [`MOST_DOUBLINGS`].
    vain: u32,
    /// The number of measurements in a row after which no value was known.
    untold: u32,
    /// The number of packets that have to leave before the next measurement.
    packets_to_pass: u32,
    /// The number of probes of the present measurement that have left.
    probes: u32,
}

impl Pause {
    pub(super) fn new(settings: &SchedulerSettings) -> Self {
        Self {
            interval_rtts: settings.measurement_interval_rtts,
            reads_all_packets: settings.reads_all_packets,
            window: 0,
            packets_per_probe: PACKETS_PER_PROBE,
            vain: 0,
            untold: 0,
            packets_to_pass: 0,
            probes: 0,
        }
    }

    /// Whether enough packets have left since the last measurement.
    pub(super) fn has_passed(&self) -> bool {
        self.packets_to_pass == 0
    }

    /// A measurement begins, into a congestion window of so many packets. `costly` says whether
    /// each probe costs an acknowledgement that the peer would not send without it.
    pub(super) fn on_begin(&mut self, window: u32, costly: bool) {
        self.window = window;
        self.packets_per_probe = if costly {
            PACKETS_PER_COSTLY_PROBE
        } else {
            PACKETS_PER_PROBE
        };
    }

    /// How often the first stream of a measurement is tried: once after measurements for which
    /// packets did not come in time. Each attempt holds a packet back, and of a source that sends
    /// one now and then only one in [`PACKETS_AFTER_VAIN`] may wait.
    pub(super) fn attempts(&self) -> u32 {
        if self.vain == 0 { MOST_ATTEMPTS } else { 1 }
    }

    /// A packet with application data left.
    pub(super) fn on_sent(&mut self) {
        self.packets_to_pass = self.packets_to_pass.saturating_sub(1);
    }

    /// It was one of a stream.
    pub(super) fn on_probe(&mut self) {
        self.probes += 1;
    }

    /// All streams that are needed were sent.
    pub(super) fn on_success(&mut self) {
        self.vain = 0;
    }

    /// All echoes of a measurement are in. `is_told` says whether a value is known now.
    pub(super) fn on_settled(&mut self, is_told: bool) {
        self.untold = if is_told { 0 } else { self.untold + 1 };
    }

    /// When the next measurement is due after one for which packets did not come in time.
    pub(super) fn after_vain(&mut self, now: Timestamp) -> Timestamp {
        let due = now + PAUSE_AFTER_VAIN * (1 << self.vain);
        self.vain = (self.vain + 1).min(MOST_DOUBLINGS);
        self.packets_to_pass = PACKETS_AFTER_VAIN;
        due
    }

    /// When the next measurement is due after one of so many `probes`: at most one begins per RTT
    /// (IM 3.3), and fewer if the window is small. Packets that wait for a stream to fill are not
    /// in flight, and a small window misses them more.
    pub(super) fn after(&mut self, started: Timestamp, probes: u32, rtt: RoundTrip) -> Timestamp {
        let sparse = (probes * self.packets_per_probe).div_ceil(self.window.max(1));
        let pause = if self.reads_all_packets {
            rtt.smoothed
                .saturating_mul(sparse)
                .min(LONGEST_ADAPTIVE_PAUSE)
        } else {
            Duration::ZERO
        };
        if self.reads_all_packets {
            // A source of frames fills no window, so `pause` alone would let streams take most of
            // its packets. They hold a frame back a little, and where they take all of it, there
            // are no trains, which alone show that a link has become faster.
            self.packets_to_pass = self.probes * (self.packets_per_probe - 1);
        }
        self.probes = 0;
        let due = started + pause.max(rtt.smoothed.saturating_mul(self.interval_rtts));
        match self.untold.checked_sub(MOST_UNTOLD) {
            Some(beyond) if self.reads_all_packets => {
                due.max(started + PAUSE_AFTER_VAIN * (1 << beyond.min(MOST_DOUBLINGS)))
            }
            _ => due,
        }
    }
}
