//! Probe streams, packet by packet.

use crate::bounds;
use crate::error::Error;
use crate::read::{Kind, Log, Record};
use serde::Deserialize;
use serde::de::Error as _;

/// The share of pairs above which the delay rises, by this test (PCT of pathload;
/// imtcp-cc/docs/ALGORITHM.md). The controller does not log its thresholds.
pub const PCT_OF_A_RISE: f64 = 0.40;
/// The share of the movement above which the delay rises, by this test.
pub const PDT_OF_A_RISE: f64 = 0.30;

/// The most packets of a stream. The controller's have 64 at most; whoever shows a stream has a row
/// for each.
const MOST_PACKETS: usize = 1024;

/// A probe stream.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Stream {
    /// When its first packet left.
    #[serde(skip)]
    pub start_ms: f64,
    /// When its last packet left, as far as that is known.
    #[serde(skip)]
    pub end_ms: f64,
    /// When it was judged.
    #[serde(skip)]
    pub judged_ms: f64,
    /// The number of its path; missing in the log for the first. Each path counts measurements for
    /// itself.
    #[serde(default)]
    pub path: u32,
    /// Its measurement.
    pub measurement: u64,
    /// Its number; 1 is the fastest.
    pub stream: u64,
    /// The lower end of its rates.
    pub low_bps: u64,
    /// The upper end.
    pub high_bps: u64,
    /// The numbers of its packets.
    pub packet_numbers: Vec<u64>,
    /// Their sizes on the wire.
    pub sizes: Vec<u64>,
    /// The planned distances of their departures, in nanoseconds.
    pub planned_gaps_ns: Vec<Option<i64>>,
    /// The distances of their departures.
    pub sent_gaps_ns: Vec<Option<i64>>,
    /// The distances of their echoes.
    pub echo_gaps_ns: Vec<Option<i64>>,
    /// The delay from departure to echo of the first packet.
    pub first_delay_ns: Option<u64>,
    /// How far the times of the echoes can be trusted.
    pub qualities: Vec<String>,
    /// The share of pairs whose delay rises.
    pub pct: Option<f64>,
    /// The share of the movement that is a net rise.
    pub pdt: Option<f64>,
    /// +1, 0 or -1.
    pub trend: i8,
    /// The trend in a word, with the reason if it is none.
    pub verdict: String,
}

impl Stream {
    /// The stream of an event, if the event is about one.
    pub(crate) fn of(record: &Record<'_>) -> serde_json::Result<Option<Self>> {
        if record.kind != Kind::Imtcp || record.event() != "stream_completed" {
            return Ok(None);
        }
        let mut stream: Self = record.data()?;
        let packets = stream.packet_numbers.len();
        if packets > MOST_PACKETS {
            let problem = format!("a stream of {packets} packets; {MOST_PACKETS} are read");
            return Err(serde_json::Error::custom(problem));
        }
        stream.verdict = bounds::name(stream.verdict)?;
        let total = |gaps: &[Option<i64>]| {
            let sum: i64 = gaps
                .iter()
                .flatten()
                .fold(0, |sum, gap| sum.saturating_add(*gap));
            sum as f64 / 1e6
        };
        // The event stands where the last echo came in.
        let delay = stream.first_delay_ns.unwrap_or(0) as f64 / 1e6;
        stream.judged_ms = record.time_ms;
        stream.start_ms = record.time_ms - total(&stream.echo_gaps_ns) - delay;
        stream.end_ms = stream.start_ms + total(&stream.sent_gaps_ns);
        Ok(Some(stream))
    }

    /// The largest error of a distance between departures, in nanoseconds.
    pub fn worst_gap_ns(&self) -> Option<i64> {
        let pairs = self.planned_gaps_ns.iter().zip(&self.sent_gaps_ns);
        let errors = pairs
            .filter_map(|(planned, sent)| Some(sent.as_ref()?.saturating_sub(*planned.as_ref()?)));
        errors.max_by_key(|error| error.unsigned_abs())
    }
}

/// Visits the streams of a log, to its end.
///
/// # Errors
/// The input fails, or a record is damaged and the log is strict.
pub fn for_each(log: &mut Log, mut visit: impl FnMut(Stream)) -> Result<(), Error> {
    log.for_each(|record| {
        if let Some(stream) = Stream::of(record).map_err(|error| error.to_string())? {
            visit(stream);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;
    use std::path::Path;

    #[test]
    fn a_stream_of_a_thousand_packets_is_read_and_one_of_more_is_damage() {
        let record = |packets: usize| {
            let numbers = vec!["7"; packets].join(",");
            format!(
                "{{\"time\":1,\"name\":\"imtcp:stream_completed\",\"data\":{{\"measurement\":1,\
                 \"stream\":1,\"low_bps\":1,\"high_bps\":2,\"packet_numbers\":[{numbers}],\
                 \"sizes\":[],\"planned_gaps_ns\":[],\"sent_gaps_ns\":[],\"echo_gaps_ns\":[],\
                 \"first_delay_ns\":null,\"qualities\":[],\"pct\":null,\"pdt\":null,\"trend\":0,\
                 \"verdict\":\"grey_zone\"}}}}\n"
            )
        };
        let text = ["{\"qlog_version\":\"0.3\"}\n", &record(1024), &record(1025)].concat();
        let mut log = Log::new(Cursor::new(text), Path::new("log")).expect("a qlog");
        let mut packets = Vec::new();
        for_each(&mut log, |stream| packets.push(stream.packet_numbers.len())).expect("it is read");
        assert_eq!(packets, [1024]);
        let problem = log.problems().first()[0].to_string();
        assert!(
            problem.contains("a stream of 1025 packets; 1024 are read"),
            "{problem}"
        );
    }
}
