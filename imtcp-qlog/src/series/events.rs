//! What happens once, and is drawn as a mark.

use crate::streams;
use serde::Deserialize;

/// A probe stream. [`streams`] has its packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stream {
    /// When its first packet left.
    pub start_ms: f64,
    /// When its last packet left, as far as that is known.
    pub end_ms: f64,
    /// When it was judged.
    pub judged_ms: f64,
    /// Its measurement.
    pub measurement: u64,
    /// Its number; 1 is the fastest.
    pub stream: u64,
    /// The lower end of its rates.
    pub low_bps: u64,
    /// The upper end.
    pub high_bps: u64,
    /// How many packets it had.
    pub packets: usize,
    /// +1, 0 or -1.
    pub trend: i8,
    /// The trend in a word, with the reason if it is none.
    pub verdict: String,
}

impl From<streams::Stream> for Stream {
    fn from(stream: streams::Stream) -> Self {
        Self {
            start_ms: stream.start_ms,
            end_ms: stream.end_ms,
            judged_ms: stream.judged_ms,
            measurement: stream.measurement,
            stream: stream.stream,
            low_bps: stream.low_bps,
            high_bps: stream.high_bps,
            packets: stream.packet_numbers.len(),
            trend: stream.trend,
            verdict: stream.verdict,
        }
    }
}

/// An evaluation slot.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Slot {
    /// When it ended.
    #[serde(skip)]
    pub end_ms: f64,
    /// How long it was.
    #[serde(rename = "length")]
    pub length_ms: f64,
    /// What was required.
    pub required_bps: u64,
    /// What was achieved.
    pub achieved_bps: u64,
    /// `kept`, `missed` or `source_limited`.
    pub outcome: String,
}

/// A state that was entered.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// When.
    pub time_ms: f64,
    /// Whether it is the status of a promise, and not a state of the congestion controller.
    pub is_promise: bool,
    /// Its name.
    pub name: String,
}
