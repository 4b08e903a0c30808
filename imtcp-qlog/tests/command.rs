//! The program on a small log, and on damaged ones.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const HEADER: &str = r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","trace":{}}"#;

/// What a short connection with one measurement would log.
const EVENTS: [&str; 10] = [
    r#"{"time":0.0,"name":"quic:packet_sent","data":{"raw":{"length":1200},"frames":[]}}"#,
    r#"{"time":0.5,"name":"quic:recovery_metrics_updated","data":{"congestion_window":13500}}"#,
    r#"{"time":1.0,"name":"quic:packet_received","data":{"raw":{"length":60}}}"#,
    r#"{"time":1.5,"name":"quic:recovery_metrics_updated","data":{"smoothed_rtt":20.0}}"#,
    r#"{"time":2.0,"name":"imtcp:capacity_updated","data":{"capacity_bps":50000000}}"#,
    concat!(
        r#"{"time":2.0,"name":"imtcp:measurement_started","data":{"measurement":1,"#,
        r#""low_bps":25000000,"high_bps":50000000}}"#,
    ),
    r#"{"time":3.0,"name":"quic:recovery_metrics_updated","data":{"congestion_window":27000}}"#,
    r#"{"time":4.0,"name":"imtcp:measurement_completed","data":{"measurement":1}}"#,
    concat!(
        r#"{"time":4.0,"name":"imtcp:estimate_updated","data":{"estimator":"classic","#,
        r#""available_bps":30000000,"low_bps":28000000,"high_bps":32000000,"window":2.0,"#,
        r#""flags":["changed","out_of_range"]}}"#,
    ),
    concat!(
        r#"{"time":5.0,"name":"imtcp:estimate_updated","data":{"estimator":"classic","#,
        r#""available_bps":40000000,"low_bps":38000000,"high_bps":42000000,"window":2.0,"#,
        r#""flags":[]}}"#,
    ),
];

fn log(records: &[&str]) -> Vec<u8> {
    let records = records.iter().map(|record| format!("\x1e{record}\n"));
    records.collect::<String>().into_bytes()
}

fn whole() -> Vec<u8> {
    log(&[&[HEADER], &EVENTS[..]].concat())
}

/// Runs the program on a file `run.sqlog` with this content.
fn analyse(content: &[u8], options: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("run.sqlog"), content).expect("a file");
    run(folder.path(), options)
}

