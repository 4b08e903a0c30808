//! Rewrites a log for qvis, which reads version 0.3 of qlog at most, and draws the events that had
//! other names then. One file cannot be both conformant and drawn by qvis.

use crate::error::Error;
use crate::read::{Header, Kind, Log, Record};
use imtcp_cc::qlog::CORE_INPUT;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::ops::{ControlFlow, RangeInclusive};

/// What became of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Events.
    pub events: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Files beyond this size do not open in qvis.
pub const MOST_BYTES: u64 = 100_000_000;

/// The old names of events whose names have changed (draft-ietf-quic-qlog-quic-events-04).
fn old_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "quic:connection_started" => "connectivity:connection_started",
        "quic:connection_closed" => "connectivity:connection_closed",
        "quic:connection_id_updated" => "connectivity:connection_id_updated",
        "quic:connection_state_updated" => "connectivity:connection_state_updated",
        "quic:spin_bit_updated" => "connectivity:spin_bit_updated",
        "quic:parameters_set" => "transport:parameters_set",
        "quic:packet_sent" => "transport:packet_sent",
        "quic:packet_received" => "transport:packet_received",
        "quic:packet_dropped" => "transport:packet_dropped",
        "quic:packet_buffered" => "transport:packet_buffered",
        "quic:stream_state_updated" => "transport:stream_state_updated",
        "quic:stream_data_moved" => "transport:data_moved",
        "quic:key_updated" => "security:key_updated",
        "quic:key_discarded" => "security:key_retired",
        "quic:recovery_parameters_set" => "recovery:parameters_set",
        "quic:recovery_metrics_updated" => "recovery:metrics_updated",
        "quic:congestion_state_updated" => "recovery:congestion_state_updated",
        "quic:packet_lost" => "recovery:packet_lost",
        "quic:marked_for_retransmit" => "recovery:marked_for_retransmit",
        "http3:parameters_set" => "http:parameters_set",
        "http3:stream_type_set" => "http:stream_type_set",
        "http3:frame_created" => "http:frame_created",
        "http3:frame_parsed" => "http:frame_parsed",
        _ => return None,
    })
}

