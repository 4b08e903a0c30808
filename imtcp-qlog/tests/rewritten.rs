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

/// What becomes of these records at a level, each with its time, name and data.
fn filtered(level: Level, records: &[&str]) -> Vec<Value> {
    let (header, _) = RAW.split_once('\n').expect("lines");
    let mut log = Vec::new();
    let mut writer = Writer::new(&mut log, level, Compression::None).expect("memory takes all");
    let text: Vec<String> = [header.trim_start_matches('\x1e')]
        .iter()
        .chain(records)
        .map(|record| format!("\x1e{record}\n"))
        .collect();
    let text = text.concat();
    writer.write_all(text.as_bytes()).expect("memory takes all");
    writer.finish().expect("memory takes all");
    let log = String::from_utf8(log).expect("it is text");
    records_of(&log)
}

fn records_of(log: &str) -> Vec<Value> {
    let records = log.split('\u{1e}').skip(2);
    let value = |record: &str| serde_json::from_str(record);
    records
        .map(|record| value(record).unwrap_or_else(|_| record.trim_end().into()))
        .collect()
}

#[test]
fn packets_lose_their_frames_unless_one_acknowledges() {
    let packet = |name: &str, frames: &str| {
        format!(
            "{{\"time\":1.0,\"name\":\"quic:{name}\",\"data\":{{\"header\":{{\"packet_type\":\
             \"1RTT\",\"packet_number\":4}},\"raw\":{{\"length\":99}},\"frames\":[{frames}]}}}}"
        )
    };
    let stream = r#"{"frame_type":"stream","stream_id":3,"raw":{"length":50}}"#;
    let ack = r#"{"frame_type":"ack","ack_delay":0.5,"acked_ranges":[[0,3],[5,5]]}"#;
    let both = format!("{ack},{stream}");
    let found = filtered(
        Level::Packets,
        &[
            &packet("packet_sent", stream),
            &packet("packet_received", ack),
            &packet("packet_sent", &both),
        ],
    );
    assert_eq!(found.len(), 3);
    for packet in &found {
        assert_eq!(packet["data"]["raw"]["length"], 99);
        assert_eq!(packet["data"]["header"]["packet_number"], 4);
    }
    assert!(found[0]["data"].get("frames").is_none(), "{}", found[0]);
    // What a reader learns of arrivals stays, and so does what stands beside it.
    let ranges = serde_json::json!([[0, 3], [5, 5]]);
    assert_eq!(found[1]["data"]["frames"][0]["acked_ranges"], ranges);
    assert_eq!(found[2]["data"]["frames"][0]["acked_ranges"], ranges);
    assert_eq!(found[2]["data"]["frames"][1]["stream_id"], 3);
}

#[test]
fn metrics_come_every_ten_milliseconds_at_most_and_the_last_value_of_each_is_kept() {
    let times: Vec<f64> = (0..101u32).map(|index| f64::from(index) * 0.75).collect();
    let records: Vec<String> = times
        .iter()
        .enumerate()
        .map(|(index, time)| {
            let field = ["congestion_window", "bytes_in_flight"][index % 2];
            format!(
                "{{\"time\":{time},\"name\":\"quic:recovery_metrics_updated\",\"data\":\
                 {{\"{field}\":{index}}}}}"
            )
        })
        .collect();
    let records: Vec<&str> = records.iter().map(String::as_str).collect();
    assert_eq!(filtered(Level::Packets, &records).len(), 101);
    let found = filtered(Level::Events, &records);
    let at = |record: &Value| record["time"].as_f64().expect("a time");
    // From 0 ms to 75 ms: one at the beginning, one after each 10.5 ms, one at the end.
    let times: Vec<f64> = found.iter().map(at).collect();
    assert_eq!(times, [0.0, 10.5, 21.0, 31.5, 42.0, 52.5, 63.0, 73.5, 75.0]);
    let all = &found[..found.len() - 1];
    assert!(
        all.windows(2)
            .all(|pair| at(&pair[1]) - at(&pair[0]) >= 10.0)
    );
    assert_eq!(found[1]["data"]["bytes_in_flight"], 13);
    assert_eq!(found[1]["data"]["congestion_window"], 14);
    let last = &found[8]["data"];
    assert_eq!(
        (&last["congestion_window"], &last["bytes_in_flight"]),
        (&100.into(), &99.into())
    );
}

#[test]
fn metrics_before_a_pause_keep_their_time() {
    let metrics = |time: f64, window: u32| {
        format!(
            "{{\"time\":{time},\"name\":\"quic:recovery_metrics_updated\",\"data\":\
             {{\"congestion_window\":{window}}}}}"
        )
    };
    let sent = "{\"time\":900.0,\"name\":\"quic:packet_sent\",\"data\":{\"raw\":{\"length\":9}}}";
    let records = [metrics(0.0, 1), metrics(5.0, 2), metrics(6.0, 3)];
    for next in [sent, &metrics(900.0, 4)] {
        let records = records.iter().map(String::as_str).chain([next]);
        let found = filtered(Level::Events, &records.collect::<Vec<_>>());
        assert_eq!(found[1]["time"].as_f64(), Some(6.0));
        assert_eq!(found[1]["data"]["congestion_window"], 3);
    }
}

#[test]
fn damaged_metrics_stay_as_they_are() {
    for damaged in [
        r#"{"time":1.0,"name":"quic:recovery_metrics_updated","data":{"min_rtt":}}"#,
        r#"{"time":soon,"name":"quic:recovery_metrics_updated","data":{"min_rtt":1.0}}"#,
    ] {
        for level in [Level::Events, Level::Packets, Level::All] {
            assert_eq!(filtered(level, &[damaged]), [damaged], "{level:?}");
        }
    }
}
