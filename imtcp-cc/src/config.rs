//! The settings of the controller. They are checked when they are built, and do not change
//! afterwards.

mod builder;
mod error;

pub use builder::ConfigBuilder;
pub use error::ConfigError;

use crate::control::Window;
use crate::estimate::EstimatorKind;
use crate::measurement::MeasuringSettings;
use crate::mode::Mode;
use crate::promise::{KeeperSettings, PromiseLaw, Requirement, SlotLengthRule};
use crate::scheduler::{PACKET_OVERHEAD, SchedulerSettings};
pub use crate::scheduler::{StoreTarget, StoreTimer};
use crate::units::{Bandwidth, Bytes};
use std::time::Duration;

/// The default initial window, in full datagrams (RFC 9002, section 7.2).
const DEFAULT_INITIAL_WINDOW: u32 = 10;

/// The default of [`Config::longest_hold`]: half of the time of a video frame at 50 frames a
/// second. Nobody sees such a delay.
const LONGEST_HOLD: Duration = Duration::from_millis(10);

/// A checked configuration. Build one with [`Config::builder`].
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    measurement: bool,
    estimator: EstimatorKind,
    stream_packets: u32,
    sub_ranges: u32,
    store_target: StoreTarget,
    store_timer: StoreTimer,
    measurement_interval_rtts: u32,
    minimum_range: Bandwidth,
    header_overhead: Bytes,
    initial_window_packets: Option<u32>,
    initial_rtt: Option<Duration>,
    window: Window,
    mode: Mode,
    promise: Option<Requirement>,
    promise_ceiling: f64,
    promise_weight: f64,
    promise_law: PromiseLaw,
    slot_length: SlotLengthRule,
    packet_overhead: Bytes,
    ack_frequency: bool,
    pacing: bool,
    longest_hold: Duration,
    measured_start: bool,
    remember_paths: bool,
    takes_marks: bool,
}