fn run(folder: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_imtcp-qlog"))
        .current_dir(folder)
        .arg("run.sqlog")
        .args(options)
        .output()
        .expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The cells of the row that begins with `name`.
fn cells(text: &str, name: &str) -> Vec<String> {
    let row = text.lines().find(|line| line.contains(name));
    let row = row.unwrap_or_else(|| panic!("no row `{name}` in\n{text}"));
    row.split(['│', '┆'])
        .map(|cell| cell.trim().to_owned())
        .filter(|cell| !cell.is_empty())
        .collect()
}

#[test]
fn a_log_is_summed_up() {
    let output = analyse(&whole(), &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.starts_with("run.sqlog: 10 events in 0.005 s\n"),
        "{text}"
    );
    assert_eq!(
        cells(&text, "estimate, classic")[1..],
        ["2", "35.00", "30.00", "40.00", "40.00", "0.004 s, 0.005 s"]
    );
    assert_eq!(
        cells(&text, "capacity")[1..],
        ["1", "50.00", "50.00", "50.00", "50.00", "0.002 s, 0.002 s"]
    );
    assert_eq!(
        cells(&text, "measurements")[1],
        "1 started, 1 completed, 0 abandoned"
    );
    assert_eq!(cells(&text, "packets sent")[1], "1 (1200 B of UDP payload)");
    assert_eq!(
        cells(&text, "packets received")[1],
        "1 (60 B of UDP payload)"
    );
    assert_eq!(cells(&text, "congestion window")[1], "13500 B to 27000 B");
    assert_eq!(stderr(&output), "");
}

#[test]
fn promises_have_a_table_of_their_own() {
    let output = analyse(&whole(), &[]);
    assert!(!stdout(&output).contains("slots"), "{}", stdout(&output));
    let slot = |achieved: u32, outcome: &str, warned_after: &str| {
        format!(
            concat!(
                r#"{{"time":9.0,"name":"imtcp:slot_ended","data":{{"slot":0,"length":2000.0,"#,
                r#""required_bps":4000000,"achieved_bps":{achieved},"outcome":"{outcome}","#,
                r#""warned_after":{warned_after}}}}}"#
            ),
            achieved = achieved,
            outcome = outcome,
            warned_after = warned_after,
        )
    };
    let slots = [
        slot(4_400_000, "kept", "null"),
        slot(3_000_000, "missed", "250.5"),
    ];
    let output = analyse(
        &log(&[
            HEADER,
            concat!(
                r#"{"time":1.0,"name":"imtcp:promise_changed","data":{"rate_bps":4000000,"#,
                r#""per":2000.0,"demand":"exactly"}}"#,
            ),
            concat!(
                r#"{"time":1.0,"name":"imtcp:control_slot_started","data":{"target_bps":4100000,"#,
                r#""round_trips":8}}"#,
            ),
            concat!(
                r#"{"time":2.0,"name":"imtcp:promise_status_changed","data":{"status":"at_risk","#,
                r#""shortfall":1000,"cause":"crowded"}}"#,
            ),
            &slots[0],
            &slots[1],
        ]),
        &[],
    );
    let text = stdout(&output);
    let row = |name: &str| cells(&text, name)[1].clone();
    assert_eq!(row("required"), "exactly 4.00 Mbit/s per 2.000 s; 1 change");
    assert_eq!(
        row("slots"),
        "2: 1 kept, 1 missed, 0 limited by the source; 1 control slots"
    );
    assert_eq!(row("achieved / required"), "p5 0.750, mean 0.925");
    assert_eq!(
        row("warned of"),
        "1 of 1 missed (recall 1.000); 0 others (precision 1.000)"
    );
    assert_eq!(row("changes of status"), "1 at_risk");
    assert_eq!(row("causes of risk"), "1 crowded");
}

#[test]
fn a_slot_with_an_unknown_outcome_is_refused() {
    let slot = concat!(
        r#"{"time":1.0,"name":"imtcp:slot_ended","data":{"length":2000.0,"#,
        r#""required_bps":1,"achieved_bps":1,"outcome":"good","warned_after":null}}"#,
    );
    let output = analyse(&log(&[HEADER, slot]), &["--strict"]);
    let expected = "record 2, byte 68: imtcp:slot_ended: its data: unknown variant `good`";
    let start = format!("error: run.sqlog: {expected}");
    assert!(stderr(&output).starts_with(&start), "{}", stderr(&output));
}

#[test]
fn the_controllers_events_are_listed_with_every_field() {
    let output = analyse(&whole(), &["--csv"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let rows: Vec<_> = text.lines().collect();
    let header = "time_ms,event,capacity_bps,high_bps,low_bps,measurement,\
                  available_bps,estimator,flags,window";
    assert_eq!(rows[0], header);
    assert_eq!(rows[1], "2,capacity_updated,50000000,,,,,,,");
    assert_eq!(
        rows[4],
        "4,estimate_updated,,32000000,28000000,,30000000,classic,changed out_of_range,2.0"
    );
    assert_eq!(rows.len(), 6, "{text}");
}

#[test]
fn a_log_may_end_anywhere() {
    let whole = whole();
    let first_event = HEADER.len() + 3;
    for end in first_event..whole.len() {
        let output = analyse_in_process(&whole[..end]);
        let events = output.unwrap_or_else(|error| panic!("cut at {end}: {error}"));
        assert!(events <= 10, "cut at {end}: {events} events");
    }
}

fn analyse_in_process(content: &[u8]) -> Result<u64, imtcp_qlog::Error> {
    let content = std::io::Cursor::new(content.to_vec());
    let mut log = imtcp_qlog::Log::new(content, Path::new("run.sqlog"))?;
    imtcp_qlog::summary::Summary::of(&mut log).map(|summary| summary.events)
}

#[test]
fn a_last_record_that_is_cut_off_is_told_and_left_out() {
    let whole = whole();
    let output = analyse(&whole[..whole.len() - 30], &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(
        stderr(&output),
        "warning: run.sqlog: record 11, byte 939: the last record is cut off; it was left out\n"
    );
    assert!(stdout(&output).contains("9 events"), "{}", stdout(&output));
}

/// The program fails on this content, and says this.
fn refused(content: &[u8], expected: &str) {
    for options in [&["--strict"][..], &["--strict", "--csv"]] {
        let output = analyse(content, options);
        assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
        let message = stderr(&output);
        assert!(message.starts_with(expected), "{message}\nnot\n{expected}");
    }
}

#[test]
fn what_is_not_a_qlog_is_refused_with_the_reason_and_the_remedy() {
    refused(
        b"",
        "error: run.sqlog: the file is empty; give a qlog: JSON text sequences",
    );
    refused(
        b"\x1e\n",
        "error: run.sqlog: the file is empty; give a qlog",
    );
    refused(
        b"\x7fELF\x02\x01\x01\0\xff\xfe",
        "error: run.sqlog: this is not a qlog: it begins with the bytes 7f 45 4c 46 02 01 01 00; \
         give a qlog",
    );
    refused(
        b"\xd4\xc3\xb2\xa1\x02\0",
        "error: run.sqlog: this is a packet capture, not a qlog;",
    );
    for foreign in [
        "\x1e\u{fffd}\n",
        "{\"name\":\"imtcp\",\"version\":1}\n",
        "{}",
    ] {
        refused(
            foreign.as_bytes(),
            "error: run.sqlog: the first record is neither a qlog's header nor an event:",
        );
    }
}

#[test]
fn a_damaged_record_is_left_out_and_told_with_its_place() {
    let with = |record: &str| log(&[HEADER, EVENTS[0], record, EVENTS[1]]);
    for (record, problem, csv) in [
        (
            r#"{"time":1.0,"name":"quic:pack"#,
            "the record is not JSON:",
            true,
        ),
        (
            r#"{"time":NaN,"name":"quic:packet_sent","data":{"raw":{"length":1}}}"#,
            "the record is not JSON:",
            true,
        ),
        (
            r#"{"time":-inf,"name":"quic:packet_sent","data":{"raw":{"length":1}}}"#,
            "the record is not JSON:",
            true,
        ),
        (
            r#"{"time":1e999,"name":"quic:packet_sent","data":{"raw":{"length":1}}}"#,
            "the record is not JSON:",
            true,
        ),
        (
            r#"{"time":"soon","name":"quic:packet_sent"}"#,
            "the record is not an event: the string holds no number",
            true,
        ),
        (
            r#"{"time":1.0,"name":"quic:packet_sent","data":{"raw":{"length":"long"}}}"#,
            "quic:packet_sent: its data:",
            false,
        ),
        (
            r#"{"time":1.0,"name":"imtcp:estimate_updated","data":[1]}"#,
            "imtcp:estimate_updated: its data:",
            true,
        ),
        (
            r#"{"time":1.0,"name":"imtcp:estimate_updated","data":{"estimator":"classic"}}"#,
            "imtcp:estimate_updated: its data: missing field `available_bps`",
            false,
        ),
    ] {
        let expected = format!("run.sqlog: record 3, byte 151: {problem}");
        let output = analyse(&with(record), &["--strict"]);
        let start = format!("error: {expected}");
        assert!(
            stderr(&output).starts_with(&start),
            "{}\nnot\n{start}",
            stderr(&output)
        );
        let output = analyse(&with(record), &[]);
        assert!(
            output.status.success() && stdout(&output).contains("2 events"),
            "{record}"
        );
        let start = format!("warning: {expected}");
        assert!(
            stderr(&output).starts_with(&start),
            "{}\nnot\n{start}",
            stderr(&output)
        );
        let output = analyse(&with(record), &["--csv"]);
        assert_eq!(
            !output.stderr.is_empty(),
            csv,
            "{record}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_thousand_damaged_records_are_not_a_thousand_lines() {
    let mut records = vec![HEADER, EVENTS[0]];
    records.extend(["{"; 1000]);
    let output = analyse(&log(&records), &[]);
    let said = stderr(&output);
    assert_eq!(said.lines().count(), 9, "{said}");
    assert!(said.ends_with("and 992 more like these\n"), "{said}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(
        message.starts_with("error: run.sqlog: cannot be read:"),
        "{message}"
    );
}
