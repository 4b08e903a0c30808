//! Files of a survey of estimates: what the classes come to, each path's scores, what was read on
//! each path, and the paths.

use super::OutputError;
use crate::survey::Class;
use crate::survey::estimate::{Reader, Score, Surveyed, Tally};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Written<'a> {
    class: &'static str,
    misses: Vec<&'static str>,
    tally: &'a Tally,
}

/// Writes an array with one object per class.
///
/// # Errors
/// The file cannot be written.
pub fn estimate_json(surveyed: &[(Class, Tally)], path: &Path) -> Result<(), OutputError> {
    let written = surveyed.iter().map(|(class, tally)| Written {
        class: class.name(),
        misses: tally.misses(*class),
        tally,
    });
    super::json(&written.collect::<Vec<_>>(), path)
}

/// Writes `<class>-estimates.csv`, a line per path and reader; `<class>-readings.csv`, a line per
/// instant of this project's estimator; and `<class>-<seed>.toml` for each path.
///
/// # Errors
/// A file cannot be written.
pub fn estimate_files(
    class: Class,
    all: &[Surveyed],
    tally: &Tally,
    folder: &Path,
) -> Result<(), OutputError> {
    let file = folder.join(format!("{}-estimates.csv", class.name()));
    scores(all, tally, &file).map_err(|error| OutputError::new(&file, error))?;
    let file = folder.join(format!("{}-readings.csv", class.name()));
    readings(all, &file).map_err(|error| OutputError::new(&file, error))?;
    for one in all {
        let file = folder.join(format!("{}-{}.toml", class.name(), one.seed));
        std::fs::write(&file, &one.text).map_err(|error| OutputError::new(&file, error))?;
    }
    Ok(())
}

const HEADER: [&str; 13] = [
    "seed",
    "reader",
    "path",
    "sends",
    "error_p50",
    "error_p90",
    "bias",
    "reach",
    "coverage",
    "interval_score",
    "false_confidence",
    "lag_s",
    "valued",
];

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.6}"))
}

fn scores(all: &[Surveyed], tally: &Tally, file: &Path) -> Result<(), csv::Error> {
    let mut lines = csv::Writer::from_path(file)?;
    lines.write_record(HEADER)?;
    for column in &tally.columns {
        for (one, score) in all.iter().zip(&column.scores) {
            lines.write_record(line(one, column.reader, score))?;
        }
    }
    lines.flush()?;
    Ok(())
}

fn line(one: &Surveyed, reader: Reader, score: &Score) -> [String; 13] {
    let [path, sends] = one.facts.in_words();
    [
        one.seed.to_string(),
        reader.name().to_owned(),
        path,
        sends,
        number(score.error_p50),
        number(score.error_p90),
        number(score.bias),
        number(Some(score.reach)),
        number(score.coverage),
        number(score.interval_score),
        number(Some(score.false_confidence)),
        number(score.lag_s),
        number(Some(score.valued)),
    ]
}

fn readings(all: &[Surveyed], file: &Path) -> Result<(), csv::Error> {
    let mut lines = csv::Writer::from_path(file)?;
    lines.write_record([
        "seed",
        "t_s",
        "capacity_bps",
        "truth_bps",
        "value_bps",
        "low_bps",
        "high_bps",
        "made_s",
        "lower_bound",
    ])?;
    for one in all {
        let own = one
            .read
            .iter()
            .filter(|read| read.reader == Reader::Statistical);
        for instant in own.flat_map(|read| &read.instants) {
            let whole = |value: Option<f64>| value.map_or(String::new(), |it| format!("{it:.0}"));
            let reading = instant.reading;
            let end = |index: usize| reading.and_then(|it| Some(it.interval_bps?[index]));
            lines.write_record([
                one.seed.to_string(),
                format!("{:.1}", instant.at_s),
                whole(Some(instant.capacity_bps)),
                whole(Some(instant.truth_bps)),
                whole(reading.map(|it| it.value_bps)),
                whole(end(0)),
                whole(end(1)),
                reading.map_or(String::new(), |it| format!("{:.3}", it.made_s)),
                reading.map_or(String::new(), |it| u8::from(it.lower_bound).to_string()),
            ])?;
        }
    }
    lines.flush()?;
    Ok(())
}
