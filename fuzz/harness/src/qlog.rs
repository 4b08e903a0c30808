//! Files that may or may not be qlogs, to everything that reads them.
//!
//! Nobody has to be hostile for this: a log is cut off when a server is killed, a disk loses a part
//! of it, another program writes it in a way of its own.

use crate::{Met, Seed};
use flate2::Compression;
use flate2::write::GzEncoder;
use imtcp_qlog::Log;
use imtcp_qlog::replay::Replay;
use imtcp_qlog::series::Series;
use imtcp_qlog::summary::Summary;
use imtcp_qlog::table::Table;
use imtcp_qlog::{export, page, qvis};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::path::Path;

/// What the seeds lead to.
pub const SITUATIONS: &[&str] = &[
    "no qlog at all",
    "nothing is wrong",
    "something is left out",
    "packets",
    "an estimate",
    "a stream",
    "a slot",
    "a replay",
];

/// A decompressed file is this long at most: what a few bytes can unpack to would only take time.
const MOST_BYTES: usize = 1 << 20;

/// Few points, so that they are thinned.
const POINTS: usize = 16;

/// What would end a script element, or begin a comment in it.
const ODD: &str = "</script><!--<script>";

fn opened(input: &[u8]) -> Option<Log> {
    let source = Cursor::new(input.to_vec());
    Log::new(source, Path::new("input")).ok()
}

/// Reads an input in every way that there is.
pub fn run(input: &[u8]) -> Met {
    let mut met = Met::new();
    if is_bomb(input) {
        return met;
    }
    let Some(mut log) = opened(input) else {
        met.insert("no qlog at all");
        return met;
    };
    let mut visited = Vec::new();
    let mut last = 0;
    let outcome = log.for_each(|record| {
        assert!(record.position.record > last, "records are counted on");
        last = record.position.record;
        visited.push(record.name.clone().into_owned());
        Ok(())
    });
    assert!(outcome.is_ok(), "memory does not fail: {outcome:?}");
    compare_with_plain_reader(input, &visited);
    summarise(input, &visited, &mut met);
    look_at(input, &mut met);
    met
}

fn is_bomb(input: &[u8]) -> bool {
    let mut bytes = 0;
    let decoded: Box<dyn std::io::Read> = match input {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(input)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => match zstd::stream::read::Decoder::new(input) {
            Ok(decoder) => Box::new(decoder),
            Err(_) => return false,
        },
        _ => return false,
    };
    let mut decoded = decoded;
    let mut chunk = [0; 4096];
    while let Ok(read @ 1..) = decoded.read(&mut chunk) {
        bytes += read;
        if bytes > MOST_BYTES {
            return true;
        }
    }
    false
}

/// The events of a plain sequence that is whole JSON through and through are all visited, in their
/// order.
fn compare_with_plain_reader(input: &[u8], visited: &[String]) {
    let Some(text) = input.strip_prefix(b"\x1e") else {
        return;
    };
    let mut visited = visited.iter();
    for record in text.split(|byte| *byte == 0x1e).skip(1) {
        let Ok(Value::Object(event)) = serde_json::from_slice(record) else {
            continue;
        };
        // Only what has nothing unusual about it: JSON allows a name twice.
        let plain = event.len() == 3 && event.get("data").is_some_and(Value::is_object);
        let text = String::from_utf8_lossy(record);
        let once = ["\"time\"", "\"name\"", "\"data\""];
        if !plain || once.iter().any(|name| text.matches(name).count() != 1) {
            continue;
        }
        if let (Some(Value::Number(_)), Some(Value::String(name))) =
            (event.get("time"), event.get("name"))
        {
            assert!(
                visited.any(|other| other == name),
                "`{name}` was not visited"
            );
        }
    }
}

fn summarise(input: &[u8], visited: &[String], met: &mut Met) {
    let Some(mut log) = opened(input) else {
        panic!("it could be opened before");
    };
    let summary = Summary::of(&mut log).expect("memory does not fail");
    assert!(
        summary.events <= visited.len() as u64,
        "an event counts once"
    );
    let problems = log.problems();
    assert!(problems.first().len() as u64 <= problems.count());
    let is_strict = opened(input).expect("as before").strict();
    let strictly = Summary::of(&mut { is_strict });
    // A missing header is a problem and no damage, and so is a second trace.
    if strictly.is_err() {
        assert!(problems.count() > 0, "{strictly:?}");
    }
    match problems.count() {
        0 if summary.events > 0 => met.insert("nothing is wrong"),
        0 => false,
        _ => met.insert("something is left out"),
    };
    if summary.sent.count > 0 {
        met.insert("packets");
    }
    if !summary.estimates.is_empty() {
        met.insert("an estimate");
    }
    if summary.promises.slots() > 0 {
        met.insert("a slot");
    }
}