impl Config {
    /// Starts from the defaults: the statistical estimator, streams of 5 packets, 4 sub-ranges, a
    /// dynamic store target, an adaptive store timer, at most one measurement per RTT, and a CUBIC
    /// window.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::default()
    }

    /// Starts from this configuration.
    pub fn to_builder(&self) -> ConfigBuilder {
        ConfigBuilder {
            config: self.clone(),
            ..ConfigBuilder::default()
        }
    }

    /// The defaults without probing: the same controller as a baseline for comparisons.
    pub fn without_measurement() -> Self {
        Self::default().not_measuring()
    }

    /// The same configuration without probing.
    #[must_use]
    pub fn not_measuring(self) -> Self {
        Self {
            measurement: false,
            ..self
        }
    }

    /// Whether the controller forms probe streams and trains. If not, no packet is held back for
    /// measuring, and estimates rest on passing packets alone. True unless set.
    pub fn measurement(&self) -> bool {
        self.measurement
    }

    /// The estimator that drives: its estimates are told, and its search range decides the rates of
    /// the streams. Both estimators always run. [`EstimatorKind::Statistical`] unless set.
    pub fn estimator(&self) -> EstimatorKind {
        self.estimator
    }

    /// The number of packets of a stream (N of IM 3.2.3); 3 to 64, and 5 unless set.
    pub fn stream_packets(&self) -> u32 {
        self.stream_packets
    }

    /// The number of sub-ranges, which is also the largest number of streams of a measurement (k of
    /// IM 3.2.2); 2 to 16, and 4 unless set.
    pub fn sub_ranges(&self) -> u32 {
        self.sub_ranges
    }

    /// The number of ready packets that starts a stream (m of IM 3.4.1).
    /// [`StoreTarget::Dynamic`] unless set; a fixed target is 2 to `stream_packets`.
    pub fn store_target(&self) -> StoreTarget {
        self.store_target
    }

    /// The longest time that packets wait for a stream to fill (T of IM 3.4.2).
    /// [`StoreTimer::Adaptive`] unless set; a fixed timer is above 0 and at most 1 s.
    pub fn store_timer(&self) -> StoreTimer {
        self.store_timer
    }

    /// The shortest time between the starts of two measurements, in smoothed RTTs (IM 3.3); 1 to
    /// 1000, and 1 unless set.
    pub fn measurement_interval_rtts(&self) -> u32 {
        self.measurement_interval_rtts
    }

    /// The least width of the search range, in IP-layer bits per second (B_m of IM 3.2.6). With
    /// zero, the default, the library chooses a width that follows the estimate
    /// (docs/ALGORITHM.md).
    pub fn minimum_range(&self) -> Bandwidth {
        self.minimum_range
    }

    /// The bytes that IP and UDP headers add to each QUIC datagram: 28 over IPv4, 48 over IPv6. At
    /// most 200, and 28 unless set.
    pub fn header_overhead(&self) -> Bytes {
        self.header_overhead
    }

    /// Whether the controller asks the peer for sparse acknowledgements, and for immediate ones of
    /// the packets that measure (draft-ietf-quic-ack-frequency-14). It asks only peers that
    /// understand such requests. True unless set.
    pub fn ack_frequency(&self) -> bool {
        self.ack_frequency
    }

    /// Whether packets are spaced over the round trip (RFC 9002, section 7.7). If not, a packet
    /// leaves as soon as the window has room for it, as the papers' TCP sends. Probe streams and
    /// trains keep their gaps, and a promised rate bounds the source in any case. True unless set:
    /// bursts carry less beside others on most paths (docs/ALGORITHM.md, "The window").
    pub fn pacing(&self) -> bool {
        self.pacing
    }

    /// The initial congestion window in full datagrams; 2 to 100. If it is not set, it is the
    /// transport's (`initial_congestion_window_packets` of quiche and tokio-quiche), or else 10
    /// (RFC 9002, section 7.2).
    pub fn initial_window_packets(&self) -> u32 {
        self.initial_window_packets
            .unwrap_or(DEFAULT_INITIAL_WINDOW)
    }

    /// The round trip that is assumed before the first measured one; above 0. If it is not set, it
    /// is the transport's (RFC 9002, section 6.2.2).
    ///
    /// The value has little effect. The first flight leaves at once in any case, and only the rate
    /// that qlog shows until the first round trip follows from it. quiche's timers use the
    /// `initial_rtt` of `quiche::Config`.
    pub fn initial_rtt(&self) -> Option<Duration> {
        self.initial_rtt
    }

    /// Takes the transport's value for each setting that this configuration leaves open.
    #[must_use]
    pub fn or_transport(mut self, initial_window_packets: u32, initial_rtt: Duration) -> Self {
        self.initial_window_packets
            .get_or_insert(initial_window_packets);
        self.initial_rtt.get_or_insert(initial_rtt);
        self
    }

    /// The same with what a log says of these two. They may be a transport's, and then they are in
    /// no range that [`ConfigBuilder`] knows.
    #[cfg(feature = "json")]
    pub(crate) fn logged(self, initial_window_packets: u32, initial_rtt: Option<Duration>) -> Self {
        Self {
            initial_window_packets: Some(initial_window_packets),
            initial_rtt,
            ..self
        }
    }

    /// The law that the congestion window follows. [`Window::Cubic`] unless set.
    pub fn window(&self) -> Window {
        self.window
    }

    /// What every connection wants of its path from its start. It changes while the connection runs
    /// by [`crate::promise::Promise::set_mode`]. [`Mode::Standard`] unless set.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The requirement that every connection has from its start; none unless set. See
    /// [`crate::promise`].
    pub fn promise(&self) -> Option<Requirement> {
        self.promise
    }

    /// The largest share of the path's capacity up to which a promise takes bandwidth from others;
    /// above 0 and at most 1, and 0.5 unless set. The bandwidth that is available without taking
    /// may be used in any case.
    pub fn promise_ceiling(&self) -> f64 {
        self.promise_ceiling
    }

    /// N, the largest number of standard flows that a promise may stand for when it answers losses;
    /// 1 to 16, and 4 unless set. A promise that needs more than that is not kept by force, but
    /// reported as broken. With 1 a loss is answered like any other flow's.
    pub fn promise_weight(&self) -> f64 {
        self.promise_weight
    }

    /// The law by which a promise steers its window. [`PromiseLaw::Proportional`] unless set.
    pub fn promise_law(&self) -> PromiseLaw {
        self.promise_law
    }

    /// The rule for the length of a promise's control slots (s of PT II-A).
    /// [`SlotLengthRule::LossIntervals`] unless set.
    pub fn slot_length(&self) -> SlotLengthRule {
        self.slot_length
    }

    /// The longest time for which measuring may hold back a packet that could leave without
    /// measuring; 0 to 1 s, and 10 ms unless set. With 0 no packet is held back, and the estimates
    /// rest on passing packets alone. This setting also bounds the store timer (T of IM 3.4.2).
    ///
    /// On a short path the bound is lower. It is then half of (least round trip minus M / C), where
    /// M is the packet size and C the capacity of the tight link.
    pub fn longest_hold(&self) -> Duration {
        self.longest_hold
    }

    /// Whether slow start ends when the window fills what is free on the path, as the measurement
    /// knows it. If not, or without [`Config::measurement`], it ends as RFC 9406 and RFC 9002 have
    /// it. False unless set: beside rivals that come later, such a start leaves them more of a deep
    /// queue (docs/ALGORITHM.md, "The start"). A connection that begins in another mode than
    /// [`Mode::Standard`] has it in any case.
    pub fn measured_start(&self) -> bool {
        self.measured_start
    }

    /// Whether connections know what earlier ones measured on the same path, and begin with it
    /// after the first round trip has confirmed it (draft-ietf-tsvwg-careful-resume). The memory
    /// belongs to the factory of the transport's adapter. Nothing is remembered without
    /// [`Config::measurement`]. False unless set.
    pub fn remember_paths(&self) -> bool {
        self.remember_paths
    }

    /// Whether routers may mark packets instead of dropping them (ECN, RFC 3168). The window
    /// answers a mark as it answers a loss (RFC 9002, section 7.1). Packets are marked only if
    /// the transport's adapter and the application write what they say into IP headers. False
    /// unless set.
    pub fn takes_marks(&self) -> bool {
        self.takes_marks
    }

    /// The bytes of each packet's UDP payload that count as headers when application data is
    /// counted; at most 400, and 48 unless set.
    pub fn packet_overhead(&self) -> Bytes {
        self.packet_overhead
    }

    /// The modes want to know early what the path carries.
    fn starts_measured(&self) -> bool {
        self.measurement && (self.measured_start || self.mode != Mode::Standard)
    }

    pub(crate) fn measuring_settings(&self) -> MeasuringSettings {
        MeasuringSettings {
            driver: self.estimator,
            stream_packets: self.stream_packets,
            sub_ranges: self.sub_ranges,
            minimum_range: self.minimum_range,
            measured_start: self.starts_measured(),
        }
    }

    pub(crate) fn scheduler_settings(&self) -> SchedulerSettings {
        SchedulerSettings {
            measurement: self.measurement,
            reads_all_packets: self.estimator == EstimatorKind::Statistical,
            stream_packets: self.stream_packets,
            sub_ranges: self.sub_ranges,
            store_target: self.store_target,
            store_timer: self.store_timer,
            measurement_interval_rtts: self.measurement_interval_rtts,
            longest_hold: self.longest_hold,
            ack_frequency: self.ack_frequency,
            pacing: self.pacing,
        }
    }

    pub(crate) fn keeper_settings(&self) -> KeeperSettings {
        let (rule, ceiling, weight) = match self.promise_law {
            PromiseLaw::Proportional => {
                (self.slot_length, self.promise_ceiling, self.promise_weight)
            }
            PromiseLaw::Paper => (SlotLengthRule::Doubling, 1.0, 1.0),
        };
        KeeperSettings {
            law: self.promise_law,
            rule,
            ceiling,
            weight,
            window: self.window,
            packet_overhead: self.packet_overhead,
            requirement: self.promise,
            mode: self.mode,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            measurement: true,
            estimator: EstimatorKind::Statistical,
            stream_packets: 5,
            sub_ranges: 4,
            store_target: StoreTarget::Dynamic,
            store_timer: StoreTimer::Adaptive,
            measurement_interval_rtts: 1,
            minimum_range: Bandwidth::ZERO,
            header_overhead: Bytes::new(28),
            initial_window_packets: None,
            initial_rtt: None,
            window: Window::Cubic,
            mode: Mode::Standard,
            promise: None,
            promise_ceiling: 0.5,
            promise_weight: 4.0,
            promise_law: PromiseLaw::Proportional,
            slot_length: SlotLengthRule::LossIntervals,
            packet_overhead: PACKET_OVERHEAD,
            ack_frequency: true,
            pacing: true,
            longest_hold: LONGEST_HOLD,
            measured_start: false,
            remember_paths: false,
            takes_marks: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_pass_their_own_check() {
        assert_eq!(Config::builder().build(), Ok(Config::default()));
    }

    #[test]
    fn an_error_names_the_setting_and_its_range() {
        let error = Config::builder()
            .stream_packets(2)
            .build()
            .expect_err("out of range");
        assert_eq!(error.to_string(), "stream_packets is 2; it must be 3 to 64");
        let error = Config::builder()
            .store_target(StoreTarget::Fixed(6))
            .build()
            .expect_err("out of range");
        assert_eq!(error.to_string(), "store_target is 6; it must be 2 to 5");
    }

    #[test]
    fn an_own_setting_wins_over_the_transports() {
        let rtt = Duration::from_millis(70);
        let theirs = Config::default().or_transport(32, rtt);
        assert_eq!(
            (theirs.initial_window_packets(), theirs.initial_rtt()),
            (32, Some(rtt))
        );
        let ours = Config::builder().initial_window_packets(10);
        let ours = ours
            .build()
            .expect("within its range")
            .or_transport(32, rtt);
        assert_eq!(ours.initial_window_packets(), 10);
    }
}
