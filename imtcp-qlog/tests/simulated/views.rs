//! The program's other commands, on the log of a simulated connection.

use super::logged::{self, Logged};
use imtcp_qlog::Log;
use imtcp_qlog::streams::{self, PCT_OF_A_RISE, PDT_OF_A_RISE};
use imtcp_qlog::write::{Compression, Level};
use imtcp_sim::run::Qlog;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The whole log of a live source's run with this controller.
fn logged(controller: &str, compression: Compression) -> Logged {
    logged::run_live(controller, |qlog| Qlog {
        level: Level::All,
        compression,
        ..qlog
    })
}

fn run(arguments: &[&str], files: &[&Path]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_imtcp-qlog"))
        .args(arguments)
        .args(files)
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    assert!(!said.contains("warning"), "{arguments:?}: {said}");
    output
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn qvis_gets_a_header_names_and_fields_that_it_knows() {
    let Logged { folder, path: log } = logged("imtcp", Compression::Zstd);
    run(&["qvis"], &[&log]);
    let converted = fs::read_to_string(folder.path().join("logged-seed3-main-qvis.sqlog"));
    let converted = converted.expect("it is written");
    // It looks for these among the first characters, and then for the format by its name.
    let start = &converted[..60];
    assert!(start.contains("\"qlog_format\":\"JSON-SEQ\"") && start.contains("\"qlog_version\""));
    let mut records = converted
        .split('\u{1e}')
        .skip(1)
        .map(|record| serde_json::from_str::<Value>(record).expect("each record is JSON"));
    let header = records.next().expect("a header");
    assert_eq!(header["qlog_version"], "0.3");
    assert_eq!(header["trace"]["vantage_point"]["type"], "server");
    let events: Vec<Value> = records.collect();
    let named = |name: &str| {
        events
            .iter()
            .filter(|event| event["name"] == *name)
            .collect::<Vec<_>>()
    };
    // The congestion graph draws these and no others.
    for sent in named("transport:packet_sent") {
        assert!(sent["data"]["header"]["packet_type"].is_string());
        assert!(sent["data"]["header"]["packet_number"].is_u64());
        assert!(sent["data"]["raw"]["length"].is_u64());
    }
    let received = named("transport:packet_received");
    let acks = received
        .iter()
        .flat_map(|packet| packet["data"]["frames"].as_array());
    let acks = acks.flatten().filter(|frame| frame["frame_type"] == "ack");
    assert!(acks.clone().count() > 100);
    assert!(acks.clone().all(|ack| ack["acked_ranges"][0][0].is_u64()));
    let metrics = named("recovery:metrics_updated");
    for field in [
        "congestion_window",
        "bytes_in_flight",
        "smoothed_rtt",
        "min_rtt",
        "latest_rtt",
    ] {
        assert!(
            metrics.iter().any(|event| event["data"][field].is_number()),
            "{field}"
        );
    }
    for name in [
        "transport:packet_sent",
        "recovery:packet_lost",
        "imtcp:estimate_updated",
    ] {
        assert!(!named(name).is_empty(), "{name}");
    }
    assert!(named("imtcp:core_input").is_empty());
    let is_new = |event: &&Value| {
        event["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("quic:"))
    };
    assert_eq!(events.iter().find(is_new), None);
    assert!(
        events
            .windows(2)
            .all(|pair| pair[0]["time"].as_f64() <= pair[1]["time"].as_f64())
    );
}

#[test]
fn a_part_of_a_log_goes_to_qvis() {
    let Logged { folder, path: log } = logged("imtcp", Compression::None);
    let part = folder.path().join("part.sqlog");
    let output = part.to_str().expect("a readable path");
    run(
        &["qvis", "--from", "1", "--to", "1.5", "--output", output],
        &[&log],
    );
    let part = fs::read_to_string(&part).expect("it is written");
    let times: Vec<f64> = part
        .split('\u{1e}')
        .skip(2)
        .map(|record| serde_json::from_str::<Value>(record).expect("each record is JSON"))
        .map(|event| event["time"].as_f64().expect("each event has a time"))
        .collect();
    let (first, last) = (times[0], times[times.len() - 1]);
    assert!((1000.0..1010.0).contains(&first), "it begins at {first}");
    assert!((1490.0..=1500.0).contains(&last), "it ends at {last}");
    assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn a_stream_is_shown_packet_by_packet_with_its_verdict() {
    let Logged {
        folder: _folder,
        path: log,
    } = logged("imtcp", Compression::Gzip);
    let list = text(&run(&["streams"], &[&log]));
    assert!(list.lines().count() > 20, "{list}");
    let row = list
        .lines()
        .find(|line| line.contains("not increasing"))
        .expect("some do not rise");
    let name = row.split(['│', '┆']).nth(1).expect("a cell").trim();
    let one = text(&run(&["streams", "--stream", name], &[&log]));
    assert!(one.starts_with(&format!("stream {name} at ")), "{one}");
    assert!(
        one.contains("trend -1: the delay does not increase"),
        "{one}"
    );
    assert!(
        one.contains("planned gap") && one.matches("single").count() >= 3,
        "{one}"
    );
}

#[test]
fn a_rise_is_what_both_statistics_call_one_by_the_thresholds_that_are_shown() {
    let Logged { path, .. } = &logged("imtcp", Compression::None);
    let mut log = Log::open(path).expect("a qlog");
    let mut seen = [0; 3];
    streams::for_each(&mut log, |stream| {
        let verdicts = ["increasing", "contradiction", "not_increasing"];
        // Others are for reasons that came before the statistics, such as a lost packet.
        let found = verdicts.iter().position(|known| *known == stream.verdict);
        let (Some(found), Some(pct), Some(pdt)) = (found, stream.pct, stream.pdt) else {
            return;
        };
        let expected = match (pct > PCT_OF_A_RISE, pdt > PDT_OF_A_RISE) {
            (true, true) => "increasing",
            (false, true) => "contradiction",
            (_, false) => "not_increasing",
        };
        assert_eq!(stream.verdict, expected, "{stream:?}");
        seen[found] += 1;
    })
    .expect("memory does not fail");
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn controllers_are_compared_in_one_table_and_on_one_page() {
    let Logged { folder, path: ours } = logged("imtcp", Compression::Zstd);
    let Logged {
        folder: other,
        path: cubic,
    } = logged("cubic", Compression::None);
    let page = folder.path().join("both.html");
    let output = page.to_str().expect("a readable path");
    let table = text(&run(
        &["compare", "--csv", "--output", output],
        &[&ours, &cubic],
    ));
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let rows: Vec<csv::StringRecord> = rows.records().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 2);
    let name = other
        .path()
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert_eq!(rows[1][0], format!("{name}/logged-seed3-main"));
    for row in &rows {
        let goodput: f64 = row[2].parse().expect("a number");
        assert!((1.0..5.0).contains(&goodput), "{row:?}");
    }
    assert!(
        rows[0][3].parse::<f64>().is_ok() && &rows[1][3] == "-",
        "{rows:?}"
    );
    assert!(
        rows[0][11].contains(" of ") && &rows[1][11] == "-",
        "{rows:?}"
    );
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("congestion window") && page.contains(&name));
}

#[test]
fn a_page_has_everything_in_it() {
    let Logged { folder, path: log } = logged("imtcp", Compression::Zstd);
    run(&["plot"], &[&log]);
    let page = fs::read_to_string(folder.path().join("logged-seed3-main.html")).expect("a page");
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    let directory = page
        .split_once("<script id=\"directory\" type=\"application/json\">")
        .and_then(|(_, rest)| rest.split_once("</script>"))
        .expect("a directory");
    let directory: Value = serde_json::from_str(directory.0).expect("it is JSON");
    check_lines(&log, &page, &directory);
    let lines: Vec<&str> = directory["panels"]
        .as_array()
        .expect("panels")
        .iter()
        .flat_map(|panel| panel["lines"].as_array().expect("lines"))
        .map(|line| line["name"].as_str().expect("a name"))
        .collect();
    for wanted in [
        "estimate, with 95 % interval",
        "the paper's estimator",
        "capacity",
        "pacing rate",
        "goodput",
        "congestion window",
        "bytes in flight",
        "sample",
        "smoothed",
    ] {
        assert!(lines.contains(&wanted), "{wanted}: {lines:?}");
    }
    let lanes = &directory["lanes"][0];
    for lane in ["losses", "streams", "slots", "states", "statuses"] {
        assert!(
            lanes[lane]
                .as_array()
                .is_some_and(|marks| !marks.is_empty()),
            "{lane}"
        );
    }
}

/// The numbers of a page, unpacked as its script does it.
fn unpacked(page: &str) -> Vec<u8> {
    use base64::Engine as _;
    let (_, data) = page
        .split_once("<script id=\"data\" type=\"text/plain\">")
        .expect("data");
    let (data, _) = data.split_once("</script>").expect("its end");
    let packed = base64::engine::general_purpose::STANDARD.decode(data.trim());
    let packed = packed.expect("it is base64");
    let mut bytes = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(packed.as_slice());
    std::io::Read::read_to_end(&mut decoder, &mut bytes).expect("it is gzip");
    bytes
}

/// So many numbers from `at` on, and where the next ones begin.
fn numbers(bytes: &[u8], at: u64, count: u64) -> (Vec<f64>, u64) {
    let mut at = usize::try_from(at).expect("it is in memory");
    let (mut last, mut numbers) = (0i64, Vec::new());
    for _ in 0..count {
        let (mut number, mut shift) = (0u64, 0);
        loop {
            let byte = bytes[at];
            at += 1;
            number |= u64::from(byte & 127) << shift;
            shift += 7;
            if byte & 128 == 0 {
                break;
            }
        }
        last += (number >> 1).cast_signed() ^ -(number & 1).cast_signed();
        numbers.push(last as f64);
    }
    (numbers, at as u64)
}

/// The lines of a page hold what the log says.
fn check_lines(log: &Path, page: &str, directory: &Value) {
    let bytes = unpacked(page);
    let mut log = imtcp_qlog::Log::open(log).expect("a log");
    let series = imtcp_qlog::series::Series::of(&mut log, 400_000).expect("it can be read");
    for (name, column) in [
        ("estimate, with 95 % interval", &series.statistical.value),
        ("congestion window", &series.window),
        ("smoothed", &series.smoothed_rtt),
        ("goodput", &series.delivered),
    ] {
        let panels = directory["panels"].as_array().expect("panels");
        let line = panels
            .iter()
            .flat_map(|panel| panel["lines"].as_array().expect("lines"))
            .find(|line| line["name"] == name)
            .expect("the line is there");
        let place = &line["place"];
        let count = place["count"].as_u64().expect("a count");
        let unit = place["unit"].as_f64().expect("a unit");
        let (times, next) = numbers(&bytes, place["at"].as_u64().expect("a place"), count);
        let (values, _) = numbers(&bytes, next, count);
        let points = column.points();
        assert_eq!(points.len() as u64, count, "{name}");
        for ((time, value), point) in times.iter().zip(&values).zip(points) {
            assert!((time * 1e-3 - point.0).abs() <= 0.5e-3 + 1e-9, "{name}");
            assert!(
                (value * unit - point.1).abs() <= unit / 2.0 + 1e-6,
                "{name}"
            );
        }
    }
    let gaps = series.statistical.gaps.spans().len();
    let drawn = &directory["panels"][0]["lines"][0]["gaps"];
    assert_eq!(drawn.as_array().map_or(0, Vec::len), gaps);
}

#[test]
fn every_value_becomes_a_row() {
    let Logged {
        folder: _folder,
        path: log,
    } = logged("imtcp", Compression::Zstd);
    let table = text(&run(&["export"], &[&log]));
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    assert_eq!(
        rows.headers().expect("a header"),
        &["time_ms", "event", "series", "value", "text"][..]
    );
    let rows: Vec<csv::StringRecord> = rows.records().map(|row| row.expect("a row")).collect();
    let count = |event: &str, series: &str| {
        rows.iter()
            .filter(|row| &row[1] == event && &row[2] == series)
            .count()
    };
    let summary = text(&run(&["summary"], &[&log]));
    let sent = count("quic:packet_sent", "length");
    assert!(summary.contains(&format!("{sent} (")), "{sent}: {summary}");
    assert!(count("imtcp:estimate_updated", "available_bps") > 20);
    assert!(count("imtcp:slot_ended", "outcome") > 2);
    let is_whole = |row: &csv::StringRecord| row[3].is_empty() != row[4].is_empty();
    assert!(rows.iter().all(is_whole));
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_the_rows_of_the_csv() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let Logged { folder, path: log } = logged("imtcp", Compression::Zstd);
    let path = folder.path().join("run.parquet");
    let output = path.to_str().expect("a readable path");
    run(&["export", "--output", output], &[&log]);
    let table = text(&run(&["export"], &[&log]));
    let mut expected = csv::Reader::from_reader(table.as_bytes());
    let file = fs::File::open(&path).expect("a file");
    let reader = SerializedFileReader::new(file).expect("it is Parquet");
    let mut rows = reader.get_row_iter(None).expect("rows");
    for expected in expected.records() {
        let (expected, row) = (expected.expect("a row"), rows.next().expect("as many rows"));
        let row = row.expect("a row");
        assert_eq!(row.get_double(0).expect("a time").to_string(), expected[0]);
        assert_eq!(row.get_string(1).expect("an event"), &expected[1]);
        assert_eq!(row.get_string(2).expect("a series"), &expected[2]);
        let value = row
            .get_double(3)
            .map_or(String::new(), |value| value.to_string());
        assert_eq!(value, expected[3]);
        let text = row.get_string(4).map_or("", String::as_str);
        assert_eq!(text, &expected[4]);
    }
    assert!(rows.next().is_none());
}