/// The other commands: they say something, or say why not.
fn look_at(input: &[u8], met: &mut Met) {
    let series = Series::of(&mut opened(input).expect("as before"), POINTS);
    let series = series.expect("memory does not fail");
    if !series.streams.is_empty() {
        met.insert("a stream");
    }
    for column in [
        &series.window,
        &series.latest_rtt,
        &series.delivered,
        &series.pacing,
        &series.statistical.value,
        &series.losses,
    ] {
        assert!(column.points().len() <= POINTS, "{}", column.points().len());
    }
    let run = page::Run {
        name: ODD.to_owned(),
        series,
        truth: Vec::new(),
    };
    let mut written = Vec::new();
    page::write(ODD, &[run], &mut written).expect("memory takes all");
    let written = String::from_utf8(written).expect("it is text");
    assert!(!written.contains(ODD), "a title is no part of the page");

    let table = Table::of(&mut opened(input).expect("as before")).expect("memory does not fail");
    table.write(std::io::sink()).expect("a sink takes all");
    let rows = export::CsvRows::new(std::io::sink()).expect("a sink takes all");
    let rows = export::export(&mut opened(input).expect("as before"), rows);
    assert!(rows.is_ok_and(|rows| rows.is_ok()));

    let mut converted = Vec::new();
    let all = f64::NEG_INFINITY..=f64::INFINITY;
    let written = qvis::write(&mut opened(input).expect("as before"), all, &mut converted);
    let written = written
        .expect("memory does not fail")
        .expect("memory takes all");
    let mut again = opened(&converted).expect("what was written is a qlog");
    let mut events = 0;
    let outcome = again.for_each(|_| {
        events += 1;
        Ok(())
    });
    assert!(
        outcome.is_ok() && again.problems().count() == 0,
        "{:?}",
        again.problems()
    );
    assert_eq!(events, written.events, "what was written is read again");

    if let Ok(replay) = Replay::of(&mut opened(input).expect("as before"), Ok) {
        assert!(replay.inputs > 0);
        met.insert("a replay");
    }
}

const HEADER: &str = concat!(
    "{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",",
    "\"serialization_format\":\"application/qlog+json-seq\",",
    "\"trace\":{\"vantage_point\":{\"type\":\"server\"},\"event_schemas\":[\"urn:x\"]}}",
);

const EVENTS: [&str; 10] = [
    concat!(
        "{\"time\":0,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",",
        "\"packet_number\":7},\"raw\":{\"length\":1200},\"frames\":[{\"frame_type\":\"stream\",",
        "\"stream_id\":3,\"raw\":{\"payload_length\":1160}}]}}"
    ),
    concat!(
        "{\"time\":20.5,\"name\":\"quic:packet_received\",\"data\":{\"header\":{\"packet_type\":",
        "\"1RTT\",\"packet_number\":1},\"raw\":{\"length\":36},\"frames\":[",
        "{\"frame_type\":\"ack\",",
        "\"ack_delay\":0.5,\"acked_ranges\":[[0,3],[5],[7,7]]}]}}"
    ),
    concat!(
        "{\"time\":20.5,\"name\":\"quic:recovery_metrics_updated\",\"data\":{\"latest_rtt\":20.5,",
        "\"smoothed_rtt\":20.5,\"congestion_window\":14000,\"pacing_rate\":8000000}}"
    ),
    "{\"time\":21,\"name\":\"quic:packet_lost\",\"data\":{\"header\":{\"packet_number\":4}}}",
    "{\"time\":21,\"name\":\"quic:congestion_state_updated\",\"data\":{\"new\":\"recovery\"}}",
    concat!(
        "{\"time\":30,\"name\":\"imtcp:estimate_updated\",\"data\":{\"estimator\":\"statistical\",",
        "\"available_bps\":8000000,\"low_bps\":7000000,\"high_bps\":null,\"window\":200.0,",
        "\"flags\":[\"changed\"]}}"
    ),
    concat!(
        "{\"time\":40,\"name\":\"imtcp:stream_completed\",\"data\":{\"measurement\":1,",
        "\"stream\":2,",
        "\"low_bps\":4000000,\"high_bps\":5000000,\"started_ns\":19000000,",
        "\"packet_numbers\":[1,2],",
        "\"sizes\":[1228,1228],\"planned_gaps_ns\":[2000000],\"sent_gaps_ns\":[2000100],",
        "\"echo_gaps_ns\":[null],\"first_delay_ns\":20000000,\"qualities\":[\"single\",\"lost\"],",
        "\"pct\":null,\"pdt\":0.5,\"trend\":0,\"verdict\":\"packet_lost\"}}"
    ),
    concat!(
        "{\"time\":50,\"name\":\"imtcp:slot_ended\",\"data\":{\"slot\":0,\"length\":50.0,",
        "\"required_bps\":4000000,\"achieved_bps\":3000000,\"outcome\":\"missed\",",
        "\"warned_after\":10.0}}"
    ),
    concat!(
        "{\"time\":60,\"name\":\"imtcp:promise_changed\",\"data\":{\"rate_bps\":4000000,",
        "\"per\":1000.0,",
        "\"demand\":\"exactly\"}}"
    ),
    concat!(
        "{\"time\":61,\"name\":\"imtcp:promise_status_changed\",\"data\":{\"status\":\"at_risk\",",
        "\"shortfall\":1000,\"cause\":\"crowded\"}}"
    ),
];

