//! `imtcp-qlog streams`: probe streams, and one of them under the glass.

use clap::Args;
use comfy_table::Table;
use imtcp_qlog::streams::{self, PCT_OF_A_RISE, PDT_OF_A_RISE, Stream};
use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Arguments {
    /// A qlog.
    file: PathBuf,
    /// One stream, packet by packet: the number of its measurement, a dot, and its own.
    #[arg(long, value_name = "M.S", value_parser = number)]
    stream: Option<(u64, u64)>,
    /// Only streams with this verdict, such as grey_zone or packet_lost.
    #[arg(long, conflicts_with = "stream")]
    verdict: Option<String>,
}

fn number(text: &str) -> Result<(u64, u64), String> {
    let parts = text
        .split_once('.')
        .and_then(|(measurement, stream)| Some((measurement.parse().ok()?, stream.parse().ok()?)));
    parts.ok_or_else(|| "write two numbers, such as 17.2".to_owned())
}

/// The most streams that are listed.
const MOST_LISTED: usize = 200_000;

/// How many streams of one number are shown. A number belongs to one stream, unless a log has
/// several paths.
const MOST_SHOWN: usize = 16;

pub fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut log = super::open(&arguments.file, false)?;
    let mut found = Found::default();
    streams::for_each(&mut log, |stream| found.add(arguments, stream))?;
    super::warn(&log);
    if let Some(problem) = found.problem(arguments) {
        return Err(format!("{}: {problem}", arguments.file.display()).into());
    }
    if found.left_out > 0 {
        eprintln!(
            "warning: {}: {} more streams are not shown",
            arguments.file.display(),
            found.left_out
        );
    }
    if arguments.stream.is_some() {
        output.write_all(found.shown.concat().as_bytes())?;
    } else {
        writeln!(output, "{}", list(found.rows))?;
    }
    Ok(())
}

/// What was found in a log.
#[derive(Default)]
struct Found {
    /// All streams.
    count: u64,
    /// Those that were asked for, but for which there was no room.
    left_out: u64,
    verdicts: BTreeSet<String>,
    /// Streams under the glass.
    shown: Vec<String>,
    rows: Vec<[String; 9]>,
}

impl Found {
    fn add(&mut self, arguments: &Arguments, stream: Stream) {
        self.count += 1;
        let verdict = arguments.verdict.as_deref();
        match arguments.stream {
            Some(number) if number == (stream.measurement, stream.stream) => {
                if self.shown.len() < MOST_SHOWN {
                    self.shown.push(glass(&stream));
                } else {
                    self.left_out += 1;
                }
            }
            Some(_) => {}
            None if verdict.is_some_and(|verdict| word(verdict) != stream.verdict) => {}
            None if self.rows.len() < MOST_LISTED => self.rows.push(row(&stream)),
            None => self.left_out += 1,
        }
        if self.verdicts.len() < MOST_SHOWN {
            self.verdicts.insert(stream.verdict);
        }
    }

    /// Why there is nothing to show, if there is nothing.
    fn problem(&self, arguments: &Arguments) -> Option<String> {
        if self.count == 0 {
            return Some(
                "there is no probe stream in this log; a transfer that its window limits has none, \
                 and imtcp-cc logs them as imtcp:stream_completed"
                    .to_owned(),
            );
        }
        if let (Some((measurement, number)), []) = (arguments.stream, &self.shown[..]) {
            return Some(format!(
                "there is no stream {measurement}.{number}; without --stream all are listed"
            ));
        }
        if let (None, Some(verdict), []) = (arguments.stream, &arguments.verdict, &self.rows[..]) {
            let verdicts: Vec<&str> = self.verdicts.iter().map(String::as_str).collect();
            return Some(format!(
                "no stream has the verdict `{verdict}`; there are {}",
                verdicts.join(", ")
            ));
        }
        None
    }
}

/// A verdict as the log has it, also if it was copied from the list.
fn word(verdict: &str) -> String {
    verdict.trim().replace(' ', "_")
}

