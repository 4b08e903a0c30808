//! The same connection, as other writers log it, and in all formats of files.

use imtcp_qlog::Log;
use imtcp_qlog::series::Series;
use imtcp_qlog::summary::Summary;
use std::io::{Cursor, Write};
use std::path::Path;

/// Reads a log to its end: what it says, and how many problems there were.
fn read(content: impl Into<Vec<u8>>) -> (Summary, Vec<String>) {
    let content = Cursor::new(content.into());
    let mut log = Log::new(content, Path::new("run.qlog")).expect("it is a qlog");
    let summary = Summary::of(&mut log).expect("it can be read");
    let problems = log.problems().first().iter().map(ToString::to_string);
    (summary, problems.collect())
}

/// The draft's newest names.
const SEQUENCE: &str = concat!(
    "\x1e{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",",
    "\"serialization_format\":\"application/qlog+json-seq\",",
    "\"trace\":{\"vantage_point\":{\"type\":\"server\"},\"event_schemas\":[\"urn:x\"]}}\n",
    "\x1e{\"time\":0,\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",",
    "\"packet_number\":7},\"raw\":{\"length\":1200}}}\n",
    "\x1e{\"time\":30.5,\"name\":\"quic:recovery_metrics_updated\",",
    "\"data\":{\"latest_rtt\":30.5,\"congestion_window\":14000}}\n",
    "\x1e{\"time\":31,\"name\":\"quic:packet_lost\",\"data\":{\"header\":{\"packet_number\":7}}}\n",
);

/// quic-go and ngtcp2: version 0.3, with times since the reference.
const OLDER_SEQUENCE: &str = concat!(
    "\x1e{\"qlog_format\":\"JSON-SEQ\",\"qlog_version\":\"0.3\",\"title\":\"quic-go qlog\",",
    "\"trace\":{\"vantage_point\":{\"type\":\"server\"},\"common_fields\":{\"ODCID\":\"ab\",",
    "\"group_id\":\"ab\",\"reference_time\":1700000000000.5,\"time_format\":\"relative\"}}}\n",
    "\x1e{\"time\":0.0,\"name\":\"transport:packet_sent\",\"data\":{\"header\":",
    "{\"packet_type\":\"1RTT\",\"packet_number\":7},\"raw\":{\"length\":1200}}}\n",
    "\x1e{\"time\":30.5,\"name\":\"recovery:metrics_updated\",",
    "\"data\":{\"latest_rtt\":30.5,\"congestion_window\":14000}}\n",
    "\x1e{\"time\":31,\"name\":\"recovery:packet_lost\",",
    "\"data\":{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":7}}}\n",
);

/// aioquic: one object, with times since 1970.
const CONTAINED: &str = concat!(
    "{\"qlog_format\": \"JSON\", \"qlog_version\": \"0.3\", \"traces\": [{\"common_fields\": ",
    "{\"ODCID\": \"ab\"}, \"events\": [{\"data\": {\"frames\": [], \"header\": ",
    "{\"packet_number\": 7, \"packet_type\": \"1RTT\"}, \"raw\": {\"length\": 1200}}, ",
    "\"name\": \"transport:packet_sent\", \"time\": 1700000000000.0}, ",
    "{\"data\": {\"latest_rtt\": 30.5, \"cwnd\": 14000}, \"name\": ",
    "\"recovery:metrics_updated\", \"time\": 1700000000030.5}, ",
    "{\"data\": {\"header\": {\"packet_number\": 7}}, \"name\": \"recovery:packet_lost\", ",
    "\"time\": 1700000000031.0}], \"vantage_point\": {\"name\": \"aioquic\", \"type\": ",
    "\"server\"}}]}",
);

