//! The table: medians over the paths, and a file with every path.

use std::path::Path;

use anyhow::{Context, Result};

use super::Score;
use super::reading::quantile;

const HEADER: [&str; 9] = [
    "path",
    "reader",
    "error_p50",
    "error_p90",
    "bias",
    "told",
    "coverage",
    "lag_s",
    "extra_bps",
];

/// A line for each path and reader.
pub fn write(scores: &[Score], file: &Path) -> Result<()> {
    let rows = || -> Result<(), csv::Error> {
        let mut lines = csv::Writer::from_path(file)?;
        lines.write_record(HEADER)?;
        for score in scores {
            let number = |value: Option<f64>| value.map_or(String::new(), |it| format!("{it:.6}"));
            lines.write_record([
                score.path.clone(),
                score.reader.clone(),
                number(score.error_p50),
                number(score.error_p90),
                number(score.bias),
                number(Some(score.told)),
                number(score.coverage),
                number(score.lag_s),
                format!("{:.0}", score.extra_bps),
            ])?;
        }
        lines.flush()?;
        Ok(())
    };
    rows().with_context(|| format!("writing {}", file.display()))
}

/// Medians over the paths on which somebody told something, the smallest error first.
pub fn lines(scores: &[Score]) -> Vec<String> {
    let mut readers: Vec<&str> = Vec::new();
    for score in scores {
        if !readers.contains(&score.reader.as_str()) {
            readers.push(&score.reader);
        }
    }
    let mut rows: Vec<(f64, String)> = readers.iter().map(|reader| row(scores, reader)).collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let header = format!(
        "{:<16}{:>7}{:>9}{:>9}{:>9}{:>9}{:>12}{:>8}{:>14}",
        "who", "paths", "p50 %", "p90 %", "bias %", "told %", "coverage %", "lag s", "extra kbit/s"
    );
    let rows = rows.into_iter().map(|(_, line)| line);
    [header].into_iter().chain(rows).collect()
}

fn row(scores: &[Score], reader: &str) -> (f64, String) {
    let own = || scores.iter().filter(|score| score.reader == reader);
    let median =
        |value: fn(&Score) -> Option<f64>| quantile(own().filter_map(value).collect(), 0.5);
    let cell = |value: Option<f64>, scale: f64| {
        value.map_or("-".to_owned(), |value| match value.is_finite() {
            true => format!("{:.1}", value * scale),
            false => "never".to_owned(),
        })
    };
    let error = median(|score| score.error_p50);
    let paths = own().filter(|score| score.error_p50.is_some()).count();
    let line = format!(
        "{reader:<16}{paths:>7}{:>9}{:>9}{:>9}{:>9}{:>12}{:>8}{:>14}",
        cell(error, 100.0),
        cell(median(|score| score.error_p90), 100.0),
        cell(median(|score| score.bias), 100.0),
        cell(median(|score| Some(score.told)), 100.0),
        cell(median(|score| score.coverage), 100.0),
        cell(median(|score| score.lag_s), 1.0),
        cell(median(|score| Some(score.extra_bps)), 1e-3),
    );
    (error.unwrap_or(f64::INFINITY), line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_error_stands_first_and_who_told_nothing_last() {
        let score = |path: &str, reader: &str, error: Option<f64>| Score {
            path: path.to_owned(),
            reader: reader.to_owned(),
            error_p50: error,
            extra_bps: 5e5,
            ..Score::default()
        };
        let scores = [
            score("a", "silent", None),
            score("a", "far", Some(0.3)),
            score("a", "near", Some(0.1)),
            score("b", "near", Some(0.2)),
            score("c", "near", Some(0.4)),
        ];
        let lines = lines(&scores);
        let first = |index: usize| {
            let line: &str = &lines[index];
            line.split_whitespace()
                .take(3)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(first(1), "near 3 20.0");
        assert_eq!(first(2), "far 1 30.0");
        assert_eq!(first(3), "silent 0 -");
        assert!(lines[1].ends_with("500.0"), "{}", lines[1]);
    }
}
