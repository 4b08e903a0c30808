//! `imtcp-qlog compare`: several runs in one table and on one page.

use clap::Args;
use imtcp_qlog::page::Run;
use imtcp_qlog::table::system_error;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Qlogs, such as those of several controllers.
    #[arg(required = true, num_args = 2..)]
    files: Vec<PathBuf>,
    /// Draw them on one page.
    #[arg(long, short, value_name = "HTML")]
    output: Option<PathBuf>,
    /// Print the table as CSV.
    #[arg(long)]
    csv: bool,
    /// The most points of a line.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = super::points)]
    points: usize,
}

const COLUMNS: [&str; 12] = [
    "run",
    "seconds",
    "goodput, Mbit/s",
    "estimate, Mbit/s",
    "estimates",
    "interval, %",
    "RTT p50, ms",
    "RTT p95, ms",
    "least RTT, ms",
    "window, KB",
    "lost, %",
    "slots kept",
];

pub fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let inputs: Vec<&Path> = arguments.files.iter().map(PathBuf::as_path).collect();
    if let Some(page) = &arguments.output {
        super::check(&inputs, page)?;
    }
    let names = names(&arguments.files);
    let mut runs = Vec::new();
    for (file, name) in arguments.files.iter().zip(names) {
        runs.push(Run {
            name,
            series: super::series(file, arguments.points)?,
            truth: Vec::new(),
        });
    }
    let rows = runs.iter().map(row);
    if arguments.csv {
        csv(rows, output).map_err(system_error)?;
    } else {
        let mut table = super::table();
        table.set_header(COLUMNS);
        table.add_rows(rows);
        writeln!(output, "{table}")?;
    }
    match &arguments.output {
        Some(page) => Ok(super::write_page("Runs compared", &runs, &inputs, page)?),
        None => Ok(()),
    }
}

fn csv(rows: impl Iterator<Item = Vec<String>>, output: &mut impl Write) -> csv::Result<()> {
    let mut csv = csv::Writer::from_writer(output);
    csv.write_record(COLUMNS)?;
    for row in rows {
        csv.write_record(row)?;
    }
    Ok(csv.flush()?)
}

/// The files' names, with as many of their folders as tell them apart.
fn names(files: &[PathBuf]) -> Vec<String> {
    let with = |depth: usize| -> Vec<String> {
        let name = |file: &PathBuf| {
            let folders: Vec<_> = file
                .parent()
                .into_iter()
                .flat_map(|parent| parent.iter())
                .collect();
            let kept = &folders[folders.len().saturating_sub(depth)..];
            let kept = kept
                .iter()
                .map(|folder| folder.to_string_lossy().into_owned());
            kept.chain([super::name(file)])
                .collect::<Vec<_>>()
                .join("/")
        };
        files.iter().map(name).collect()
    };
    let is_clear = |names: &Vec<String>| {
        let mut sorted = names.clone();
        sorted.sort();
        sorted.windows(2).all(|pair| pair[0] != pair[1])
    };
    (0..8).map(with).find(is_clear).unwrap_or_else(|| with(8))
}

fn row(run: &Run) -> Vec<String> {
    let series = &run.series;
    let end = series.end_ms;
    let shown = |value: Option<f64>, unit: f64, digits: usize| {
        value.map_or("-".to_owned(), |value| format!("{:.digits$}", value / unit))
    };
    let figures = &series.figures;
    let value = figures.value.until(end);
    let ends = figures.high.until(end).zip(figures.low.until(end));
    // An estimate of nothing has no width in per cent.
    let width = ends
        .zip(value.filter(|value| *value > 0.0))
        .map(|((high, low), value)| (high - low) / value * 100.0);
    let lost = (series.sent > 0).then(|| series.lost as f64 / series.sent as f64 * 100.0);
    vec![
        run.name.clone(),
        format!("{:.1}", end / 1e3),
        shown(series.goodput(0.0, end), 1e6, 2),
        shown(value, 1e6, 2),
        figures.estimates.to_string(),
        shown(width, 1.0, 1),
        shown(figures.round_trips.quantile(0.5), 1.0, 2),
        shown(figures.round_trips.quantile(0.95), 1.0, 2),
        shown(figures.least_rtt, 1.0, 2),
        shown(figures.window.until(end), 1e3, 1),
        shown(lost, 1.0, 2),
        match figures.slots {
            0 => "-".to_owned(),
            slots => format!("{} of {slots}", figures.slots_kept),
        },
    ]
}