fn list(rows: Vec<[String; 9]>) -> Table {
    let mut table = super::table();
    table.set_header([
        "stream",
        "at, s",
        "Mbit/s",
        "packets",
        "worst gap, µs",
        "PCT",
        "PDT",
        "trend",
        "verdict",
    ]);
    table.add_rows(rows);
    table
}

fn row(stream: &Stream) -> [String; 9] {
    [
        title(stream),
        format!("{:.4}", stream.start_ms / 1e3),
        rates(stream),
        stream.packet_numbers.len().to_string(),
        stream.worst_gap_ns().map_or("-".to_owned(), micros),
        ratio(stream.pct),
        ratio(stream.pdt),
        format!("{:+}", stream.trend),
        stream.verdict.replace('_', " "),
    ]
}

/// Its number, with that of its path unless that is the first.
fn title(stream: &Stream) -> String {
    let number = format!("{}.{}", stream.measurement, stream.stream);
    match stream.path {
        0 => number,
        path => format!("{number}, path {path}"),
    }
}

fn rates(stream: &Stream) -> String {
    let mega = |bps: u64| bps as f64 / 1e6;
    format!(
        "{:.2} to {:.2}",
        mega(stream.low_bps),
        mega(stream.high_bps)
    )
}

fn ratio(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

fn micros(nanos: i64) -> String {
    format!("{:.3}", nanos as f64 / 1e3)
}

fn glass(stream: &Stream) -> String {
    let mut table = super::table();
    table.set_header([
        "packet",
        "bytes",
        "planned gap, µs",
        "sent gap, µs",
        "sent rate, Mbit/s",
        "echo gap, µs",
        "echo rate, Mbit/s",
        "rise of the delay, µs",
        "echo",
    ]);
    for (index, number) in stream.packet_numbers.iter().enumerate() {
        let gap = |gaps: &[Option<i64>]| -> Option<i64> { *gaps.get(index.checked_sub(1)?)? };
        let shown = |gap: Option<i64>| gap.map_or("-".to_owned(), micros);
        let size = stream.sizes.get(index).copied().unwrap_or(0);
        let rate = |gap: Option<i64>| match gap {
            Some(nanos) if nanos > 0 => format!("{:.3}", size as f64 * 8e3 / nanos as f64),
            _ => "-".to_owned(),
        };
        let (sent, echo) = (gap(&stream.sent_gaps_ns), gap(&stream.echo_gaps_ns));
        let rise = sent.zip(echo).map(|(sent, echo)| echo.saturating_sub(sent));
        table.add_row([
            number.to_string(),
            size.to_string(),
            shown(gap(&stream.planned_gaps_ns)),
            shown(sent),
            rate(sent),
            shown(echo),
            rate(echo),
            shown(rise),
            stream.qualities.get(index).cloned().unwrap_or_default(),
        ]);
    }
    let delay = stream.first_delay_ns.map_or("-".to_owned(), |nanos| {
        format!("{:.3} ms", nanos as f64 / 1e6)
    });
    format!(
        "stream {} at {:.6} s, {} Mbit/s; first echo after {delay}\n{table}\nPCT {}: the share of \
         pairs whose delay rises, above {PCT_OF_A_RISE:.2} for a rise\nPDT {}: the share of the \
         movement that is a net rise, above {PDT_OF_A_RISE:.2} for a rise\ntrend {:+}: {}\n",
        title(stream),
        stream.start_ms / 1e3,
        rates(stream),
        ratio(stream.pct),
        ratio(stream.pdt),
        stream.trend,
        why(&stream.verdict),
    )
}

/// The verdict in a sentence.
fn why(verdict: &str) -> &str {
    match verdict {
        "increasing" => "the delay increases, so the stream is faster than what is available",
        "not_increasing" => "the delay does not increase, so so much is available",
        "incomplete" => "cannot tell, because not all packets left or not all echoes came",
        "packet_lost" => "cannot tell, because a packet was lost",
        "too_few_echoes" => "cannot tell, because too few echoes have times of their own",
        "contradiction" => "cannot tell, because the two tests contradict each other",
        "grey_zone" => "cannot tell, because both tests are between their thresholds",
        other => other,
    }
}