/// picoquic: events are arrays, and all times are in microseconds.
const COLUMNS: &str = concat!(
    "{ \"qlog_version\": \"draft-00\", \"title\": \"picoquic\", \"traces\": [\n{ ",
    "\"vantage_point\": { \"name\": \"backend-67\", \"type\": \"server\" },\n",
    "\"configuration\": {\"time_units\": \"us\"}, \"event_fields\": [\"relative_time\", ",
    "\"path_id\", \"category\", \"event\", \"data\"],\n\"events\": [",
    "[0, 0, \"transport\", \"packet_sent\", { \"packet_type\": \"1RTT\", \"header\": ",
    "{ \"packet_size\": 1200, \"packet_number\": \"7\" }, \"frames\": [] }],\n",
    "[30500, 0, \"recovery\", \"metrics_updated\", {\"latest_rtt\": 30500, \"cwnd\": 14000}],\n",
    "[31000, 0, \"recovery\", \"packet_lost\", {\"packet_type\" : \"1RTT\", ",
    "\"packet_number\" : 7}]]}]}\n",
);

#[test]
fn every_writers_log_says_the_same() {
    let lines = SEQUENCE.replace('\x1e', "");
    for text in [SEQUENCE, &lines, OLDER_SEQUENCE, CONTAINED, COLUMNS] {
        let (summary, problems) = read(text);
        assert_eq!(problems, [""; 0], "{text}");
        assert_eq!((summary.events, summary.lost), (3, 1), "{text}");
        assert_eq!(
            (summary.sent.count, summary.sent.bytes),
            (1, 1200),
            "{text}"
        );
        assert_eq!(summary.window, Some((14000.0, 14000.0)), "{text}");
        assert_eq!(summary.round_trip, Some((30.5, 30.5)), "{text}");
        assert_eq!(summary.end_ms, 31.0, "{text}");
    }
}

#[test]
fn a_round_trip_of_zero_is_no_sample() {
    // ngtcp2 writes it before there is one.
    let before =
        "\x1e{\"time\":0,\"name\":\"recovery:metrics_updated\",\"data\":{\"latest_rtt\":0}}\n";
    let sample = "\x1e{\"time\":30.5";
    let text = OLDER_SEQUENCE.replacen(sample, &format!("{before}{sample}"), 1);
    let (summary, problems) = read(text);
    assert_eq!((summary.events, problems.len()), (4, 0));
    assert_eq!(summary.round_trip, Some((30.5, 30.5)));
}

fn last_record() -> &'static str {
    let begins = SEQUENCE.rfind('\x1e').expect("it has records");
    &SEQUENCE[begins..]
}

fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

#[test]
fn a_log_may_be_compressed() {
    let zstd = zstd::encode_all(SEQUENCE.as_bytes(), 1).expect("memory takes it");
    // A writer that was started again appends a member.
    let (one, two) = SEQUENCE.split_at(400);
    let members = [gzipped(one.as_bytes()), gzipped(two.as_bytes())].concat();
    for content in [zstd, gzipped(CONTAINED.as_bytes()), members] {
        let (summary, problems) = read(content);
        assert_eq!((summary.events, problems.len()), (3, 0));
    }
}

#[test]
fn a_compressed_log_that_is_cut_off_is_read_as_far_as_it_goes() {
    let many = [SEQUENCE, &last_record().repeat(20_000)].concat();
    let zstd = zstd::encode_all(many.as_bytes(), 1).expect("memory takes it");
    for (content, name) in [(zstd, "zstd"), (gzipped(many.as_bytes()), "gzip")] {
        let (whole, problems) = read(content.clone());
        assert_eq!((whole.events, problems.len()), (20_003, 0), "{name}");
        let (part, problems) = read(&content[..content.len() - content.len() / 4]);
        assert!(
            part.events >= 3 && part.events < whole.events,
            "{name}: {}",
            part.events
        );
        let last = problems.last().expect("it says so");
        assert!(
            last.contains("the compressed file is cut off"),
            "{name}: {problems:?}"
        );
    }
}

#[test]
fn an_object_that_is_cut_off_is_read_as_far_as_it_goes() {
    let (summary, problems) = read(&CONTAINED[..CONTAINED.len() - 120]);
    assert_eq!(summary.events, 2);
    assert!(
        problems[0].contains("the file ends too early"),
        "{problems:?}"
    );
}

#[test]
fn times_may_count_from_the_event_before() {
    let delta = OLDER_SEQUENCE
        .replace("\"relative\"", "\"relative_to_previous_event\"")
        .replace("\"time\":31,", "\"time\":0.5,");
    assert_eq!(read(delta).0.end_ms, 31.0);
}

