//! `imtcp-qlog plot`.

use clap::Args;
use imtcp_qlog::page::Run;
use imtcp_qlog::series::Column;
use serde::Deserialize;
use std::error::Error;
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
    #[arg(long, value_name = "N", default_value_t = 400_000, value_parser = super::points)]
    points: usize,
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => super::beside(&arguments.file, ".html"),
    };
    let mut inputs = vec![arguments.file.as_path()];
    inputs.extend(arguments.truth.as_deref());
    super::check(&inputs, &output)?;
    let series = super::series(&arguments.file, arguments.points)?;
    let truth = match &arguments.truth {
        Some(file) => truth(file, arguments.points)?,
        None => Vec::new(),
    };
    let name = super::name(&arguments.file);
    let runs = [Run {
        name: name.clone(),
        series,
        truth,
    }];
    Ok(super::write_page(&name, &runs, &inputs, &output)?)
}

/// The truth by time, without repetitions, in at most so many points.
fn truth(file: &Path, most: usize) -> Result<Vec<(f64, f64)>, Box<dyn Error>> {
    #[derive(Deserialize)]
    struct Row {
        t_s: f64,
        truth_bps: f64,
    }
    let refused = |problem: &str| {
        let file = file.display();
        format!("{file}: {problem}; the truth is a CSV file with the columns t_s and truth_bps")
    };
    let failed = |error: csv::Error| refused(&error.to_string());
    let mut points = Vec::new();
    for row in csv::Reader::from_path(file).map_err(failed)?.deserialize() {
        let Row { t_s, truth_bps } = row.map_err(failed)?;
        if !(t_s.is_finite() && truth_bps.is_finite()) {
            return Err(refused(&format!("{truth_bps} bit/s at {t_s} s are no truth")).into());
        }
        points.push((t_s * 1e3, truth_bps));
    }
    if points.is_empty() {
        return Err(refused("there is no row in it").into());
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut column = Column::new(most);
    for (time_ms, bps) in points {
        column.push_change(time_ms, bps);
    }
    column.finish();
    Ok(column.points().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    #[test]
    fn the_truth_has_its_changes_alone_and_a_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("truth.csv");
        let mut text = "reader,t_s,truth_bps\n".to_owned();
        for reader in ["own", "other"] {
            for tenth in 0..1000u32 {
                let at = f64::from(tenth) / 10.0;
                let _ = writeln!(text, "{reader},{at},{}", tenth / 500 * 7);
            }
        }
        std::fs::write(&file, text).expect("a file");
        assert_eq!(
            truth(&file, 1000).expect("it is right"),
            [(0.0, 0.0), (50_000.0, 7.0)]
        );
        let mut text = "t_s,truth_bps\n".to_owned();
        for second in 0..1000u32 {
            let _ = writeln!(text, "{second},{}", second % 9);
        }
        std::fs::write(&file, text).expect("a file");
        assert!(truth(&file, 40).is_ok_and(|points| points.len() <= 40));
        for (text, expected) in [
            (
                "",
                "there is no row in it; the truth is a CSV file with the columns t_s and",
            ),
            ("t_s,truth_bps\n", "there is no row in it"),
            ("t_s,truth_bps\nnan,7\n", "7 bit/s at NaN s are no truth"),
            ("t_s,truth_bps\n7,inf\n", "inf bit/s at 7 s are no truth"),
            ("t_s,rate\n7,7\n", "missing field `truth_bps`"),
        ] {
            std::fs::write(&file, text).expect("a file");
            let error = truth(&file, 40).expect_err(text).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
