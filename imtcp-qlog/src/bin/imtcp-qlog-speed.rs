//! How fast logs are read: the summary of a file, against a plain pass of serde_json over the same
//! records, and the memory that it took. It makes a file of its own if it is asked for a size.
//!
//! ```text
//! imtcp-qlog-speed --make 1000 /tmp/large.sqlog
//! imtcp-qlog-speed /tmp/large.sqlog
//! ```

use imtcp_qlog::Log;
use imtcp_qlog::summary::Summary;
use serde::de::IgnoredAny;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["--make", size, file] => make(size, Path::new(file)),
        [file] => measure(Path::new(file)),
        _ => Err("usage: imtcp-qlog-speed FILE | --make MEGABYTES FILE".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How often each is timed; the best counts.
const ROUNDS: u32 = 3;

#[expect(clippy::disallowed_methods, reason = "a benchmark owns a clock")]
fn best(
    mut run: impl FnMut() -> Result<u64, Box<dyn Error>>,
) -> Result<(f64, u64), Box<dyn Error>> {
    let mut best = (f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let events = run()?;
        best = (begun.elapsed().as_secs_f64().min(best.0), events);
    }
    Ok(best)
}

fn measure(file: &Path) -> Result<(), Box<dyn Error>> {
    let megabytes = std::fs::metadata(file)?.len() as f64 / 1e6;
    let (reader, events) = best(|| {
        let mut log = Log::open(file)?;
        Ok(Summary::of(&mut log)?.events)
    })?;
    let memory = peak_memory();
    let (plain, records) = best(|| plain_pass(file))?;
    println!("{megabytes:.1} MB, {events} events");
    println!(
        "summary:              {reader:.3} s, {:.0} MB/s",
        megabytes / reader
    );
    println!(
        "serde_json, plain:    {plain:.3} s, {:.0} MB/s, {records} records",
        megabytes / plain
    );
    println!(
        "ratio:                {:.2} of the plain pass's time",
        reader / plain
    );
    if let Some(kilobytes) = memory {
        println!("memory of the summary: {:.1} MB at most", kilobytes / 1e3);
    }
    Ok(())
}

/// Parses every record of an uncompressed sequence, and keeps nothing of it.
fn plain_pass(file: &Path) -> Result<u64, Box<dyn Error>> {
    let mut input = BufReader::with_capacity(1 << 17, File::open(file)?);
    let mut line = Vec::new();
    let mut records = 0;
    while input.read_until(b'\n', &mut line)? > 0 {
        let text = line.strip_prefix(b"\x1e").unwrap_or(&line);
        serde_json::from_slice::<IgnoredAny>(text)?;
        records += 1;
        line.clear();
    }
    Ok(records)
}

/// The most memory that this process ever had, in kilobytes.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Records as quiche writes them, in the numbers in which it does.
fn make(size: &str, file: &Path) -> Result<(), Box<dyn Error>> {
    let megabytes: u64 = size.parse()?;
    let mut output = BufWriter::new(File::create(file)?);
    let header = concat!(
        "\x1e{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",",
        "\"serialization_format\":\"application/qlog+json-seq\",\"trace\":{\"vantage_point\":",
        "{\"type\":\"server\"},\"event_schemas\":[\"urn:ietf:params:qlog:events:quic-14\"]}}\n",
    );
    output.write_all(header.as_bytes())?;
    let (mut written, mut number) = (0, 0_u64);
    while written < megabytes * 1_000_000 {
        let time = number as f64 * 0.216;
        let record = format!(
            concat!(
                "\x1e{{\"time\":{t:.3},\"name\":\"quic:packet_sent\",\"data\":{{\"header\":",
                "{{\"packet_type\":\"1RTT\",\"packet_number\":{n}}},\"raw\":{{\"length\":1350,",
                "\"payload_length\":1323}},\"frames\":[{{\"frame_type\":\"stream\",",
                "\"stream_id\":3,",
                "\"offset\":{offset},\"raw\":{{\"payload_length\":1315}}}}]}}}}\n",
                "\x1e{{\"time\":{t:.3},\"name\":\"quic:recovery_metrics_updated\",\"data\":",
                "{{\"bytes_in_flight\":{flight},\"smoothed_rtt\":41.{n}}}}}\n",
                "\x1e{{\"time\":{t:.3},\"name\":\"quic:stream_data_moved\",",
                "\"data\":{{\"stream_id\":3,",
                "\"offset\":{offset},\"from\":\"application\",\"to\":\"transport\",\"raw\":",
                "{{\"length\":1315}}}}}}\n",
                "\x1e{{\"time\":{t:.3},\"name\":\"quic:packet_received\",\"data\":{{\"header\":",
                "{{\"packet_type\":\"1RTT\",\"packet_number\":{n}}},\"raw\":{{\"length\":36,",
                "\"payload_length\":27}},\"frames\":[{{\"frame_type\":\"ack\",\"ack_delay\":0.0,",
                "\"acked_ranges\":[[0,{n}]]}}]}}}}\n",
            ),
            t = time,
            n = number,
            offset = number * 1315,
            flight = 400_000 + number % 7 * 1350,
        );
        output.write_all(record.as_bytes())?;
        written += record.len() as u64;
        number += 1;
    }
    Ok(output.flush()?)
}