#[test]
fn a_log_without_its_header_is_read_all_the_same() {
    let (_, events) = SEQUENCE.split_once('\n').expect("it has lines");
    for text in [events.to_owned(), events.replace('\x1e', "")] {
        let (summary, problems) = read(text);
        assert_eq!(summary.events, 3);
        assert!(
            problems[0].contains("the header is missing"),
            "{problems:?}"
        );
    }
}

#[test]
fn times_that_add_up_to_more_than_a_number_holds_are_damage() {
    let delta = OLDER_SEQUENCE
        .replace("\"relative\"", "\"relative_to_previous_event\"")
        .replace("\"time\":0.0,", "\"time\":1e308,")
        .replace("\"time\":30.5,", "\"time\":1e308,");
    let (summary, problems) = read(delta);
    assert_eq!(summary.events, 2);
    assert!(summary.end_ms.is_finite(), "{}", summary.end_ms);
    assert!(
        problems[0].contains("its time is beyond all bounds; it was left out"),
        "{problems:?}"
    );
}

#[test]
fn a_header_of_a_trace_that_cannot_be_read_is_told_because_its_units_are_lost() {
    let odd = CONTAINED.replace("{\"ODCID\": \"ab\"}", "[7]");
    let (summary, problems) = read(odd);
    assert_eq!((summary.events, summary.end_ms), (3, 31.0));
    assert!(
        problems[0].contains("the header of the trace cannot be read (")
            && problems[0].ends_with("its units are taken to be milliseconds"),
        "{problems:?}"
    );
}

/// A pipe that brings one byte at a time.
struct Slow(Cursor<Vec<u8>>);

impl std::io::Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}

#[test]
fn what_a_file_is_shows_also_if_it_comes_byte_by_byte() {
    let zstd = zstd::encode_all(SEQUENCE.as_bytes(), 1).expect("memory takes it");
    let marked = format!("\u{feff}{CONTAINED}").into_bytes();
    let contents = [
        zstd,
        gzipped(SEQUENCE.as_bytes()),
        marked.clone(),
        gzipped(&marked),
    ];
    for content in contents {
        let source = Slow(Cursor::new(content));
        let mut log = Log::new(source, Path::new("pipe")).expect("it is a qlog");
        let summary = Summary::of(&mut log).expect("it can be read");
        assert_eq!((summary.events, log.problems().count()), (3, 0));
    }
    let foreign = Slow(Cursor::new(b"\xef\xbb0123456789".to_vec()));
    let error = Log::new(foreign, Path::new("pipe")).expect_err("it is none");
    let said = error.to_string();
    assert!(said.contains("ef bb 30 31 32 33 34 35;"), "{said}");
}

#[test]
fn an_error_of_a_disk_or_of_a_network_is_no_damage() {
    struct Failing(Cursor<Vec<u8>>, fn() -> std::io::Error);
    impl std::io::Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err((self.1)()),
                read => Ok(read),
            }
        }
    }
    let errors: [fn() -> std::io::Error; 3] = [
        // EINVAL, on all systems of today.
        || std::io::Error::from_raw_os_error(22),
        || std::io::Error::other("the connection was reset"),
        || std::io::ErrorKind::UnexpectedEof.into(),
    ];
    // A part of a compressed log is so long that its header is there.
    let many = [SEQUENCE, &last_record().repeat(20_000)].concat();
    let mut part = gzipped(many.as_bytes());
    part.truncate(part.len() / 2);
    for error in errors {
        for content in [SEQUENCE.as_bytes().to_vec(), part.clone()] {
            let source = Failing(Cursor::new(content), error);
            let mut log = Log::new(source, Path::new("disk")).expect("the header is there");
            let said = Summary::of(&mut log)
                .expect_err("the source failed")
                .to_string();
            assert_eq!(said, format!("disk: cannot be read: {}", error()));
        }
    }
}

