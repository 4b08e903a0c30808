//! `imtcp-qlog plot` and the page of `imtcp-qlog compare`.

use clap::Args;
use imtcp_qlog::page::{self, Run};
use imtcp_qlog::series::Series;
use serde::Deserialize;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct Arguments {
    /// A qlog.
    file: PathBuf,
    /// Where the page goes [default: beside the qlog].
    #[arg(long, short, value_name = "HTML")]
    output: Option<PathBuf>,
    /// The available bandwidth as it really was: a CSV file with the columns t_s and truth_bps,
    /// such as the simulator's FLOW-estimates.csv.
    #[arg(long, value_name = "CSV")]
    truth: Option<PathBuf>,
    /// The most points of a line. The page has three or four bytes for each.
    #[arg(long, value_name = "N", default_value_t = 400_000, value_parser = points)]
    points: usize,
}

/// A number of points that makes a line.
pub fn points(text: &str) -> Result<usize, String> {
    let range = 1000..=20_000_000;
    let count = text.parse().ok().filter(|count| range.contains(count));
    count.ok_or_else(|| "give a number from 1000 to 20000000".to_owned())
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut log = super::open(&arguments.file, false)?;
    let series = Series::of(&mut log, arguments.points)?;
    super::warn(&log);
    let truth = match &arguments.truth {
        Some(file) => truth(file)?,
        None => Vec::new(),
    };
    let output = arguments
        .output
        .clone()
        .unwrap_or_else(|| beside(&arguments.file));
    let name = name(&arguments.file);
    let runs = [Run {
        name: name.clone(),
        series,
        truth,
    }];
    write(&name, &runs, &output)
}

/// Writes a page, and says where.
pub fn write(title: &str, runs: &[Run], output: &Path) -> Result<(), Box<dyn Error>> {
    let failed =
        |error: std::io::Error| format!("{}: cannot be written: {error}", output.display());
    let file = File::create(output).map_err(failed)?;
    page::write(title, runs, BufWriter::new(file)).map_err(failed)?;
    eprintln!("wrote {}", output.display());
    Ok(())
}

/// The name of a log without what tells its format.
pub fn name(file: &Path) -> String {
    let name = file
        .file_name()
        .unwrap_or(file.as_os_str())
        .to_string_lossy()
        .into_owned();
    let endings = [".gz", ".zst", ".sqlog", ".qlog", ".json", ".jsonl"];
    endings
        .iter()
        .fold(name, |name, ending| match name.strip_suffix(ending) {
            Some(stem) if !stem.is_empty() => stem.to_owned(),
            _ => name,
        })
}

fn beside(file: &Path) -> PathBuf {
    file.with_file_name(format!("{}.html", name(file)))
}

/// The truth by time, without repetitions.
fn truth(file: &Path) -> Result<Vec<(f64, f64)>, Box<dyn Error>> {
    #[derive(Deserialize)]
    struct Row {
        t_s: f64,
        truth_bps: f64,
    }
    let failed = |error: csv::Error| {
        format!(
            "{}: {error}; the truth is a CSV file with the columns t_s and truth_bps",
            file.display()
        )
    };
    let mut points = Vec::new();
    for row in csv::Reader::from_path(file).map_err(failed)?.deserialize() {
        let Row { t_s, truth_bps } = row.map_err(failed)?;
        points.push((t_s * 1e3, truth_bps));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(points)
}
