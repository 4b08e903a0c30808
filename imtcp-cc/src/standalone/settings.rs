//! What a stand-alone measurement may be told.

use crate::config::ConfigError;
use crate::measurement::{MAX_STREAM_PACKETS, MAX_SUB_RANGES};
use crate::units::Bytes;
use std::time::Duration;

/// How the available bandwidth is sought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Trains: a short burst, which tells the capacity, and packets at the capacity's gap behind
    /// it, which tell what others bring. This is the default.
    #[default]
    Trains,
    /// The search of the paper: streams of rising rate, trends, a choice, two straight lines
    /// (IC 3.1).
    Search,
}

/// The settings of a [`super::Measurement`]. [`super::Measurement::new`] checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How the available bandwidth is sought.
    pub method: Method,
    /// The size of a probe packet on the wire, IP header included: 64 to 9000 bytes (M of IC 4.1,
    /// 1000 bytes).
    pub packet: Bytes,
    /// The measurement is done when the interval is narrower than this share of the value: above 0
    /// and at most 1 (alpha of IC 3.1, 0.05).
    pub narrow_enough: f64,
    /// The number of sub-ranges of the paper's search: 1 to 16 (k of IC 4.1, 4).
    pub sub_ranges: u32,
    /// The number of packets of a stream of the paper's search: 3 to 64 (N of IC 4.1, 10).
    pub stream_packets: u32,
    /// The pause after each measurement, in round trips: 0 to 100 (IC 3.1, 2).
    pub pause_round_trips: u32,
    /// The measurement ends before it sends more bytes than this, IP headers included. `None`: no
    /// bound.
    pub most_bytes: Option<Bytes>,
    /// The measurement ends after this time. `None`: no bound. Without both bounds, one whose
    /// interval never becomes narrow enough goes on until [`super::Measurement::stop`].
    pub longest: Option<Duration>,
    /// Whether the measurement goes on when the interval is narrow enough, and follows the path.
    pub continuous: bool,
    /// A packet without a reply for this long is lost: 10 ms to 10 s.
    pub reply_timeout: Duration,
    /// The queue that a burst of [`Method::Trains`] may build: 100 us to 1 s. A burst has three
    /// packets in any case.
    pub queue: Duration,
    /// By how much the times of sending and receiving may be off: up to 10 ms. Bursts become long
    /// enough to be seen beside it.
    pub clock_error: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            method: Method::Trains,
            packet: Bytes::new(1000),
            narrow_enough: 0.05,
            sub_ranges: 4,
            stream_packets: 10,
            pause_round_trips: 2,
            most_bytes: Some(Bytes::new(1_000_000)),
            longest: Some(Duration::from_secs(5)),
            continuous: false,
            reply_timeout: Duration::from_secs(1),
            queue: Duration::from_millis(4),
            clock_error: Duration::from_micros(20),
        }
    }
}

impl Settings {
    /// The method of the paper with the settings of its experiments (IC 4.1, Table 3): k = 4,
    /// N = 10, alpha = 0.05, packets of 1000 bytes, a pause of two round trips, no bound on bytes
    /// or time.
    pub fn paper() -> Self {
        Self {
            method: Method::Search,
            most_bytes: None,
            longest: None,
            ..Self::default()
        }
    }

    /// Says which setting is outside its range.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let millis = Duration::from_millis;
        let span = |value: Duration| format!("{value:?}");
        let checks = [
            (
                (64..=9000).contains(&self.packet.get()),
                ("packet", self.packet.to_string(), "64 to 9000 B"),
            ),
            (
                self.narrow_enough > 0.0 && self.narrow_enough <= 1.0,
                (
                    "narrow_enough",
                    self.narrow_enough.to_string(),
                    "above 0 and at most 1",
                ),
            ),
            (
                (1..=MAX_SUB_RANGES).contains(&self.sub_ranges),
                ("sub_ranges", self.sub_ranges.to_string(), "1 to 16"),
            ),
            (
                (3..=MAX_STREAM_PACKETS).contains(&self.stream_packets),
                ("stream_packets", self.stream_packets.to_string(), "3 to 64"),
            ),
            (
                self.pause_round_trips <= 100,
                (
                    "pause_round_trips",
                    self.pause_round_trips.to_string(),
                    "at most 100",
                ),
            ),
            (
                (millis(10)..=millis(10_000)).contains(&self.reply_timeout),
                ("reply_timeout", span(self.reply_timeout), "10 ms to 10 s"),
            ),
            (
                (Duration::from_micros(100)..=millis(1000)).contains(&self.queue),
                ("queue", span(self.queue), "100 us to 1 s"),
            ),
            (
                self.clock_error <= millis(10),
                ("clock_error", span(self.clock_error), "at most 10 ms"),
            ),
        ];
        for (holds, (setting, value, allowed)) in checks {
            if !holds {
                return Err(ConfigError::new(setting, value, allowed));
            }
        }
        Ok(())
    }
}