#[test]
fn members_of_a_record_may_follow_its_data() {
    let more = |text: &str| SEQUENCE.replace("\"raw\":{\"length\":1200}}}", text);
    for text in [
        "\"raw\":{\"length\":1200}},\"group_id\":\"ab\"}",
        "\"raw\":{\"length\":1200}},\"system_info\":{\"process_id\":7}}",
        "\"raw\":{\"length\":1200}},\"tuple\":\"\",\"system_info\":{\"process_id\":7}}",
    ] {
        let (summary, problems) = read(more(text));
        assert_eq!(problems, [""; 0], "{text}");
        assert_eq!((summary.events, summary.sent.bytes), (3, 1200), "{text}");
    }
    // What is no JSON is no member.
    for text in [
        "\"raw\":{\"length\":1200}},system_info:{\"process_id\":7}}",
        "\"raw\":{\"length\":1200}}{\"length\":7}}",
    ] {
        let (summary, problems) = read(more(text));
        assert_eq!((summary.events, problems.len()), (2, 1), "{text}");
        assert!(problems[0].contains("it was left out"), "{problems:?}");
    }
}

#[test]
fn a_compressed_file_without_a_header_is_refused_with_a_remedy() {
    let zstd = zstd::encode_all(SEQUENCE.as_bytes(), 1).expect("memory takes it");
    let mut odd = zstd.clone();
    odd[4] = 0xff;
    for content in [
        zstd[..9].to_vec(),
        gzipped(SEQUENCE.as_bytes())[..12].to_vec(),
        odd,
    ] {
        let error = Log::new(Cursor::new(content), Path::new("run.zst")).expect_err("no header");
        let said = error.to_string();
        assert!(
            said.starts_with("run.zst: the compressed file is damaged at its beginning (")
                && said.ends_with("give a copy that is whole"),
            "{said}"
        );
    }
}

#[test]
fn null_where_nothing_is_told_is_no_damage() {
    let raw = "\"raw\":{\"length\":1200}";
    for (text, bytes) in [
        (SEQUENCE.replace(raw, "\"raw\":null"), 0),
        (
            SEQUENCE.replace(raw, "\"raw\":{\"length\":null},\"frames\":null"),
            0,
        ),
        (
            SEQUENCE.replace("\"header\":{\"packet_number\":7}", "\"header\":null"),
            1200,
        ),
    ] {
        let (summary, problems) = read(text.clone());
        assert_eq!(problems, [""; 0], "{text}");
        assert_eq!(
            (summary.sent.count, summary.sent.bytes),
            (1, bytes),
            "{text}"
        );
        assert_eq!(summary.lost, 1, "{text}");
    }
}

#[test]
fn of_two_names_of_an_event_its_type_counts() {
    let name = "\"name\":\"quic:packet_lost\"";
    for names in [
        "\"category\":\"quic\",\"event_type\":\"packet_sent\",\"type\":\"packet_lost\"",
        "\"type\":\"packet_lost\",\"category\":\"quic\",\"event\":\"packet_sent\"",
        "\"category\":\"quic\",\"event\":\"packet_sent\",\"event_type\":\"packet_lost\"",
    ] {
        let (summary, problems) = read(SEQUENCE.replace(name, names));
        assert_eq!(problems, [""; 0], "{names}");
        assert_eq!((summary.sent.count, summary.lost), (1, 1), "{names}");
    }
}

#[test]
fn a_list_without_traces_is_told_as_that() {
    let (summary, problems) = read("{\"qlog_version\":\"0.3\",\"traces\":[],\"title\":\"t\"}");
    assert_eq!(summary.events, 0);
    assert_eq!(problems.len(), 1, "{problems:?}");
    let told = "there is no trace in it, and so no event";
    assert!(problems[0].ends_with(told), "{problems:?}");
}

#[test]
fn a_loss_of_no_packet_is_damage_to_summary_and_figures_alike() {
    let lost = "{\"header\":{\"packet_number\":7}}";
    let text = SEQUENCE.replace(lost, "{\"header\":7}");
    let (summary, problems) = read(text.clone());
    assert_eq!((summary.lost, summary.events, problems.len()), (0, 2, 1));
    let mut log = Log::new(Cursor::new(text), Path::new("run.qlog")).expect("it is a qlog");
    let series = Series::of(&mut log, 16).expect("it can be read");
    assert_eq!((series.lost, log.problems().count()), (0, 1));
}
