//! A log of stock quiche, made smaller and conformant afterwards.

use imtcp_qlog::write::{Compression, Level, Writer};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::Command;

/// As quiche 0.30 writes it, for one of its own controllers.
const RAW: &str = concat!(
    "\x1e{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\"serialization_format\":",
    "\"JSON-SEQ\",\"title\":\"a title\",\"description\":\"d\",\"trace\":{\"title\":\"a title\",",
    "\"description\":\"d\",\"common_fields\":{\"reference_time\":{\"clock_type\":\"monotonic\",",
    "\"epoch\":\"unknown\",\"wall_clock_time\":\"1970-01-01T00:00:00Z\"}},\"vantage_point\":",
    "{\"type\":\"server\"},\"event_schemas\":[\"urn:ietf:params:qlog:events:quic-12\",",
    "\"urn:ietf:params:qlog:events:http3-12\"]}}\n",
    "\x1e{\"time\":0.5,\"name\":\"quic:recovery_metrics_updated\",\"data\":{\"pacing_rate\":1000,",
    "\"ssthresh\":18446744073709551615}}\n",
    "\x1e{\"time\":1.5,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":",
    "\"initial\",\"version\":\"1\"},\"raw\":{\"length\":1200},\"send_at_time\":1.5,\"frames\":",
    "[{\"frame_type\":\"ping\"}]}}\n",
    "\x1e{\"time\":2.0,\"name\":\"quic:recovery_metrics_updated\",\"data\":{\"min_rtt\":7.5}}\n",
    "\x1e{\"time\":2.0,\"name\":\"quic:stream_data_moved\",\"data\":{\"stream_id\":3}}\n",
    "\x1e{\"time\":1.0,\"name\":\"imtcp:capacity_updated\",\"data\":{\"capacity_bps\":5}}\n",
);

fn records(log: &str) -> Vec<Value> {
    let records = log.split('\u{1e}').skip(1);
    records
        .map(|record| serde_json::from_str(record).expect("each record is JSON"))
        .collect()
}

fn rewritten(level: &str, compression: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("raw.sqlog"), folder.path().join("new"));
    fs::write(&from, RAW).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_imtcp-qlog"))
        .args([
            "rewrite",
            "--quiches-controller",
            "--level",
            level,
            "--compression",
            compression,
        ])
        .arg("--output")
        .args([&to, &from])
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{output:?}");
    fs::read(to).expect("it is written")
}

#[test]
fn everything_stays_and_is_to_the_letter() {
    let log = String::from_utf8(rewritten("all", "none")).expect("it is text");
    let records = records(&log);
    assert_eq!(
        records[0]["serialization_format"],
        "application/qlog+json-seq"
    );
    assert_eq!(records[0]["trace"]["title"], "a title");
    let schemas = records[0]["trace"]["event_schemas"].to_string();
    assert!(
        schemas.contains("events:quic-14") && schemas.contains("/imtcp\""),
        "{schemas}"
    );
    let names: Vec<&str> = records[1..]
        .iter()
        .filter_map(|record| record["name"].as_str())
        .collect();
    let expected = [
        "quic:recovery_metrics_updated",
        "imtcp:capacity_updated",
        "quic:packet_sent",
        "quic:recovery_metrics_updated",
        "quic:stream_data_moved",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        records[1]["data"],
        serde_json::json!({ "pacing_rate": 8000 })
    );
    let packet = serde_json::json!({
        "header": { "packet_type": "initial", "version": "00000001" },
        "raw": { "length": 1200 },
        "frames": [{ "frame_type": "ping" }],
    });
    assert_eq!(records[3]["data"], packet);
}

#[test]
fn levels_leave_out_what_they_say() {
    let names = |level: &str| {
        let log = String::from_utf8(rewritten(level, "none")).expect("it is text");
        let names = records(&log).into_iter().filter_map(|record| {
            record["name"]
                .as_str()
                .map(|name| name.split(':').nth(1).unwrap_or("").to_owned())
        });
        names.collect::<Vec<_>>().join(" ")
    };
    let metrics = "recovery_metrics_updated";
    assert_eq!(
        names("packets"),
        format!("{metrics} capacity_updated packet_sent {metrics}")
    );
    // The second metrics come less than 10 ms after the first, and are written at the end.
    assert_eq!(
        names("events"),
        format!("{metrics} capacity_updated {metrics}")
    );
}

#[test]
fn compressed_logs_hold_the_same() {
    let plain = rewritten("all", "none");
    let zstd = zstd::decode_all(rewritten("all", "zstd").as_slice()).expect("it is zstd");
    assert_eq!(zstd, plain);
    let gzip = rewritten("all", "gzip");
    let mut unpacked = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(gzip.as_slice());
    std::io::Read::read_to_end(&mut decoder, &mut unpacked).expect("it is gzip");
    assert_eq!(unpacked, plain);
}

#[test]
fn a_log_may_come_in_any_pieces_and_is_complete_when_its_writer_is_gone() {
    let expected = rewritten("all", "none");
    for size in [1, 7, 100] {
        let mut log = Vec::new();
        let mut writer =
            Writer::new(&mut log, Level::All, Compression::None).expect("memory takes all");
        writer = writer.of_quiches_controller();
        for piece in RAW.as_bytes().chunks(size) {
            writer.write_all(piece).expect("memory takes all");
        }
        drop(writer);
        assert_eq!(
            String::from_utf8_lossy(&log),
            String::from_utf8_lossy(&expected),
            "{size}"
        );
    }
}