/// A controller with the defaults, and a few round trips.
fn replayed() -> Vec<String> {
    let parameters = imtcp_cc::qlog::Parameters {
        config: imtcp_cc::Config::default(),
        max_datagram: imtcp_cc::units::Bytes::new(1200),
        saved: None,
    };
    let parameters = imtcp_cc::qlog::parameters(&parameters);
    // In the order of names: whether serde_json keeps another one depends on who else is built.
    let parameters: BTreeMap<_, _> = parameters.as_object().into_iter().flatten().collect();
    let parameters = serde_json::to_string(&parameters).expect("it is JSON");
    let event =
        |name: &str, data: String| format!("{{\"time\":1,\"name\":\"{name}\",\"data\":{data}}}");
    let mut records = vec![event("imtcp:parameters_set", parameters)];
    let mut feed = |data: String| records.push(event("imtcp:core_input", data));
    for number in 0..4u64 {
        let at = number * 30_000_000;
        feed(format!("{{\"at\":{at},\"asked\":[9000,0,9000,1200]}}"));
        feed(format!("{{\"at\":{at},\"sent\":[{number},1200,1,1200]}}"));
        let back = at + 20_000_000;
        feed(format!(
            "{{\"at\":{back},\"acked\":[[{number},1200,{at}]],\"info\":[{number},0,20000000,\
             20000000,20000000,10000000,0]}}"
        ));
        feed(format!(
            "{{\"at\":{back},\"call\":\"application_limited\"}}"
        ));
    }
    records
}

/// A receiver's log, of more packets than a line has points.
fn received() -> impl Iterator<Item = String> {
    (0..3 * POINTS).map(|number| {
        format!(
            "{{\"time\":{number},\"name\":\"quic:packet_received\",\"data\":{{\"header\":\
             {{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"raw\":\
             {{\"length\":1200}}}}}}"
        )
    })
}

/// Estimates that are withdrawn, and come again.
fn withdrawn() -> impl Iterator<Item = String> {
    let withdrawn = concat!(
        "{\"time\":35,\"name\":\"imtcp:estimate_withdrawn\",\"data\":",
        "{\"estimator\":\"statistical\"}}"
    );
    let is_estimate = |event: &&str| event.contains("estimate_updated");
    let estimate = EVENTS.into_iter().find(is_estimate).unwrap_or_default();
    let later = estimate.replace("\"time\":30", "\"time\":40");
    [estimate.to_owned(), withdrawn.to_owned(), later].into_iter()
}

fn sequence(records: impl IntoIterator<Item = String>) -> Vec<u8> {
    let header = std::iter::once(HEADER.to_owned());
    let records = header
        .chain(records)
        .map(|record| format!("\x1e{record}\n"));
    records.collect::<String>().into_bytes()
}

fn all() -> impl Iterator<Item = String> {
    EVENTS.iter().map(|event| (*event).to_owned())
}

fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text).expect("memory takes all");
    gzip.finish().expect("memory takes all")
}

/// The hand-made inputs.
pub fn seeds() -> Vec<Seed> {
    let whole = sequence(all());
    let lines = String::from_utf8_lossy(&whole)
        .replace('\x1e', "")
        .into_bytes();
    let contained = format!(
        "{{\"qlog_version\":\"0.3\",\"traces\":[{{\"common_fields\":{{\"time_format\":\"delta\"}},\
         \"events\":[{}],\"vantage_point\":{{}}}}]}}",
        EVENTS
            .join(",")
            .replace("quic:packet_", "transport:packet_")
    );
    let columns = concat!(
        "{\"qlog_version\":\"draft-00\",\"traces\":[{\"configuration\":{\"time_units\":\"us\"},",
        "\"event_fields\":[\"relative_time\",\"category\",\"event\",\"data\"],\"events\":[",
        "[0,\"transport\",\"packet_sent\",{\"packet_type\":\"1RTT\",\"header\":{\"packet_size\":9,",
        "\"packet_number\":\"7\"}}],[5,\"recovery\",\"metrics_updated\",{\"cwnd\":9}]]}]}",
    );
    vec![
        ("cut", whole[..whole.len() - 40].to_vec()),
        (
            "damaged",
            sequence(all().map(|event| event.replace("\"data\":{", "\"data\":"))),
        ),
        ("gzip", gzipped(&whole)),
        (
            "zstd",
            zstd::encode_all(whole.as_slice(), 1).expect("memory takes all"),
        ),
        ("lines", lines),
        ("contained", contained.into_bytes()),
        ("columns", columns.as_bytes().to_vec()),
        ("receiver", gzipped(&sequence(received()))),
        ("replay", sequence(replayed())),
        ("withdrawn", sequence(withdrawn())),
        ("sequence", whole),
        ("text", b"name,value\n".to_vec()),
    ]
}
