//! Small logs, and the program.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A log as the controller writes it: estimates every 100 ms, three slots of a promise, samples of
/// the round trip.
pub fn log(number: u32) -> String {
    let mut text = "\u{1e}{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\
         \"serialization_format\":\"application/qlog+json-seq\",\"trace\":{\"common_fields\":\
         {\"reference_time\":{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\",\
         \"wall_clock_time\":\"2026-11-16T05:30:00Z\"}},\"vantage_point\":{\"type\":\"server\"},\
         \"event_schemas\":[\"urn:ietf:params:qlog:events:quic-14\"]}}\n"
        .to_owned();
    let mut event = |time: u32, name: &str, data: &str| {
        let _ = writeln!(
            text,
            "\u{1e}{{\"time\":{time},\"name\":\"{name}\",\"data\":{data}}}"
        );
    };
    let remote = format!("{{\"remote\":{{\"ip_v4\":\"198.51.{}.7\"}}}}", number % 3);
    event(0, "quic:connection_started", &remote);
    for at in 1..=20_u32 {
        let bps = 1_000_000 * (1 + number % 7) + 10_000 * at;
        event(
            at * 100,
            "imtcp:estimate_updated",
            &format!(
                "{{\"estimator\":\"statistical\",\"available_bps\":{bps},\"low_bps\":{},\
                 \"high_bps\":{},\"window\":100,\"flags\":[]}}",
                bps - 50_000,
                bps + 50_000
            ),
        );
        let rtt = 20 + (number + at) % 9;
        let metrics = format!("{{\"latest_rtt\":{rtt}.0}}");
        event(at * 100, "quic:recovery_metrics_updated", &metrics);
        event(
            at * 100,
            "quic:packet_sent",
            "{\"header\":{\"packet_type\":\"1RTT\",\"packet_number\":1},\"raw\":{\"length\":1200}}",
        );
    }
    for (slot, outcome) in ["kept", "missed", "source_limited"].iter().enumerate() {
        let data = format!(
            "{{\"slot\":{slot},\"length\":1000,\"required_bps\":1000,\"achieved_bps\":{},\
             \"outcome\":\"{outcome}\",\"warned_after\":null}}",
            1010 - 30 * slot
        );
        event(2000, "imtcp:slot_ended", &data);
    }
    text
}

/// Writes logs into subfolders.
pub fn logs(folder: &Path, count: u32) {
    for number in 0..count {
        let folder = folder.join(format!("{}", number % 4));
        fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join(format!("{number:05}.sqlog"));
        fs::write(file, log(number)).expect("it is written");
    }
}

/// The arguments to ingest logs however young they are.
pub fn ingest<'a>(source: &'a Path, table: &'a Path) -> [&'a str; 6] {
    let (source, table) = (path(source), path(table));
    ["ingest", source, "-t", table, "--settle", "0"]
}

/// The program.
pub fn fleet(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_imtcp-fleet"));
    command.args(arguments);
    command
}

/// Runs the program to its end.
pub fn run(arguments: &[&str]) -> Output {
    fleet(arguments).output().expect("it starts")
}

/// Runs it to a good end, and returns what it printed.
pub fn said(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// A path as an argument.
pub fn path(path: &Path) -> &str {
    path.to_str().expect("text")
}
