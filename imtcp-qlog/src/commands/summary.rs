//! `imtcp-qlog summary`: a log in a few lines.

use comfy_table::Table;
use imtcp_qlog::Log;
use imtcp_qlog::promises::Promises;
use imtcp_qlog::summary::{Packets, Rates, Summary};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Sums up each file, one after another.
pub fn run(files: &[PathBuf], strict: bool, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    for (index, file) in files.iter().enumerate() {
        if index > 0 {
            writeln!(output)?;
        }
        let mut log = super::open(file, strict)?;
        let summary = Summary::of(&mut log)?;
        output.write_all(text(file, &log, &summary).as_bytes())?;
        output.flush()?;
        super::warn(&log);
    }
    Ok(())
}

fn text(file: &Path, log: &Log, summary: &Summary) -> String {
    let mut text = format!(
        "{}: {} events in {:.3} s{}\n\n{}\n\n{}\n",
        file.display(),
        summary.events,
        summary.end_ms / 1e3,
        origin(log),
        rates(summary),
        counts(summary)
    );
    if !summary.promises.is_empty() {
        text += &format!("\n{}\n", promises(&summary.promises));
    }
    text
}

/// Who wrote the log, as far as its header tells.
fn origin(log: &Log) -> String {
    let header = log.header();
    let said = [header.title.as_str(), header.vantage_point.as_str()];
    let said: Vec<&str> = said.into_iter().filter(|text| !text.is_empty()).collect();
    if said.is_empty() {
        String::new()
    } else {
        format!(" ({})", said.join(", "))
    }
}

fn promises(promises: &Promises) -> Table {
    let mut table = super::table();
    let ratio = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    for (name, value) in [
        ("required", required(promises)),
        (
            "slots",
            format!(
                "{}: {} kept, {} missed, {} limited by the source; {} control slots",
                promises.slots(),
                promises.kept,
                promises.missed,
                promises.source_limited,
                promises.control_slots
            ),
        ),
        (
            "achieved / required",
            format!(
                "p5 {}{}, mean {}",
                ratio(promises.p5()),
                match promises.beyond_p5() {
                    0 => String::new(),
                    count => format!(" (without the last {count} slots)"),
                },
                ratio(promises.mean())
            ),
        ),
        (
            "warned of half a slot before the end",
            format!(
                "{} of {} missed (recall {}); {} others (precision {})",
                promises.warned_missed,
                promises.missed,
                ratio(promises.recall()),
                promises.warned_kept,
                ratio(promises.precision())
            ),
        ),
        ("changes of status", listed(&promises.statuses)),
        ("causes of risk", listed(&promises.causes)),
    ] {
        table.add_row([name.to_owned(), value]);
    }
    table
}

/// The last requirement, and how many there were.
fn required(promises: &Promises) -> String {
    let changes = promises.changes;
    match &promises.required {
        Some(last) => format!(
            "{} {} Mbit/s per {:.3} s; {changes} {}",
            last.demand.replace('_', " "),
            mega(last.rate_bps as f64),
            last.per_ms / 1e3,
            if changes == 1 { "change" } else { "changes" }
        ),
        None => "-".to_owned(),
    }
}

fn listed(counts: &BTreeMap<String, u64>) -> String {
    let counts: Vec<_> = counts
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    if counts.is_empty() {
        "-".to_owned()
    } else {
        counts.join(", ")
    }
}

fn rates(summary: &Summary) -> Table {
    let mut table = super::table();
    table.set_header([
        "Mbit/s of IP packets",
        "count",
        "mean",
        "least",
        "greatest",
        "last",
        "from, to",
    ]);
    let mut add = |name: String, rates: &Rates| {
        table.add_row([
            name,
            rates.count.to_string(),
            mega(rates.mean_bps()),
            mega(rates.least_bps as f64),
            mega(rates.greatest_bps as f64),
            mega(rates.last_bps as f64),
            format!(
                "{:.3} s, {:.3} s",
                rates.first_ms / 1e3,
                rates.last_ms / 1e3
            ),
        ]);
    };
    for (estimator, rates) in &summary.estimates {
        add(format!("estimate, {estimator}"), rates);
    }
    if let Some(rates) = &summary.capacity {
        add("capacity".to_owned(), rates);
    }
    if table.is_empty() {
        table.add_row(["no estimate and no capacity in this log"]);
    }
    table
}

fn mega(bps: f64) -> String {
    format!("{:.2}", bps / 1e6)
}

fn counts(summary: &Summary) -> Table {
    let mut table = super::table();
    let Summary {
        started,
        completed,
        abandoned,
        ..
    } = summary;
    let range = |range: Option<(f64, f64)>, unit: &str, digits: usize| {
        range.map_or("-".to_owned(), |(least, greatest)| {
            format!("{least:.digits$} {unit} to {greatest:.digits$} {unit}")
        })
    };
    for (name, value) in [
        (
            "measurements",
            format!("{started} started, {completed} completed, {abandoned} abandoned"),
        ),
        ("packets sent", packets(summary.sent)),
        ("packets received", packets(summary.received)),
        ("packets declared lost", summary.lost.to_string()),
        ("congestion window", range(summary.window, "B", 0)),
        ("round trip, samples", range(summary.round_trip, "ms", 3)),
    ] {
        table.add_row([name.to_owned(), value]);
    }
    table
}

fn packets(packets: Packets) -> String {
    format!("{} ({} B of UDP payload)", packets.count, packets.bytes)
}