/// Writes the events of a log between two times, in milliseconds.
///
/// # Errors
/// The log cannot be read.
pub fn write(
    log: &mut Log,
    times: RangeInclusive<f64>,
    output: impl Write,
) -> Result<io::Result<Written>, Error> {
    let mut sink = Sink {
        output,
        written: Written::default(),
    };
    let mut outcome = sink.write(&header(log.header()));
    log.for_each_until(|record| {
        if outcome.is_err() {
            return Ok(ControlFlow::Break(()));
        }
        if times.contains(&record.time_ms) && !is_left_out(record) {
            outcome = sink.write(&event(record).map_err(|error| error.to_string())?);
            sink.written.events += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let outcome = outcome.and_then(|()| sink.output.flush());
    Ok(outcome.map(|()| sink.written))
}

/// What only a replay needs would bury the rest.
fn is_left_out(record: &Record<'_>) -> bool {
    record.name == CORE_INPUT
}

struct Sink<W> {
    output: W,
    written: Written,
}

impl<W: Write> Sink<W> {
    fn write(&mut self, value: &Value) -> io::Result<()> {
        let text = format!("\u{1e}{value}\n");
        self.written.bytes += text.len() as u64;
        self.output.write_all(text.as_bytes())
    }
}

/// qvis looks for version and format in the first few characters. serde_json sorts members, and
/// both names are among the first.
fn header(header: &Header) -> Value {
    let vantage_point = match header.vantage_point.as_str() {
        "" => "unknown",
        kind => kind,
    };
    json!({
        "qlog_format": "JSON-SEQ",
        "qlog_version": "0.3",
        "title": header.title,
        "trace": {
            "common_fields": {
                "protocol_type": ["QUIC", "HTTP3"],
                "reference_time": 0,
                "time_format": "relative",
            },
            "vantage_point": { "type": vantage_point },
        },
    })
}

fn event(record: &Record<'_>) -> Result<Value, serde_json::Error> {
    let mut data: Value = record.data()?;
    if let Some(members) = data.as_object_mut() {
        match record.kind {
            Kind::PacketSent | Kind::PacketReceived | Kind::PacketLost => packet(members),
            Kind::Metrics => metrics(members, record)?,
            _ if SIZED.contains(&record.name.as_ref()) => sized(members),
            _ => {}
        }
    }
    let name = old_name(&record.name).unwrap_or(&record.name);
    Ok(json!({ "time": record.time_ms, "name": name, "data": data }))
}

/// Frames had their lengths beside their names, and qvis draws nothing without them.
fn packet(packet: &mut Map<String, Value>) {
    let frames = packet.get_mut("frames").and_then(Value::as_array_mut);
    let members = frames.into_iter().flatten();
    members.filter_map(Value::as_object_mut).for_each(sized);
}

/// Events that had a length of their own. Without it qvis draws data that moves as nothing.
const SIZED: [&str; 3] = [
    "quic:stream_data_moved",
    "http3:frame_created",
    "http3:frame_parsed",
];

/// Puts a length beside what it is the length of.
fn sized(members: &mut Map<String, Value>) {
    let raw = members.get("raw");
    let length = raw.and_then(|raw| raw.get("payload_length").or(raw.get("length")));
    if let (Some(length), None) = (length.cloned(), members.get("length")) {
        members.insert("length".to_owned(), length);
    }
}

/// The names of what the reader understands, in the files of all writers.
const METRICS: [&str; 9] = [
    "cwnd",
    "congestion_window",
    "bytes_in_flight",
    "ssthresh",
    "pacing_rate",
    "latest_rtt",
    "smoothed_rtt",
    "min_rtt",
    "rtt_variance",
];

/// The values as the reader understands them, whatever the units of the file are.
fn metrics(members: &mut Map<String, Value>, record: &Record<'_>) -> Result<(), serde_json::Error> {
    let metrics = record.metrics()?;
    for name in METRICS {
        members.remove(name);
    }
    for (name, value) in metrics.values() {
        let name = match name {
            "pacing_bps" => "pacing_rate",
            name => name,
        };
        members.insert(name.to_owned(), json!(value));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;
    use std::path::Path;

    #[test]
    fn lengths_stand_where_older_drafts_had_them() {
        let event = |name: &str, data: &str| {
            format!("{{\"time\":1.0,\"name\":\"{name}\",\"data\":{data}}}\n")
        };
        let raw = r#"{"stream_id":0,"raw":{"length":1315}}"#;
        let packet = r#"{"frames":[{"frame_type":"stream","raw":{"payload_length":7,"length":9}},
            {"frame_type":"padding","length":3}]}"#
            .replace('\n', "");
        let log = [
            "{\"qlog_version\":\"0.3\"}\n".to_owned(),
            event("quic:stream_data_moved", raw),
            event("http3:frame_parsed", raw),
            event("quic:packet_sent", &packet),
        ];
        let log = Cursor::new(log.concat().into_bytes());
        let mut log = Log::new(log, Path::new("log")).expect("a qlog");
        let mut output = Vec::new();
        let written = write(&mut log, 0.0..=2.0, &mut output).expect("it can be read");
        assert_eq!(written.expect("memory takes all").events, 3);
        let output = String::from_utf8(output).expect("text");
        let events: Vec<Value> = output
            .split('\u{1e}')
            .skip(2)
            .map(|event| serde_json::from_str(event).expect("JSON"))
            .collect();
        assert_eq!(events[0]["name"], "transport:data_moved");
        assert_eq!(events[0]["data"]["length"], 1315);
        assert_eq!(events[1]["data"]["length"], 1315);
        let lengths = [0, 1].map(|index| &events[2]["data"]["frames"][index]["length"]);
        assert_eq!(lengths, [&json!(7), &json!(3)]);
    }
}
